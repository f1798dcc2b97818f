/** One ladder of all live venues: asks above the spread, bids below, each level split by venue in colour and in words. */
import { type LadderLevel, ladderOf } from "../view/depth.js";
import { fixedText, groupDigits, padPlaces, placesOf, signOf, UNKNOWN_TEXT } from "../view/format.js";
import { placeOf } from "../view/venues.js";
import type { Board } from "./board.js";
import { part, parts, setData, setText, svg } from "./dom.js";

interface LadderRow {
  readonly price: HTMLElement;
  readonly size: HTMLElement;
  readonly total: HTMLElement;
  readonly bar: SVGSVGElement;
  readonly words: HTMLElement;
  shown: string;
}

export class LadderTable {
  readonly #board: Board;
  readonly #asks = rowsOf("#asks");
  readonly #bids = rowsOf("#bids");
  readonly #mid = part("#mid", HTMLElement);
  readonly #spread = part("#spread", HTMLElement);
  readonly #bestBid = part("#best-bid", HTMLElement);
  readonly #bestAsk = part("#best-ask", HTMLElement);
  readonly #table = part(".ladder", HTMLElement);

  constructor(board: Board) {
    this.#board = board;
  }

  draw(): void {
    const { book, bookIsCurrent } = this.#board;
    const ladder = book === null ? null : ladderOf(book, this.#asks.length);
    setData(this.#table, "fresh", bookIsCurrent || book === null ? "yes" : "no");
    const last = this.#asks.length - 1;
    const shown = [...(ladder?.asks ?? []), ...(ladder?.bids ?? [])];
    const places = {
      price: placesOf(shown.map((level) => level.price)),
      size: placesOf(shown.map((level) => level.size)),
    };
    // The best ask is next to the spread.
    for (const [index, row] of this.#asks.entries()) drawRow(row, ladder?.asks[last - index], places);
    for (const [index, row] of this.#bids.entries()) drawRow(row, ladder?.bids[index], places);
    setText(this.#bestBid, groupDigits(ladder?.bids[0]?.price ?? null));
    setText(this.#bestAsk, groupDigits(ladder?.asks[0]?.price ?? null));
    setText(this.#mid, groupDigits(ladder?.mid ?? null));
    setText(this.#spread, spreadText(ladder?.spread ?? null, ladder?.spreadBps ?? null));
  }
}

function spreadText(spread: string | null, bps: string | null): string {
  if (spread === null || bps === null) return UNKNOWN_TEXT;
  // Venues may cross each other: that is no error, and the text shows it.
  const isCrossed = signOf(spread) < 0;
  const [size, sizeBps] = isCrossed ? [spread.slice(1), bps.replace("-", "")] : [spread, bps];
  return `${isCrossed ? "venues cross by" : "spread"} ${groupDigits(size)} · ${fixedText(sizeBps, 2)} bps`;
}

interface Places {
  readonly price: number;
  readonly size: number;
}

function drawRow(row: LadderRow, level: LadderLevel | undefined, places: Places): void {
  const key = level === undefined ? "" : JSON.stringify([level, places]);
  if (row.shown === key) return;
  row.shown = key;
  setText(row.price, level === undefined ? "\u00a0" : groupDigits(padPlaces(level.price, places.price)));
  setText(row.size, level === undefined ? "" : groupDigits(padPlaces(level.size, places.size)));
  setText(row.total, level === undefined ? "" : groupDigits(padPlaces(level.total, places.size)));
  setText(row.words, level === undefined ? "" : level.venues.map((one) => `${one.venue} ${one.size}`).join(", "));
  const bars: SVGElement[] = [];
  const whole = Number(level?.size ?? 0);
  let x = 0;
  for (const { venue, size } of level?.venues ?? []) {
    const width = whole > 0 ? (Number(size) / whole) * 100 * (level?.totalShare ?? 0) : 0;
    bars.push(
      svg("rect", { class: `fill-${placeOf(venue)}`, x: x.toFixed(2), y: "0", width: width.toFixed(2), height: "10" }),
    );
    x += width;
  }
  row.bar.replaceChildren(...bars);
}

function rowsOf(selector: string): LadderRow[] {
  return parts(`${selector} tr`, HTMLElement).map((row) => ({
    price: part(".price", HTMLElement, row),
    size: part(".size", HTMLElement, row),
    total: part(".total", HTMLElement, row),
    bar: part(".bar", SVGSVGElement, row),
    words: part(".sr", HTMLElement, row),
    shown: "?",
  }));
}
