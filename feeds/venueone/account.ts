/**
 * What an account on venueone holds, read live. Every read goes to the account behind the key (account-resolver.ts),
 * never to an agent's own address. A read is whole or a failure: a row that cannot be understood fails it, since a
 * position left out looks like a flat account.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { FeeRates, VenueBalance, VenuePosition } from "../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, Read } from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import { Deadline } from "../shared/deadline.js";
import type { InstrumentIndex } from "../shared/instrument-index.js";
import type { NonceSequencer } from "../shared/nonce-sequencer.js";
import { decodeWith } from "../shared/wire-fields.js";
import {
  filledLotsOfRow,
  normalizeFees,
  normalizeOrder,
  normalizePerpBalance,
  normalizePosition,
  normalizeSpotBalances,
  NOTHING_FILLED,
  statusOfWord,
  summarizeFills,
  type FilledSummary,
} from "./account-normalize.js";
import type { AccountResolver } from "./account-resolver.js";
import type { VenueoneRest } from "./rest.js";
import { VenueoneSession } from "./session.js";
import type { VenueoneWireFill, VenueoneWireOrderUpdate } from "./wire.js";

/** Rows of one userFillsByTime answer; a full one means that there may be more. */
const FILL_PAGE_ROWS = 2_000;
/** Pages read for one order. An order with more fills than this in its time is left to a later look. */
const MAX_FILL_PAGES = 3;
/** Fills carry block times, statuses their own: both sides of an order's life are widened by this. */
const FILL_TIME_SLACK_MS = 2_000;

export interface VenueoneAccountDeps {
  readonly rest: VenueoneRest;
  readonly accounts: AccountResolver;
  readonly instruments: InstrumentIndex;
  readonly nonces: NonceSequencer;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly logger: Logger;
}

export class VenueoneAccount implements AccountReader {
  readonly #deps: VenueoneAccountDeps;

