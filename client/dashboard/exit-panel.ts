/**
 * Best exit for a size. It is requested over HTTP after a pause in typing, and again slowly while the page is visible.
 * One request runs at a time, and a reply to an outdated request is dropped.
 */
import { checkSize, type ExitRow, type ExitSide, exitView, refusalRows, refusalTitle } from "../view/exit.js";
import { comparePriceText } from "../decimal.js";
import { ageText, sizeLabel, UNKNOWN_TEXT } from "../view/format.js";
import { offeredSizes } from "../view/sizes.js";
import { placeOf, VENUES } from "../view/venues.js";
import { decimalField } from "../stream/topics.js";
import type { CallResult } from "../api/operations.js";
import { isLocalCode } from "../api/reply.js";
import { type Board, isConnected } from "./board.js";
import { part, parts, setAttribute, setData, setText } from "./dom.js";
import type { Calls } from "./session.js";

const TYPING_PAUSE_MS = 200;
const REFRESH_MS = 1_000;
const DEADLINE_MS = 8_000;
const WAITING = { kind: "loading", label: "Best venue", name: "Asking…" };

export class ExitPanel {
  readonly #board: Board;
  readonly #api: Calls;
  readonly #nowMs: () => number;
  readonly #announce: (text: string) => void;
  readonly #asked: () => void;
  readonly #form = part("#exit-form", HTMLFormElement);
  readonly #size = part("#size", HTMLInputElement);
  readonly #problem = part("#size-problem", HTMLElement);
  readonly #winner = part("#winner", HTMLElement);
  readonly #age = part("#exit-age", HTMLElement);
  readonly #rows = parts("#exit-rows tr", HTMLElement);
  readonly #offers = parts(".presets button", HTMLButtonElement);
  /**
   * The sizes offered for the present symbol are made once, when its price is first known, so that no button changes
   * while a person clicks it.
   */
  #offeredFor = "";
  /** The user has not typed a size, so it may follow the symbol. */
  #isOwnSize = false;
  #timer = 0;
  #asking: AbortController | null = null;
  #answeredMs: number | null = null;
  #chosen: string | null = null;

