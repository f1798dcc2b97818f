/**
 * Looks at LIMIT orders that should have traded on arrival by the decision's own walk, where the venue's answer does not
 * say that they did: some venues only acknowledge, some say "resting" and not what filled before.
 *
 * One that shows as much as was marketable, or its end, is settled by one read; one that shows less is read again until a
 * read surely later than the first, because fills can be shown later than their order. A read that is not answered shows
 * nothing, and is repeated. Nothing is sent.
 *
 * Bounds: MAX_LOOKS reads of an order that are answered, and the caller's deadline; UNANSWERED_PAUSE_MS between others.
 */
import { delay } from "../../domain/clock.js";
import type { VenueOrder } from "../../domain/order.js";
import { filledLots, isOpen } from "../attempt-figures.js";
import { within } from "../../domain/deadline.js";
import { readPriceLater } from "./fill-price.js";
import { lookUpOrder, type Resolution } from "./resolver.js";
import { applyResolution } from "./outcome.js";
import type { TradeExecution } from "./execution.js";
import { type LookupParts, unknownOrderOf } from "./unknown-order.js";
import type { OrderAttempt, TradeRun } from "../run.js";

const MAX_LOOKS = 5;
/** Where the room does not know when its venue shows an order. */
const FIRST_LOOK_MS = 60;
/** Longer each time: after 250, 500, 750 ms. */
const NEXT_LOOK_MS = 250;
/** Longest pause after a read that was not answered. */
const UNANSWERED_PAUSE_MS = 1_000;
/** From the first read that shows it on: the venues' reads lag by up to 1.1 s (measured on order look-ups). */
const BELIEVED_AFTER_MS = 1_500;

/** An order that turned out to be of unknown outcome: it is with the resolver. */
interface Unclear {
  readonly attempt: OrderAttempt;
  readonly resolution: Promise<Resolution>;
}

/** All at once. Returns those that the resolver has now. */
export async function lookAtMarketable(
  parts: LookupParts,
  execution: TradeExecution,
  run: TradeRun,
  attempts: readonly OrderAttempt[],
): Promise<Unclear[]> {
  // An ACK is all that caller waits for.
  if (run.waitFor === "ACK") return [];
  const unclear: Unclear[] = [];
  const looks = attempts.filter(mayHaveTraded).map(async (attempt) => {
    const found = await look(parts, execution, run, attempt);
    if (found !== null) unclear.push(found);
  });
  if (looks.length > 0) await Promise.all(looks);
  return unclear;
}

function mayHaveTraded(attempt: OrderAttempt): boolean {
  const { marketableLots = 0, outcome } = attempt;
  return outcome === "CONFIRMED" && isOpen(attempt) && filledLots(attempt) < marketableLots;
}

async function look(
  parts: LookupParts,
  execution: TradeExecution,
  run: TradeRun,
  attempt: OrderAttempt,
): Promise<Unclear | null> {
  const { accounts, deadline } = execution;
  const account = accounts.isTaken(attempt.venue) ? null : accounts.get(attempt.venue);
  const known = unknownOrderOf(parts, run, attempt, parts.rooms.get(attempt.venue));
  if (account === null || known === null) return null;
  // The venue acknowledged it: that it does not show it yet proves nothing.
  const order = { ...known, bound: () => null };
  const ref = { clientIdHex: attempt.clientIdHex };
  let ended: VenueOrder | null = null;
  const followed = account.room.reader.followOrder?.(account.session, order.instrument, ref, (end) => {
    ended = end;
  });
  try {
    let firstSightNs: number | null = null;
    let isAnswered = true;
    let waitMs = followed?.lookAfterMs ?? FIRST_LOOK_MS;
    for (let looks = 0; looks < MAX_LOOKS && mayHaveTraded(attempt); ) {
      const leftMs = deadline.leftMs();
      // While nothing is answered all of the caller's time is used.
      if (leftMs <= (isAnswered ? waitMs : 0)) return null;
      await delay(parts.clock, Math.min(waitMs, leftMs));
      const beganNs = parts.clock.monoNs();
      const read = ended === null ? await readOnce(parts, order, account.session, deadline.leftMs()) : { order: ended };
      isAnswered = read !== null;
      if (isAnswered) looks++;
      waitMs = read === null ? Math.min(waitMs + NEXT_LOOK_MS, UNANSWERED_PAUSE_MS) : looks * NEXT_LOOK_MS;
      const seen = read?.order ?? null;
      // A read that lags behind the answer proves nothing yet.
      if (seen === null || seen.filledLots < filledLots(attempt)) continue;
      firstSightNs ??= beganNs;
      if (seen.status === "UNKNOWN") {
        applyResolution(parts, attempt, { kind: "unknown", reason: "TIMED_OUT", order: seen });
        const session = accounts.take(attempt.venue);
        return session === null ? null : { attempt, resolution: parts.resolver.resolve(order, session) };
      }
      const found = { kind: "found", order: seen } as const;
      applyResolution(parts, attempt, found);
      if (!mayHaveTraded(attempt)) readPriceLater(parts.resolver, order, found, () => accounts.another(attempt.venue));
      if (beganNs - firstSightNs >= BELIEVED_AFTER_MS * 1e6) return null;
    }
    return null;
  } finally {
    followed?.stop();
  }
}

/** Returns null when the venue does not answer in time; an order of null is not shown. */
async function readOnce(
  parts: LookupParts,
  order: Parameters<typeof lookUpOrder>[1],
  session: Parameters<typeof lookUpOrder>[2],
  leftMs: number,
): Promise<{ readonly order: VenueOrder | null } | null> {
  const looked = await within(parts.clock, lookUpOrder(parts, order, session, leftMs), leftMs);
  if (!looked.done || (looked.value.kind === "open" && !looked.value.answered)) return null;
  return { order: looked.value.kind === "notPlaced" ? null : looked.value.order };
}
