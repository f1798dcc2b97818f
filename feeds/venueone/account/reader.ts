/**
 * What an account on venueone holds, read live. Every read goes to the account behind the key (account/resolver.ts),
 * never to an agent's own address. A read is whole or a failure: a row that cannot be understood fails it, since a
 * position left out looks like a flat account.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSummary, FeeRates, VenueBalance, VenuePosition } from "../../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, Read } from "../../../engine/ports.js";
import { failedRead, noSuchOrder } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import {
  filledLotsOfRow,
  normalizeFees,
  normalizeOrder,
  normalizePerpAccount,
  normalizePerpBalance,
  normalizePosition,
  normalizeSpotBalances,
  normalizeUnifiedAccount,
  uncounted,
  NOTHING_FILLED,
  statusOfWord,
} from "./normalize.js";
import type { AccountResolver } from "./resolver.js";
import type { VenueoneWireAccount, VenueoneWireSpotBalance } from "./wire.js";
import type { OrderFills } from "./order-fills.js";
import type { VenueoneRest } from "./rest.js";
import { callOf, VenueoneSession } from "./session.js";
import type { VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";

/** The index of client ids is so late at the most (measured 0.4 to 1.1 s; doubled). */
const INDEX_LAG_MS = 2_000;
/** Names of others have a mark in them: `PURR/USDC`, `@107`, `#12`, `xyz:TSLA`. */
const PERPETUAL = /^[A-Za-z0-9]+$/;

