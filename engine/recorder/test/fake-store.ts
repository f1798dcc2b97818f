/**
 * A record store in memory with the server's rule for tokens (a repeated token stores nothing), and settings for
 * faults: refusals, outages, inserts that were stored although the reply was lost.
 */
import type {
  InsertOutcome,
  QueryParams,
  QueryResult,
  RecordsBatch,
  RecordsState,
  RecordsStore,
} from "../../storage/records/records-store.js";
import type { RecordTableName } from "../../storage/records/record-table.js";
import { recordTable, writtenColumns } from "../../storage/records/schema.js";

export type InsertFate =
  | "store"
  /** The insert never arrives. */
  | "lose"
  /** Stored, but the reply is lost. */
  | "storeWithoutReply"
  | "refuse"
  | "throw";

export class FakeStore implements RecordsStore {
  /** Rows by table, each batch once. */
  readonly batches = new Map<string, RecordsBatch>();
  readonly sentBytes = new Map<string, string>();
  /** Number of tokens that came again with other bytes: our own fault. */
  tokenClashes = 0;
  insertCount = 0;
  queryCount = 0;
  queryFails = false;
  /** What an earlier run left in the table. */
  knownTrades: { readonly venue: string; readonly symbol: string; readonly trade_id: string }[] = [];
  inFlight = 0;
  maxInFlight = 0;
  status: RecordsState = { state: "on", reason: "", version: "26.7" };
  fate: (batch: RecordsBatch) => InsertFate = () => "store";
  /** Awaited before the outcome is drawn. */
  latency: () => Promise<void> = async () => {};

  async start(): Promise<RecordsState> {
    return this.status;
  }

  async insert(batch: RecordsBatch): Promise<InsertOutcome> {
    this.insertCount += 1;
    this.inFlight += 1;
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight);
    try {
      await this.latency();
      if (this.status.state !== "on") return { outcome: "away", reason: this.status.state };
      const fate = this.fate(batch);
      if (fate === "throw") throw new TypeError("a store that breaks its contract");
      if (fate === "lose") return { outcome: "away", reason: "timeout" };
      if (fate === "refuse") return { outcome: "refused", code: 33, name: "CANNOT_READ_ALL_DATA", text: "" };
      this.#store(batch);
      return fate === "store" ? { outcome: "stored" } : { outcome: "away", reason: "timeout" };
    } finally {
      this.inFlight -= 1;
    }
  }

  rowCount(table: RecordTableName): number {
    let rows = 0;
    for (const batch of this.batches.values()) if (batch.table === table) rows += batch.rowCount;
    return rows;
  }

  /** Size of all its tables on disk. */
  bytesOnDisk = 0;
  sizeQueryCount = 0;

  /** The two queries of the recorder: which of these trades are stored, and how large the store is. */
  async query(sql: string, params: QueryParams): Promise<QueryResult> {
    const isOfSize = sql.includes("bytes_on_disk");
    if (isOfSize) this.sizeQueryCount += 1;
    else this.queryCount += 1;
    await this.latency();
    if (this.status.state !== "on" || this.queryFails) return { ok: false, reason: "away", code: 0, text: "" };
    if (isOfSize) return { ok: true, rows: [{ bytes: String(this.bytesOnDisk) }] };
    const { ids } = params;
    const asked = new Set(Array.isArray(ids) ? (ids as readonly string[]) : []);
    return { ok: true, rows: this.knownTrades.filter(({ trade_id: id }) => asked.has(id)) };
  }

  queryStream = async () => ({ ok: false, reason: "away", code: 0, text: "", bytes: 0 }) as const;
  state = (): RecordsState => this.status;
  close = async (): Promise<void> => {};

  #store(batch: RecordsBatch): void {
    const columns = batch.columns ?? writtenColumns(recordTable(batch.table)).map(({ name }) => name);
    const bytes = `${batch.table} ${columns.join()} ${Buffer.from(batch.bytes).toString("base64")}`;
    const known = this.sentBytes.get(batch.token);
    if (known !== undefined && known !== bytes) this.tokenClashes += 1;
    this.sentBytes.set(batch.token, bytes);
    // A copy: if the buffer is written to afterwards, the next send shows it.
    if (!this.batches.has(batch.token))
      this.batches.set(batch.token, { ...batch, bytes: Uint8Array.from(batch.bytes) });
  }
}
