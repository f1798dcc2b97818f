/**
 * What a subscription's frames fold into: `(data, frame) → data`, immutable, untouched parts shared. A snapshot
 * replaces everything; ticker updates merge field by field per venue, book updates level by level.
 *
 * Invariant: folding any legal frames of a key, conflated or not, gives what the server held at the last of them.
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
  /** Our monotonic ms of the venue's last ticker frame, as far as the frames tell; null before the first. */
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

export type TopicData = TickerData | BookData | StatusData;
export type Topic = TopicData["topic"];

/** Why a frame could not be folded in: both mean that what we hold cannot be trusted. */
export type FoldProblem = "malformed" | "checksum";
export type Fold =
  | { readonly ok: true; readonly data: TopicData }
  | { readonly ok: false; readonly problem: FoldProblem };

/** Fields of one venue; a payload has about twenty. */
const MAX_FIELDS = 64;
const MALFORMED: Fold = { ok: false, problem: "malformed" };
const VENUE_NAME = /^venue[a-z]{1,16}$/;
const FIELD_NAME = /^[a-zA-Z][a-zA-Z0-9]{0,63}$/;

export function foldSnapshot(topic: Topic, payload: Fields, nowMs: number): Fold {
  if (topic === "status") return foldUpdate({ topic, symbol: "", service: "", feeds: new Map() }, payload, nowMs);
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

/** The age where the frame tells it; else new fields are fresh, and a change of the state alone tells nothing of the data. */
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
    // A venue seen for the first time comes whole: its order is checked, not made.
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

/** The keys that name a venue; `symbol` and whatever a later server adds are not ours to fold. */
function venuesOf(payload: Fields): [string, unknown][] {
  return entriesOf(payload).filter(([name]) => VENUE_NAME.test(name));
}

function isFieldValue(value: unknown): value is FieldValue {
  if (value === null || typeof value === "boolean") return true;
  return typeof value === "string" ? value.length <= 1024 : typeof value === "number" && Number.isFinite(value);
}

/** An absent value leaves what is held; null clears it. */
function textOr(value: unknown, held: string | null): string | null {
  if (value === null) return null;
  return typeof value === "string" && value.length <= 64 ? value : held;
}

/** A field as decimal text; null when absent, unknown or no number. */
export function decimalField(venue: VenueTicker | undefined, name: string): string | null {
  const value = venue?.fields[name];
  return isDecimalText(value) ? value : null;
}

/** A field as a number that is no money: hours, times. */
export function numberField(venue: VenueTicker | undefined, name: string): number | null {
  const value = venue?.fields[name];
  return typeof value === "number" ? value : null;
}
