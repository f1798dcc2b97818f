/** Sizes and times of the recorder. The names say what is bounded; each is explained where it is used. */
export interface RecorderSettings {
  readonly tickRows: number;
  readonly tradeRows: number;
  readonly snapshotRows: number;
  /** Levels per side of a snapshot. */
  readonly snapshotDepth: number;
  /** Each market has one snapshot in this time. */
  readonly snapshotMs: number;
  readonly drainMs: number;
  /** A few market rows wait this long for others: the store's work is per batch, not per row. */
  readonly quietMs: number;
  /** With this many market rows, a batch is closed at the next drain. */
  readonly busyRows: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  /** Trade ids remembered per market. */
  readonly seenTrades: number;
  readonly latencyMs: number;
  /** Maximum size of the embedded store; null for a server of the operator's. */
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
