/**
 * State and age of every venue's feed, for heartbeats and the `status` topic. A venue's age is that of the newest
 * proof of any of its books: a mute venue ages although each of its markets may be quiet by itself.
 */
import { NEVER_PROVEN_NS } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { FeedState } from "../../engine/market/market.js";
import type { MarketRoom } from "../../engine/ports.js";
import type { MarketView } from "../market-view.js";
import type { Feed, Image } from "./feed.js";

type ServiceState = "LIVE" | "STOPPING";

export class FeedBoard {
  readonly #view: MarketView;
  #states: readonly FeedState[] = [];
  #service: ServiceState = "LIVE";
  /** Grows with every change of a state. */
  version = 0;

  constructor(view: MarketView) {
    this.#view = view;
  }

  get states(): readonly FeedState[] {
    return this.#states;
  }

  get service(): ServiceState {
    return this.#service;
  }

  /** Asks the rooms. */
  refresh(nowNs: number): void {
    const states = this.#view.rooms.map((room) => stateOf(room, nowNs));
    if (states.length === this.#states.length && states.every((state, index) => state === this.#states[index])) return;
    this.#states = states;
    this.version++;
  }

  stopping(): void {
    this.#service = "STOPPING";
    this.version++;
  }

  /** `{"venueone":{"state":"LIVE","ageMs":40},…}`; `isShown` picks rooms by index. */
  feedsText(states: readonly FeedState[], nowNs: number, isShown: (roomIndex: number) => boolean = () => true): string {
    let text = "";
    for (const [index, room] of this.#view.rooms.entries()) {
      if (!isShown(index)) continue;
      const provenNs = newestProofNs(room);
      const age = provenNs < 0 ? "null" : String(ageMs(provenNs, nowNs));
      text += `${text === "" ? "" : ","}"${room.venue}":{"state":"${states[index] ?? "DOWN"}","ageMs":${age}}`;
    }
    return `{${text}}`;
  }
}

/** What the room says, unless nothing has proven any of its books for longer than they may be old. */
function stateOf(room: MarketRoom, nowNs: number): FeedState {
  const { state } = room.status();
  if (state !== "LIVE") return state;
  const provenNs = newestProofNs(room);
  let limitMs = 0;
  for (const market of room.markets.values()) limitMs = Math.max(limitMs, market.maxBookAgeMs);
  return provenNs >= 0 && ageMs(provenNs, nowNs) > limitMs ? "STALE" : "LIVE";
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
  readonly states: readonly FeedState[];

  constructor(board: FeedBoard) {
    this.#board = board;
    this.version = board.version;
    this.service = board.service;
    this.states = board.states;
  }

  snapshotText(nowNs: number): string {
    return `{"service":{"state":"${this.service}"},"feeds":${this.#board.feedsText(this.states, nowNs)}}`;
  }

  updateText(from: StatusImage, nowNs: number): string {
    const parts: string[] = [];
    if (from.service !== this.service) parts.push(`"service":{"state":"${this.service}"}`);
    const isChanged = (index: number) => from.states[index] !== this.states[index];
    if (this.states.some((_, index) => isChanged(index)))
      parts.push(`"feeds":${this.#board.feedsText(this.states, nowNs, isChanged)}`);
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
