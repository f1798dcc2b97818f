/** An order of ours on its way through a room that streams its account: what the streams are still to show (streamed-reads.ts). */
import type {
  CancelAllOutcome,
  CancelOutcome,
  OrderCommand,
  PlaceOutcome,
  VenueOrder,
} from "../../../engine/domain/order.js";
import type { AccountSession, OrderRef, OrderSender } from "../../../engine/ports.js";
import type { StreamedReads } from "../account/streamed-reads.js";

export interface StreamedAccount {
  readonly reads: StreamedReads;
  /** Something is to be reported: where the streams do not, the venue is asked. */
  refreshSoon(): void;
}

/** Who takes note of an order of one account. */
export interface OrderAudience {
  /** The account as it is streamed at that moment: none, one, or one for each set of credentials that watches it. */
  streamed(): readonly StreamedAccount[];
  /** An order goes out, or its answer came: reads that began before do not show it. */
  note(): void;
  /** The order's account is not known: `streamed` are all that it may be of. */
  readonly isGuess?: boolean;
}

/** What all rooms that stream their accounts have; not each venue has a dead-man's switch. */
export type AmendingSender = OrderSender & Required<Omit<OrderSender, "scheduleCancel">>;

/** These orders, each announced to the account's streams, which are to report it. A room whose answers hold less has wrappers of its own. */
export function toldOrders(
  orders: AmendingSender,
  audienceOf: (session: AccountSession) => OrderAudience,
): OrderSender {
  return {
    place: (session, command, options) => {
      const audience = audienceOf(session);
      const send = (): Promise<PlaceOutcome> => orders.place(session, command, options);
      // Of a guess no account is to report it.
      if (audience.isGuess === true) return changeTold(audience, send);
      return placeTold(audience, command, orders.venueClientOrderId(command.clientIdHex), true, send);
    },
    // An amended order may fill as a placed one does; a cancelled one no longer.
    amend: (session, instrument, current, change, options) =>
      changeTold(audienceOf(session), () => orders.amend(session, instrument, current, change, options)),
    cancel: (session, instrument, ref, options) =>
      cancelTold(audienceOf(session), idAtVenue(ref, orders), () => orders.cancel(session, instrument, ref, options)),
    cancelAll: (session, instrument, options) =>
      cancelAllTold(audienceOf(session), () => orders.cancelAll(session, instrument, options)),
    ...(orders.scheduleCancel === undefined ? {} : { scheduleCancel: orders.scheduleCancel.bind(orders) }),
    placeBoundMs: (session, timeoutMs) => orders.placeBoundMs(session, timeoutMs),
    venueClientOrderId: (clientIdHex) => orders.venueClientOrderId(clientIdHex),
    parseClientOrderId: (text) => orders.parseClientOrderId(text),
  };
}

/** `tellsFills`: the answer has what the order filled; else its end is only streamed. */
export async function placeTold(
  audience: OrderAudience,
  command: OrderCommand,
  clientId: string,
  tellsFills: boolean,
  send: () => Promise<PlaceOutcome>,
): Promise<PlaceOutcome> {
  const { instrument, qtyLots, side, timeInForce, trigger, type } = command;
  const rests = trigger !== undefined || (type === "LIMIT" && timeInForce !== "IOC");
  const isHedged = command.positionSide === "LONG" || command.positionSide === "SHORT";
  const before = audience.streamed();
  audience.note();
  for (const { reads } of before) {
    reads.sent({ clientId, coin: instrument.nativeSymbol, side, qtyLots, rests, isHedged });
    if (rests) reads.orders.expect(clientId, false);
  }
  let outcome: PlaceOutcome | null = null;
  try {
    outcome = await send();
    return outcome;
  } finally {
    audience.note();
    for (const account of audience.streamed()) {
      const { reads } = account;
      // Streamed since the order went out: it was not counted, and the first read may not show it.
      if (!before.includes(account)) reads.doubt();
      else if (outcome?.outcome === "accepted" && outcome.order.status !== "REJECTED") {
        reads.answered(clientId, tellsFills ? outcome.order : null);
        // One that ended with its answer is in no list.
        if (tellsFills && !mayRest(outcome.order.status)) reads.orders.forget(clientId, false);
        else reads.orders.answered(clientId, false);
      } else {
        reads.orders.forget(clientId, false);
        if (outcome?.outcome === "rejected" && !outcome.sent) reads.fills.forget(clientId);
        else reads.unclear(clientId, outcome !== null && outcome.outcome !== "unknown");
      }
      account.refreshSoon();
    }
  }
}

function mayRest(status: VenueOrder["status"]): boolean {
  return status === "OPEN" || status === "PARTIALLY_FILLED" || status === "UNKNOWN";
}

/** A cancel moves no position, but the stream is to report the end of its order. `id`: the venue's, or the client id that it sees. */
export async function cancelTold(
  audience: OrderAudience,
  id: string,
  send: () => Promise<CancelOutcome>,
): Promise<CancelOutcome> {
  for (const { reads } of audience.streamed()) reads.orders.expect(id, true);
  let outcome: CancelOutcome | null = null;
  try {
    outcome = await send();
    return outcome;
  } finally {
    for (const { reads } of audience.streamed()) {
      if (outcome?.outcome === "accepted") reads.orders.answered(id, true);
      else {
        reads.orders.forget(id, true);
        // Its outcome is unknown; or the venue does not know it any more, and no event reported its end.
        if (outcome?.outcome !== "rejected" || outcome.reason === "NOT_FOUND") reads.orders.doubt();
      }
    }
  }
}

/** As the venue's events name the order. */
export function idAtVenue(ref: OrderRef, orders: Pick<OrderSender, "venueClientOrderId">): string {
  return "venueOrderId" in ref ? ref.venueOrderId : orders.venueClientOrderId(ref.clientIdHex);
}

/** It is not counted here which orders it ends. */
export async function cancelAllTold(
  audience: OrderAudience,
  send: () => Promise<CancelAllOutcome>,
): Promise<CancelAllOutcome> {
  let outcome: CancelAllOutcome | null = null;
  try {
    outcome = await send();
    return outcome;
  } finally {
    if (outcome?.outcome !== "rejected") for (const { reads } of audience.streamed()) reads.orders.doubt();
  }
}

/** Something of ours that may change positions in a way that no order shows: a change of an order, or a setting, which changes no order. */
export async function changeTold<T>(
  audience: OrderAudience,
  send: () => Promise<T>,
  what: "orders" | "positions" = "orders",
): Promise<T> {
  const doubt = ({ reads }: StreamedAccount): void => {
    if (what === "orders") reads.doubt();
    else reads.doubtPositions();
  };
  audience.streamed().forEach(doubt);
  audience.note();
  try {
    return await send();
  } finally {
    audience.note();
    for (const account of audience.streamed()) {
      doubt(account);
      account.refreshSoon();
    }
  }
}
