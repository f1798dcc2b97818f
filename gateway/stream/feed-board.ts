/**
 * State and age of every venue's feed, and its breaker, for heartbeats and the `status` topic. A venue's age is that of
 * the newest proof of any of its books: a silent venue ages, although each of its markets alone may just be quiet.
 */
import { NEVER_PROVEN_NS } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { FeedState } from "../../engine/market/market.js";
import type { MarketRoom, RoomStatus } from "../../engine/ports.js";
import type { MarketView } from "../api/market-view.js";
import type { Feed, Image } from "./feed.js";

type ServiceState = "LIVE" | "STOPPING";

interface VenueHealth {
  readonly state: FeedState;
  readonly breaker: RoomStatus["breaker"];
}

/** The health of a room before it is first read. */
const UNASKED: VenueHealth = { state: "DOWN", breaker: "closed" };

export class FeedBoard {
  readonly #view: MarketView;
  #health: readonly VenueHealth[] = [];
  #service: ServiceState = "LIVE";
  /** Grows with every change of state. */
  version = 0;

  constructor(view: MarketView) {
    this.#view = view;
  }

  /** By room. */
  get health(): readonly VenueHealth[] {
    return this.#health;
  }

  get service(): ServiceState {
    return this.#service;
  }

  /** Reads the health of the rooms. */
  refresh(nowNs: number): void {
    const health = this.#view.rooms.map((room) => healthOf(room, nowNs));
    const before = this.#health;
    if (health.length === before.length && health.every((venue, index) => isSame(venue, before[index]))) return;
    this.#health = health;
    this.version++;
  }

  stopping(): void {
    this.#service = "STOPPING";
    this.version++;
  }

  /** `{"{venue}":{"state":"LIVE","ageMs":40,"breaker":"closed"},…}`; `isShown` picks rooms by index. */
  feedsText(
    health: readonly VenueHealth[],
    nowNs: number,
    isShown: (roomIndex: number) => boolean = () => true,
  ): string {
    let text = "";
    for (const [index, room] of this.#view.rooms.entries()) {
      if (!isShown(index)) continue;
      const provenNs = newestProofNs(room);
      const age = provenNs < 0 ? "null" : String(ageMs(provenNs, nowNs));
      const { state, breaker } = health[index] ?? UNASKED;
      text += `${text === "" ? "" : ","}"${room.venue}":{"state":"${state}","ageMs":${age},"breaker":"${breaker}"}`;
    }
    return `{${text}}`;
  }
}

function isSame(venue: VenueHealth, other: VenueHealth | undefined): boolean {
  return venue.state === other?.state && venue.breaker === other.breaker;
}

/** Returns the room's own health, unless none of its books was proven within their age limit. */
function healthOf(room: MarketRoom, nowNs: number): VenueHealth {
  const { state, breaker } = room.status();
  if (state !== "LIVE") return { state, breaker };
  const provenNs = newestProofNs(room);
  let limitMs = 0;
  for (const market of room.markets.values()) limitMs = Math.max(limitMs, market.maxBookAgeMs);
  const isStale = provenNs >= 0 && ageMs(provenNs, nowNs) > limitMs;
  return { state: isStale ? "STALE" : "LIVE", breaker };
}

function newestProofNs(room: MarketRoom): number {
  let newest = NEVER_PROVEN_NS;
  for (const market of room.markets.values()) newest = Math.max(newest, market.book.tsProvenNs);
  return newest;
}

class StatusImage implements Image {
  readonly #board: FeedBoard;
  readonly version: number;
  readonly service: ServiceState;
  readonly health: readonly VenueHealth[];

  constructor(board: FeedBoard) {
    this.#board = board;
    this.version = board.version;
    this.service = board.service;
    this.health = board.health;
  }

  snapshotText(nowNs: number): string {
    return `{"service":{"state":"${this.service}"},"feeds":${this.#board.feedsText(this.health, nowNs)}}`;
  }

  updateText(from: StatusImage, nowNs: number): string {
    const parts: string[] = [];
    if (from.service !== this.service) parts.push(`"service":{"state":"${this.service}"}`);
    const isChanged = (index: number) => !isSame(this.health[index] ?? UNASKED, from.health[index]);
    if (this.health.some((_, index) => isChanged(index)))
      parts.push(`"feeds":${this.#board.feedsText(this.health, nowNs, isChanged)}`);
    return `{${parts.join(",")}}`;
  }
}

/** The `status` topic. */
export class StatusFeed implements Feed {
  readonly #board: FeedBoard;
  #image: StatusImage;

  constructor(board: FeedBoard) {
    this.#board = board;
    this.#image = new StatusImage(board);
  }

  look(): Image {
    if (this.drifted()) this.#image = new StatusImage(this.#board);
    return this.#image;
  }

  drifted(): boolean {
    return this.#image.version !== this.#board.version;
  }

  close(): void {}
}
