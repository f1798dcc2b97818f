/** The parameters of the admin operations, checked: every wrong one is named, nothing is guessed. Pure. */
import { BACKUP_FILE_BYTES_MAX } from "../../engine/custody/provider/backup-file.js";
import { readInventory, type WalletInventory } from "../../engine/custody/provider/restore-plan.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { SCOPES, type Scope } from "../../schemas/operation.js";
import { AUDIT_PAGE_MAX } from "../auth/audit-store.js";
import type { KeyWish } from "../auth/key-admin.js";
import { OVERLAP_MAX_MS } from "../auth/key-wish.js";
import type { BackupEpoch } from "./wallet-admin.js";

export const AUDIT_LIMIT_DEFAULT = 100;
export const OVERLAP_MS_DEFAULT = 86_400_000;

const TEXT_CHARS_MAX = 256;
const IPS_MAX = 64;

type Params = Readonly<Record<string, unknown>>;
interface FieldProblem {
  readonly path: string;
  readonly problem: string;
}

/** Collects the problems of one request; `end` throws all of them at once. */
class Reading {
  readonly #params: Params;
  readonly #problems: FieldProblem[] = [];
  readonly #known = new Set<string>();

  constructor(params: Params) {
    this.#params = params;
  }

  text(name: string): string {
    const value = this.#text(name, TEXT_CHARS_MAX);
    if (value === null) this.problem(name, "is missing");
    return value ?? "";
  }

  textOr<T>(name: string, fallback: T, charsMax = TEXT_CHARS_MAX): string | T {
    return this.#text(name, charsMax) ?? fallback;
  }

