/**
 * Closing positions of single venues: one symbol, or everything on one venue or several. Checks what is asked for, reads
 * what is held, and decides on the legs; close-batch.ts carries them out.
 */
import type { Deadline } from "../../domain/deadline.js";
import { formatScaled } from "../../domain/decimal.js";
import { canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import type { CancelAllOutcome } from "../../domain/order.js";
import type { VenuePosition } from "../../domain/position.js";
import { problemOf } from "../background.js";
import {
  CloseBatches,
  type BatchJob,
  type BatchRecords,
  type BatchTerms,
  type CloseParts,
  type DecidedVenue,
} from "./close-batch.js";
import { flat, positionsRefusal, readLive, uncountedLeg, type LegPlan } from "./close-leg.js";
import { cancelScope, isInScope, onlyContract, scopeOn } from "./close-scope.js";
import { callOptions, isInstrument, listedInstrument, roomOf, withAccount } from "./open-account.js";
import { refusedBy } from "./order-change.js";
import { checkBound, checkPrice, checkQuantity, checkSlippage, invalid, refusal } from "./order-check.js";
import type {
  CloseAllAnswer,
  CloseAllRequest,
  CloseAllVenue,
  ClosePositionAnswer,
  ClosePositionRequest,
  OrderAccount,
  OrderRequestContext,
  OrderRefusal,
} from "./order-desk.js";
import type { SinglePlacements } from "./single-place.js";

export class PositionCloses {
  readonly #parts: CloseParts;
  readonly #batches: CloseBatches;

  constructor(parts: CloseParts, placements: SinglePlacements, records: BatchRecords) {
    this.#parts = parts;
    this.#batches = new CloseBatches(parts, placements, records);
  }

  async closePosition(
    request: ClosePositionRequest,
    context: OrderRequestContext,
    deadline: Deadline,
  ): Promise<ClosePositionAnswer> {
    const room = roomOf(this.#parts.rooms, request);
    if (!("orders" in room)) return room;
    const instrument = listedInstrument(room, request.symbol);
    if (!isInstrument(instrument)) return instrument;
    const checked = checkClose(instrument, request);
    if (!checked.ok) return checked;
    const answer = await this.#batches.perform({
      accounts: [request],
      clientOrderId: request.clientOrderId,
      context,
      deadline,
      terms: checked.terms,
      decide: (account) => this.#decideOne(account, instrument, request, checked.qtyLots, context, deadline),
    });
    if (!answer.ok) return answer;
    return { ok: true, legs: answer.venues.flatMap(({ legs }) => legs), replayed: answer.replayed };
  }

  async closeAll(request: CloseAllRequest, context: OrderRequestContext, deadline: Deadline): Promise<CloseAllAnswer> {
    const problem = checkSlippage(request.maxSlippageBps);
    if (problem !== null) return problem;
    const venues = new Set(request.accounts.map(({ venue }) => venue));
    if (venues.size !== request.accounts.length) return invalid("credentials", "names a venue twice");
    const job: BatchJob = {
      accounts: request.accounts,
      clientOrderId: null,
      context,
      deadline,
      terms: { type: "MARKET", price: null, maxSlippageBps: request.maxSlippageBps },
      decide: (account) => this.#decideAll(account, request, context, deadline),
    };
    return request.dryRun ? this.#batches.simulate(job) : this.#batches.perform(job);
  }

  async #decideOne(
    account: OrderAccount,
    instrument: Instrument,
    request: ClosePositionRequest,
    qtyLots: number | null,
    context: OrderRequestContext,
    deadline: Deadline,
  ): Promise<DecidedVenue | OrderRefusal> {
    const { venue } = account;
    return withAccount(this.#parts, account, context, async ({ room, session }) => {
      const read = async (how: "streamed" | "verified"): Promise<DecidedVenue | OrderRefusal> => {
        const live = await readLive(this.#parts, room, session, instrument, deadline, how);
        if (!live.ok) return positionsRefusal(venue, live);
        const decided = decidedLegs(venue, instrument, request, qtyLots, live.value);
        return "ok" in decided && live.source === "stream" && how === "streamed" ? read("verified") : decided;
      };
      // All that is held is the venue's to say; a refusal is, too.
      return read(qtyLots === null ? "verified" : "streamed");
    });
  }

  /** Whatever goes wrong on one venue is that venue's answer. */
  async #decideAll(
    account: OrderAccount,
    request: CloseAllRequest,
    context: OrderRequestContext,
    deadline: Deadline,
  ): Promise<DecidedVenue> {
    const { venue } = account;
    const failed = ({ code, details }: OrderRefusal, cancel: CloseAllVenue["cancel"] = null): DecidedVenue => ({
      batch: { venue, error: { code, details }, cancel, legs: [] },
      read: [],
    });
    try {
      const decided = await withAccount(this.#parts, account, context, async ({ room, session, secrets }) => {
        const scope = scopeOn(room, request.symbols);
        if (!scope.ok) return failed(scope);
        let cancel: CloseAllVenue["cancel"] = null;
        if (request.cancelFirst && !request.dryRun) {
          const outcome = await cancelScope(this.#parts, room, session, scope, callOptions(deadline, "exit"));
          cancel = cancelOf(venue, outcome, secrets);
        }
        const read = await readLive(this.#parts, room, session, onlyContract(scope), deadline, "verified");
        if (!read.ok) return failed(positionsRefusal(venue, read), cancel);
        const held = read.value.filter((position) => isInScope(scope, position));
        const positions = held.filter((position) => position.uncounted === undefined);
        const uncounted = held.filter((position) => position.uncounted !== undefined).map(uncountedLeg);
        const legs = positions.map((position) => legPlan(position, position.qtyLots));
        return {
          batch: { venue, error: null, cancel, legs, ...(uncounted.length === 0 ? {} : { uncounted }) },
          read: positions,
        };
      });
      return "ok" in decided ? failed(decided) : decided;
    } catch (error) {
      this.#parts.logger.error("close_all_failed", { venue, problem: problemOf(error) });
      return failed(refusal("INTERNAL"));
    }
  }
}

