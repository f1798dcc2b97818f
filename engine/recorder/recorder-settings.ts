/** Sizes and times of the recorder. Rows and bytes bound what their names say; see where each is used. */
export interface RecorderSettings {
  readonly tickRows: number;
  readonly tradeRows: number;
  readonly snapshotRows: number;
  /** Levels per side of a snapshot. */
  readonly snapshotDepth: number;
  /** Each market once in this time. */
  readonly snapshotMs: number;
  readonly drainMs: number;
  /** Market rows that few others join wait so long for them: the store's work is by the batch, not by the row. */
  readonly quietMs: number;
  /** From so many market rows on, a batch is closed at the next drain. */
  readonly busyRows: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  /** Trade ids remembered per market. */
  readonly seenTrades: number;
  readonly latencyMs: number;
  /** Of the embedded store; null: a server of the operator's. */
  readonly storeBytes: number | null;
  readonly spoolBytes: number;
  readonly spoolMemoryBytes: number;
  readonly queueBytes: number;
  readonly backlogRows: number;
  readonly backlogBytes: number;
}

export const DEFAULT_RECORDER_SETTINGS: RecorderSettings = {
  tickRows: 1 << 17,
  tradeRows: 1 << 15,
  snapshotRows: 1 << 10,
  snapshotDepth: 20,
  snapshotMs: 60_000,
  drainMs: 250,
  quietMs: 1_000,
  busyRows: 256,
  batchRows: 8_192,
  batchBytes: 1 << 20,
  seenTrades: 2_048,
  latencyMs: 60_000,
  storeBytes: null,
  spoolBytes: 1 << 30,
  spoolMemoryBytes: 64 << 20,
  queueBytes: 64 << 20,
  backlogRows: 1_000_000,
  backlogBytes: 512 << 20,
};