  constructor(deps: VenueoneAccountDeps) {
    this.#deps = deps;
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    // A close reads positions first: its order then finds nonces reserved.
    if (options.lane === "exit" && session instanceof VenueoneSession)
      void this.#deps.nonces.warm(session.signerAddress);
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const state = await this.#deps.rest.clearinghouseState(opened.value.account, opened.value.options);
    if (!state.ok) return state;
    const { time, positions } = state.value;
    const decoded = decodeWith(null, () => {
      const found: VenuePosition[] = [];
      for (const wire of positions) {
        if (instrument !== null && wire.coin !== instrument.nativeSymbol) continue;
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.coin);
        if (listed === null) {
          // Held but not listed (a builder dex, a delisted coin): there is no lot to count it in.
          this.#deps.logger.warn("venueone.position.unlisted", { coin: wire.coin.slice(0, 32) });
          continue;
        }
        const position = normalizePosition(wire, listed, time);
        if (position !== null) found.push(position);
      }
      return found;
    });
    return decoded.ok
      ? { ...state, value: decoded.value }
      : failedRead("BAD_RESPONSE", `clearinghouseState: ${decoded.problem}`);
  }

  async readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    const key = orderKey(ref);
    if (key === null) return failedRead("BAD_RESPONSE", "not an order id of this venue");
    const deadline = new Deadline(this.#deps.clock, options);
    const opened = await this.#open(session, options, deadline);
    if (!opened.ok) return opened;
    const { account } = opened.value;
    const status = await this.#deps.rest.orderStatus(account, key, opened.value.options);
    if (!status.ok || status.value === null) return status.ok ? { ...status, value: null } : status;
    const update = status.value;
    if (update.order.coin !== instrument.nativeSymbol)
      return failedRead("BAD_RESPONSE", "the id belongs to another instrument");
    if (statusOfWord(update.status) === "UNKNOWN")
      this.#deps.logger.error("venueone.order.status", { word: update.status.slice(0, 64) });
    const filled = await this.#filledOf(account, update, instrument, deadline);
    if (!filled.ok) return filled;
    const decoded = decodeWith(update.order, () =>
      normalizeOrder(update.order, update.status, update.statusTimestamp, instrument, filled.value),
    );
    return decoded.ok
      ? { ...status, value: decoded.value }
      : failedRead("BAD_RESPONSE", `orderStatus: ${decoded.problem}`);
  }

  async readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const rows = await this.#deps.rest.frontendOpenOrders(opened.value.account, opened.value.options);
    if (!rows.ok) return rows;
    const decoded = decodeWith(null, () => {
      const found: VenueOrder[] = [];
      for (const wire of rows.value) {
        if (instrument !== null && wire.coin !== instrument.nativeSymbol) continue;
        // Spot and builder-dex orders share the list and are no business of ours.
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.coin);
        if (listed === null) continue;
        // A clamped reduce-only row does not tell its fills; the list says "nothing yet" and readOrder says it exactly.
        const filledLots = filledLotsOfRow(wire, listed) ?? 0;
        found.push(normalizeOrder(wire, "open", wire.timestamp, listed, { ...NOTHING_FILLED, filledLots }));
      }
      return found;
    });
    return decoded.ok
      ? { ...rows, value: decoded.value }
      : failedRead("BAD_RESPONSE", `frontendOpenOrders: ${decoded.problem}`);
  }

  async readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    const deadline = new Deadline(this.#deps.clock, options);
    const opened = await this.#open(session, options, deadline);
    if (!opened.ok) return opened;
    const { account } = opened.value;
    const mode = await this.#deps.rest.userAbstraction(account, opened.value.options);
    if (!mode.ok) return mode;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the balances");
    if (mode.value === "unifiedAccount" || mode.value === "portfolioMargin") {
      const spot = await this.#deps.rest.spotClearinghouseState(account, left);
      if (!spot.ok) return spot;
      const decoded = decodeWith(spot.value, () => normalizeSpotBalances(spot.value));
      return decoded.ok ? { ...spot, value: decoded.value } : failedRead("BAD_RESPONSE", decoded.problem);
    }
    const state = await this.#deps.rest.clearinghouseState(account, left);
    return state.ok ? { ...state, value: [normalizePerpBalance(state.value)] } : state;
  }

  async readFeeRates(session: AccountSession, _instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const fees = await this.#deps.rest.userFees(opened.value.account, opened.value.options);
    if (!fees.ok) return fees;
    const decoded = decodeWith(fees.value, () => normalizeFees(fees.value));
    return decoded.ok ? { ...fees, value: decoded.value } : failedRead("BAD_RESPONSE", `userFees: ${decoded.problem}`);
  }

  /** The account to read and the time left for it. */
  async #open(
    session: AccountSession,
    options: CallOptions,
    deadline: Deadline = new Deadline(this.#deps.clock, options),
  ): Promise<Read<{ readonly account: string; readonly options: CallOptions }>> {
    if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
    const account = await this.#deps.accounts.resolve(session, options);
    if (!account.ok) return account;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left after the account was looked up");
    return { ...account, value: { account: account.value, options: left } };
  }

  /** The row where it tells, the fills where it does not; average price and fee always come from fills. */
  async #filledOf(
    account: string,
    update: VenueoneWireOrderUpdate,
    instrument: Instrument,
    deadline: Deadline,
  ): Promise<Read<FilledSummary>> {
    const asOfMs = this.#deps.clock.wallMs();
    const decoded = decodeWith(update.order, () => filledLotsOfRow(update.order, instrument));
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `orderStatus: ${decoded.problem}`);
    const rowLots = decoded.value;
    const isFilledWord = statusOfWord(update.status) === "FILLED";
    if (rowLots === 0 && !isFilledWord) return { ok: true, value: NOTHING_FILLED, asOfMs, source: "venue" };
    const fills = await this.#fillsOf(account, update, deadline);
    const summary = fills.ok
      ? decodeWith(fills.value, () => summarizeFills(fills.value, update.order.oid, instrument))
      : null;
    if (summary !== null && !summary.ok) return failedRead("BAD_RESPONSE", `userFillsByTime: ${summary.problem}`);
    const summed = summary?.value ?? null;
    if (rowLots !== null && rowLots > 0) {
      // Fills that are not all indexed yet would give a wrong average: leave it out, the amount is certain.
      const isComplete = summed !== null && summed.filledLots === rowLots;
      return {
        ok: true,
        value: isComplete ? summed : { ...NOTHING_FILLED, filledLots: rowLots },
        asOfMs,
        source: "venue",
      };
    }
    if (!fills.ok) return fills;
    // `filled` without a fill is a lag of the index, not a fill of zero.
    if (summed === null || (isFilledWord && summed.filledLots === 0))
      return failedRead("VENUE_ERROR", "the fills are not indexed yet");
    return { ok: true, value: summed, asOfMs, source: "venue" };
  }

  async #fillsOf(
    account: string,
    update: VenueoneWireOrderUpdate,
    deadline: Deadline,
  ): Promise<Read<readonly VenueoneWireFill[]>> {
    const isEnded = statusOfWord(update.status) !== "OPEN";
    const venueNowMs = this.#deps.clock.wallMs() + this.#deps.clockOffsetMs();
    const endMs = Math.round((isEnded ? update.statusTimestamp : venueNowMs) + FILL_TIME_SLACK_MS);
    let startMs = update.order.timestamp - FILL_TIME_SLACK_MS;
    const fills: VenueoneWireFill[] = [];
    for (let page = 0; page < MAX_FILL_PAGES; page++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the fills");
      const rows = await this.#deps.rest.userFillsByTime(account, startMs, endMs, left);
      if (!rows.ok) return rows;
      fills.push(...rows.value);
      const last = rows.value.at(-1);
      if (last === undefined || rows.value.length < FILL_PAGE_ROWS) return { ...rows, value: fills };
      // Bounds are inclusive, so rows of the last instant come again and are told apart by their id.
      startMs = last.time;
    }
    return failedRead("BAD_RESPONSE", "too many fills to sum");
  }
}

/** What orderStatus is asked for: a cloid as text or an oid as number. */
function orderKey(ref: OrderRef): string | number | null {
  if ("clientIdHex" in ref) return /^[0-9a-f]{32}$/.test(ref.clientIdHex) ? `0x${ref.clientIdHex}` : null;
  const oid = Number(ref.venueOrderId);
  return /^\d+$/.test(ref.venueOrderId) && Number.isSafeInteger(oid) ? oid : null;
}
