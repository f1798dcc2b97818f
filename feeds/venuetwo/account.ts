/**
 * What an account on venuetwo holds, read live. A read is whole or a failure: a row that cannot be understood fails
 * it, since a position left out looks like a flat account. Asking for one symbol is what to do: the answers for all
 * symbols are large and weigh more.
 */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { FeeRates, VenueBalance, VenuePosition } from "../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, Read } from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import type { InstrumentIndex } from "../shared/instrument-index.js";
import { decodeJson, decodeWith } from "../shared/wire-fields.js";
import {
  normalizeBalance,
  normalizeCommission,
  normalizeOrder,
  normalizePosition,
  statusOfWord,
} from "./account-normalize.js";
import {
  decodeBalances,
  decodeCommission,
  decodeEmpty,
  decodeListenKey,
  decodeOrder,
  decodeOrders,
  decodePositionRisk,
} from "./account-wire.js";
import {
  balanceCall,
  commissionRateCall,
  listenKeyCall,
  openOrdersCall,
  orderKey,
  positionRiskCall,
  queryOrderCall,
} from "./calls.js";
import { classifyError } from "./errors.js";
import type { VenuetwoRest } from "./rest.js";
import { VenuetwoSession } from "./session.js";

/** NO_SUCH_ORDER, and the code for an unknown listen key. */
const CODE_NO_SUCH_ORDER = -2013;
const CODE_NO_LISTEN_KEY = -1125;

const FOREIGN = failedRead("AUTH", "session of another venue");

export interface VenuetwoAccountDeps {
  readonly rest: VenuetwoRest;
  readonly instruments: InstrumentIndex;
  readonly logger: Logger;
}

export class VenuetwoAccount implements AccountReader {
  readonly #deps: VenuetwoAccountDeps;

  constructor(deps: VenuetwoAccountDeps) {
    this.#deps = deps;
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
    if (!rows.ok) return rows;
    const decoded = decodeWith(null, () => {
      const found: VenuePosition[] = [];
      for (const wire of rows.value) {
        if (instrument !== null && wire.symbol !== instrument.nativeSymbol) continue;
        // Most of a full answer is flat rows, also of symbols that are not listed any more.
        if (!/[1-9]/.test(wire.positionAmt)) continue;
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.symbol);
        if (listed === null) {
          this.#deps.logger.warn("venuetwo.position.unlisted", { symbol: wire.symbol.slice(0, 32) });
          continue;
        }
        const position = normalizePosition(wire, listed);
        if (position !== null) found.push(position);
      }
      return found;
    });
    return decoded.ok
      ? { ...rows, value: decoded.value }
      : failedRead("BAD_RESPONSE", `positionRisk: ${decoded.problem}`);
  }

  async readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const key = orderKey(ref);
    if (key === null) return failedRead("BAD_RESPONSE", "not an order id of this venue");
    const answer = await this.#deps.rest.readRaw(session, queryOrderCall(instrument.nativeSymbol, key), options);
    if (!answer.ok) return answer;
    const { error, response } = answer.value;
    if (error !== null) {
      // Also said of orders that ended unfilled more than 7 days ago.
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
    return { ...answer, value: decoded.value };
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
    if (!rows.ok) return rows;
    const decoded = decodeWith(null, () => {
      const found: VenueOrder[] = [];
      for (const wire of rows.value) {
        const listed = instrument ?? this.#deps.instruments.byNativeSymbol(wire.symbol);
        if (listed === null || wire.symbol !== listed.nativeSymbol) continue;
        const order = normalizeOrder(wire, listed);
        if (statusOfWord(wire.status) === "UNKNOWN")
          this.#deps.logger.error("venuetwo.order.status", { word: wire.status.slice(0, 64) });
        found.push(order);
      }
      return found;
    });
    return decoded.ok
      ? { ...rows, value: decoded.value }
      : failedRead("BAD_RESPONSE", `openOrders: ${decoded.problem}`);
  }

  async readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const rows = await this.#deps.rest.read(session, balanceCall(), decodeBalances, options);
    return rows.ok ? { ...rows, value: rows.value.map(normalizeBalance) } : rows;
  }

  async readFeeRates(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const rates = await this.#deps.rest.read(
      session,
      commissionRateCall(instrument.nativeSymbol),
      decodeCommission,
      options,
    );
    if (!rates.ok) return rates;
    const decoded = decodeWith(rates.value, () => normalizeCommission(rates.value));
    return decoded.ok
      ? { ...rates, value: decoded.value }
      : failedRead("BAD_RESPONSE", `commissionRate: ${decoded.problem}`);
  }
}

/** Keys of user streams. A key lives 60 minutes; a second `create` returns the same one and extends it. */
export class VenuetwoListenKeys {
  readonly #rest: VenuetwoRest;

  constructor(rest: VenuetwoRest) {
    this.#rest = rest;
  }

  async create(session: AccountSession, options: CallOptions): Promise<Read<string>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    return this.#rest.read(session, listenKeyCall("POST"), decodeListenKey, options);
  }

  /** `expired`: the venue knows no key of this account any more; create one. */
  async extend(session: AccountSession, options: CallOptions): Promise<Read<"extended" | "expired">> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const answer = await this.#rest.readRaw(session, listenKeyCall("PUT"), options);
    if (!answer.ok) return answer;
    const { error } = answer.value;
    if (error?.code === CODE_NO_LISTEN_KEY) return { ...answer, value: "expired" };
    if (error !== null)
      return failedRead(
        classifyError(error.code, error.msg).errorClass === "A" ? "AUTH" : "VENUE_ERROR",
        String(error.code),
      );
    return { ...answer, value: "extended" };
  }

  async close(session: AccountSession, options: CallOptions): Promise<Read<null>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    return this.#rest.read(session, listenKeyCall("DELETE"), decodeEmpty, options);
  }
}
