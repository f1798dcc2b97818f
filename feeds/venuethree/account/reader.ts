/**
 * What an account on venuethree holds, read live. A read is whole or a failure: a row that cannot be understood fails
 * it, since a position left out looks like a flat account.
 *
 * Orders cannot be asked for by id. They are looked for among the active ones, then among the ended ones newest first,
 * in this order: one that ends between the two reads is found in the second. One that is in neither may have been
 * refused by the sequencer: its transaction says so, if this process sent it.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { RejectReason, VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSummary, FeeRates, VenueBalance, VenuePosition } from "../../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, Read } from "../../../engine/ports.js";
import { failedRead, noSuchOrder, venueText } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import {
  normalizeBalances,
  normalizeFees,
  normalizeOrder,
  normalizePosition,
  normalizeSummary,
  statusOfWord,
  uncounted,
} from "./normalize.js";
import type { VenuethreeAccountRest } from "./rest.js";
import { TX_FAILED, type VenuethreeWireAccount, type VenuethreeWireOrder } from "./wire.js";
import type { AuthTokens } from "./auth-tokens.js";
import { rejectReasonOf } from "../rules/errors.js";
import type { ConfirmedKey, KeyDirectory } from "./key-directory.js";
import { MAX_PAGE_ROWS } from "../rules/limits.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { clientOrderIndexOf } from "./client-id.js";
import type { SentOrders } from "./sent-orders.js";
import { VenuethreeAddressSession } from "./session.js";

/** Pages of ended orders looked through for one order. */
const MAX_LOOKUP_PAGES = 5;
/** An order that ended longer ago than all these pages is not looked for where nothing turns on it: history has it. */
const LOOKUP_BACK_MS = 30 * 60_000;

export interface VenuethreeAccountDeps {
  readonly rest: VenuethreeAccountRest;
  readonly keys: KeyDirectory;
  readonly tokens: AuthTokens;
  readonly instruments: InstrumentIndex;
  readonly sentOrders: SentOrders;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly logger: Logger;
}

export class VenuethreeAccount implements AccountReader {
  readonly #deps: VenuethreeAccountDeps;

  constructor(deps: VenuethreeAccountDeps) {
    this.#deps = deps;
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    const accounts = await this.#accountsOf(session, options);
    if (!accounts.ok) return accounts;
    const tsVenueMs = Math.round(accounts.asOfMs + this.#deps.clockOffsetMs());
    const decoded = decodeWith(accounts.value, () => {
      const found: VenuePosition[] = [];
      for (const wire of accounts.value.flatMap(({ positions }) => positions)) {
        if (instrument !== null && wire.market_id !== instrument.nativeId) continue;
        const listed = instrument ?? this.#deps.instruments.byNativeId(wire.market_id);
        if (listed === null) {
          // Most rows without a market are flat.
          if (/[1-9]/.test(wire.position))
            this.#deps.logger.warn("venuethree.position.unlisted", { coin: wire.symbol.slice(0, 32) });
        }
        const position = listed === null ? uncounted(wire, tsVenueMs) : normalizePosition(wire, listed, tsVenueMs);
        if (position !== null) found.push(position);
      }
      return found;
    });
    return decoded.ok
      ? { ...accounts, value: decoded.value }
      : failedRead("BAD_RESPONSE", `account: ${decoded.problem}`);
  }

  async readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    return this.#lookUp(session, instrument, ref, options);
  }

