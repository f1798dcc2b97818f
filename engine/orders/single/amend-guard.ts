/** What an amend is held to: the limits of an order of its new size, and its growth against the usage of the day. */
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import type { Clock } from "../../domain/clock.js";
import { within } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { OrderChange, VenueOrder } from "../../domain/order.js";
import { grownOrder, type GuardedOrder, type GuardReservation } from "../../guards/guards.js";
import { liveDoubleMid } from "../../routing/market-price.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import { storeUnavailable, type StateStore } from "../../storage/state-store.js";
import type { Background } from "../background.js";
import { countedAccount, type CountedAccountParts } from "../decide/account-behind.js";
import { STORE_TIMEOUT_MS } from "../limits.js";
import type { OpenedAccount } from "./open-account.js";
import { refusal } from "./order-check.js";
import type { OrderRefusal, OrderRequestContext } from "./order-desk.js";
import { MAX_QUOTE_AGE_MS } from "./single-context.js";

export interface AmendGuardParts extends CountedAccountParts {
  readonly background: Background;
  readonly clock: Clock;
  readonly randomIds: RandomIds;
  readonly store: StateStore;
}

/** The order as it is, before the change. */
interface ChangedOrder {
  readonly current: VenueOrder;
  readonly instrument: Instrument;
}

/**
 * An amended order is held to the limits as a new one of its new size; what it grows by counts for the day, durably
 * before the change leaves. Returns the reservation, or the refusal.
 */
export async function guardChange(
  parts: AmendGuardParts,
  { room, session, accountHash }: OpenedAccount,
  { ownerId }: OrderRequestContext,
  timeoutMs: number,
  { current, instrument }: ChangedOrder,
  change: OrderChange,
): Promise<{ readonly ok: true; readonly reservation: GuardReservation } | OrderRefusal> {
  const counted = await countedAccount(parts, room, session, {
    opens: !current.reduceOnly,
    ownerId,
    own: accountHash,
    timeoutMs,
  });
  if (!counted.ok) return refusal(counted.error.code, counted.error.context);
  const market = room.markets.get(instrument.symbol);
  const doubleMid = market === undefined ? 0 : liveDoubleMid(market, MAX_QUOTE_AGE_MS, parts.clock.monoNs());
  const whole: GuardedOrder = {
    clientIdHex: parts.randomIds.randomHex128(),
    atMs: parts.clock.wallMs(),
    ownerId,
    accountHash: counted.accountHash,
    venue: instrument.venue,
    symbol: instrument.symbol,
    opens: !current.reduceOnly,
    qtyLots: change.qtyLots,
    qtyDecimals: canonicalQtyDecimals(instrument),
    priceDecimals: canonicalPriceDecimals(instrument),
    priceTicks: change.priceTicks,
    doubleMidTicks: typeof doubleMid === "number" ? doubleMid : 0,
  };
  const allowed = parts.guards.checkOrder(whole);
  if (!allowed.ok) return refusal(allowed.code, allowed.details);
  const grownLots = change.qtyLots - current.qtyLots;
  if (grownLots <= 0) return { ok: true, reservation: allowed.reservation };
  const { venueClientOrderId } = current;
  // Of an order that is not ours nobody sees the end.
  const grows = venueClientOrderId === null ? {} : { grows: grownOrder(instrument.venue, venueClientOrderId) };
  return reserveGrowth(parts, { ...whole, ...grows, qtyLots: grownLots });
}

/** Durable when it returns. */
async function reserveGrowth(
  parts: Pick<AmendGuardParts, "background" | "clock" | "guards" | "store">,
  growth: GuardedOrder,
): Promise<{ readonly ok: true; readonly reservation: GuardReservation } | OrderRefusal> {
  const verdict = parts.guards.check(growth);
  if (!verdict.ok) return refusal(verdict.code, verdict.details);
  const { reservation } = verdict;
  if (reservation.writes.length === 0) return { ok: true, reservation };
  try {
    const committed = await within(parts.clock, parts.store.commit({ writes: reservation.writes }), STORE_TIMEOUT_MS);
    if (!committed.done) throw storeUnavailable("TIMEOUT");
    return { ok: true, reservation };
  } catch (error) {
    releaseReservation(parts, reservation);
    if (!(error instanceof ServiceError)) throw error;
    return refusal(error.code, error.context);
  }
}

export function releaseReservation(
  parts: Pick<AmendGuardParts, "background" | "store">,
  reservation: GuardReservation,
): void {
  const writes = reservation.release();
  if (writes.length > 0) parts.background.run("amend_give_back", parts.store.commit({ writes }));
}
