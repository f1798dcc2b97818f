/**
 * A record sink that keeps what it is given as JSON rows in the state store, each under a key of its own: a row given
 * twice is there twice. And the judge of such rows, by the venues' logs.
 */
import type { StateStore, StateWrite } from "../../storage/state-store.js";
import type { DecisionEvent } from "../conclude/decision-event.js";
import type { TradeRun } from "../run.js";
import type { OrderEvent } from "../conclude/order-events.js";
import type { RecordSink } from "../conclude/record-sink.js";
import type { FakeVenue } from "./fake-venue.js";

/** Where they are kept. */
export const ROWS = "test-rows";

export type RecordedRow =
  | { readonly table: "decision"; readonly kind: string; readonly routeId: string; readonly state: string | null }
  | {
      readonly table: "event";
      readonly routeId: string;
      readonly order: string;
      readonly ver: number;
      readonly status: string;
    }
  | {
      readonly table: "fill";
      readonly routeId: string;
      readonly order: string;
      /** Names the row, of whatever version. */
      readonly id: string;
      readonly lots: number;
      readonly price: string | null;
    };

export interface RowSink extends RecordSink {
  readonly notes: DecisionEvent[];
  committedCount: number;
}

export function createRowSink(): RowSink {
  let next = 0;
  const write = (row: RecordedRow): StateWrite => ({
    namespace: ROWS,
    key: String(next++).padStart(8, "0"),
    value: Buffer.from(JSON.stringify(row)),
  });
  const eventWrites = (run: TradeRun, events: readonly OrderEvent[]): StateWrite[] =>
    events.flatMap(({ attempt, ver, status, filled }) => {
      const { routeId } = run;
      const order = attempt.clientIdHex;
      const rows = [write({ table: "event", routeId, order, ver, status })];
      const { filledLots: lots = 0, averagePrice: price = null } = attempt.order ?? {};
      if (filled) rows.push(write({ table: "fill", routeId, order, id: attempt.recorded?.fillId ?? "", lots, price }));
      return rows;
    });
  const sink: RowSink = {
    notes: [],
    committedCount: 0,
    decisionWrites({ kind, routing, data, run, events }) {
      const state = data?.execution.state ?? null;
      const decision = write({ table: "decision", kind, routeId: routing.routeId, state });
      return run === null ? [decision] : [decision, ...eventWrites(run, events)];
    },
    eventWrites,
    committed(writes) {
      sink.committedCount += writes.filter(({ namespace }) => namespace === ROWS).length;
    },
    note: (event) => void sink.notes.push(event),
  };
  return sink;
}

export async function recordedRows(store: StateStore): Promise<RecordedRow[]> {
  const rows: RecordedRow[] = [];
  for (let after = ""; ; ) {
    const page = await store.scan(ROWS, { prefix: "", limit: 1000, ...(after === "" ? {} : { after }) });
    rows.push(...page.map(({ value }) => JSON.parse(Buffer.from(value).toString("utf8")) as RecordedRow));
    after = page.at(-1)?.key ?? "";
    if (page.length < 1000) return rows;
  }
}

/** One text per fault; empty when every order is reported once, or will be. */
export async function rowFaults(store: StateStore, venues: readonly FakeVenue[]): Promise<string[]> {
  const rows = await recordedRows(store);
  const open = new Set<string>();
  for (const { key } of await store.scan("intent-open", { prefix: "", limit: 1000 })) open.add(key.split("|")[1] ?? "");
  const faults: string[] = [];
  const counts = new Map<string, number>();
  for (const row of rows) {
    // A client id that never left may be used again by the next close with its key.
    const name =
      row.table === "decision"
        ? `${row.kind === "replied" ? "replied" : `${row.kind} ${row.state}`} ${row.routeId}`
        : row.table === "fill"
          ? // An order that rests fills more than once: a row for each growth.
            `fill ${row.order} ${row.lots}`
          : `event ${row.routeId} ${row.order} ${row.ver}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [name, count] of counts)
    if (count > 1 && !name.startsWith("refused")) faults.push(`recorded ${count} times: ${name}`);
  const decided = new Set(rows.flatMap((row) => (row.table === "decision" ? [row.routeId] : [])));
  for (const { command, filledLots } of venues.flatMap((venue) => venue.log)) {
    const fill = rows.findLast((row) => row.table === "fill" && row.order === command.clientIdHex);
    if (fill !== undefined && open.has(command.clientIdHex)) faults.push(`recorded and open: ${command.clientIdHex}`);
    if (fill !== undefined && fill.table === "fill") {
      if (fill.lots !== filledLots) faults.push(`${fill.lots} lots recorded of ${filledLots}: ${command.clientIdHex}`);
      if (!decided.has(fill.routeId)) faults.push(`a fill without its decision: ${fill.routeId}`);
    }
    if (fill === undefined && filledLots > 0 && !open.has(command.clientIdHex))
      faults.push(`lost: ${command.clientIdHex}`);
  }
  return faults;
}
