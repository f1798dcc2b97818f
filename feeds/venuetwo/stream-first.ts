/**
 * Positions from the account's own stream while it is LIVE, else over REST; all other reads go to REST.
 *
 * A stream lags an order's answer by a moment, so for a while after an order of these credentials was
 * sent from here, REST is asked: the next decision must not rest on a position that the last one closed.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { AccountSummary, FeeRates, VenueBalance, VenuePosition } from "../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, OrderSender, Read } from "../../engine/ports.js";
import { VerifiedReads } from "../shared/verified-reads.js";
import { credentialTagOf } from "./credential-tag.js";

/** How long after a send the stream is not trusted to have caught up. */
const SETTLE_MS = 3_000;
/** Credentials remembered as having sent; the oldest goes first, when it has long settled. */
const MAX_MARKS = 4_096;

export interface OrderMarks {
  readonly orders: OrderSender;
  /** Has this session's account been sent an order within the last moments? */
  isSettling(session: AccountSession): boolean;
  readonly verified: VerifiedReads<readonly VenuePosition[]>;
}

/** Notes each send, before and after it. */
export function withOrderMarks(orders: Required<OrderSender>, clock: Clock): OrderMarks {
  const sentMsByTag = new Map<string, number>();
  const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
  const mark = (session: AccountSession): void => {
    const tag = credentialTagOf(session);
    if (tag === null) return;
    verified.noteOrder(tag);
    sentMsByTag.delete(tag);
    sentMsByTag.set(tag, clock.monoNs() / 1e6);
    if (sentMsByTag.size <= MAX_MARKS) return;
    const oldest = sentMsByTag.keys().next();
    if (!oldest.done) sentMsByTag.delete(oldest.value);
  };
  const around = async <T>(session: AccountSession, send: () => Promise<T>): Promise<T> => {
    mark(session);
    const outcome = await send();
    mark(session);
    return outcome;
  };
  return {
    verified,
    orders: {
      place: (session, command, options) => around(session, () => orders.place(session, command, options)),
      // An amended order may fill as a placed one does; a cancelled one no longer.
      amend: (session, instrument, current, change, options) =>
        around(session, () => orders.amend(session, instrument, current, change, options)),
      cancel: (session, instrument, ref, options) => orders.cancel(session, instrument, ref, options),
      cancelAll: (session, instrument, options) => orders.cancelAll(session, instrument, options),
      scheduleCancel: (session, atMs, options) => orders.scheduleCancel(session, atMs, options),
      placeBoundMs: (session, timeoutMs) => orders.placeBoundMs(session, timeoutMs),
      venueClientOrderId: (clientIdHex) => orders.venueClientOrderId(clientIdHex),
      parseClientOrderId: (text) => orders.parseClientOrderId(text),
    },
    isSettling(session) {
      const tag = credentialTagOf(session);
      const sentMs = tag === null ? undefined : sentMsByTag.get(tag);
      return sentMs !== undefined && clock.monoNs() / 1e6 - sentMs < SETTLE_MS;
    },
  };
}

/** What the reader needs of the account streams. */
export interface StreamedPositions {
  /** Null where no stream of the same credentials is LIVE. */
  positionsOf(session: AccountSession): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null;
}

export class StreamFirstReader implements AccountReader {
  readonly #rest: Required<Omit<AccountReader, "heldPositions" | "verifyPositions" | "followOrder">>;
  readonly #streams: StreamedPositions;
  readonly #marks: OrderMarks;

  constructor(
    rest: Required<Omit<AccountReader, "heldPositions" | "verifyPositions" | "followOrder">>,
    streams: StreamedPositions,
    marks: OrderMarks,
  ) {
    this.#rest = rest;
    this.#streams = streams;
    this.#marks = marks;
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    return this.#streamed(session, instrument) ?? this.#rest.readPositions(session, instrument, options);
  }

  heldPositions(session: AccountSession, instrument: Instrument): Read<readonly VenuePosition[]> | null {
    return this.#streamed(session, instrument);
  }

  verifyPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    const load = (): Promise<Read<readonly VenuePosition[]>> => this.#rest.readPositions(session, instrument, options);
    const tag = credentialTagOf(session);
    return tag === null ? load() : this.#marks.verified.read(tag, instrument?.nativeSymbol ?? "", load);
  }

  readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    return this.#rest.readOrder(session, instrument, ref, options);
  }

  readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>> {
    return this.#rest.readOpenOrders(session, instrument, options);
  }

  readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    return this.#rest.readBalances(session, options);
  }

  readFeeRates(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>> {
    return this.#rest.readFeeRates(session, instrument, options);
  }

  findOrder(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>> {
    return this.#rest.findOrder(session, ref, options);
  }

  readAccount(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>> {
    return this.#rest.readAccount(session, options);
  }

  #streamed(session: AccountSession, instrument: Instrument | null): Read<readonly VenuePosition[]> | null {
    const streamed = this.#marks.isSettling(session) ? null : this.#streams.positionsOf(session);
    if (streamed === null || instrument === null) return streamed;
    const value = streamed.value.filter((position) => position.nativeSymbol === instrument.nativeSymbol);
    return { ...streamed, value };
  }
}

export function streamFirst(
  rest: Required<Omit<AccountReader, "heldPositions" | "verifyPositions" | "followOrder">>,
  orders: Required<OrderSender>,
  streams: StreamedPositions,
  clock: Clock,
): { readonly reader: StreamFirstReader; readonly orders: OrderSender } {
  const marks = withOrderMarks(orders, clock);
  return { reader: new StreamFirstReader(rest, streams, marks), orders: marks.orders };
}
