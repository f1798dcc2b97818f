/**
 * Folds a subscription's frames: `(data, frame) → data`, immutable, untouched parts shared. A snapshot replaces
 * everything; ticker updates merge field by field per venue, book updates level by level.
 *
 * Invariant: folding any legal frames of a key, conflated or not, gives the server's state at the last of them.
 */
import { isDecimalText } from "../decimal.js";
import { bookCrc } from "./book-crc.js";
import { mergeSide, type Side, sideOf } from "./book-side.js";
import {
  entriesOf,
  type FeedHealth,
  type FeedState,
  type Fields,
  feedsOf,
  isCount,
  isFeedState,
  isFields,
} from "./frames.js";

export type FieldValue = string | number | boolean | null;

/** One venue's ticker fields under the public names. */
export interface VenueTicker {
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly state: FeedState;
  /** Our monotonic ms of the venue's last ticker frame, as far as the frames show it; null before the first. */
  readonly heardMs: number | null;
}

export interface VenueBook {
  readonly bids: Side;
  readonly asks: Side;
  readonly venueSeq: string | null;
  readonly state: FeedState;
}

export interface TickerData {
  readonly topic: "ticker";
  readonly symbol: string;
  readonly venues: ReadonlyMap<string, VenueTicker>;
}

export interface BookData {
  readonly topic: "book";
  readonly symbol: string;
  readonly venues: ReadonlyMap<string, VenueBook>;
}

export interface StatusData {
  readonly topic: "status";
  readonly symbol: "";
  readonly service: string;
  readonly feeds: ReadonlyMap<string, FeedHealth>;
}

/** The coverage of one venue's part of an account. */
export interface Coverage {
  readonly state: string;
  readonly mode: string;
  /** The server's ms of the state shown; null before the first. */
  readonly asOf: number | null;
  readonly errorCode: string | null;
}

/** Positions of a wallet by `exchange|symbol|direction`, and `|positionId` of those that have one, each whole under the public names. */
export interface PositionsData {
  readonly topic: "positions";
  readonly symbol: "";
  readonly positions: ReadonlyMap<string, Fields>;
  readonly coverage: ReadonlyMap<string, Coverage>;
  /** The events of the last frame, in its order; none after a snapshot. */
  readonly events: readonly { readonly event: string; readonly position: Fields }[];
}

/** Open orders of a wallet by `exchange|symbol|orderId`. */
export interface OrdersData {
  readonly topic: "orders";
  readonly symbol: "";
  readonly orders: ReadonlyMap<string, Fields>;
  readonly coverage: ReadonlyMap<string, Coverage>;
  /** The last frame's event, complete; null after a snapshot. Every event is one change of the view. */
  readonly event: Fields | null;
}

/** A deposit, withdrawal or transfer as GET /api/transfers/{transferId} answers it; these fields are checked. */
export interface Transfer extends Fields {
  readonly transferId: string;
  readonly walletId: string;
  readonly kind: string;
  readonly state: string;
}

/** Transfers of one server wallet, or of all of a caller's, by id: those of the snapshot and all that came since. */
export interface TransfersData {
  readonly topic: "transfers";
  readonly symbol: "";
  readonly transfers: ReadonlyMap<string, Transfer>;
  /** The last frame's; null after a snapshot. Every event is one change of the view. */
  readonly event: { readonly event: string; readonly transfer: Transfer } | null;
}

export type TopicData = TickerData | BookData | StatusData | PositionsData | OrdersData | TransfersData;
export type Topic = TopicData["topic"];

/** Why a frame could not be folded in: in both cases the state can no longer be trusted. */
export type FoldProblem = "malformed" | "checksum";
export type Fold =
  | { readonly ok: true; readonly data: TopicData }
  | { readonly ok: false; readonly problem: FoldProblem };

/** Most rows in one frame: more than an account can have. */
const MAX_ROWS = 50_000;
/** Most fields of one venue; a payload has about twenty. */
const MAX_FIELDS = 64;
const MALFORMED: Fold = { ok: false, problem: "malformed" };
const VENUE_NAME = /^venue[a-z]{1,16}$/;
const FIELD_NAME = /^[a-zA-Z][a-zA-Z0-9]{0,63}$/;

