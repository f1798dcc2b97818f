/**
 * Cumulative depth per venue as stepped curves around the mid, in SVG, so that colours follow the theme. A reading line
 * follows the pointer or the arrow keys and shows its values as text.
 */
import { boundsOf, type ChartBounds, type CurvePoint, curvesOf, totalAt, type VenueCurve } from "../view/depth.js";
import { placeOf } from "../view/venues.js";
import type { Board } from "./board.js";
import { part, setAttribute, setData, setHidden, setText, svg } from "./dom.js";

const LEFT = 4;
const RIGHT = 54;
const TOP = 10;
const BOTTOM = 24;
/** One press of an arrow key, as a share of the width. */
const KEY_STEP = 0.02;
const HINT = "Point at the chart, or use the arrow keys, to read a price.";

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly bounds: ChartBounds;
}

export class DepthChart {
  readonly #board: Board;
  readonly #redraw: () => void;
  readonly #plot = part("#plot", HTMLElement);
  readonly #chart = part("#chart", SVGSVGElement);
  readonly #grid = part("#chart-grid", SVGGElement);
  readonly #lines = part("#chart-lines", SVGGElement);
  readonly #cross = part("#chart-cross", SVGGElement);
  readonly #readout = part("#chart-readout", HTMLElement);
  readonly #empty = part("#chart-empty", HTMLElement);
  /** Position of the reading line, 0 left to 1 right; null when it is not used. */
  #at: number | null = null;

