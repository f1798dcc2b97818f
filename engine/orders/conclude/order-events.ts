/**
 * The states of a close's orders as events, each reported once. What was reported is kept on the attempt and is stored
 * with the run, in the same batch as the events: after a crash the two agree.
 */
import type { OrderStatus } from "../../domain/order.js";
import { sendRows } from "../durable/rows-on-the-way.js";
import { isPriced, isSettled, mayRest, type OrderAttempt, type AttemptRecord, type TradeRun } from "../run.js";
import { markRecorded, recordReportedEnd } from "../run-writes.js";

export interface OrderEvent {
  readonly attempt: OrderAttempt;
  /** 1 INTENT, 2 SENT, then one more for each state the order was seen in. */
  readonly ver: number;
  readonly status: OrderStatus | "INTENT" | "SENT" | "NOT_SENT";
  readonly atMs: number;
  /** The order has ended (or rests) with more filled than its fill row says, or with a price that the row lacks. */
  readonly filled: boolean;
  /** Present: its fill was reported before, of less or without its price. */
  readonly isFilledAgain?: true;
}

const INTENT_VER = 1;
const SENT_VER = 2;
const NOTHING_RECORDED: AttemptRecord = { ver: 0, state: "", filled: false };
/** Of one order; from then on its end alone is reported. */
const MAX_VER = 4_000;

/** Their rows are on the way to the store until `end` is called. */
export interface TakenEvents {
  readonly events: readonly OrderEvent[];
  /** `isDurable` false: they are reported again next time. */
  end(isDurable: boolean): void;
}

/** What of a run says that something was reported. */
type MarkedRun = Pick<TradeRun, "attempts" | "toldEnd">;

/** Returns what is new since the last call and marks it as reported. */
export function takeOrderEvents(run: MarkedRun, nowMs: number): TakenEvents {
  const { attempts, toldEnd } = run;
  const events: OrderEvent[] = [];
  const before = attempts.map((attempt) => ({ attempt, recorded: attempt.recorded ?? NOTHING_RECORDED }));
  for (const attempt of attempts) takeAttempt(attempt, nowMs, events);
  const arrive = sendRows(attempts);
  return {
    events,
    end(isDurable) {
      if (!isDurable) {
        for (const { attempt, recorded } of before) markRecorded(attempt, recorded);
        recordReportedEnd(run, toldEnd);
      }
      arrive();
    },
  };
}

function takeAttempt(attempt: OrderAttempt, nowMs: number, events: OrderEvent[]): void {
  const recorded = attempt.recorded ?? NOTHING_RECORDED;
  let { ver } = recorded;
  if (ver < INTENT_VER) {
    ver = INTENT_VER;
    events.push({ attempt, ver, status: "INTENT", atMs: attempt.intentAtMs, filled: false });
  }
  if (ver < SENT_VER && attempt.sentAtMs !== null) {
    ver = SENT_VER;
    events.push({ attempt, ver, status: "SENT", atMs: attempt.sentAtMs, filled: false });
  }
  const status = statusOf(attempt);
  const state = `${status} ${attempt.order?.filledLots ?? 0}`;
  const recordedLots = recordedFilledLots(recorded);
  const filledLots = hasFinalFill(attempt) ? (attempt.order?.filledLots ?? 0) : 0;
  const isUnpriced = attempt.order !== null && !isPriced(attempt.order);
  const isPricedNow = filledLots > 0 && recorded.unpriced === true && !isUnpriced;
  const filled = filledLots > recordedLots || isPricedNow;
  if (ver >= MAX_VER && status === "PARTIALLY_FILLED") return;
  if (state !== recorded.state || filled) {
    // What an order that rests does later is not of the time at which it was acknowledged.
    const isLater = hasRested(recorded.state);
    ver = Math.max(ver, SENT_VER) + 1;
    const atMs = status === "UNKNOWN" || isLater ? nowMs : (attempt.ackAtMs ?? nowMs);
    events.push({ attempt, ver, status, atMs, filled, ...(filled && recorded.filled ? { isFilledAgain: true } : {}) });
  }
  const lots = Math.max(recordedLots, filledLots);
  // All versions of a fill row have one name: under a second one it would count twice.
  const fillId = recorded.fillId ?? (filled ? fillIdOf(attempt) : undefined);
  markRecorded(attempt, {
    ver,
    state,
    filled: recorded.filled || filled,
    ...(lots === 0 ? {} : { filledLots: lots }),
    ...(fillId === undefined ? {} : { fillId }),
    ...(isUnpriced && (recorded.filled || filled) ? { unpriced: true } : {}),
  });
}

/** What names the first fill row of an order: the first of its ids that filled. */
export function fillIdOf({ order, parts, venueClientOrderId }: OrderAttempt): string {
  const first = parts?.find(({ filledLots }) => filledLots > 0)?.venueOrderId;
  return first ?? (order === null || order.venueOrderId === "" ? venueClientOrderId : order.venueOrderId);
}

/** Earlier versions kept no lots: the state of then implies how much was reported. */
function recordedFilledLots({ filled, filledLots, state }: AttemptRecord): number {
  return filledLots ?? (filled ? Number(state.split(" ")[1] ?? 0) : 0);
}

function hasRested(state: string): boolean {
  return state.startsWith("OPEN ") || state.startsWith("PARTIALLY_FILLED ");
}

function statusOf(attempt: OrderAttempt): OrderEvent["status"] {
  switch (attempt.outcome) {
    case "CONFIRMED":
      return attempt.order?.status ?? "UNKNOWN";
    case "NOT_SENT":
    case "REJECTED":
      return attempt.outcome;
    default:
      return "UNKNOWN";
  }
}

function hasFinalFill(attempt: OrderAttempt): boolean {
  const { order } = attempt;
  return (
    attempt.outcome === "CONFIRMED" && order !== null && order.filledLots > 0 && isSettled(order, mayRest(attempt))
  );
}
