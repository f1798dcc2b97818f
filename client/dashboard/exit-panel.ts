/**
 * Best exit for a size. Asked over HTTP after a pause in typing and again at a slow beat while the page is seen; one
 * question at a time, and an answer to a question that is no longer asked is dropped.
 */
import {
  checkSize,
  type ExitRow,
  type ExitSide,
  exitPath,
  exitView,
  type RoutingData,
  refusalRows,
} from "../view/exit.js";
import { ageText, UNKNOWN_TEXT } from "../view/format.js";
import { VENUES } from "../view/venues.js";
import { fetchData, type FetchResult } from "./api.js";
import { type Board, isConnected } from "./board.js";
import { part, parts, setAttribute, setData, setText } from "./dom.js";

const TYPING_PAUSE_MS = 200;
const REFRESH_MS = 1_000;
const WAITING = { kind: "loading", label: "Best venue", name: "Asking…" };

export class ExitPanel {
  readonly #board: Board;
  readonly #nowMs: () => number;
  readonly #announce: (text: string) => void;
  readonly #form = part("#exit-form", HTMLFormElement);
  readonly #size = part("#size", HTMLInputElement);
  readonly #problem = part("#size-problem", HTMLElement);
  readonly #winner = part("#winner", HTMLElement);
  readonly #age = part("#exit-age", HTMLElement);
  readonly #rows = parts("#exit-rows tr", HTMLElement);
  #timer = 0;
  #asking: AbortController | null = null;
  #answeredMs: number | null = null;
  #chosen: string | null = null;

  constructor(board: Board, nowMs: () => number, announce: (text: string) => void) {
    this.#board = board;
    this.#nowMs = nowMs;
    this.#announce = announce;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    this.#form.addEventListener("input", () => this.#askSoon());
    for (const button of parts(".presets button", HTMLButtonElement)) {
      button.addEventListener("click", () => {
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

  /** Another symbol, side or size: what is shown no longer answers the question. */
  ask(): void {
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

  #side(): ExitSide {
    return new FormData(this.#form).get("side") === "BUY" ? "BUY" : "SELL";
  }

  #send(): void {
    const check = checkSize(this.#size.value);
    if (!check.ok) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    void fetchData<RoutingData>(exitPath(this.#board.symbol, this.#side(), check.size), asking.signal).then(
      (result) => {
        if (this.#asking !== asking) return;
        this.#asking = null;
        this.#take(result);
      },
    );
  }

  #take(result: FetchResult<RoutingData>): void {
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
    // An answer of the service is shown; a service out of reach leaves the last answer with its age.
    if (result.code === "UNREACHABLE" && this.#answeredMs !== null) return;
    this.#answeredMs = null;
    this.#chosen = null;
    this.#show({ kind: "none", label: "Best venue", name: refusalText(result) }, refusalRows(result.details));
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

function refusalText({ code, error }: { readonly code: string; readonly error: string }): string {
  return code === "NO_ELIGIBLE_VENUE" ? "No venue can take this size" : error;
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

/** The colour of a venue that has one; nothing for any other text. */
function showKey(node: HTMLElement, venue: string): void {
  const name = VENUES.find((one) => one === venue);
  setAttribute(node, "class", name === undefined ? "key" : `key key-${name}`);
}
