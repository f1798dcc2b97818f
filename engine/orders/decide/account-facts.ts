/** What was read of an account, written into the router's candidate of its venue. */
import { isSameScale } from "../../domain/instrument.js";
import type { Market } from "../../market/market.js";
import { type Candidate, ONE_MILLI_BPS } from "../../routing/route-types.js";
import type { OpenTerms, TradeRequest } from "../types.js";
import { heldPosition, isHedged, openLots, type AccountReading } from "./readings.js";

/**
 * What the venue's limit, and the account's own budget, leave to one more order, and to the settings that an entry changes before it; entries
 * never draw on what is kept for exits.
 */
export function orderWaitMs({ account, settings }: AccountReading, open: OpenTerms | null): number {
  const { room, session } = account;
  const ofAccount = room.orderWaitMs?.(session, open === null ? "exit" : "trade") ?? 0;
  const waitMs = Math.max(ofAccount, room.routingHealth?.limitedForMs ?? 0);
  if (open === null) return waitMs;
  const { leverage, marginMode } = open;
  const changes =
    (leverage !== null && leverage !== (settings?.leverage ?? null)) ||
    (marginMode !== null && marginMode !== (settings?.marginMode ?? null));
  return changes ? Math.max(waitMs, room.settings?.waitMs?.(session, "trade") ?? 0) : waitMs;
}

/** What was read of the account at the venue: its budget, its positions, its fees. */
export function addReading(
  candidate: Candidate,
  market: Market | null,
  request: TradeRequest,
  reading: AccountReading,
): void {
  if (orderWaitMs(reading, request.open) > 0) candidate.budgetAvailable = false;
  // Listed on another scale since it was read: those lots are not these.
  const isCurrent = market === null || isSameScale(reading.instrument, market.instrument);
  const positions = isCurrent ? reading.positions : null;
  candidate.positionKnown = positions !== null;
  candidate.longLots = openLots(positions ?? [], "LONG");
  candidate.shortLots = openLots(positions ?? [], "SHORT");
  if (reading.fees !== null) {
    candidate.takerFeeMilliBps = reading.fees.takerFeeMilliBps;
    candidate.makerFeeMilliBps = reading.fees.makerFeeMilliBps;
    candidate.feeSource = "account";
  }
  if (request.open !== null) addEntryFacts(candidate, request, request.open, reading);
}

/** What an entry's eligibility and score need beside. */
function addEntryFacts(candidate: Candidate, request: TradeRequest, terms: OpenTerms, reading: AccountReading): void {
  const { instrument, settings } = reading;
  const opposite = request.direction === "LONG" ? candidate.shortLots : candidate.longLots;
  const nets = opposite > 0 && !isHedged(reading);
  candidate.netsOpposite = nets && !terms.allowNetting;
  const canSet = reading.account.room.settings !== undefined;
  const maxLeverage = Math.min(instrument.maxLeverage, reading.maxLeverage ?? instrument.maxLeverage);
  candidate.leverageUnsupported =
    (terms.leverage !== null && (!canSet || terms.leverage > maxLeverage)) || (terms.marginMode !== null && !canSet);
  const held = heldPosition(reading.positions ?? [], request.direction);
  const leverage = terms.leverage ?? settings?.leverage ?? held?.leverage ?? instrument.maxLeverage;
  const free = reading.free === null ? Number.NaN : Number(reading.free);
  // What nets needs no margin of its own; the venue judges it.
  if (!nets && Number.isFinite(free)) candidate.buyingPower = Math.max(0, free) * leverage;
  const ticker = candidate.market?.ticker;
  if (terms.expectedHoldHours === null || ticker === undefined || !(ticker.fundingIntervalHours > 0)) return;
  const rate = Number(ticker.fundingRate) / ticker.fundingIntervalHours;
  const milliBps = Math.round(rate * terms.expectedHoldHours * ONE_MILLI_BPS);
  if (Number.isSafeInteger(milliBps)) candidate.fundingMilliBps = milliBps;
}