  /** `asked` runs when the question has changed. */
  constructor(board: Board, api: Calls, nowMs: () => number, announce: (text: string) => void, asked: () => void) {
    this.#board = board;
    this.#api = api;
    this.#nowMs = nowMs;
    this.#announce = announce;
    this.#asked = asked;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    this.#form.addEventListener("input", () => {
      this.#isOwnSize = true;
      this.#askSoon();
    });
    for (const button of this.#offers) {
      button.addEventListener("click", () => {
        this.#isOwnSize = true;
        this.#size.value = button.dataset.size ?? "";
        this.ask();
      });
    }
    setInterval(() => {
      if (!document.hidden && this.#asking === null && isConnected(this.#board)) this.#send();
    }, REFRESH_MS);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#send();
    });
  }

  get side(): ExitSide {
    return new FormData(this.#form).get("side") === "BUY" ? "BUY" : "SELL";
  }

  /** The size as typed, if it can be read; null otherwise. */
  get size(): string | null {
    const check = checkSize(this.#size.value);
    return check.ok ? check.size : null;
  }

  /**
   * Applies a link, or another symbol: with a size of null the present one is kept, or one is offered once there is a
   * price.
   */
  choose(side: ExitSide, size: string | null): void {
    for (const radio of parts('input[name="side"]', HTMLInputElement, this.#form)) radio.checked = radio.value === side;
    this.#isOwnSize = size !== null;
    if (size !== null) this.#size.value = size;
    this.#offeredFor = "";
    for (const button of this.#offers) offer(button, "");
    this.drawOffers();
    this.ask();
  }

  /** Offers sizes that suit the symbol's price. */
  drawOffers(): void {
    const { symbol, ticker, instruments } = this.#board;
    if (this.#offeredFor === symbol || instruments.length === 0) return;
    const prices = [...(ticker?.venues.values() ?? [])].map((venue) => decimalField(venue, "markPrice"));
    const sizes = offeredSizes(prices.find((price) => price !== null) ?? null, smallestOf(this.#board));
    if (sizes.length === 0) return;
    this.#offeredFor = symbol;
    for (const [index, button] of this.#offers.entries()) offer(button, sizes[index] ?? "");
    const usual = sizes.find((size, index) => index > 0 && size !== "");
    if (this.#isOwnSize || usual === undefined || this.#size.value === usual) return;
    this.#size.value = usual;
    this.ask();
  }

  /** Symbol, side or size has changed: the shown result is out of date. */
  ask(): void {
    this.#asked();
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = null;
    this.#answeredMs = null;
    this.#chosen = null;
    const check = checkSize(this.#size.value);
    setText(this.#problem, check.ok ? "" : check.problem);
    setAttribute(this.#size, "aria-invalid", check.ok ? "false" : "true");
    setText(part("#size-unit", HTMLElement), this.#board.symbol);
    this.#show(check.ok ? WAITING : { kind: "none", label: "Best venue", name: check.problem }, []);
    this.#send();
  }

  drawAge(): void {
    const text = this.#answeredMs === null ? "" : `Asked ${ageText(this.#nowMs() - this.#answeredMs)} ago`;
    setText(this.#age, text === "" ? "\u00a0" : text);
  }

  #askSoon(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#timer = window.setTimeout(() => this.ask(), TYPING_PAUSE_MS);
  }

  #send(): void {
    const check = checkSize(this.#size.value);
    if (!check.ok) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const request = {
      parameters: { symbol: this.#board.symbol },
      query: { side: this.side, size: check.size, refusals: "body" },
      signal: asking.signal,
      timeoutMs: DEADLINE_MS,
      // The next one comes by itself.
      attempts: 1,
    } as const;
    void this.#api.call("routingDryRun", request).then((result) => {
      if (this.#asking !== asking) return;
      this.#asking = null;
      this.#take(result);
    });
  }

  #take(result: CallResult<"routingDryRun">): void {
    if (result.ok) {
      const { winner, reason, rows } = exitView(result.data);
      this.#answeredMs = this.#nowMs();
      if (winner === null) {
        this.#show({ kind: "none", label: "Best venue", name: "No venue can take this size" }, rows);
        return;
      }
      this.#show({ kind: "won", label: reason, name: winner.venue }, rows, winner);
      if (this.#chosen !== winner.venue) this.#announce(`Best exit ${winner.venue}, all-in ${winner.allIn}`);
      this.#chosen = winner.venue;
      return;
    }
    if (result.code === "ABORTED") return;
    // A reply of the service is shown; if the service is out of reach, the last reply stays with its age.
    if (isLocalCode(result.code) && this.#answeredMs !== null) return;
    this.#answeredMs = null;
    this.#chosen = null;
    this.#show(
      { kind: "none", label: "Best venue", name: refusalTitle(result.code, result.error, result.details) },
      refusalRows(result.details),
    );
  }

  #show(
    head: { readonly kind: string; readonly label: string; readonly name: string },
    rows: readonly ExitRow[],
    figures: { readonly allIn: string; readonly cost: string; readonly saves: string } | null = null,
  ): void {
    setData(this.#winner, "kind", head.kind);
    setText(part("#winner-label", HTMLElement), head.label);
    setText(part("#winner-name", HTMLElement), head.name);
    showKey(part("#winner-key", HTMLElement), head.name);
    setText(part("#winner-all-in", HTMLElement), figures?.allIn ?? UNKNOWN_TEXT);
    setText(part("#winner-cost", HTMLElement), figures === null ? UNKNOWN_TEXT : `${figures.cost} bps`);
    setText(
      part("#winner-saves", HTMLElement),
      figures === null || figures.saves === "" ? UNKNOWN_TEXT : figures.saves,
    );
    for (const [index, node] of this.#rows.entries()) showRow(node, rows[index]);
    this.drawAge();
  }
}

/** An empty text means that there is nothing to offer in this place. */
function offer(button: HTMLButtonElement, size: string): void {
  setText(button, size === "" ? "\u00a0" : sizeLabel(size));
  setData(button, "size", size);
  button.disabled = size === "";
}

/** Returns the smallest size that any venue accepts for the board's symbol. */
function smallestOf({ instruments, symbol }: Board): string | null {
  const sizes = instruments.filter((one) => one.symbol === symbol).map(({ minSize }) => minSize);
  return sizes.reduce<string | null>(
    (least, one) => (least === null || comparePriceText(one, least) < 0 ? one : least),
    null,
  );
}

function showRow(node: HTMLElement, row: ExitRow | undefined): void {
  const [head, ...cells] = [...node.children];
  if (head !== undefined) {
    setText(part(".who", HTMLElement, head), row?.venue ?? "\u00a0");
    showKey(part(".key", HTMLElement, head), row?.venue ?? "");
  }
  const texts = row === undefined ? [] : [row.allIn, row.fee, row.cost, row.why];
  for (const [index, cell] of cells.entries()) setText(cell, texts[index] ?? "");
  setData(node, "chosen", row?.chosen === true ? "yes" : "no");
  setData(node, "eligible", row === undefined || row.eligible ? "yes" : "no");
}

/** Shows the colour of a venue that has one; nothing for any other text. */
function showKey(node: HTMLElement, venue: string): void {
  const name = VENUES.find((one) => one === venue);
  setAttribute(node, "class", name === undefined ? "key" : `key key-${placeOf(name)}`);
}