/** The legs of a close of what is held of one contract, or why there are none. */
function decidedLegs(
  venue: OrderAccount["venue"],
  instrument: Instrument,
  request: Pick<ClosePositionRequest, "direction">,
  qtyLots: number | null,
  positions: readonly VenuePosition[],
): DecidedVenue | OrderRefusal {
  const held = positions.filter(({ direction }) => request.direction === null || direction === request.direction);
  if (held.length === 0) return flat(positions);
  const byPosition = held.toSorted((left, right) => right.qtyLots - left.qtyLots);
  const [largest] = byPosition;
  if (qtyLots !== null && largest !== undefined) {
    if (held.length > 1) return invalid("direction", "names one of several positions when a quantity is given");
    if (qtyLots > largest.qtyLots) {
      const maxSingleVenueSize = formatScaled(largest.qtyLots, canonicalQtyDecimals(instrument));
      return refusal("SIZE_EXCEEDS_POSITION", { maxSingleVenueSize, maxTotalSize: maxSingleVenueSize });
    }
  }
  const legs = byPosition.map((position) => legPlan(position, qtyLots ?? position.qtyLots));
  return { batch: { venue, error: null, cancel: null, legs }, read: byPosition };
}

function checkClose(
  instrument: Instrument,
  request: ClosePositionRequest,
): { readonly ok: true; readonly terms: BatchTerms; readonly qtyLots: number | null } | OrderRefusal {
  const { type, maxSlippageBps } = request;
  const problem = checkSlippage(maxSlippageBps);
  if (problem !== null) return problem;
  const { price } = request;
  if (price !== null) {
    // Which side is closed is not known yet, and only rounds a bound.
    const checked = type === "LIMIT" ? checkPrice(instrument, "price", price) : checkBound(instrument, "SELL", price);
    if (!checked.ok) return checked;
  } else if (type === "LIMIT") {
    return refusal("MISSING_PARAMETERS", { fields: [{ path: "price", problem: "is required" }] });
  }
  let qtyLots: number | null = null;
  if (request.quantity !== null) {
    const qty = checkQuantity(instrument, "quantity", request.quantity);
    if (!qty.ok) return qty;
    qtyLots = qty.lots;
  }
  return { ok: true, terms: { type, price, maxSlippageBps }, qtyLots };
}

function legPlan(position: VenuePosition, qtyLots: number): LegPlan {
  const { venue, symbol, nativeSymbol, direction, positionSide } = position;
  return { venue, symbol, nativeSymbol, direction, positionSide, positionLots: position.qtyLots, qtyLots };
}

function cancelOf(
  venue: OrderAccount["venue"],
  outcome: CancelAllOutcome,
  secrets: readonly string[],
): CloseAllVenue["cancel"] {
  if (outcome.outcome === "unknown") return { outcome: "UNKNOWN", canceledCount: null, error: null };
  const refused = outcome.outcome === "rejected" ? outcome : (outcome.failed[0] ?? null);
  const canceledCount = outcome.outcome === "accepted" ? outcome.canceledCount : null;
  if (refused === null) return { outcome: "ACCEPTED", canceledCount, error: null };
  const { code, details } = refusedBy("CANCEL_REJECTED", venue, refused, secrets);
  return { outcome: "FAILED", canceledCount, error: { code, details } };
}
