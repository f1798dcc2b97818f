/**
 * What an account on venuefour holds, as the venue says. A read is whole or a failure: a row that cannot be understood fails it, since a position left out
 * looks like a flat account. Holdings in contracts that are not listed are there without lots; such orders are left out.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSummary, FeeRates, VenueBalance, VenuePosition } from "../../../engine/domain/position.js";
import type { AccountSession, CallOptions, OrderRef, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import type { VenueReader } from "../../shared/account/position-reads.js";
import {
  normalizeAccount,
  normalizeBalances,
  normalizeFees,
  normalizeOrder,
  normalizePosition,
  uncounted,
} from "./normalize.js";
import type { AccountRest } from "./rest.js";
import {
  decodeAccount,
  decodeOpenOrders,
  decodePositions,
  type VenuefourWireAccount,
  type VenuefourWirePosition,
} from "./wire.js";
import { READ_CREDITS } from "../rules/limits.js";
import type { OrderMemory } from "./order-memory.js";
import type { OrderSearch } from "./search.js";
import { VenuefourSession } from "./session.js";
import type { KnownSettings } from "./known-settings.js";

const FOREIGN = failedRead("AUTH", "session of another venue");
/** Rows in one log line. */
const MAX_SYMBOL_CHARS = 32;

export interface VenuefourAccountDeps {
  readonly rest: AccountRest;
  readonly search: OrderSearch;
  readonly memory: OrderMemory;
  readonly settings: KnownSettings;
  readonly instruments: InstrumentIndex;
  readonly logger: Logger;
}

/** Positions of a REST answer with the sequence number that orders them among the stream's frames. */
export interface PositionsAnswer {
  readonly positions: readonly VenuePosition[];
  readonly lastId: number | null;
}

export class VenuefourAccount implements VenueReader {
  readonly #deps: VenuefourAccountDeps;

  constructor(deps: VenuefourAccountDeps) {
    this.#deps = deps;
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    if (!(session instanceof VenuefourSession)) return FOREIGN;
    const read = await this.readSnapshot(session, options);
    if (!read.ok) return read;
    const { positions } = read.value;
    if (instrument === null) return { ...read, value: positions };
    return { ...read, value: positions.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol) };
  }

  /** Leverage is among the settings, which cost a read of their own: not on the exit path. */
  async readSnapshot(session: VenuefourSession, options: CallOptions): Promise<Read<PositionsAnswer>> {
    const { rest, settings } = this.#deps;
    if (options.lane !== "exit") await settings.refresh(session, options);
    const read = await rest.read(session, "/positions", {}, READ_CREDITS, decodePositions, options);
    return normalizedRead(read, "positions", ({ rows, lastId }) => ({
      positions: this.normalizePositions(session.accountId, rows),
      lastId,
    }));
  }

  /** Throws WireFault on a row that does not fit its instrument. */
  normalizePositions(accountId: string, rows: readonly VenuefourWirePosition[]): readonly VenuePosition[] {
    const { instruments, settings } = this.#deps;
    const found: VenuePosition[] = [];
    for (const wire of rows) {
      const listed = instruments.byNativeSymbol(wire.symbol);
      if (listed === null) {
        this.#unlisted("venuefour.position.unlisted", wire.symbol);
      }
      const position =
        listed === null ? uncounted(wire) : normalizePosition(wire, listed, settings.leverageOf(accountId, listed));
      if (position !== null) found.push(position);
    }
    return found;
  }

  async readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    if (!(session instanceof VenuefourSession)) return FOREIGN;
    return this.#deps.search.find(session, instrument, ref, options);
  }

  async findOrder(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>> {
    if (!(session instanceof VenuefourSession)) return FOREIGN;
    return this.#deps.search.find(session, null, ref, options);
  }

  async readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>> {
    if (!(session instanceof VenuefourSession)) return FOREIGN;
    const rows = await this.#deps.rest.read(session, "/orders", {}, READ_CREDITS, decodeOpenOrders, options);
    return normalizedRead(rows, "orders", (wires) => {
      const found: VenueOrder[] = [];
      for (const wire of wires) {
        const listed = this.#deps.instruments.byNativeSymbol(wire.symbol);
        if (listed === null) this.#unlisted("venuefour.order.unlisted", wire.symbol);
        if (listed === null || (instrument !== null && wire.symbol !== instrument.nativeSymbol)) continue;
        this.#deps.memory.note(session.accountId, wire.orderId, wire.clientOrderId);
        found.push(normalizeOrder(wire, listed));
      }
      return found;
    });
  }

  async readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    return this.#account(session, options, normalizeBalances);
  }

  async readFeeRates(session: AccountSession, _instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    return this.#account(session, options, normalizeFees);
  }

  async readAccount(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>> {
    return this.#account(session, options, normalizeAccount);
  }

  async #account<T>(
    session: AccountSession,
    options: CallOptions,
    normalize: (wire: VenuefourWireAccount) => T,
  ): Promise<Read<T>> {
    if (!(session instanceof VenuefourSession)) return FOREIGN;
    const read = await this.#deps.rest.read(session, "/account", {}, READ_CREDITS, decodeAccount, options);
    return normalizedRead(read, "account", normalize);
  }

  #unlisted(event: string, symbol: string): void {
    this.#deps.logger.warn(event, { symbol: symbol.slice(0, MAX_SYMBOL_CHARS) });
  }
}