export function foldSnapshot(topic: Topic, payload: Fields, nowMs: number): Fold {
  if (topic === "status") return foldUpdate({ topic, symbol: "", service: "", feeds: new Map() }, payload, nowMs);
  if (topic === "positions" || topic === "orders") return foldAccountSnapshot(topic, payload);
  if (topic === "transfers") return foldTransfersSnapshot(payload);
  if (typeof payload.symbol !== "string" || payload.symbol === "") return MALFORMED;
  return foldUpdate({ topic, symbol: payload.symbol, venues: new Map() }, payload, nowMs);
}

export function foldUpdate(data: TopicData, payload: Fields, nowMs: number): Fold {
  switch (data.topic) {
    case "ticker":
      return foldTicker(data, payload, nowMs);
    case "book":
      return foldBook(data, payload);
    case "status":
      return foldStatus(data, payload);
    case "positions":
      return foldPositions(data, payload);
    case "orders":
      return foldOrders(data, payload);
    case "transfers":
      return foldTransfers(data, payload);
  }
}

function foldTicker(data: TickerData, payload: Fields, nowMs: number): Fold {
  const venues = new Map(data.venues);
  for (const [venue, change] of venuesOf(payload)) {
    if (!isFields(change)) return MALFORMED;
    const held = venues.get(venue);
    const fields: Record<string, FieldValue> = { ...held?.fields };
    for (const [name, value] of entriesOf(change))
      if (FIELD_NAME.test(name) && isFieldValue(value)) fields[name] = value;
    if (Object.keys(fields).length > MAX_FIELDS || !isFeedState(fields.state)) return MALFORMED;
    venues.set(venue, { fields, state: fields.state, heardMs: heardMs(change, held?.heardMs ?? null, nowMs) });
  }
  return { ok: true, data: { ...data, venues } };
}

/**
 * Uses the age in the frame; without one new fields are fresh, and a change of state alone shows nothing about the
 * data.
 */
function heardMs(change: Fields, held: number | null, nowMs: number): number | null {
  if (isCount(change.ageMs)) return nowMs - change.ageMs;
  if (change.ageMs === null) return null;
  return Object.keys(change).some((name) => name !== "state") ? nowMs : held;
}

function foldBook(data: BookData, payload: Fields): Fold {
  const venues = new Map(data.venues);
  for (const [venue, change] of venuesOf(payload)) {
    if (!isFields(change)) return MALFORMED;
    const held = venues.get(venue);
    // A venue's first frame is complete: its order is checked, not created.
    const bids = held === undefined ? sideOf(change.bids, true) : mergeSide(held.bids, change.bids, true);
    const asks = held === undefined ? sideOf(change.asks, false) : mergeSide(held.asks, change.asks, false);
    const state = change.state === undefined ? held?.state : change.state;
    if (bids === null || asks === null || !isFeedState(state)) return MALFORMED;
    if (isCount(change.crc) && change.crc !== bookCrc(bids, asks)) return { ok: false, problem: "checksum" };
    venues.set(venue, { bids, asks, state, venueSeq: textOr(change.venueSeq, held?.venueSeq ?? null) });
  }
  return { ok: true, data: { ...data, venues } };
}

function foldStatus(data: StatusData, payload: Fields): Fold {
  const { service } = payload;
  const state = isFields(service) && typeof service.state === "string" ? service.state : data.service;
  return { ok: true, data: { ...data, service: state, feeds: new Map([...data.feeds, ...feedsOf(payload.feeds)]) } };
}

function foldAccountSnapshot(topic: "positions" | "orders", payload: Fields): Fold {
  const coverage = coverageOf(new Map(), payload.coverage);
  const rows = topic === "positions" ? rowsOf(payload.positions, positionKey) : rowsOf(payload.orders, orderKey);
  if (coverage === null || rows === null) return MALFORMED;
  const common = { symbol: "", coverage } as const;
  return topic === "positions"
    ? { ok: true, data: { topic, ...common, positions: new Map(rows), events: [] } }
    : { ok: true, data: { topic, ...common, orders: new Map(rows), event: null } };
}

function foldPositions(data: PositionsData, payload: Fields): Fold {
  const rows = rowsOf(payload.positions, positionKey);
  const coverage = payload.coverage === undefined ? data.coverage : coverageOf(data.coverage, payload.coverage);
  const names = payload.events;
  if (rows === null || coverage === null || !Array.isArray(names) || names.length !== rows.length) return MALFORMED;
  const positions = new Map(data.positions);
  const events = rows.map(([key, position], index) => {
    if (position.size === "0") positions.delete(key);
    else positions.set(key, position);
    return { event: String(names[index]), position };
  });
  return { ok: true, data: { ...data, positions, coverage, events } };
}

