/**
 * The `ticker` topic: per venue the fields of its REST ticker, the same texts; an update holds the fields that changed
 * and `ageMs`, which is the age at the frame's `ts`. A state that changes with time alone is an update of its own.
 */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { Feed, Image, MarkDirty } from "./feed.js";
import type { VenueTicker } from "./market-tap.js";
import { type MemberSources, VenueMember } from "./venue-member.js";

/** A venue that no longer lists the symbol. */
const GONE: VenueTicker = { state: "DOWN", fields: null, tsRecvNs: 0 };

class TickerImage implements Image {
  readonly #symbol: string;
  readonly #venues: readonly RoutableVenue[];
  readonly tickers: readonly VenueTicker[];

  constructor(symbol: string, venues: readonly RoutableVenue[], tickers: readonly VenueTicker[]) {
    this.#symbol = symbol;
    this.#venues = venues;
    this.tickers = tickers;
  }

  snapshotText(nowNs: number): string {
    let text = `{"symbol":${JSON.stringify(this.#symbol)}`;
    for (const [index, venue] of this.#venues.entries())
      text += `,"${venue}":${changedText(this.tickers[index] as VenueTicker, null, nowNs)}`;
    return `${text}}`;
  }

  updateText(from: TickerImage, nowNs: number): string {
    let text = "";
    for (const [index, venue] of this.#venues.entries()) {
      const ticker = this.tickers[index] as VenueTicker;
      const before = from.tickers[index] as VenueTicker;
      if (ticker !== before) text += `${text === "" ? "" : ","}"${venue}":${changedText(ticker, before, nowNs)}`;
    }
    return `{${text}}`;
  }
}

/** Returns the fields that differ from `before`; all of them without one. */
function changedText(ticker: VenueTicker, before: VenueTicker | null, nowNs: number): string {
  const { fields, state } = ticker;
  if (fields === null) return `{"state":"${state}","ageMs":null}`;
  const known = before?.fields ?? null;
  let text = `{"ageMs":${ageMs(ticker.tsRecvNs, nowNs)}`;
  for (const name in fields) {
    const value = fields[name] as string | number | null;
    if (name === "ageMs" || (known !== null && known[name] === value)) continue;
    text += `,"${name}":${JSON.stringify(value)}`;
  }
  return `${text}}`;
}

export class TickerFeed implements Feed {
  readonly #symbol: string;
  readonly #venues: readonly RoutableVenue[];
  readonly #members: readonly VenueMember[];
  #image: TickerImage | null = null;

  constructor(sources: MemberSources, symbol: string, venues: readonly RoutableVenue[], mark: MarkDirty) {
    this.#symbol = symbol;
    this.#venues = venues;
    this.#members = venues.map((venue) => new VenueMember(sources, venue, symbol, "ticker", mark));
  }

  look(nowNs: number): Image {
    const shown = this.#image;
    let changed = shown === null;
    const tickers: VenueTicker[] = [];
    for (const [index, member] of this.#members.entries()) {
      member.follow();
      const ticker = member.tap?.ticker(nowNs) ?? GONE;
      if (ticker !== shown?.tickers[index]) changed = true;
      tickers.push(ticker);
    }
    if (shown !== null && !changed) return shown;
    this.#image = new TickerImage(this.#symbol, this.#venues, tickers);
    return this.#image;
  }

  drifted(nowNs: number): boolean {
    const shown = this.#image;
    for (let index = 0; index < this.#members.length; index++) {
      const member = this.#members[index] as VenueMember;
      if (member.isMoved) return true;
      if (member.tap !== null && member.tap.tickerState(nowNs) !== shown?.tickers[index]?.state) return true;
    }
    return false;
  }

  close(): void {
    for (const member of this.#members) member.close();
  }
}
