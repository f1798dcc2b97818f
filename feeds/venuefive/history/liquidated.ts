/** Which of positions that are gone the venue itself closed: the state of the chain does not say it, its events do. */
import type { ChainRead, GonePositions, PositionSlot } from "../../../engine/client-signed-room.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { ChainTail } from "./chain-tail.js";
import type { EventBook } from "./event-book.js";
import type { EventReader } from "./event-reader.js";
import { type ClosingEvent, isClosing } from "./event.js";
import { tailFailure } from "./order-lookup.js";
import { notYet } from "./pages.js";
import { placeOf } from "./row-keys.js";

interface LiquidatedParts {
  readonly book: Pick<EventBook, "cursor">;
  readonly reader: Pick<EventReader, "closings">;
  readonly tail: Pick<ChainTail, "read">;
  readonly seenAtMs: () => number;
}

/** Of the index: who is asked for has just been seen for the last time. */
const CLOSINGS_MAX = 50;

export async function liquidatedAmong(
  { book, reader, tail, seenAtMs }: LiquidatedParts,
  address: string,
  { gone, block }: GonePositions,
  options: CallOptions,
): Promise<ChainRead<readonly PositionSlot[]>> {
  const trader = address.toLowerCase();
  const at = book.cursor;
  if (at === null) return notYet();
  const kept = await reader.closings(trader, null, CLOSINGS_MAX);
  const events = kept.map(({ event }) => event).filter(isClosing);
  if (block > at.block) {
    const later = await tail.read(at.block + 1, options, block);
    if (later.kind !== "value") return tailFailure(later);
    events.push(...later.value.events.filter(isClosing).filter((event) => event.trader === trader));
  }
  const value = gone.filter((slot) => isTaken(lastOf(events, slot)));
  return { ok: true, value, asOfMs: seenAtMs(), block: Math.max(block, at.block) };
}

/** How it ended: the index may still have an end of it that the chain undid. */
function lastOf(events: readonly ClosingEvent[], slot: PositionSlot): ClosingEvent | null {
  const own = events.filter((event) => isOf(event, slot));
  return own.sort((left, right) => (placeOf(left) < placeOf(right) ? -1 : 1)).at(-1) ?? null;
}

function isTaken(event: ClosingEvent | null): boolean {
  return event?.kind === "triggered" && event.trigger === "LIQ";
}

/** A slot is used again after a close: the second of the opening says which of its positions it was. */
function isOf({ pairIndex: pair, trade }: ClosingEvent, { pairIndex, index, openedAtMs }: PositionSlot): boolean {
  return pair === pairIndex && trade.index === index && trade.openedAt === Math.floor(openedAtMs / 1_000);
}
