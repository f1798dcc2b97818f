/**
 * Finds an order by whatever its caller calls it: the caller's own id, what the venue saw as client id, or the venue's
 * id; with the symbol where it is known, through the room's search otherwise.
 *
 * Invariant: absent is reported only when every place that could hold the order was read and had none; one failed read
 * among them makes it a failure.
 */
import type { Clock } from "../../domain/clock.js";
import type { RecentOrders } from "./recent-orders.js";
import type { Rooms } from "../accounts.js";
import type { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import type { ClientIdSource } from "../send/client-id.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Owners } from "../../domain/owner.js";
import type { VenueOrder } from "../../domain/order.js";
import type { OrderRef, Read, ReadFailure } from "../../ports.js";
import { type Deadline, within } from "../../domain/deadline.js";
import { refusal } from "./order-check.js";
import type { OrderAnswer, OrderName, OwnTerms } from "./order-desk.js";
import { answerOf, factsOfVenueOrder, instrumentOf } from "./order-facts.js";
import { callOptions, readRefusal, type OpenedAccount } from "./open-account.js";
import type { SingleConclusion } from "./single-conclude.js";
import { settleAsked, type SettleParts } from "./single-settle.js";
import { lastAttempt } from "./single-run.js";
import type { UnsettledOrder, UnsettledOrders } from "./unsettled-orders.js";

/** What tells the terms of an order of ours. */
export interface OwnTermsParts {
  readonly clientIds: ClientIdSource;
  readonly names: ClientOrderIdIndex;
  readonly owners: Owners;
  readonly rooms: Rooms;
}

/** What finds an order by its name. */
export interface NameParts {
  readonly names: ClientOrderIdIndex;
  readonly unsettled: UnsettledOrders;
}

/** What answers a question for an order. */
export interface StatusParts extends OwnTermsParts, NameParts, SettleParts {
  readonly recent: RecentOrders;
}

/** An order under all names that we know of it. */
export interface NamedOrder {
  readonly text: string;
  /** In the order in which they are tried; none: no order can be called so. */
  readonly refs: readonly OrderRef[];
  readonly instrument: Instrument | null;
  readonly clientOrderId: string | null;
  readonly unsettled: UnsettledOrder | null;
}

export type Look =
  | { readonly kind: "found"; readonly order: VenueOrder; readonly instrument: Instrument }
  | { readonly kind: "absent" }
  | {
      readonly kind: "failed";
      readonly code: ReadFailure | "UNLISTED_SYMBOL";
      readonly retryAfterMs: number | null;
      readonly message: string;
    };

/** Every venue here numbers its orders. */
const VENUE_ORDER_ID = /^\d{1,20}$/;
const MAX_NAME_CHARS = 128;

/** Rejects with STORE_UNAVAILABLE. */
export async function nameOrder(
  parts: NameParts,
  { room, accountHashes }: OpenedAccount,
  { orderId, symbol }: Pick<OrderName, "orderId" | "symbol">,
): Promise<NamedOrder> {
  const text = orderId;
  const hinted = symbol === null ? null : (room.markets.get(symbol)?.instrument ?? null);
  if (text === "" || text.length > MAX_NAME_CHARS) {
    return { text, refs: [], instrument: hinted, clientOrderId: null, unsettled: null };
  }
  const own = (await parts.names.byName(accountHashes, text)) ?? (await parts.names.byVenueName(accountHashes, text));
  const unsettled = parts.unsettled.find(accountHashes, text);
  const run = unsettled?.run ?? null;
  const clientIdHex = own?.clientIdHex ?? run?.attempts.at(-1)?.clientIdHex ?? null;
  const refs: OrderRef[] = [];
  if (clientIdHex !== null) refs.push({ clientIdHex });
  else {
    if (VENUE_ORDER_ID.test(text)) refs.push({ venueOrderId: text });
    const parsed = room.orders.parseClientOrderId?.(text) ?? null;
    if (parsed !== null) refs.push({ clientIdHex: parsed });
  }
  const known = own?.symbol ?? run?.symbol ?? null;
  const instrument = known === null ? hinted : (room.markets.get(known)?.instrument ?? hinted);
  const clientOrderId = own?.clientOrderId ?? run?.clientOrderId ?? null;
  return { text, refs, instrument, clientOrderId, unsettled };
}

/** `instrument` is a hint of the name: where it leads nowhere all symbols are searched. */
export async function lookUp(
  parts: { readonly clock: Clock },
  opened: OpenedAccount,
  named: NamedOrder,
  deadline: Deadline,
): Promise<Look> {
  let failed: Extract<Look, { kind: "failed" }> | null = null;
  for (const ref of named.refs) {
    for (const read of readsOf(opened, named, ref, deadline)) {
      const answered = await within(parts.clock, read(), callOptions(deadline, "exit").timeoutMs);
      const value: Read<VenueOrder | null> = answered.done
        ? answered.value
        : { ok: false, code: "TIMEOUT", message: "", retryAfterMs: null };
      if (!value.ok) {
        const { code, message, retryAfterMs } = value;
        failed = { kind: "failed", code, message, retryAfterMs };
        continue;
      }
      if (value.value === null) continue;
      const order = value.value;
      const instrument = instrumentOf(opened.room.markets, order.nativeSymbol);
      if (instrument !== null) return { kind: "found", order, instrument };
      failed = { kind: "failed", code: "UNLISTED_SYMBOL", message: "", retryAfterMs: null };
    }
  }
  return failed ?? { kind: "absent" };
}

function readsOf(
  { room, session }: OpenedAccount,
  named: NamedOrder,
  ref: OrderRef,
  deadline: Deadline,
): (() => Promise<Read<VenueOrder | null>>)[] {
  const { reader } = room;
  const { instrument } = named;
  const reads: (() => Promise<Read<VenueOrder | null>>)[] = [];
  if (instrument !== null) {
    reads.push(() => reader.readOrder(session, instrument, ref, callOptions(deadline, "exit")));
  }
  const { findOrder } = reader;
  if (findOrder !== undefined) {
    reads.push(() => findOrder.call(reader, session, ref, callOptions(deadline, "exit")));
  }
  // Without a search, and without a symbol, no place was read: that is no absence.
  if (reads.length === 0) {
    reads.push(async () => ({ ok: false, code: "VENUE_ERROR", message: "", retryAfterMs: null }));
  }
  return reads;
}

/** The status of one order, with its own unknown outcome ended on the way where the venue lets it. */
export async function orderStatus(
  parts: StatusParts,
  conclusion: SingleConclusion,
  opened: OpenedAccount,
  request: OrderName,
  deadline: Deadline,
): Promise<OrderAnswer> {
  const { venue, orderId } = request;
  const named = await nameOrder(parts, opened, request);
  const { unsettled } = named;
  if ((await settleNamed(parts, conclusion, opened, named, request, deadline)) && unsettled !== null) {
    const answer = answerOf(unsettled.run, parts.clock.wallMs());
    if (answer?.ok === true) return answer;
    // One that the venue itself refused is there to be shown.
    if (lastAttempt(unsettled.run)?.reason === "NOT_PLACED")
      return refusal("ORDER_NOT_FOUND", { orderId, exchange: venue, neverPlaced: true });
  }
  const look = await lookUp(parts, opened, named, deadline);
  switch (look.kind) {
    case "found": {
      const own = await ownTerms(parts, opened, look.order, named.clientOrderId);
      return { ok: true, order: factsOfVenueOrder(look.instrument, look.order, own), replayed: false };
    }
    case "absent": {
      const recent = parts.recent.find(opened.accountHashes, orderId);
      return (
        (recent === null ? null : answerOf(recent, parts.clock.wallMs())) ??
        refusal("ORDER_NOT_FOUND", { orderId, exchange: venue })
      );
    }
    case "failed":
      return lookRefusal(venue, look);
  }
}

/**
 * Ends the order's own unknown outcome where its venue lets it; before an amend, as in another size it would not be known
 * again. Returns false where none was looked for.
 */
export async function settleNamed(
  parts: SettleParts,
  conclusion: SingleConclusion,
  { room, session }: OpenedAccount,
  { instrument, unsettled }: NamedOrder,
  { credentials }: Pick<OrderName, "credentials">,
  deadline: Deadline,
): Promise<boolean> {
  if (unsettled === null || instrument === null) return false;
  const place = { room, instrument, session, credentials };
  await settleAsked(parts, conclusion, unsettled, place, callOptions(deadline, "exit").timeoutMs);
  return true;
}

export function lookRefusal(
  venue: OrderName["venue"],
  { code, message, retryAfterMs }: Extract<Look, { kind: "failed" }>,
): Extract<OrderAnswer, { ok: false }> {
  if (code === "UNLISTED_SYMBOL") return refusal("FAILED_TO_FETCH_ORDER_STATUS", { exchange: venue, reason: code });
  return readRefusal("FAILED_TO_FETCH_ORDER_STATUS", venue, { code, message, retryAfterMs });
}

/** `name`: what its caller calls it, where that is known already. */
export async function ownTerms(
  parts: OwnTermsParts,
  { accountHashes, ownerId }: OpenedAccount,
  order: VenueOrder,
  name: string | null,
): Promise<OwnTerms> {
  const { venueClientOrderId } = order;
  const isMarket = wasPlacedAsMarket(parts, order, ownerId);
  if (name !== null || venueClientOrderId === null) return { clientOrderId: name, isMarket };
  const named = await parts.names.byVenueName(accountHashes, venueClientOrderId);
  return { clientOrderId: named?.clientOrderId ?? null, isMarket };
}

/** By the client id that it was placed with, for those whose order it is. */
export function wasPlacedAsMarket(
  { rooms, clientIds, owners }: Pick<OwnTermsParts, "clientIds" | "owners" | "rooms">,
  { venue, venueClientOrderId }: VenueOrder,
  ownerId: string | null,
): boolean {
  if (venueClientOrderId === null) return false;
  const clientIdHex = rooms.get(venue)?.orders.parseClientOrderId?.(venueClientOrderId) ?? null;
  if (clientIdHex === null) return false;
  return owners.reachedBy(ownerId).some((owner) => clientIds.isOfMarketOrder(clientIdHex, owner));
}
