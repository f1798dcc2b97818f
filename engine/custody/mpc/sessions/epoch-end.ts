/** How a key generation or a refresh ends at either party once its epoch is prepared (docs/mpc.md, 5.3, 9). */
import { droppedRow, type StateRow } from "../state/state-row.js";
import { NO_SID } from "../wire/header.js";
import { encodeAbort } from "../wire/link-bodies.js";
import { commitOf, type Effect, type SessionEnd } from "./effects.js";
import type { NewEpoch } from "./epoch-exchange.js";
import type { SessionCore } from "./session-core.js";

/** What an end makes durable and sends, and the row in memory after it. */
export interface EpochEnd {
  readonly effects: readonly Effect[];
  /** Null: the wallet was never active, and is gone. */
  readonly row: StateRow | null;
}

/** `isKept`: the epoch may be the wallet's by now, so nothing of it is removed whatever the end. */
export function endPrepared<State extends string>(
  core: SessionCore<State>,
  { epoch, flow }: NewEpoch,
  row: StateRow,
  end: SessionEnd,
  isKept: boolean,
): EpochEnd {
  if (end.kind !== "failed" || isKept) return { effects: [], row };
  const dropped = droppedRow(row);
  const isCheat = end.failure.kind === "cheat";
  if (isCheat && flow === "rf") return { effects: [{ kind: "freeze", row, dropsPrepared: true }], row: dropped };
  // There is no wallet to freeze yet, so the peer gets the message that any other end has.
  const abort = isCheat ? [core.send("abort", NO_SID, encodeAbort({ class: "violation" }), null)] : [];
  return { effects: [commitOf(dropped, { erase: [epoch] }), ...abort], row: dropped };
}