  constructor(board: Board, redraw: () => void) {
    this.#board = board;
    this.#redraw = redraw;
    this.#plot.addEventListener("pointermove", (event) => this.#read(this.#shareOf(event.clientX)));
    this.#plot.addEventListener("pointerleave", () => this.#read(null));
    this.#plot.addEventListener("blur", () => this.#read(null));
    this.#plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
      if (step === undefined && event.key !== "Escape") return;
      event.preventDefault();
      this.#read(step === undefined ? null : (this.#at ?? 0.5) + step);
    });
    new ResizeObserver(redraw).observe(this.#chart);
  }

  draw(): void {
    const { width, height } = this.#chart.getBoundingClientRect();
    const curves = this.#board.book === null ? [] : curvesOf(this.#board.book);
    const bounds = boundsOf(curves);
    setHidden(this.#empty, bounds !== null);
    setAttribute(this.#chart, "viewBox", `0 0 ${Math.max(1, width)} ${Math.max(1, height)}`);
    setData(this.#chart, "fresh", this.#board.bookIsCurrent ? "yes" : "no");
    if (bounds === null || width < LEFT + RIGHT || height < TOP + BOTTOM) {
      setText(this.#empty, this.#board.book === null ? "Waiting for the first books" : "No live book on two sides");
      for (const group of [this.#grid, this.#lines, this.#cross]) group.replaceChildren();
      setText(this.#readout, "\u00a0");
      return;
    }
    const frame = { width, height, bounds };
    this.#drawGrid(frame);
    this.#drawLines(frame, curves);
    this.#drawCross(frame, curves);
  }

  #drawGrid(frame: Frame): void {
    const { bounds, width, height } = frame;
    const nodes: SVGElement[] = [];
    for (const total of ticksOf(0, bounds.totalMax, 4)) {
      const y = yOf(frame, total);
      nodes.push(svg("path", { class: "grid", d: `M${LEFT} ${y}H${width - RIGHT}` }));
      nodes.push(textAt(width - RIGHT + 8, y + 4, "start", shortNumber(total)));
    }
    const prices = ticksOf(bounds.low, bounds.high, width < 480 ? 4 : 6);
    const places = placesOf(prices);
    for (const price of prices) {
      const x = xOf(frame, price);
      if (x < LEFT + 24 || x > width - RIGHT - 24) continue;
      nodes.push(svg("path", { class: "grid", d: `M${x} ${TOP}V${height - BOTTOM}` }));
      const text = price.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
      nodes.push(textAt(x, height - 7, "middle", text));
    }
    const mid = xOf(frame, (bounds.low + bounds.high) / 2);
    nodes.push(svg("path", { class: "midline", d: `M${mid} ${TOP}V${height - BOTTOM}` }));
    this.#grid.replaceChildren(...nodes);
  }

  #drawLines(frame: Frame, curves: readonly VenueCurve[]): void {
    const areas: SVGElement[] = [];
    const lines: SVGElement[] = [];
    for (const { venue, bids, asks } of curves) {
      for (const [points, isBids] of [
        [bids, true],
        [asks, false],
      ] as const) {
        const path = stepsOf(frame, points, isBids);
        if (path === null) continue;
        areas.push(
          svg("path", { class: `area fill-${placeOf(venue)}`, d: `${path.line}V${path.base}H${path.startX}Z` }),
        );
        lines.push(svg("path", { class: `line line-${placeOf(venue)}`, d: path.line, "data-venue": venue }));
      }
    }
    this.#lines.replaceChildren(...areas, ...lines);
  }

  #drawCross(frame: Frame, curves: readonly VenueCurve[]): void {
    if (this.#at === null) {
      this.#cross.replaceChildren();
      setText(this.#readout, HINT);
      setAttribute(this.#plot, "aria-valuetext", "No price read");
      return;
    }
    const { bounds, height } = frame;
    const price = bounds.low + this.#at * (bounds.high - bounds.low);
    const isBids = this.#at < 0.5;
    const x = xOf(frame, price);
    const nodes: SVGElement[] = [svg("path", { class: "cross", d: `M${x} ${TOP}V${height - BOTTOM}` })];
    const words: string[] = [];
    for (const { venue, bids, asks } of curves) {
      const total = totalAt(isBids ? bids : asks, price, isBids);
      words.push(`${venue} ${shortNumber(total)}`);
      nodes.push(
        svg("circle", { class: `fill-${placeOf(venue)}`, cx: String(x), cy: String(yOf(frame, total)), r: "4" }),
      );
    }
    this.#cross.replaceChildren(...nodes);
    const places = placesOf(ticksOf(bounds.low, bounds.high, 5)) + 1;
    const text = price.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
    const told = `${isBids ? "Sell down to" : "Buy up to"} ${text}: ${words.join(" · ")}`;
    setText(this.#readout, told);
    setAttribute(this.#plot, "aria-valuenow", String(Math.round(this.#at * 100)));
    setAttribute(this.#plot, "aria-valuetext", told);
  }

  #shareOf(clientX: number): number {
    const box = this.#chart.getBoundingClientRect();
    return (clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT);
  }

  #read(share: number | null): void {
    this.#at = share === null ? null : Math.min(1, Math.max(0, share));
    this.#redraw();
  }
}

function xOf({ width, bounds }: Frame, price: number): number {
  return round(LEFT + ((price - bounds.low) / (bounds.high - bounds.low)) * (width - LEFT - RIGHT));
}

function yOf({ height, bounds }: Frame, total: number): number {
  return round(height - BOTTOM - (total / (bounds.totalMax * 1.06)) * (height - TOP - BOTTOM));
}

/** The curve steps up at each level, is flat between levels, and continues to the edge of the picture. */
function stepsOf(frame: Frame, points: readonly CurvePoint[], isBids: boolean) {
  const first = points[0];
  if (first === undefined) return null;
  const { bounds } = frame;
  const base = yOf(frame, 0);
  const startX = xOf(frame, Math.min(bounds.high, Math.max(bounds.low, first.price)));
  let line = `M${startX} ${base}`;
  let lastX = startX;
  for (const { price, total } of points) {
    if (isBids ? price < bounds.low : price > bounds.high) break;
    lastX = xOf(frame, price);
    line += `H${lastX}V${yOf(frame, total)}`;
  }
  const deepest = points.at(-1)?.price ?? first.price;
  // Beyond its last level a venue shows nothing: only a book with further levels reaches the edge.
  const edge = isBids ? bounds.low : bounds.high;
  if (isBids ? deepest < edge : deepest > edge) line += `H${xOf(frame, edge)}`;
  return { line, base, startX };
}

/** Round values from `low` to `high`, about `count` of them. */
function ticksOf(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count;
  const scale = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * scale).find((one) => one >= raw) ?? 10 * scale;
  const ticks: number[] = [];
  for (let index = Math.ceil(low / step); index * step <= high && ticks.length < 20; index++) ticks.push(index * step);
  return ticks;
}

/** Decimals that are enough to distinguish the ticks. */
function placesOf(ticks: readonly number[]): number {
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  return Math.min(10, Math.max(0, -Math.floor(Math.log10(Math.abs(step) || 1) + 1e-9)));
}

function shortNumber(value: number): string {
  return value.toLocaleString("en-US", {
    notation: value >= 10_000 ? "compact" : "standard",
    maximumSignificantDigits: 4,
  });
}

function textAt(x: number, y: number, anchor: string, text: string): SVGElement {
  const node = svg("text", { x: String(x), y: String(y), "text-anchor": anchor });
  node.textContent = text;
  return node;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
