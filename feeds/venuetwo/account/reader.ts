/**
 * What an account on venuetwo holds, read live. A read is whole or a failure: a row that cannot be understood fails
 * it, since a position left out looks like a flat account. Callers ask for one symbol where they can: the answers for
 * all symbols are large and weigh more.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSummary, FeeRates, VenueBalance, VenuePosition } from "../../../engine/domain/position.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, Read } from "../../../engine/ports.js";
import { failedRead, noSuchOrder } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import { decodeJson } from "../../shared/room/wire-fields.js";
import {
  normalizeAccount,
  normalizeBalance,
  normalizeCommission,
  normalizeOrder,
  normalizePosition,
  statusOfWord,
  uncounted,
} from "./normalize.js";
import { decodeBalances, decodeCommission, decodeOrder, decodeOrders, decodePositionRisk } from "./wire.js";
import {
  accountCall,
  balanceCall,
  commissionRateCall,
  openOrdersCall,
  orderKey,
  positionRiskCall,
  queryOrderCall,
} from "./calls.js";
import { classifyError } from "../rules/errors.js";
import { decodeAccount } from "./history-wire.js";
import type { OrderMemory } from "./order-memory.js";
import { OrderSearch } from "./search.js";
import type { VenuetwoRest } from "./rest.js";
import { VenuetwoSession } from "./session.js";

/** NO_SUCH_ORDER. */
const CODE_NO_SUCH_ORDER = -2013;

const FOREIGN = failedRead("AUTH", "session of another venue");

export interface VenuetwoAccountDeps {
  readonly rest: VenuetwoRest;
  readonly instruments: InstrumentIndex;
  readonly memory: OrderMemory;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly logger: Logger;
}

export class VenuetwoAccount implements AccountReader {
  readonly search: OrderSearch;
  readonly #deps: VenuetwoAccountDeps;

  constructor(deps: VenuetwoAccountDeps) {
    this.#deps = deps;
    this.search = new OrderSearch({
      rest: deps.rest,
      memory: deps.memory,
      instrumentOf: (nativeSymbol) => deps.instruments.byNativeSymbol(nativeSymbol),
      nowVenueMs: () => this.#nowVenueMs(),
      readOrder: (session, instrument, ref, options) => this.readOrder(session, instrument, ref, options),
    });
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const rows = await this.#deps.rest.read(
      session,
      positionRiskCall(instrument?.nativeSymbol ?? null),
      decodePositionRisk,
      options,
    );
    return normalizedRead(rows, "positionRisk", (wires) => {
      const found: VenuePosition[] = [];
      for (const wire of wires) {
        if (instrument !== null && wire.symbol !== instrument.nativeSymbol) continue;
        // Most of a full answer is flat rows, also of symbols that are not listed any more.
        if (!/[1-9]/.test(wire.positionAmt)) continue;
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.symbol);
        if (listed === null) {
          this.#deps.logger.warn("venuetwo.position.unlisted", { symbol: wire.symbol.slice(0, 32) });
        }
        const position = listed === null ? uncounted(wire) : normalizePosition(wire, listed);
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
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const key = orderKey(ref);
    if (key === null) return noSuchOrder(this.#deps.clock.wallMs());
    const answer = await this.#deps.rest.readRaw(session, queryOrderCall(instrument.nativeSymbol, key), options);
    if (!answer.ok) return answer;
    const { error, response } = answer.value;
    if (error !== null) {
      // The venue also answers this for orders that ended unfilled more than 7 days ago.
      if (error.code === CODE_NO_SUCH_ORDER) return { ...answer, value: null };
      const { errorClass, reason } = classifyError(error.code, error.msg);
      const code = reason === "RATE_LIMITED" ? "RATE_LIMITED" : errorClass === "A" ? "AUTH" : "VENUE_ERROR";
      return failedRead(code, String(error.code));
    }
    const decoded = decodeJson(response.body, (value) => normalizeOrder(decodeOrder(value), instrument));
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `order: ${decoded.problem}`);
    if (decoded.value.status === "UNKNOWN") {
      this.#deps.logger.error("venuetwo.order.status", { word: decoded.value.venueStatus.slice(0, 64) });
    }
    this.#deps.memory.note(session, instrument.nativeSymbol, decoded.value.venueOrderId);
    return { ...answer, value: decoded.value };
  }

  /** The venue finds an order only together with its symbol (account/search.ts). */
  async findOrder(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    if (orderKey(ref) === null) return noSuchOrder(this.#deps.clock.wallMs());
    return this.search.find(session, ref, new Deadline(this.#deps.clock, options));
  }

  async readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const rows = await this.#deps.rest.read(
      session,
      openOrdersCall(instrument?.nativeSymbol ?? null),
      decodeOrders,
      options,
    );
    return normalizedRead(rows, "openOrders", (wires) => {
      const found: VenueOrder[] = [];
      for (const wire of wires) {
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.symbol);
        if (listed === null || wire.symbol !== listed.nativeSymbol) continue;
        const order = normalizeOrder(wire, listed);
        if (statusOfWord(wire.status) === "UNKNOWN")
          this.#deps.logger.error("venuetwo.order.status", { word: wire.status.slice(0, 64) });
        this.#deps.memory.note(session, order.nativeSymbol, order.venueOrderId);
        found.push(order);
      }
      return found;
    });
  }

  async readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const rows = await this.#deps.rest.read(session, balanceCall(), decodeBalances, options);
    return rows.ok ? { ...rows, value: rows.value.map(normalizeBalance) } : rows;
  }

  async readAccount(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const account = await this.#deps.rest.read(session, accountCall(), decodeAccount, options);
    return account.ok ? { ...account, value: normalizeAccount(account.value, this.#nowVenueMs()) } : account;
  }

  async readFeeRates(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const rates = await this.#deps.rest.read(
      session,
      commissionRateCall(instrument.nativeSymbol),
      decodeCommission,
      options,
    );
    return normalizedRead(rates, "commissionRate", normalizeCommission);
  }

  #nowVenueMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }
}
