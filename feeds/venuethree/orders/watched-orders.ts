/**
 * The sender of a room that also streams: a cancel, a change and a cancel of all are answered with their outcome
 * (orders/tx-confirmation.ts), and a cancel of an order whose end was streamed is not sent.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountSession, CallOptions, OrderRef, OrderSender } from "../../../engine/ports.js";
import { paidBy } from "../../shared/account/paid-by.js";
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
import { CANCEL_ALL_PENDING, confirmAmend, confirmCancelAll } from "./change-confirmation.js";
import type { Asked, VenuethreeOrders } from "./orders.js";
import type { TxConfirmationDeps } from "./tx-confirmation.js";

/** What the room trades by (trading.ts). */
export interface WatchedTrading extends VenuethreeReads {
  readonly orders: VenuethreeOrders;
}

export function watchedOrders(
  trading: WatchedTrading,
  streams: VenuethreeAccountStreams,
  confirmation: TxConfirmationDeps,
  verified: PositionReads,
): OrderSender {
  const inner = trading.orders;
  const audienceOf = (session: AccountSession): OrderAudience => audienceIn(streams, verified, session);
  return {
    ...confirmedChanges(trading, streams, confirmation, audienceOf),
    place: (session, command, call) => {
      const clientId = inner.venueClientOrderId(command.clientIdHex);
      accountOf(streams, session)?.source.noteSending(clientId);
      // The answer is "submitted": its outcome is streamed.
      return placeTold(audienceOf(session), command, clientId, false, () => inner.place(session, command, call));
    },
    scheduleCancel: (session, atMs, call) => inner.scheduleCancel(session, atMs, call),
    placeBoundMs: (session, timeoutMs) => inner.placeBoundMs(session, timeoutMs),
    venueClientOrderId: (clientIdHex) => inner.venueClientOrderId(clientIdHex),
    parseClientOrderId: (text) => inner.parseClientOrderId(text),
  };
}

/** What is asked of orders that are there, answered with its outcome. */
function confirmedChanges(
  trading: WatchedTrading,
  streams: VenuethreeAccountStreams,
  confirmation: TxConfirmationDeps,
  audienceOf: (session: AccountSession) => OrderAudience,
): Required<Pick<OrderSender, "amend" | "cancel" | "cancelAll">> {
  const inner = trading.orders;
  return {
    amend: (session, instrument, current, change, call) => {
      const streamed = (): VenueOrder | null =>
        ofMarket(instrument, watchedBy(trading, streams, session)?.source.order(current.venueOrderId) ?? null);
      // A change may fill at once.
      const ask = () =>
        changeTold(audienceOf(session), () => inner.askAmend(session, instrument, current, change, call));
      return confirmed(confirmation.clock, paidBy(session, call), ask, (txHash, left) =>
        confirmAmend(confirmation, txHash, current, change, streamed, left),
      );
    },
    cancel: async (session, instrument, ref, call) => {
      const streamed = (): VenueOrder | null =>
        ofMarket(instrument, namesOneForGood(ref) ? streamedEnd(trading, streams, session, ref) : null);
      const before = streamed();
      if (before !== null) return hadEnded(before);
      const ask = () => inner.askCancel(session, instrument, ref, call);
      return cancelTold(audienceOf(session), idAtVenue(ref, inner), () =>
        confirmed(confirmation.clock, paidBy(session, call), ask, (txHash, left) =>
          confirmCancel(confirmation, txHash, streamed, left),
        ),
      );
    },
    cancelAll: (session, instrument, call) => {
      const open = watchedBy(trading, streams, session)?.source.trackOpenOrders(instrument?.nativeId ?? null) ?? null;
      const ask = () => inner.askCancelAll(session, instrument, call);
      return cancelAllTold(audienceOf(session), () =>
        confirmed(
          confirmation.clock,
          paidBy(session, call),
          ask,
          (txHash, left) => confirmCancelAll(confirmation, txHash, open, left),
          CANCEL_ALL_PENDING,
        ),
      );
    },
  };
}

function audienceIn(
  streams: VenuethreeAccountStreams,
  verified: PositionReads,
  session: AccountSession,
): OrderAudience {
  return {
    streamed: () => {
      const account = accountOf(streams, session);
      return account === null ? [] : [account];
    },
    note: () => {
      if (session instanceof VenuethreeSession) verified.noteOrder(String(session.accountIndex));
    },
  };
}

/** By the index the session names, confirmed or not: a doubt too many costs one read. */
function accountOf(streams: VenuethreeAccountStreams, session: AccountSession): VenuethreeWatchedAccount | null {
  return session instanceof VenuethreeSession ? streams.watched(session.accountIndex) : null;
}

/**
 * Asks, and gives the outcome of what the API took. Where no time is left to learn it: `untold`, or else the API's
 * answer.
 */
async function confirmed<T extends { readonly outcome: string }>(
  clock: Clock,
  call: CallOptions,
  ask: () => Promise<Asked<T>>,
  confirm: (txHash: string, left: CallOptions) => Promise<T>,
  untold: T | null = null,
): Promise<T> {
  const deadline = new Deadline(clock, call);
  const { outcome, txHash } = await ask();
  if (outcome.outcome !== "accepted" || txHash === null) return outcome;
  const left = deadline.left();
  return left === null ? (untold ?? outcome) : confirm(txHash, left);
}

/** A client order index may be used again once its order has ended: only the venue's own id names one for good. */
function namesOneForGood(ref: OrderRef): boolean {
  return "venueOrderId" in ref;
}

function ofMarket({ nativeSymbol }: Instrument, order: VenueOrder | null): VenueOrder | null {
  return order?.nativeSymbol === nativeSymbol ? order : null;
}
