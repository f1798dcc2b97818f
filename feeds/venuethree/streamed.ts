/**
 * The reader and the sender of a room that also streams: positions come from the stream where it may stand for a live
 * read, and every order makes the streamed positions doubtful until a state surely newer than its answer. A cancel is
 * answered with what became of it (cancel-fate.ts), and one of an order whose end was streamed is not sent.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { AccountReader, AccountSession, OrderRef, OrderSender, Read } from "../../engine/ports.js";
import { Deadline } from "../shared/deadline.js";
import { wantedId } from "./account.js";
import type { VenuethreeAccountStreams } from "./account-stream.js";
import { type CancelFateDeps, cancelFate, hadEnded } from "./cancel-fate.js";
import { MAX_STREAMED_POSITIONS_AGE_MS } from "./limits.js";
import { VenuethreeSession } from "./session.js";
import type { VenuethreeTrading } from "./trading.js";

export function streamedReader(
  trading: VenuethreeTrading,
  streams: VenuethreeAccountStreams,
  clock: Clock,
): AccountReader {
  const inner = trading.reader;
  /** Null: ask the venue. Nothing streamed is shown to a key that the venue has not confirmed. */
  const held = (session: AccountSession, instrument: Instrument | null): Read<readonly VenuePosition[]> | null => {
    const key = trading.knownKey(session);
    if (key === null || !key.ok) return null;
    const live = streams.livePositions(key.value.accountIndex, MAX_STREAMED_POSITIONS_AGE_MS);
    if (live === null || !live.ok || instrument === null) return live;
    return { ...live, value: live.value.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol) };
  };
  return {
    heldPositions: held,
    readPositions: async (session, instrument, call) =>
      held(session, instrument) ?? inner.readPositions(session, instrument, call),
    readOrder: async (session, instrument, ref, call) => {
      const told = streamedEnd(trading, streams, session, ref);
      return told !== null && told.nativeSymbol === instrument.nativeSymbol
        ? { ok: true, value: told, asOfMs: clock.wallMs(), source: "stream" }
        : inner.readOrder(session, instrument, ref, call);
    },
    readOpenOrders: (session, instrument, call) => inner.readOpenOrders(session, instrument, call),
    readBalances: (session, call) => inner.readBalances(session, call),
    readFeeRates: (session, instrument, call) => inner.readFeeRates(session, instrument, call),
    findOrder: (session, ref, call) => inner.findOrder(session, ref, call),
    readAccount: (session, call) => inner.readAccount(session, call),
  };
}

/**
 * The end of an order is final: once it was streamed, nobody is asked. Two or three of the few reads are spared. Null
 * where it was not, or to a key that the venue has not confirmed.
 */
function streamedEnd(
  trading: VenuethreeTrading,
  streams: VenuethreeAccountStreams,
  session: AccountSession,
  ref: OrderRef,
): VenueOrder | null {
  const key = trading.knownKey(session);
  const wanted = wantedId(ref);
  if (key === null || !key.ok || wanted === null) return null;
  return streams.endedOrder(key.value.accountIndex, wanted.field, wanted.text);
}

export function watchedOrders(
  trading: VenuethreeTrading,
  streams: VenuethreeAccountStreams,
  fate: CancelFateDeps,
): OrderSender {
  const inner = trading.orders;
  // By the index the session names, confirmed or not: a doubt too many costs one read.
  const note = (session: AccountSession): void => {
    if (session instanceof VenuethreeSession) streams.noteOrder(session.accountIndex);
  };
  const watched = async <T>(session: AccountSession, send: () => Promise<T>): Promise<T> => {
    note(session);
    try {
      return await send();
    } finally {
      note(session);
    }
  };
  return {
    place: (session, command, call) => watched(session, () => inner.place(session, command, call)),
    // A change may fill at once.
    amend: (session, instrument, current, change, call) =>
      watched(session, () => inner.amend(session, instrument, current, change, call)),
    cancel: async (session, instrument, ref, call) => {
      const deadline = new Deadline(fate.clock, call);
      const told = (): VenueOrder | null => {
        // A client order index may be used again once its order has ended: only the venue's own id names one for good.
        if (!("venueOrderId" in ref)) return null;
        const order = streamedEnd(trading, streams, session, ref);
        return order?.nativeSymbol === instrument.nativeSymbol ? order : null;
      };
      const before = told();
      if (before !== null) return hadEnded(before);
      const { outcome, txHash } = await inner.askCancel(session, instrument, ref, call);
      const left = deadline.left();
      if (outcome.outcome !== "accepted" || txHash === null || left === null) return outcome;
      return cancelFate(fate, txHash, told, left);
    },
    cancelAll: (session, instrument, call) => inner.cancelAll(session, instrument, call),
    scheduleCancel: (session, atMs, call) => inner.scheduleCancel(session, atMs, call),
    placeBoundMs: (session, timeoutMs) => inner.placeBoundMs(session, timeoutMs),
    venueClientOrderId: (clientIdHex) => inner.venueClientOrderId(clientIdHex),
    parseClientOrderId: (text) => inner.parseClientOrderId(text),
  };
}