  /** Null where it is absent; "" where it is wrong, which is noted. */
  #text(name: string, charsMax: number): string | null {
    const value = this.#take(name);
    if (value === undefined) return null;
    if (typeof value === "string" && value.length > 0 && value.length <= charsMax) return value;
    this.problem(name, `must be a text of 1 to ${charsMax} characters`);
    return "";
  }

  integer(name: string, min: number, max: number, fallback: number): number {
    const value = this.#take(name) ?? fallback;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    this.problem(name, `must be a whole number from ${min} to ${max}`);
    return fallback;
  }

  boolean(name: string): boolean {
    const value = this.#take(name) ?? false;
    if (typeof value === "boolean") return value;
    this.problem(name, "must be true or false");
    return false;
  }

  texts(name: string, max: number): readonly string[] {
    const value = this.#take(name) ?? [];
    if (
      Array.isArray(value) &&
      value.length <= max &&
      value.every((item) => typeof item === "string" && item.length > 0 && item.length <= TEXT_CHARS_MAX)
    )
      return value as readonly string[];
    this.problem(name, `must be a list of at most ${max} texts`);
    return [];
  }

  value(name: string): unknown {
    return this.#take(name);
  }

  problem(path: string, problem: string): void {
    this.#problems.push({ path, problem });
  }

  end(): void {
    for (const name of Object.keys(this.#params))
      if (!this.#known.has(name)) this.problem(name.slice(0, TEXT_CHARS_MAX), "is not known");
    if (this.#problems.length > 0) throw new ServiceError("INVALID_PARAMETERS", { fields: this.#problems });
  }

  #take(name: string): unknown {
    this.#known.add(name);
    return Object.hasOwn(this.#params, name) ? (this.#params[name] ?? undefined) : undefined;
  }
}

/** Throws INVALID_PARAMETERS, as do the others. */
export function readKeyWish(params: Params): KeyWish {
  const reading = new Reading(params);
  const wish = {
    ownerId: reading.textOr("ownerId", null),
    label: reading.textOr("label", ""),
    scopes: readScopes(reading),
    ips: reading.texts("ips", IPS_MAX),
    adoptLocal: reading.boolean("adoptLocal"),
  };
  reading.end();
  return wish;
}

function readScopes(reading: Reading): readonly Scope[] {
  const names = reading.texts("scopes", SCOPES.length);
  const scopes = SCOPES.filter((scope) => names.includes(scope));
  if (names.length === 0 || scopes.length !== names.length)
    reading.problem("scopes", `must name at least one of ${SCOPES.join(", ")}, each once`);
  return scopes;
}

export function readRotation(params: Params): { readonly keyId: string; readonly overlapMs: number } {
  const reading = new Reading(params);
  const rotation = {
    keyId: reading.text("keyId"),
    overlapMs: reading.integer("overlapMs", 0, OVERLAP_MAX_MS, OVERLAP_MS_DEFAULT),
  };
  reading.end();
  return rotation;
}

export function readKeyId(params: Params): string {
  const reading = new Reading(params);
  const keyId = reading.text("keyId");
  reading.end();
  return keyId;
}

const FORCED_MAX = 64;

/** Parts that the operator gives up reading. */
export function readForce(params: Params): readonly string[] {
  const reading = new Reading(params);
  const force = reading.texts("force", FORCED_MAX);
  reading.end();
  return force;
}

export function readPage(params: Params): { readonly limit: number; readonly cursor: string | null } {
  const reading = new Reading(params);
  const page = {
    limit: reading.integer("limit", 1, AUDIT_PAGE_MAX, AUDIT_LIMIT_DEFAULT),
    cursor: reading.textOr("cursor", null),
  };
  reading.end();
  return page;
}

const PATH_CHARS_MAX = 4_096;

/** An absolute path: the service may run in another folder than its client. */
export function readNextKeyFile(params: Params): string | null {
  const reading = new Reading(params);
  const path = reading.textOr("nextKeyFile", null, PATH_CHARS_MAX);
  if (path !== null && path !== "" && !path.startsWith("/")) reading.problem("nextKeyFile", "must be an absolute path");
  reading.end();
  return path;
}

/** Of one wallet: with the inventory of the other side they fit into a line. */
export const BACKUPS_MAX = 256;
const BACKUP_CHARS_MAX = Math.ceil(BACKUP_FILE_BYTES_MAX / 3) * 4;
const BACKUP_EPOCH = /^([1-9]\d{0,9})\.([0-9a-f]{16})$/;

const WALLET_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A UUID, in lower case. */
export function readWalletId(params: Params): string {
  const reading = new Reading(params);
  const walletId = walletIdOf(reading);
  reading.end();
  return walletId;
}

export function readRefresh(params: Params): { readonly walletId: string; readonly afterRestore: boolean } {
  const reading = new Reading(params);
  const refresh = { walletId: walletIdOf(reading), afterRestore: reading.boolean("afterRestore") };
  reading.end();
  return refresh;
}

export interface InventoryWish {
  readonly walletId: string;
  readonly backups: readonly BackupEpoch[];
}

export function readInventoryWish(params: Params): InventoryWish {
  const reading = new Reading(params);
  const wish = { walletId: walletIdOf(reading), backups: backupsOf(reading) };
  reading.end();
  return wish;
}

export function readRestoreWish(params: Params): InventoryWish & { readonly peer: WalletInventory } {
  const reading = new Reading(params);
  const wish = { walletId: walletIdOf(reading), backups: backupsOf(reading) };
  const peer = readInventory(reading.value("peer"));
  if (peer === null) reading.problem("peer", "must be what `unwind wallets inventory` printed at the other side");
  reading.end();
  // `end` throws where there is none.
  return { ...wish, peer: peer as WalletInventory };
}

/** Base64 of a backup. */
export function readRestore(params: Params): { readonly walletId: string; readonly file: Buffer } {
  const reading = new Reading(params);
  const walletId = walletIdOf(reading);
  const text = reading.textOr("backup", "", BACKUP_CHARS_MAX);
  const file = Buffer.from(text, "base64");
  if (file.byteLength === 0 || file.toString("base64") !== text)
    reading.problem("backup", "must be Base64 of a backup file");
  reading.end();
  return { walletId, file };
}

function walletIdOf(reading: Reading): string {
  const walletId = reading.text("walletId").toLowerCase();
  if (walletId !== "" && !WALLET_ID.test(walletId)) reading.problem("walletId", "must be the UUID of a wallet");
  return walletId;
}

/** `<epoch>.<first 16 hex digits of the tag>` each, as in the names of the files. */
function backupsOf(reading: Reading): readonly BackupEpoch[] {
  const texts = reading.texts("backups", BACKUPS_MAX);
  const parts = texts.map((text) => BACKUP_EPOCH.exec(text));
  if (parts.includes(null)) reading.problem("backups", "must be epoch and tag of backups");
  return parts.map((part) => ({ epoch: Number(part?.[1] ?? 0), tag: Buffer.from(part?.[2] ?? "", "hex") }));
}

export function readNothing(params: Params): void {
  new Reading(params).end();
}
