/**
 * Prices of fills that a venue did not say with their order's end. A venue that shows an order apart from its fills may
 * answer for the one while the reply of the other is lost; the order has ended all the same. The end is used at once,
 * the price is read again beside it (Resolver.priceOf).
 *
 * Invariant: a price is only ever added: an order's end, and what filled of it, do not change here.
 */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import { within } from "../../domain/deadline.js";
import type { AccountSession } from "../../ports.js";
import type { LookUp, Resolver, UnknownOrder } from "./resolver.js";
import { applyResolution } from "./outcome.js";
import { isPriced, type OrderAttempt } from "../run.js";

/** A reply waits this long for a price, and no longer than its caller does. */
const REPLY_WAIT_MS = 1_500;

interface OutcomeParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

interface PriceParts extends OutcomeParts {
  readonly resolver: Resolver;
}

/** The price of an order whose end is known; null means that its venue never gave it. */
interface AwaitedPrice {
  readonly attempt: OrderAttempt;
  readonly price: Promise<VenueOrder | null>;
}

/** What was found to have ended without its price is read for it, with a session of its own where one opens. */
export function readPriceLater(
  resolver: Resolver,
  order: UnknownOrder,
  end: LookUp,
  open: () => AccountSession | null,
): void {
  if (end.kind !== "found" || isPriced(end.order)) return;
  const session = open();
  if (session !== null && !resolver.readPrice(order, session, end)) session.close();
}

/** Waits for the prices that are being read. Returns what outlasts the wait, to be followed beside the reply. */
export async function waitForPrices(
  parts: PriceParts,
  attempts: readonly OrderAttempt[],
  leftMs: number,
): Promise<readonly AwaitedPrice[]> {
  const awaited = attempts.flatMap((attempt) => {
    const price = parts.resolver.priceOf(attempt.clientIdHex);
    return price === null ? [] : [{ attempt, price }];
  });
  if (awaited.length === 0) return awaited;
  const waitMs = Math.min(REPLY_WAIT_MS, Math.max(0, leftMs));
  const found = await Promise.all(
    awaited.map(async (one) => {
      const read = await within(parts.clock, one.price, waitMs);
      if (read.done) applyPrice(parts, one.attempt, read.value);
      return read.done;
    }),
  );
  return awaited.filter((_, index) => found[index] === false);
}

/** The price that was found, written into its attempt; false: there is none, or it is known already. */
export function applyPrice(parts: OutcomeParts, attempt: OrderAttempt, found: VenueOrder | null): boolean {
  const { order } = attempt;
  if (found === null || attempt.outcome !== "CONFIRMED" || (order?.averagePrice ?? null) !== null) return false;
  if (order === null || found.filledLots > order.filledLots)
    return applyResolution(parts, attempt, { kind: "found", order: found });
  // It shows less than is known by now; or as much, and then the known end counts.
  if (found.filledLots < order.filledLots) return false;
  const { averagePrice, fee } = found;
  return applyResolution(parts, attempt, { kind: "found", order: { ...order, averagePrice, fee: fee ?? order.fee } });
}
