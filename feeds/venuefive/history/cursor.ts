/** How far the index has come, as one row of the store: it changes in the commit that writes the events up to it. */
import { decodeJson, encodeJson } from "../../../engine/storage/state-store.js";

export interface Checkpoint {
  readonly block: number;
  readonly hash: string;
}

export interface IndexCursor {
  /** The first block of the index, and its time. */
  readonly since: { readonly block: number; readonly timeMs: number };
  /** The last block whose events are in it; below `since` there are none yet. */
  readonly block: number;
  /** Blocks that it passed, oldest first; the last is `block`'s own, where its hash is known. */
  readonly checkpoints: readonly Checkpoint[];
  readonly eventCount: number;
  readonly retractedCount: number;
  /** What is below was read before a reorganisation that went deeper than the checkpoints. Null: there was none. */
  readonly unsureBelow: number | null;
}

/** So many blocks of the chain that is followed are compared with what an endpoint shows. */
const CHECKPOINTS_MAX = 64;

export function hashAt(cursor: IndexCursor): string | null {
  const last = cursor.checkpoints.at(-1);
  return last?.block === cursor.block ? last.hash : null;
}

export function firstCursor(since: IndexCursor["since"], parentHash: string): IndexCursor {
  const block = since.block - 1;
  const checkpoints = block < 0 ? [] : [{ block, hash: parentHash }];
  return { ...{ since, block, checkpoints }, ...{ eventCount: 0, retractedCount: 0, unsureBelow: null } };
}

/** `parent`: of what was read; counts where no block is known to compare with. */
export function movedTo(
  cursor: IndexCursor,
  to: Checkpoint,
  eventCount: number,
  parent: Checkpoint | null = null,
): IndexCursor {
  const before = cursor.checkpoints.length === 0 && parent !== null ? [parent] : cursor.checkpoints;
  const checkpoints = [...before, to].slice(-CHECKPOINTS_MAX);
  return { ...cursor, block: to.block, checkpoints, eventCount: cursor.eventCount + eventCount };
}

/** `to` null: none of the checkpoints is of the chain any more, and all from the oldest on is read again. */
export function takenBack(cursor: IndexCursor, to: Checkpoint | null, removedCount: number): IndexCursor {
  const block = to?.block ?? oldestKept(cursor) - 1;
  return {
    ...cursor,
    block,
    checkpoints: to === null ? [] : cursor.checkpoints.filter((checkpoint) => checkpoint.block <= block),
    eventCount: cursor.eventCount - removedCount,
    retractedCount: cursor.retractedCount + removedCount,
    unsureBelow: to === null && block >= cursor.since.block ? block + 1 : cursor.unsureBelow,
  };
}

/** Never below the block before the first. */
function oldestKept({ checkpoints, block, since }: IndexCursor): number {
  return Math.max(since.block, checkpoints[0]?.block ?? block + 1);
}

export function encodeCursor(cursor: IndexCursor): Uint8Array {
  return encodeJson(cursor);
}

/** Of a row that this program wrote. */
export function decodeCursor(bytes: Uint8Array): IndexCursor {
  return decodeJson(bytes) as IndexCursor;
}
