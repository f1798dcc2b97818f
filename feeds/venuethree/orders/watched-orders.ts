/**
 * The sender of a room that also streams: a cancel, a change and a cancel of all are answered with their outcome
 * (orders/tx-confirmation.ts), and a cancel of an order whose end was streamed is not sent.
 */
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSession, OrderSender } from "../../../engine/ports.js";
import { Deadline } from "../../shared/net/deadline.js";
import {
  cancelAllTold,
  cancelTold,
  changeTold,
  idAtVenue,
  type OrderAudience,
  placeTold,
} from "../../shared/orders/own-order.js";
import { VenuethreeSession } from "../account/session.js";
import { type PositionReads, streamedEnd, type VenuethreeReads, watchedBy } from "../account/streamed-reads.js";
import type { VenuethreeAccountStreams, VenuethreeWatchedAccount } from "../account/streams.js";
import { confirmCancel, hadEnded } from "./cancel-confirmation.js";
import { confirmAmend, confirmCancelAll } from "./change-confirmation.js";
import type { VenuethreeOrders } from "./orders.js";
import type { TxConfirmationDeps } from "./tx-confirmation.js";

export function watchedOrders(
  trading: VenuethreeReads & { readonly orders: VenuethreeOrders },
  streams: VenuethreeAccountStreams,
  fate: TxConfirmationDeps,
  verified: PositionReads,
): OrderSender {
  const inner = trading.orders;
  // By the index the session names, confirmed or not: a doubt too many costs one read.
  const accountOf = (session: AccountSession): VenuethreeWatchedAccount | null =>
    session instanceof VenuethreeSession ? streams.watched(session.accountIndex) : null;
  const audienceOf = (session: AccountSession): OrderAudience => ({
    streamed: () => {
      const account = accountOf(session);
      return account === null ? [] : [account];
    },
    note: () => {
      if (session instanceof VenuethreeSession) verified.noteOrder(String(session.accountIndex));
    },
  });
  return {
    place: (session, command, call) => {
      accountOf(session)?.source.noteSending(inner.venueClientOrderId(command.clientIdHex));
      const clientId = inner.venueClientOrderId(command.clientIdHex);
      // The answer is "submitted": its outcome is streamed.
      return placeTold(audienceOf(session), command, clientId, false, () => inner.place(session, command, call));
    },
    amend: async (session, instrument, current, change, call) => {
      const deadline = new Deadline(fate.clock, call);
      // A change may fill at once.
      const { outcome, txHash } = await changeTold(audienceOf(session), () =>
        inner.askAmend(session, instrument, current, change, call),
      );
      const left = deadline.left();
      if (outcome.outcome !== "accepted" || txHash === null || left === null) return outcome;
      const told = (): VenueOrder | null => {
        const order = watchedBy(trading, streams, session)?.source.order(current.venueOrderId) ?? null;
        return order?.nativeSymbol === instrument.nativeSymbol ? order : null;
      };
      return confirmAmend(fate, txHash, current, change, told, left);
    },
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
      return cancelTold(audienceOf(session), idAtVenue(ref, inner), async () => {
        const { outcome, txHash } = await inner.askCancel(session, instrument, ref, call);
        const left = deadline.left();
        if (outcome.outcome !== "accepted" || txHash === null || left === null) return outcome;
        return confirmCancel(fate, txHash, told, left);
      });
    },
    cancelAll: async (session, instrument, call) => {
      const deadline = new Deadline(fate.clock, call);
      const stood = watchedBy(trading, streams, session)?.source.stoodOrders(instrument?.nativeId ?? null) ?? null;
      return cancelAllTold(audienceOf(session), async () => {
        const { outcome, txHash } = await inner.askCancelAll(session, instrument, call);
        const left = deadline.left();
        if (outcome.outcome !== "accepted" || txHash === null || left === null) return outcome;
        return confirmCancelAll(fate, txHash, stood, left);
      });
    },
    scheduleCancel: (session, atMs, call) => inner.scheduleCancel(session, atMs, call),
    placeBoundMs: (session, timeoutMs) => inner.placeBoundMs(session, timeoutMs),
    venueClientOrderId: (clientIdHex) => inner.venueClientOrderId(clientIdHex),
    parseClientOrderId: (text) => inner.parseClientOrderId(text),
  };
}
