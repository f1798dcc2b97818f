/**
 * Positions from the account's own stream where that may stand for a live read (streamed-reads.ts), else over REST; all
 * other reads go to REST. Orders of these credentials are told to the account's streams, which are to show them.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSummary, FeeRates, VenueBalance, VenuePosition } from "../../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, OrderSender, Read } from "../../../engine/ports.js";
import { type OrderAudience, type StreamedAccount, toldOrders } from "../../shared/orders/own-order.js";
import { streamedVersion, type WantedLots } from "../../shared/account/streamed-reads.js";
import { VerifiedReads } from "../../shared/account/verified-reads.js";
import { credentialTagOf } from "./credential-tag.js";

type RestReader = Required<Omit<AccountReader, "heldPositions" | "verifyPositions" | "followOrder">>;

/** What the reader and the sender need of the account streams. */
export interface StreamedPositions {
  /** Null where no stream of the same credentials may stand for a live read. `wanted` null: exact sizes count. */
  positionsOf(
    session: AccountSession,
    wanted: WantedLots | null,
  ): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null;
  /** The account as it is streamed, for each set of credentials that watches it. */
  ofAccount(accountId: string): readonly ComparedAccount[];
  /** That of these very credentials. */
  ofSession(session: AccountSession): ComparedAccount | null;
}

interface ComparedAccount extends StreamedAccount {
  compare(instrument: Instrument | null, positions: readonly VenuePosition[]): readonly VenuePosition[];
}

export function streamFirst(
  rest: RestReader,
  orders: Required<OrderSender>,
  streams: StreamedPositions,
  clock: Clock,
): { readonly reader: StreamFirstReader; readonly orders: OrderSender } {
  const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
  const reader = new StreamFirstReader(rest, streams, verified);
  const audienceOf = ({ accountId }: AccountSession): OrderAudience => ({
    streamed: () => streams.ofAccount(accountId),
    note: () => verified.noteOrder(accountId),
  });
  return { reader, orders: toldOrders(orders, audienceOf) };
}

export class StreamFirstReader implements AccountReader {
  readonly #rest: RestReader;
  readonly #streams: StreamedPositions;
  readonly #verified: VerifiedReads<readonly VenuePosition[]>;

  constructor(rest: RestReader, streams: StreamedPositions, verified: VerifiedReads<readonly VenuePosition[]>) {
    this.#rest = rest;
    this.#streams = streams;
    this.#verified = verified;
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    return this.#streamed(session, instrument, null) ?? this.#rest.readPositions(session, instrument, options);
  }

  heldPositions(
    session: AccountSession,
    instrument: Instrument,
    wantedLots?: number,
  ): Read<readonly VenuePosition[]> | null {
    const wanted = wantedLots === undefined ? null : { coin: instrument.nativeSymbol, lots: wantedLots };
    return this.#streamed(session, instrument, wanted);
  }

  async verifyPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    const load = (left: CallOptions): Promise<Read<readonly VenuePosition[]>> =>
      this.#rest.readPositions(session, instrument, left);
    const tag = credentialTagOf(session);
    if (tag === null) return load(options);
    const { accountId } = session;
    const streamed = this.#streams.ofAccount(accountId);
    const part = `${tag} ${instrument?.nativeSymbol ?? ""}`;
    const read = await this.#verified.read(accountId, part, streamedVersion(streamed), options, load);
    if (!read.ok) return read;
    for (const account of streamed) account.compare(instrument, read.value);
    // Of what other credentials opened nothing is seen.
    const own = this.#streams.ofSession(session);
    return own === null ? read : { ...read, value: own.compare(instrument, read.value) };
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

  #streamed(
    session: AccountSession,
    instrument: Instrument | null,
    wanted: WantedLots | null,
  ): Read<readonly VenuePosition[]> | null {
    const streamed = this.#streams.positionsOf(session, wanted);
    if (streamed === null || instrument === null) return streamed;
    const value = streamed.value.filter((position) => position.nativeSymbol === instrument.nativeSymbol);
    return { ...streamed, value };
  }
}
