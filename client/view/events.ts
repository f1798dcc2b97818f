/** Status changes in order: each check of feeds and link adds new ones. Bounded; the oldest are dropped. */
import type { FeedHealth } from "../stream/frames.js";
import { venueState } from "./venues.js";

export const MAX_EVENTS = 60;

export interface StatusEvent {
  readonly id: number;
  readonly atMs: number;
  /** A venue, or the connection to the service. */
  readonly subject: string;
  readonly from: string | null;
  readonly to: string;
}

export interface EventLog {
  readonly events: readonly StatusEvent[];
  readonly known: ReadonlyMap<string, string>;
  readonly nextId: number;
}

export const EMPTY_LOG: EventLog = { events: [], known: new Map(), nextId: 1 };
/** The subject of link events. */
export const SERVICE = "service";

/** Newest first. The first state of a subject is an event too, so that the strip shows where it began. */
export function noteState(log: EventLog, subject: string, to: string, atMs: number): EventLog {
  const from = log.known.get(subject) ?? null;
  if (from === to) return log;
  const event: StatusEvent = { id: log.nextId, atMs, subject, from, to };
  return {
    events: [event, ...log.events].slice(0, MAX_EVENTS),
    known: new Map(log.known).set(subject, to),
    nextId: log.nextId + 1,
  };
}

export function noteFeeds(log: EventLog, feeds: ReadonlyMap<string, FeedHealth>, atMs: number): EventLog {
  let next = log;
  for (const [venue, feed] of feeds) next = noteState(next, venue, venueState(feed), atMs);
  return next;
}
