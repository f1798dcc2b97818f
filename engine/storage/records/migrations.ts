/**
 * Brings a server's tables to the schema of this code, step by numbered step, each recorded in the database itself.
 *
 * Invariants: every statement is idempotent (IF NOT EXISTS), so two gateways that start at once do the same work twice
 * with the same result, and an interrupted step is done again. A database newer than the code is refused untouched. No
 * step drops data. Step 1 creates the tables of the present schema; later steps bring older databases up to it and find
 * nothing to do on a new one. Where an earlier version's step 1 was interrupted, its tables get the columns that were
 * added since, before the others are created.
 */
import {
  addColumn,
  createDatabase,
  createMigrationsTable,
  createTable,
  createTables,
  type DdlTarget,
  modifySettings,
  modifyView,
  physicalTables,
} from "./ddl.js";
import { OHLCV_1M } from "./market-tables.js";
import { TRANSFERS } from "./money-tables.js";
import { ORDERS_LATEST } from "./order-tables.js";
import { DERIVED_TABLES, MIGRATIONS_TABLE, RECORD_TABLES } from "./schema.js";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: (target: DdlTarget) => readonly string[];
}

/** Versions count from 1 without gaps. A released step is never changed. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "tables of the record", statements: createTables },
  { version: 2, name: "prices of all digits, intents", statements: widenPrices },
  { version: 3, name: "owners", statements: addOwners },
  { version: 4, name: "transfers", statements: createTransfers },
];

/** Columns that version 2 added, by table. */
const ADDED_BY_2: Readonly<Record<string, readonly string[]>> = {
  ticks: ["bid_px", "ask_px", "mark_px", "last_px"],
  book_snapshots: ["bid_prices", "ask_prices"],
  trades: ["price"],
  fills: ["price", "intent"],
  routing_decisions: ["intent"],
  ohlcv_1m: ["open", "high", "low", "close"],
};

/** The same of version 3. */
const ADDED_BY_3: Readonly<Record<string, readonly string[]>> = {
  order_events: ["owner"],
  fills: ["owner"],
  routing_decisions: ["owner"],
  orders_latest: ["owner"],
};

/** No row is rewritten: the later columns show what the earlier ones hold. */
function widenPrices(target: DdlTarget): string[] {
  const settings = [...RECORD_TABLES, ...DERIVED_TABLES].flatMap(({ name }) => modifySettings(target, name));
  return [...addedColumns(target, ADDED_BY_2), modifyView(target, OHLCV_1M), ...settings];
}

/** Rows of before were made without a key: the column shows them as `local`, and none is rewritten. */
function addOwners(target: DdlTarget): string[] {
  return [...addedColumns(target, ADDED_BY_3), modifyView(target, ORDERS_LATEST)];
}

function createTransfers(target: DdlTarget): string[] {
  return createTable(target, TRANSFERS);
}

function addedColumns(target: DdlTarget, added: Readonly<Record<string, readonly string[]>>): string[] {
  return [...RECORD_TABLES, ...DERIVED_TABLES].flatMap(({ name, columns }) =>
    columns
      .filter((column) => added[name]?.includes(column.name) === true)
      .flatMap((column) => addColumn(target, name, column)),
  );
}

/** What a migration needs of a server. A rejected promise ends the migration at that point. */
export interface MigrationServer {
  command(sql: string): Promise<void>;
  /** Rows of JSONEachRow. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export type MigrationResult =
  | { readonly ok: true; readonly from: number; readonly to: number }
  /** The tables are not those this code writes and reads; nothing that data depends on was changed. */
  | { readonly ok: false; readonly text: string };

export async function migrate(
  server: MigrationServer,
  target: DdlTarget,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<MigrationResult> {
  const newest = migrations.at(-1)?.version ?? 0;
  await server.command(createDatabase(target));
  await server.command(createMigrationsTable(target));
  const found = await versionOf(server, target);
  if (found > newest)
    return {
      ok: false,
      text: `database ${target.database} is of schema version ${found}, this program knows up to ${newest}: use a newer program or another database`,
    };
  for (const migration of migrations) {
    if (migration.version <= found) continue;
    if (migration.version === 1) for (const sql of await unfinished(server, target)) await server.command(sql);
    for (const sql of migration.statements(target)) await server.command(sql);
    // The first step creates the present tables: a table that still lacks a column is not ours, and no later step fits
    // it.
    const foreign = migration.version === 1 ? await lackOf(server, target) : null;
    if (foreign !== null) return foreign;
    await server.command(recordOf(target, migration));
  }
  return (await lackOf(server, target)) ?? { ok: true, from: found, to: newest };
}

/**
 * Returns the statements for columns of later versions that the tables lack; none for a table that lacks anything else,
 * which is not ours.
 */
async function unfinished(server: MigrationServer, target: DdlTarget): Promise<string[]> {
  const present = await presentColumns(server, target);
  const tables = new Set([...present].map((column) => column.slice(0, column.indexOf("."))));
  return [...RECORD_TABLES, ...DERIVED_TABLES].flatMap((table) => {
    const added = [...(ADDED_BY_2[table.name] ?? []), ...(ADDED_BY_3[table.name] ?? [])];
    return physicalTables(target, table.name).flatMap((name, at) => {
      const lacking = tables.has(name) ? table.columns.filter((column) => !present.has(`${name}.${column.name}`)) : [];
      if (!lacking.every((column) => added.includes(column.name))) return [];
      return lacking.map((column) => addColumn(target, table.name, column)[at] as string);
    });
  });
}

async function lackOf(server: MigrationServer, target: DdlTarget): Promise<MigrationResult | null> {
  const missing = await missingColumns(server, target);
  if (missing.length === 0) return null;
  return { ok: false, text: `database ${target.database} lacks what the schema has: ${missing.join(", ")}` };
}

async function versionOf(server: MigrationServer, target: DdlTarget): Promise<number> {
  const rows = await server.rows(`SELECT max(version) AS version FROM ${target.database}.${MIGRATIONS_TABLE}`);
  return Number(rows[0]?.version ?? 0);
}

function recordOf(target: DdlTarget, migration: Migration): string {
  const name = migration.name.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  return `INSERT INTO ${target.database}.${MIGRATIONS_TABLE} (version, name) SELECT ${migration.version}, '${name}'`;
}

const SHOWN_MAX = 5;

/** A table that another program created, or a schema changed without a step: better found now than by a lost batch. */
async function missingColumns(server: MigrationServer, target: DdlTarget): Promise<string[]> {
  const present = await presentColumns(server, target);
  const wanted = [...RECORD_TABLES, ...DERIVED_TABLES].flatMap((table) =>
    table.columns.map((column) => `${table.name}.${column.name}`),
  );
  return wanted.filter((column) => !present.has(column)).slice(0, SHOWN_MAX);
}

/** `table.column` for the whole database. */
async function presentColumns(server: MigrationServer, target: DdlTarget): Promise<ReadonlySet<string>> {
  const rows = await server.rows(`SELECT table, name FROM system.columns WHERE database = '${target.database}'`);
  return new Set(rows.map((row) => `${String(row.table)}.${String(row.name)}`));
}
