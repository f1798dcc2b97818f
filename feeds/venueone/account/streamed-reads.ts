/**
 * The trading half with its account streams: positions come from an account's stream where that may stand for a live
 * read (streamed-reads.ts).
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { PlaceOutcome } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type {
  AccountReader,
  AccountSession,
  AccountSettings,
  CallOptions,
  OrderSender,
  Read,
} from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import {
  cancelAllTold,
  cancelTold,
  changeTold,
  idAtVenue,
  type OrderAudience,
  placeTold,
} from "../../shared/orders/own-order.js";
import { streamedVersion, type WantedLots } from "../../shared/account/streamed-reads.js";
import type { VerifiedReads } from "../../shared/account/verified-reads.js";
import type { VenueoneAccount } from "./reader.js";
import type { VenueoneAccountStreams } from "./streams.js";

/** What the trading half of this venue brings (trading.ts). */
export interface VenueoneTradingHalf {
  readonly reader: VenueoneAccount;
  readonly settings: AccountSettings;
  readonly orders: Required<Omit<OrderSender, "ordersDoubtMs">>;
  knownAccount(session: AccountSession): Read<string> | null;
  resolveAccount(session: AccountSession, call: CallOptions): Promise<Read<string>>;
}

export interface WatchedHalf {
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly settings: AccountSettings;
}

export function watchAccounts(
  trading: VenueoneTradingHalf,
  streams: VenueoneAccountStreams,
  verified: VerifiedReads<readonly VenuePosition[]>,
): WatchedHalf {
  const { orders, reader, settings } = trading;
  /** Account of each session that was read, so that an order finds it without waiting. */
  const accountOf = new WeakMap<AccountSession, string>();
  /** Null when nobody knows; then it may be any of them. */
  const accountBehind = (session: AccountSession): string | null => {
    const read = accountOf.get(session);
    if (read !== undefined) return read;
    const known = trading.knownAccount(session);
    return known?.ok === true ? known.value : null;
  };
  const audienceOf = (session: AccountSession): OrderAudience => {
    const account = accountBehind(session);
    return {
      streamed: () => streams.watched(account),
      note: () => verified.noteOrder(account),
    };
  };
  return {
    reader: {
      readPositions: async (session, instrument, call) => {
        const account = await trading.resolveAccount(session, call);
        if (!account.ok) return account;
        accountOf.set(session, account.value);
        streams.noteUse(account.value);
        return (
          streamedPositions(streams, account.value, instrument, null) ?? reader.readPositions(session, instrument, call)
        );
      },
      heldPositions: (session, instrument, wantedLots) => {
        const account = trading.knownAccount(session);
        if (account === null || !account.ok) return account;
        accountOf.set(session, account.value);
        const held = streamedPositions(
          streams,
          account.value,
          instrument,
          wantedLots === undefined ? null : { coin: instrument.nativeSymbol, lots: wantedLots },
        );
        // Nothing in hand: readPositions notes the use.
        if (held !== null) streams.noteUse(account.value);
        return held;
      },
      verifyPositions: async (session, instrument, call) => {
        const deadline = verified.deadline(call);
        const account = await trading.resolveAccount(session, call);
        if (!account.ok) return account;
        accountOf.set(session, account.value);
        streams.noteUse(account.value);
        const watched = streams.watched(account.value);
        const version = streamedVersion(watched);
        const left = deadline.left();
        if (left === null) return failedRead("TIMEOUT", "no time left after the account was looked up");
        const read = await verified.read(account.value, instrument?.nativeSymbol ?? "", version, left, (rest) =>
          reader.readPositions(session, instrument, rest),
        );
        if (!read.ok) return read;
        return { ...read, value: watched.reduce((held, one) => one.compare(instrument, held), read.value) };
      },
      readOrder: (session, instrument, ref, call) => reader.readOrder(session, instrument, ref, call),
      readOpenOrders: (session, instrument, call) => reader.readOpenOrders(session, instrument, call),
      readBalances: (session, call) => reader.readBalances(session, call),
      readFeeRates: (session, instrument, call) => reader.readFeeRates(session, instrument, call),
      findOrder: (session, ref, call) => reader.findOrder(session, ref, call),
      readAccount: (session, call) => reader.readAccount(session, call),
    },
    orders: {
      place: (session, command, call) => {
        const audience = audienceOf(session);
        const send = (): Promise<PlaceOutcome> => orders.place(session, command, call);
        // Nobody knows whose streams are to tell of it.
        if (accountBehind(session) === null) return changeTold(audience, send);
        return placeTold(audience, command, orders.venueClientOrderId(command.clientIdHex), true, send);
      },
      // An amended order may fill as a placed one does; a cancelled one no longer.
      amend: (session, instrument, current, change, call) =>
        changeTold(audienceOf(session), () => orders.amend(session, instrument, current, change, call)),
      cancel: (session, instrument, ref, call) =>
        cancelTold(audienceOf(session), idAtVenue(ref, orders), () => orders.cancel(session, instrument, ref, call)),
      cancelAll: (session, instrument, call) =>
        cancelAllTold(audienceOf(session), () => orders.cancelAll(session, instrument, call)),
      scheduleCancel: (session, atMs, call) => orders.scheduleCancel(session, atMs, call),
      placeBoundMs: (session, timeoutMs) => orders.placeBoundMs(session, timeoutMs),
      venueClientOrderId: (clientIdHex) => orders.venueClientOrderId(clientIdHex),
      parseClientOrderId: (text) => orders.parseClientOrderId(text),
    },
    settings: {
      read: (session, instrument, call) => settings.read(session, instrument, call),
      setLeverage: (session, instrument, leverage, call) =>
        changeTold(audienceOf(session), () => settings.setLeverage(session, instrument, leverage, call), "positions"),
      setMarginMode: (session, instrument, mode, call) =>
        changeTold(audienceOf(session), () => settings.setMarginMode(session, instrument, mode, call), "positions"),
    },
  };
}

/** `instrument` null: all of them. Null when only REST may answer. */
function streamedPositions(
  streams: VenueoneAccountStreams,
  account: string,
  instrument: Instrument | null,
  wanted: WantedLots | null,
): Read<readonly VenuePosition[]> | null {
  const live = streams.livePositions(account, wanted);
  if (live === null || instrument === null) return live;
  return { ...live, value: live.value.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol) };
}
