/** Counts of the stream for the metrics; plain numbers, read at each scrape. */
export interface StreamCounts {
  /** At present. */
  connections: number;
  subscriptions: number;
  keys: number;
  lagging: number;
  /** Since the start. */
  framesIn: number;
  framesOut: number;
  /** Characters of frames sent, once per receiver. */
  bytesOut: number;
  laggedTotal: number;
  errorsOut: number;
  /** Connections closed by the service, by code; 0 counts those that ended on the client's side. */
  readonly closedByCode: Map<number, number>;
}

export function createStreamCounts(): StreamCounts {
  return {
    connections: 0,
    subscriptions: 0,
    keys: 0,
    lagging: 0,
    framesIn: 0,
    framesOut: 0,
    bytesOut: 0,
    laggedTotal: 0,
    errorsOut: 0,
    closedByCode: new Map(),
  };
}
