/** A batch of rows on its way into the store, and the source of its token. */
import type { RecordTableName } from "../storage/records/record-table.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import type { RecordsBatch } from "../storage/records/records-store.js";

/** Bytes and token never change once the batch exists. */
export interface Batch extends RecordsBatch {
  readonly table: RecordTableName;
  readonly columns: readonly string[];
}

/** Never returns a token twice, over all nodes and starts: node, 128 random bits of this start, a counter. */
export type TokenSource = () => string;

export function createTokenSource(nodeId: string, ids: RandomIds): TokenSource {
  const prefix = `${nodeId.replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 40)}.${ids.randomHex128()}`;
  let counter = 0;
  return () => {
    counter += 1;
    // Fixed width, so that tokens of one start sort in order of creation.
    return `${prefix}.${String(counter).padStart(12, "0")}`;
  };
}
