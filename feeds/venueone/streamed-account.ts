/**
 * The trading half with its account streams: positions come from an account's stream where that may stand for a live
 * read. A reducing order of ours makes them doubtful by what it may take, until its fills are streamed; any other order
 * or setting, and one of unknown outcome, altogether, until a state surely newer than its answer.
 */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { OrderCommand, PlaceOutcome } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { AccountReader, AccountSession, AccountSettings, OrderSender, Read } from "../../engine/ports.js";
import type { WantedLots } from "../shared/order-doubts.js";
import type { VerifiedReads } from "../shared/verified-reads.js";
import type { VenueoneAccountStreams } from "./account-stream.js";
import type { VenueoneTrading } from "./trading.js";

/** A streamed account may stand for a live read only if something about it arrived this recently. */
const MAX_STREAMED_POSITIONS_AGE_MS = 6_000;

export interface WatchedHalf {
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly settings: AccountSettings;
}

export function watchAccounts(
  trading: VenueoneTrading,
  streams: VenueoneAccountStreams,
  verified: VerifiedReads<readonly VenuePosition[]>,
): WatchedHalf {
  const { orders, reader, settings } = trading;
  /** Account of each session that was read, so that an order finds it without waiting. */
  const accountOf = new WeakMap<AccountSession, string>();
  const noteOrder = (session: AccountSession): void => {
    const account = accountOf.get(session) ?? null;
    streams.noteOrder(account);
    if (account !== null) verified.noteOrder(account);
  };
  const around = async <T>(session: AccountSession, send: () => Promise<T>): Promise<T> => {
    noteOrder(session);
    try {
      return await send();
    } finally {
      noteOrder(session);
    }
  };
  const place = async (
    session: AccountSession,
    command: OrderCommand,
    send: () => Promise<PlaceOutcome>,
  ): Promise<PlaceOutcome> => {
    const account = accountOf.get(session) ?? null;
    if (account === null || !command.reduceOnly) return around(session, send);
    const clientId = orders.venueClientOrderId(command.clientIdHex);
    verified.noteOrder(account);
    streams.noteReduction(account, clientId, command.instrument.nativeSymbol, command.qtyLots);
    let filledLots: number | null = null;
    try {
      const outcome = await send();
      // What the venue refuses it may refuse because the position is not what was held: that is to be read.
      if (outcome.outcome === "accepted" && outcome.order.status !== "REJECTED") filledLots = outcome.order.filledLots;
      else if (outcome.outcome === "rejected" && !outcome.sent) filledLots = 0;
      return outcome;
    } finally {
      verified.noteOrder(account);
      streams.noteAnswer(account, clientId, filledLots);
    }
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
        const account = await trading.resolveAccount(session, call);
        if (!account.ok) return account;
        accountOf.set(session, account.value);
        streams.noteUse(account.value);
        return verified.read(account.value, instrument?.nativeSymbol ?? "", () =>
          reader.readPositions(session, instrument, call),
        );
      },
      readOrder: (session, instrument, ref, call) => reader.readOrder(session, instrument, ref, call),
      readOpenOrders: (session, instrument, call) => reader.readOpenOrders(session, instrument, call),
      readBalances: (session, call) => reader.readBalances(session, call),
      readFeeRates: (session, instrument, call) => reader.readFeeRates(session, instrument, call),
      findOrder: (session, ref, call) => reader.findOrder(session, ref, call),
      readAccount: (session, call) => reader.readAccount(session, call),
    },
    orders: {
      place: (session, command, call) => place(session, command, () => orders.place(session, command, call)),
      // An amended order may fill as a placed one does; a cancelled one no longer.
      amend: (session, instrument, current, change, call) =>
        around(session, () => orders.amend(session, instrument, current, change, call)),
      cancel: (session, instrument, ref, call) => orders.cancel(session, instrument, ref, call),
      cancelAll: (session, instrument, call) => orders.cancelAll(session, instrument, call),
      scheduleCancel: (session, atMs, call) => orders.scheduleCancel(session, atMs, call),
      placeBoundMs: (session, timeoutMs) => orders.placeBoundMs(session, timeoutMs),
      venueClientOrderId: (clientIdHex) => orders.venueClientOrderId(clientIdHex),
      parseClientOrderId: (text) => orders.parseClientOrderId(text),
    },
    settings: {
      read: (session, instrument, call) => settings.read(session, instrument, call),
      setLeverage: (session, instrument, leverage, call) =>
        around(session, () => settings.setLeverage(session, instrument, leverage, call)),
      setMarginMode: (session, instrument, mode, call) =>
        around(session, () => settings.setMarginMode(session, instrument, mode, call)),
    },
  };
}

/** `instrument` null: all of them. Null: only REST may answer. */
function streamedPositions(
  streams: VenueoneAccountStreams,
  account: string,
  instrument: Instrument | null,
  wanted: WantedLots | null,
): Read<readonly VenuePosition[]> | null {
  const live = streams.livePositions(account, MAX_STREAMED_POSITIONS_AGE_MS, wanted);
  if (live === null) return null;
  const { positions, asOfMs } = live;
  const value =
    instrument === null ? positions : positions.filter((held) => held.nativeSymbol === instrument.nativeSymbol);
  return { ok: true, value, asOfMs, source: "stream" };
}
