/** One order of ours whose fills the streamed positions do not show yet, and what is known of it. Pure. */
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";

/** Each takes as long as a read that is surely later, and a moment of confusion more. */
const MAX_STEPS_BESIDE = 4;

export interface OwnOrder {
  readonly coin: string;
  readonly isBuy: boolean;
  /** Upper bound of what it filled. */
  boundLots: number;
  /** It has ended: `boundLots` is what it filled. */
  isFinal: boolean;
  readonly rests: boolean;
  /** It rests by its answer: what it fills from here on is any fill of the account. */
  isResting: boolean;
  /** Filled, by its answer or a later look-up. */
  answeredLots: number;
  /** Its state was streamed. */
  isShown: boolean;
  shownLots: number;
  movedLots: number;
  /** Monotonic ms; null while there is no answer. */
  answeredMs: number | null;
  /** It was under way when the account began to be followed: what is held since then may include it. */
  isUntraced: boolean;
  /**
   * It went out beside an untraced one of its contract, or one that did: moves counted for it may be theirs. So many steps
   * from an untraced one; 0: none.
   */
  readonly stepsBeside: number;
}

export function learn(own: OwnOrder, { filledLots, status }: Pick<VenueOrder, "filledLots" | "status">): void {
  // What the stream showed already is newer than any answer.
  if (own.isFinal) return;
  own.isFinal = isEnd(status);
  own.isResting = own.rests && (status === "OPEN" || status === "PARTIALLY_FILLED");
  own.answeredLots = filledLots;
  if (own.isFinal) own.boundLots = filledLots;
}

/** What it filled at least. */
export function sureLots({ answeredLots, shownLots }: OwnOrder): number {
  return Math.max(answeredLots, shownLots);
}

/** What it filled and no move was seen for; negative: moves of others were counted for it. */
export function unmovedOf(own: OwnOrder): number {
  return own.isFinal ? own.boundLots - own.movedLots : Math.max(0, sureLots(own) - own.movedLots);
}

/** Of a hedge it is not known which side an order was for: it may have opened the other. */
export function isCountable({ positionSide, uncounted }: VenuePosition): boolean {
  return uncounted === undefined && positionSide !== "LONG" && positionSide !== "SHORT";
}

/** Returns null when nothing is left. */
export function changedBy(position: VenuePosition, lots: number): VenuePosition | null {
  const qtyLots = position.qtyLots + lots;
  if (lots === 0) return position;
  return qtyLots > 0 ? { ...position, qtyLots, unrealizedPnl: null } : null;
}

export function missingLots({ boundLots, movedLots }: OwnOrder): number {
  return Math.max(0, boundLots - movedLots);
}

/** UNKNOWN is no end. */
export function isEnd(status: VenueOrder["status"]): boolean {
  return status === "FILLED" || status === "CANCELED" || status === "REJECTED";
}

/** What these orders of a contract may have taken of a position of it and the streams have not shown. */
export function maybeTakenLots(ours: readonly OwnOrder[], { direction }: VenuePosition): number {
  let takenLots = 0;
  for (const own of ours) if (own.isBuy !== (direction === "LONG")) takenLots += missingLots(own);
  return takenLots;
}

/** Of an order that goes out beside these. Limited, as a busy account would never be trusted. */
export function stepsBesideOf(orders: Iterable<OwnOrder>, coin: string): number {
  let steps = 0;
  for (const own of orders) {
    if (own.coin !== coin) continue;
    if (own.isUntraced) return 1;
    if (own.stepsBeside > 0) steps = Math.max(steps, own.stepsBeside + 1);
  }
  return steps > MAX_STEPS_BESIDE ? 0 : steps;
}