export interface VenueoneAccountDeps {
  readonly rest: VenueoneRest;
  readonly accounts: AccountResolver;
  readonly instruments: InstrumentIndex;
  readonly nonces: NonceSequencer;
  readonly fills: OrderFills;
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
    return normalizedRead(state, "clearinghouseState", ({ time, positions }) => {
      const found: VenuePosition[] = [];
      for (const wire of positions) {
        if (instrument !== null && wire.coin !== instrument.nativeSymbol) continue;
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.coin);
        if (listed === null) {
          // A builder dex, or a coin that left the list.
          this.#deps.logger.warn("venueone.position.unlisted", { coin: wire.coin.slice(0, 32) });
        }
        const position = listed === null ? uncounted(wire, time) : normalizePosition(wire, listed, time);
        if (position !== null) found.push(position);
      }
      return found;
    });
  }

  async readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    return this.#readStatus(session, instrument, ref, options);
  }

  /** The venue finds an order by its id alone. */
  async findOrder(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>> {
    return this.#readStatus(session, null, ref, options);
  }

  /** Also of coins that are not listed here, or not any more. */
  async readOpenRows(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueoneWireOrder[]>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const rows = await this.#deps.rest.frontendOpenOrders(opened.value.account, opened.value.options);
    if (!rows.ok) return rows;
    // Spot and builder-dex orders share the list and are no business of ours.
    const value = rows.value.filter(({ coin }) =>
      instrument === null ? PERPETUAL.test(coin) : coin === instrument.nativeSymbol,
    );
    return { ...rows, value };
  }

  async readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>> {
    const rows = await this.readOpenRows(session, instrument, options);
    return normalizedRead(rows, "frontendOpenOrders", (wires) => {
      const found: VenueOrder[] = [];
      for (const wire of wires) {
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.coin);
        if (listed === null) continue;
        // A clamped reduce-only row does not show its fills: the list reports none yet, readOrder the exact amount.
        const filledLots = filledLotsOfRow(wire, listed) ?? 0;
        found.push(normalizeOrder(wire, "open", wire.timestamp, listed, { ...NOTHING_FILLED, filledLots }));
      }
      return found;
    });
  }

  async readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    const collateral = await this.#readCollateral(session, options);
    return normalizedRead(collateral, "balances", ({ perp, spot }) =>
      perp === null ? normalizeSpotBalances(spot) : [normalizePerpBalance(perp)],
    );
  }

  async readAccount(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>> {
    const collateral = await this.#readCollateral(session, options);
    if (!collateral.ok) return collateral;
    const nowVenueMs = Math.round(collateral.asOfMs + this.#deps.clockOffsetMs());
    return normalizedRead(collateral, "balances", ({ perp, spot }) =>
      perp === null ? normalizeUnifiedAccount(spot, nowVenueMs) : normalizePerpAccount(perp, nowVenueMs),
    );
  }

  async readFeeRates(session: AccountSession, _instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const fees = await this.#deps.rest.userFees(opened.value.account, opened.value.options);
    return normalizedRead(fees, "userFees", normalizeFees);
  }

  /** Where the account keeps its collateral: `perp` null for accounts that keep all of it in `spot`. */
  async #readCollateral(
    session: AccountSession,
    options: CallOptions,
  ): Promise<Read<{ readonly perp: VenueoneWireAccount | null; readonly spot: readonly VenueoneWireSpotBalance[] }>> {
    const deadline = new Deadline(this.#deps.clock, callOf(session, options), session.payer);
    const opened = await this.#open(session, options, deadline);
    if (!opened.ok) return opened;
    const { account } = opened.value;
    const mode = await this.#deps.rest.userAbstraction(account, opened.value.options);
    if (!mode.ok) return mode;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the balances");
    if (mode.value === "unifiedAccount" || mode.value === "portfolioMargin") {
      const spot = await this.#deps.rest.spotClearinghouseState(account, left);
      return spot.ok ? { ...spot, value: { perp: null, spot: spot.value } } : spot;
    }
    const state = await this.#deps.rest.clearinghouseState(account, left);
    return state.ok ? { ...state, value: { perp: state.value, spot: [] } } : state;
  }

  /** `expected` null: the order's own coin says which instrument it is. */
  async #readStatus(
    session: AccountSession,
    expected: Instrument | null,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    const key = orderKey(ref);
    if (key === null) return noSuchOrder(this.#deps.clock.wallMs());
    const deadline = new Deadline(this.#deps.clock, callOf(session, options), session.payer);
    const opened = await this.#open(session, options, deadline);
    if (!opened.ok) return opened;
    const { account } = opened.value;
    const status = await this.#deps.rest.orderStatus(account, key, opened.value.options);
    if (!status.ok || status.value === null) return status.ok ? { ...status, value: null } : status;
    const named = await this.#inItsPlace(account, key, status.value, deadline);
    if (!named.ok) return named;
    const update = named.value;
    const instrument = expected ?? this.#deps.instruments.byNativeSymbol(update.order.coin);
    if (instrument === null) return failedRead("BAD_RESPONSE", "the order is of a coin that is not listed here");
    if (update.order.coin !== instrument.nativeSymbol)
      return failedRead("BAD_RESPONSE", "the id belongs to another instrument");
    if (statusOfWord(update.status) === "UNKNOWN")
      this.#deps.logger.error("venueone.order.status", { word: update.status.slice(0, 64) });
    const filled = await this.#deps.fills.read(account, update, instrument, deadline);
    if (!filled.ok) return filled;
    return normalizedRead(status, "orderStatus", () =>
      normalizeOrder(update.order, update.status, update.statusTimestamp, instrument, filled.value),
    );
  }

  /**
   * A change puts another order under the same client id, which the index may not have yet: for so long a cancel of the one
   * before it says little. The list of open orders has no such lag, nor have fills.
   */
  async #inItsPlace(
    account: string,
    key: string | number,
    update: VenueoneWireOrderUpdate,
    deadline: Deadline,
  ): Promise<Read<VenueoneWireOrderUpdate>> {
    const asOfMs = this.#deps.clock.wallMs();
    const itself = { ok: true, value: update, asOfMs, source: "venue" } as const;
    const { order, status, statusTimestamp } = update;
    const mayBeChanged = !order.isTrigger && order.tif !== "Ioc" && status === "canceled";
    const sinceMs = asOfMs + this.#deps.clockOffsetMs() - statusTimestamp;
    if (typeof key === "number" || !mayBeChanged || sinceMs > INDEX_LAG_MS) return itself;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for what may be in the place of the order");
    const open = await this.#deps.rest.frontendOpenOrders(account, left);
    if (!open.ok) return open;
    const found = open.value.find(({ cloid, oid }) => cloid === key && oid !== order.oid);
    if (found === undefined) return this.#filledInItsPlace(account, key, itself, deadline);
    return { ...itself, value: { order: found, status: "open", statusTimestamp: found.timestamp } };
  }

  /** One that filled whole is in no list of open orders: its fills have the client id. */
  async #filledInItsPlace(
    account: string,
    key: string,
    itself: Extract<Read<VenueoneWireOrderUpdate>, { ok: true }>,
    deadline: Deadline,
  ): Promise<Read<VenueoneWireOrderUpdate>> {
    const oid = await this.#deps.fills.oidInPlaceOf(account, key, itself.value, deadline);
    if (!oid.ok || oid.value === null) return oid.ok ? itself : oid;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for what is in the place of the order");
    const status = await this.#deps.rest.orderStatus(account, oid.value, left);
    if (!status.ok) return status;
    if (status.value === null) return failedRead("VENUE_ERROR", "what is in the place of the order is not indexed yet");
    return { ...status, value: status.value };
  }

  /** The account to read and the time left for it. */
  async #open(
    session: AccountSession,
    options: CallOptions,
    deadline: Deadline = new Deadline(this.#deps.clock, callOf(session, options), session.payer),
  ): Promise<Read<{ readonly account: string; readonly options: CallOptions }>> {
    if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
    const account = await this.#deps.accounts.resolve(session, options);
    if (!account.ok) return account;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left after the account was looked up");
    return { ...account, value: { account: account.value, options: left } };
  }
}

/** What orderStatus is asked for: a cloid as text or an oid as number. */
function orderKey(ref: OrderRef): string | number | null {
  if ("clientIdHex" in ref) return isClientIdHex(ref.clientIdHex) ? `0x${ref.clientIdHex}` : null;
  const oid = Number(ref.venueOrderId);
  return /^\d+$/.test(ref.venueOrderId) && Number.isSafeInteger(oid) ? oid : null;
}