  /** Client order indexes are unique over all markets of an account, and order indexes over all accounts. */
  async findOrder(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>> {
    return this.#lookUp(session, null, ref, options);
  }

  async readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>> {
    const opened = await this.open(session, options);
    if (!opened.ok) return opened;
    const { key, token, options: left } = opened.value;
    const orders = await this.#deps.rest.activeOrders(key.accountIndex, instrument?.nativeId ?? null, token, left);
    if (!orders.ok) return this.noteFailure(key, orders);
    const decoded = decodeWith(orders.value, () => {
      const found: VenueOrder[] = [];
      for (const wire of orders.value.rows) {
        if (instrument !== null && wire.market_index !== instrument.nativeId) continue;
        const listed = instrument ?? this.#deps.instruments.byNativeId(wire.market_index);
        // Spot orders share the list and are no business of ours.
        if (listed !== null) found.push(this.#orderOf(wire, listed));
      }
      return found;
    });
    return decoded.ok
      ? { ...orders, value: decoded.value }
      : failedRead("BAD_RESPONSE", `accountActiveOrders: ${decoded.problem}`);
  }

  async readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    const accounts = await this.#accountsOf(session, options);
    if (!accounts.ok) return accounts;
    const decoded = decodeWith(accounts.value, () => normalizeBalances(accounts.value));
    return decoded.ok
      ? { ...accounts, value: decoded.value }
      : failedRead("BAD_RESPONSE", `account: ${decoded.problem}`);
  }

  async readAccount(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>> {
    const accounts = await this.#accountsOf(session, options);
    if (!accounts.ok) return accounts;
    const tsVenueMs = Math.round(accounts.asOfMs + this.#deps.clockOffsetMs());
    const decoded = decodeWith(accounts.value, () => normalizeSummary(accounts.value, tsVenueMs));
    return decoded.ok
      ? { ...accounts, value: decoded.value }
      : failedRead("BAD_RESPONSE", `account: ${decoded.problem}`);
  }

  /** The tier's rates are the same for all markets. */
  async readFeeRates(session: AccountSession, _instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    const opened = await this.open(session, options);
    if (!opened.ok) return opened;
    const { key, token, options: left } = opened.value;
    const limits = await this.#deps.rest.accountLimits(key.accountIndex, token, left);
    return limits.ok ? { ...limits, value: normalizeFees(limits.value) } : this.noteFailure(key, limits);
  }

  /** The confirmed key, a token for it, and the time left. */
  async open(session: AccountSession, options: CallOptions): Promise<Read<OpenedAccount>> {
    const { clock, keys, tokens } = this.#deps;
    const deadline = new Deadline(clock, options, session.payer);
    const key = keys.resolveKnown(session) ?? (await keys.resolve(session, options));
    if (!key.ok) return key;
    const token = tokens.tokenOf(key.value);
    if (token === null) return failedRead("AUTH", "session is closed");
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left after the key was looked up");
    return { ...key, value: { key: key.value, token, options: left } };
  }

  /** A token that was refused is made again next time, and the key looked up. */
  noteFailure<F extends Read<never>>(key: ConfirmedKey, failure: F): F {
    if (!failure.ok && failure.code === "AUTH") {
      this.#deps.tokens.forget(key.session);
      this.#deps.keys.forget(key.session);
    }
    return failure;
  }

  /** One account of a key, or all of an address. */
  async #accountsOf(session: AccountSession, options: CallOptions): Promise<Read<readonly VenuethreeWireAccount[]>> {
    const { clock, keys, rest } = this.#deps;
    if (session instanceof VenuethreeAddressSession)
      return rest.accountsByAddress(session.accountId, {
        ...options,
        caller: `reader ${session.accountId}`,
        payer: session.payer,
      });
    const deadline = new Deadline(clock, options, session.payer);
    const key = keys.resolveKnown(session) ?? (await keys.resolve(session, options));
    if (!key.ok) return key;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left after the key was looked up");
    const account = await rest.accountByIndex(key.value.accountIndex, left);
    return account.ok ? { ...account, value: [account.value] } : account;
  }

  async #lookUp(
    session: AccountSession,
    instrument: Instrument | null,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    const { clock, rest } = this.#deps;
    const wanted = wantedId(ref);
    if (wanted === null) return noSuchOrder(clock.wallMs());
    const deadline = new Deadline(clock, options, session.payer);
    const opened = await this.open(session, options);
    if (!opened.ok) return opened;
    const { key, token } = opened.value;
    const { accountIndex } = key;
    const marketId = instrument?.nativeId ?? null;
    const active = await rest.activeOrders(accountIndex, marketId, token, opened.value.options);
    if (!active.ok) return this.noteFailure(key, active);
    const open = active.value.rows.find((wire) => isWanted(wire, wanted));
    if (open !== undefined) return this.#found(open, instrument, active.asOfMs);
    let cursor: string | null = null;
    for (let pageIndex = 0; ; pageIndex++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the ended orders");
      const query = { accountIndex, marketId, limit: MAX_PAGE_ROWS, cursor };
      const page: Awaited<ReturnType<typeof rest.inactiveOrders>> = await rest.inactiveOrders(query, token, left);
      if (!page.ok) return this.noteFailure(key, page);
      const ended = page.value.rows.find((wire) => isWanted(wire, wanted));
      if (ended !== undefined) return this.#found(ended, instrument, page.asOfMs);
      cursor = page.value.nextCursor;
      const oldest = page.value.rows.at(-1);
      if (cursor === null || oldest === undefined) break;
      if (pageIndex + 1 < MAX_LOOKUP_PAGES) continue;
      const oldestVenueMs = oldest.transaction_time / 1_000;
      const sinceVenueMs = "clientIdHex" in ref ? ref.sentAfterVenueMs : undefined;
      if (oldestVenueMs < (sinceVenueMs ?? clock.wallMs() + this.#deps.clockOffsetMs() - LOOKUP_BACK_MS)) break;
      // Too many orders ended since: that it is not among them proves nothing.
      return failedRead("VENUE_ERROR", "the order is not among the newest ended ones");
    }
    return "clientIdHex" in ref ? this.#refusedBySequencer(accountIndex, wanted.text, deadline) : this.#none();
  }

  #found(wire: VenuethreeWireOrder, instrument: Instrument | null, asOfMs: number): Read<VenueOrder> {
    if (instrument !== null && wire.market_index !== instrument.nativeId)
      return failedRead("BAD_RESPONSE", "the id belongs to another instrument");
    const listed = instrument ?? this.#deps.instruments.byNativeId(wire.market_index);
    if (listed === null) return failedRead("BAD_RESPONSE", "the order is of a market that is not listed");
    const decoded = decodeWith(wire, () => this.#orderOf(wire, listed));
    return decoded.ok
      ? { ok: true, value: decoded.value, asOfMs, source: "venue" }
      : failedRead("BAD_RESPONSE", `order: ${decoded.problem}`);
  }

  #orderOf(wire: VenuethreeWireOrder, instrument: Instrument): VenueOrder {
    if (statusOfWord(wire.status) === "UNKNOWN")
      this.#deps.logger.error("venuethree.order.status", { word: wire.status.slice(0, 64) });
    return normalizeOrder(wire, instrument);
  }

  /** In no list: did the sequencer refuse it? Returns null where it did not, or where that is not known. */
  async #refusedBySequencer(
    accountIndex: number,
    clientOrderIndex: string,
    deadline: Deadline,
  ): Promise<Read<VenueOrder | null>> {
    const sent = this.#deps.sentOrders.find(accountIndex, clientOrderIndex);
    const left = deadline.left();
    if (sent === null || left === null) return this.#none();
    const tx = await this.#deps.rest.tx(sent.txHash, left);
    if (!tx.ok) return tx;
    if (tx.value === null || (tx.value.refusal === null && tx.value.status !== TX_FAILED)) return this.#none();
    const { refusal } = tx.value;
    if (refusal === null) return { ...tx, value: { ...sent.order, status: "REJECTED", venueStatus: "failed" } };
    const venueStatus = venueText(`${refusal.code} ${refusal.message}`);
    return { ...tx, value: { ...sent.order, status: "REJECTED", venueStatus, endReason: endReasonOf(refusal.code) } };
  }

  #none(): Read<null> {
    return { ok: true, value: null, asOfMs: this.#deps.clock.wallMs(), source: "venue" };
  }
}

/** A client id in use is no end of the order that uses it: what the lists say of that one was asked before. */
function endReasonOf(code: number): RejectReason {
  const reason = rejectReasonOf(code);
  return reason === "DUPLICATE_CLIENT_ID" ? "VENUE_STATE" : reason;
}

export interface OpenedAccount {
  readonly key: ConfirmedKey;
  readonly token: string;
  readonly options: CallOptions;
}

export interface WantedId {
  readonly field: "order_id" | "client_order_id";
  readonly text: string;
}

/** Null when no order of this venue is called so. */
export function wantedId(ref: OrderRef): WantedId | null {
  if ("venueOrderId" in ref)
    return /^[1-9]\d{0,18}$/.test(ref.venueOrderId) ? { field: "order_id", text: ref.venueOrderId } : null;
  if (!isClientIdHex(ref.clientIdHex)) return null;
  return { field: "client_order_id", text: String(clientOrderIndexOf(ref.clientIdHex)) };
}

function isWanted(wire: VenuethreeWireOrder, wanted: WantedId): boolean {
  return wire[wanted.field] === wanted.text;
}