function foldOrders(data: OrdersData, payload: Fields): Fold {
  const { event } = payload;
  if (event === "coverage") {
    const coverage = coverageOf(data.coverage, payload.coverage);
    return coverage === null ? MALFORMED : { ok: true, data: { ...data, coverage, event: payload } };
  }
  if (event !== "order" && event !== "fill") return { ok: true, data: { ...data, event: payload } };
  const { order } = payload;
  const key = isFields(order) ? orderKey(order) : null;
  if (!isFields(order) || key === null) return MALFORMED;
  const orders = new Map(data.orders);
  if (order.status === "OPEN" || order.status === "PARTIALLY_FILLED") orders.set(key, order);
  // A fill may be of an order that the venue has not described: the order itself is then unchanged.
  else if (event !== "fill" || order.status !== "UNKNOWN") orders.delete(key);
  return { ok: true, data: { ...data, orders, event: payload } };
}

function foldTransfersSnapshot({ transfers }: Fields): Fold {
  if (!Array.isArray(transfers) || transfers.length > MAX_ROWS || !transfers.every(isTransfer)) return MALFORMED;
  const byId = new Map(transfers.map((transfer) => [transfer.transferId, transfer]));
  return { ok: true, data: { topic: "transfers", symbol: "", transfers: byId, event: null } };
}

function foldTransfers(data: TransfersData, { event, transfer }: Fields): Fold {
  if (typeof event !== "string" || !isTransfer(transfer)) return MALFORMED;
  const transfers = new Map(data.transfers).set(transfer.transferId, transfer);
  return { ok: true, data: { ...data, transfers, event: { event, transfer } } };
}

function isTransfer(value: unknown): value is Transfer {
  if (!isFields(value)) return false;
  const { transferId, walletId, kind, state } = value;
  return [transferId, walletId, kind, state].every((part) => typeof part === "string" && part !== "");
}

function rowsOf(value: unknown, keyOf: (row: Fields) => string | null): [string, Fields][] | null {
  if (!Array.isArray(value) || value.length > MAX_ROWS) return null;
  const rows: [string, Fields][] = [];
  for (const row of value) {
    const key = isFields(row) ? keyOf(row) : null;
    if (key === null) return null;
    rows.push([key, row as Fields]);
  }
  return rows;
}

function positionKey({ exchange, symbol, direction, positionId, size }: Fields): string | null {
  if (!isDecimalText(size)) return null;
  return keyText(exchange, symbol, direction, ...(positionId === undefined ? [] : [positionId]));
}

function orderKey({ exchange, symbol, orderId }: Fields): string | null {
  return keyText(exchange, symbol, orderId);
}

function keyText(...parts: readonly unknown[]): string | null {
  return parts.every((part) => typeof part === "string" && part.length <= 128) ? parts.join("|") : null;
}

function coverageOf(held: ReadonlyMap<string, Coverage>, value: unknown): ReadonlyMap<string, Coverage> | null {
  const coverage = new Map(held);
  for (const [venue, row] of entriesOf(value)) {
    if (!VENUE_NAME.test(venue) || !isFields(row)) continue;
    const { state, mode, asOf, error } = row;
    if (typeof state !== "string" || typeof mode !== "string") return null;
    const code = isFields(error) ? error.code : null;
    const errorCode = typeof code === "string" ? code : null;
    coverage.set(venue, { state, mode, asOf: isCount(asOf) ? asOf : null, errorCode });
  }
  return coverage;
}

/** Returns the keys that name a venue; `symbol` and keys that a later server adds are not folded. */
function venuesOf(payload: Fields): [string, unknown][] {
  return entriesOf(payload).filter(([name]) => VENUE_NAME.test(name));
}

function isFieldValue(value: unknown): value is FieldValue {
  if (value === null || typeof value === "boolean") return true;
  return typeof value === "string" ? value.length <= 1024 : typeof value === "number" && Number.isFinite(value);
}

/** An absent value keeps the old one; null clears it. */
function textOr(value: unknown, held: string | null): string | null {
  if (value === null) return null;
  return typeof value === "string" && value.length <= 64 ? value : held;
}

/** Returns a field as decimal text; null when absent, unknown or no number. */
export function decimalField(venue: VenueTicker | undefined, name: string): string | null {
  const value = venue?.fields[name];
  return isDecimalText(value) ? value : null;
}

/** Returns a field as a number that is no money: hours, times. */
export function numberField(venue: VenueTicker | undefined, name: string): number | null {
  const value = venue?.fields[name];
  return typeof value === "number" ? value : null;
}
