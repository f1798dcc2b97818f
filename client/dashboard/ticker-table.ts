/** The table of venues: state, prices, hourly funding, change, volume, age of the data. */
import { badgeState, BADGE_TITLES, VENUES, type VenueName, worseState } from "../view/venues.js";
import {
  ageText,
  compactText,
  fixedText,
  fundingTexts,
  groupDigits,
  signOf,
  tickText,
  UNKNOWN_TEXT,
} from "../view/format.js";
import type { FeedHealth } from "../stream/frames.js";
import { decimalField, numberField } from "../stream/topics.js";
import { type Board, instrumentOf, isConnected } from "./board.js";
import { part, parts, setAttribute, setData, setText } from "./dom.js";

interface Cell {
  readonly value: HTMLElement;
  readonly note: HTMLElement | null;
}

interface Row {
  readonly venue: VenueName;
  readonly row: HTMLElement;
  readonly badge: HTMLElement;
  readonly cells: Readonly<Record<"mark" | "last" | "change" | "funding" | "volume" | "age", Cell>>;
}

export class TickerTable {
  readonly #board: Board;
  readonly #nowMs: () => number;
  readonly #rows: readonly Row[];

  constructor(board: Board, nowMs: () => number) {
    this.#board = board;
    this.#nowMs = nowMs;
    nameRoles();
    this.#rows = VENUES.map((venue) => {
      const row = part(`tr[data-venue="${venue}"]`, HTMLElement);
      const cell = (name: string): Cell => ({
        value: part(`[data-cell="${name}"] .value`, HTMLElement, row),
        note: row.querySelector<HTMLElement>(`[data-cell="${name}"] .note`),
      });
      return {
        venue,
        row,
        badge: part(".badge", HTMLElement, row),
        cells: {
          mark: cell("mark"),
          last: cell("last"),
          change: cell("change"),
          funding: cell("funding"),
          volume: cell("volume"),
          age: cell("age"),
        },
      };
    });
  }

  draw(): void {
    for (const row of this.#rows) this.#drawRow(row);
  }

  #drawRow({ venue, row, badge, cells }: Row): void {
    const board = this.#board;
    const ticker = board.ticker?.venues.get(venue);
    const feed = feedOf(board, venue);
    const state = badgeState(isConnected(board), feed, ticker?.state ?? null);
    setText(badge, state);
    setData(badge, "state", state);
    badge.title = BADGE_TITLES[state];
    // A symbol that the venue does not list has no figures; everything else shows the last known ones, dimmed if old.
    // Prices come from the feed, even from a venue that takes no requests.
    const shown = state === "HELD" && feed !== undefined ? worseState(feed.state, ticker?.state ?? null) : state;
    setData(row, "fresh", board.tickerIsCurrent && (shown === "LIVE" || shown === "SYNCING") ? "yes" : "no");

    const change = decimalField(ticker, "change24h");
    const funding = fundingTexts(decimalField(ticker, "fundingRate"), numberField(ticker, "fundingIntervalHours"));
    const tick = instrumentOf(board, venue, board.symbol)?.tickSize ?? null;
    const price = (name: string) => tickText(decimalField(ticker, name), tick);
    setText(cells.mark.value, groupDigits(price("markPrice")));
    setText(cells.last.value, groupDigits(price("lastPrice")));
    setText(cells.change.value, change === null ? UNKNOWN_TEXT : `${fixedText(change, 2, true)} %`);
    setData(cells.change.value, "sign", String(signOf(change)));
    noteText(cells.change, groupedSigned(price("change24hAbs")));
    setText(cells.funding.value, funding.perHour);
    noteText(cells.funding, funding.interval === "" ? "" : `${funding.apr} APR · every ${funding.interval}`);
    setText(cells.volume.value, compactText(decimalField(ticker, "volume24h")));
    setText(cells.age.value, ticker?.heardMs == null ? UNKNOWN_TEXT : ageText(this.#nowMs() - ticker.heardMs));
    noteText(cells.age, this.#ageNote(venue, ticker !== undefined));
  }

  #ageNote(venue: VenueName, listed: boolean): string {
    const { feeds } = this.#board.client.status;
    if (this.#board.ticker !== null && !listed)
      return feedOf(this.#board, venue) !== undefined ? "not listed here" : "not configured";
    // From the last heartbeat; before the first one, from the status topic.
    const age = (feeds.get(venue) ?? this.#board.status?.feeds.get(venue))?.ageMs ?? null;
    return age === null ? "" : `feed ${ageText(age)}`;
  }
}

/**
 * On a narrow screen the rows are laid out as cards, and a browser may then no longer treat them as a table, so the
 * roles are set explicitly.
 */
function nameRoles(): void {
  const table = part(".tickers", HTMLTableElement);
  setAttribute(table, "role", "table");
  const roles = {
    "thead, tbody": "rowgroup",
    tr: "row",
    "thead th": "columnheader",
    "tbody th": "rowheader",
    td: "cell",
  };
  for (const [selector, role] of Object.entries(roles))
    for (const node of parts(selector, HTMLElement, table)) setAttribute(node, "role", role);
}

/** The status topic reports a change of state at once; every heartbeat repeats it. */
function feedOf(board: Board, venue: VenueName): FeedHealth | undefined {
  return board.status?.feeds.get(venue) ?? board.client.status.feeds.get(venue);
}

/** Rows have room for a note, so that adding or removing one moves nothing. */
function noteText(cell: Cell, text: string): void {
  if (cell.note !== null) setText(cell.note, text);
}

function groupedSigned(text: string | null): string {
  if (text === null) return "";
  return `${signOf(text) > 0 ? "+" : ""}${groupDigits(text)}`;
}
