/**
 * What the account holds: positions and open orders of all venues, each row with its one action. A row keeps its
 * element while it exists, so that no button is replaced while a person clicks it.
 */
import {
  coverageChips,
  type OrderRow,
  orderRows,
  plainWords,
  type PositionRow,
  positionRows,
  totalPnl,
} from "../view/account.js";
import { isUndecided } from "../view/close-ticket.js";
import { fixedText, signOf, UNKNOWN_TEXT } from "../view/format.js";
import type { CallRequest } from "../api/operations.js";
import type { AccountBoard } from "./account.js";
import { type Board, instrumentOf } from "./board.js";
import { part, setAttribute, setData, setHidden, setText } from "./dom.js";
import type { Calls } from "./session.js";

const POSITION_CELLS = ["Venue", "Size", "Entry", "Mark", "Unrealised", "To liquidation", "Age"];
const ORDER_CELLS = ["Venue", "Size", "Price", "Type", "Age"];
const NO_NUMBERS = new Set(["Venue", "Type"]);

/** The service named it, and checks it. */
type ExchangeOfOrder = CallRequest<"cancelOrder">["parameters"]["exchange"];

interface RowNodes {
  readonly row: HTMLElement;
  readonly head: HTMLElement;
  readonly way: HTMLElement;
  readonly cells: readonly { readonly value: HTMLElement; readonly note: HTMLElement }[];
  readonly act: HTMLButtonElement;
}

export class AccountPanel {
  readonly #board: Board;
  readonly #account: AccountBoard;
  readonly #api: Calls;
  readonly #announce: (text: string) => void;
  readonly #close: (row: PositionRow) => void;
  readonly #positions = part("#positions", HTMLElement);
  readonly #orders = part("#orders", HTMLElement);
  readonly #coverage = part("#coverage", HTMLElement);
  readonly #holdings = part("#holdings", HTMLElement);
  readonly #rows = new Map<string, RowNodes>();
  /** Cancels under way, and those that were accepted: the stream reports when the order is gone. */
  readonly #canceling = new Map<string, string>();

  constructor(
    board: Board,
    account: AccountBoard,
    api: Calls,
    announce: (text: string) => void,
    close: (row: PositionRow) => void,
  ) {
    this.#board = board;
    this.#account = account;
    this.#api = api;
    this.#announce = announce;
    this.#close = close;
  }

  draw(): void {
    const { account, positions, orders, serverMs, isCurrent, refusal } = this.#account;
    const tickOf = (exchange: string, symbol: string) => instrumentOf(this.#board, exchange, symbol)?.tickSize ?? null;
    const held = positions === null ? [] : positionRows(positions, serverMs, tickOf);
    const open = orders === null ? [] : orderRows(orders, serverMs, tickOf);
    setText(
      part("#account-name", HTMLElement),
      account === null
        ? "No account is shown"
        : [`${account.isDemo ? "Demo " : ""}${account.walletAddress}`, ...this.#countTexts()].join(" · "),
    );
    setText(part("#account-open", HTMLElement), account === null ? "Show an account" : "Forget it");
    part("#close-all", HTMLButtonElement).disabled = account === null;
    const pnl = positions === null ? null : totalPnl(positions);
    const total = part("#account-pnl", HTMLElement);
    setText(total, pnl === null ? UNKNOWN_TEXT : fixedText(pnl, 2, true));
    setData(total, "sign", String(signOf(pnl)));
    setData(this.#holdings, "fresh", account === null || isCurrent ? "yes" : "no");
    this.#drawCoverage();
    this.#drawPositions(held);
    this.#drawOrders(open);
    const waiting = refusal === "" ? "Asking the venues…" : refusal;
    const positionsEmpty = part("#positions-empty", HTMLElement);
    setHidden(positionsEmpty, held.length > 0);
    setText(
      positionsEmpty,
      account === null
        ? "Positions of all venues appear here, with what they would fetch."
        : positions === null
          ? waiting
          : "No positions.",
    );
    const ordersEmpty = part("#orders-empty", HTMLElement);
    setHidden(ordersEmpty, open.length > 0);
    setText(ordersEmpty, account !== null && orders === null ? waiting : "No open orders.");
  }

  #countTexts(): string[] {
    const { positions, orders } = this.#account;
    if (positions === null || orders === null) return [];
    return [counted(positions.positions.size, "position"), counted(orders.orders.size, "open order")];
  }

  #drawCoverage(): void {
    const { positions, orders } = this.#account;
    const chips = coverageChips(positions, orders);
    while (this.#coverage.children.length > chips.length) this.#coverage.lastElementChild?.remove();
    while (this.#coverage.children.length < chips.length) {
      const chip = document.createElement("li");
      chip.append(document.createElement("b"), " ", document.createElement("span"));
      this.#coverage.append(chip);
    }
    for (const [index, chip] of chips.entries()) {
      const node = this.#coverage.children[index] as HTMLElement;
      setText(part("b", HTMLElement, node), chip.venue);
      setText(part("span", HTMLElement, node), chip.words);
      setData(node, "whole", chip.isWhole ? "yes" : "no");
    }
  }

  #drawPositions(rows: readonly PositionRow[]): void {
    this.#place(this.#positions, "position", rows, POSITION_CELLS, (row, nodes) => {
      setText(nodes.head, row.symbol);
      setText(nodes.way, row.direction);
      setData(nodes.way, "way", row.direction);
      const texts: [value: string, note: string][] = [
        [row.exchange, ""],
        [row.sizeText, ""],
        [row.entry, ""],
        [row.mark, ""],
        [row.pnl, row.pnlPercent],
        [row.distance, row.liquidation],
        [row.age, ""],
      ];
      fill(nodes, texts);
      const pnl = nodes.cells[4]?.value;
      if (pnl !== undefined) setData(pnl, "sign", String(row.sign));
      setText(nodes.act, row.isOwnToSign ? "By its wallet" : "Close…");
      nodes.act.disabled = row.isOwnToSign;
      setAttribute(nodes.act, "aria-label", `Close ${row.symbol} ${row.direction} of ${row.exchange}`);
      nodes.act.onclick = () => this.#close(row);
    });
  }

  #drawOrders(rows: readonly OrderRow[]): void {
    const keys = new Set(rows.map(({ key }) => key));
    for (const key of this.#canceling.keys()) if (!keys.has(key)) this.#canceling.delete(key);
    this.#place(this.#orders, "order", rows, ORDER_CELLS, (row, nodes) => {
      setText(nodes.head, row.symbol);
      setText(nodes.way, row.side);
      setData(nodes.way, "way", row.side);
      fill(nodes, [
        [row.exchange, ""],
        [row.size, row.filled],
        [row.price, row.trigger],
        [row.type, ""],
        [row.age, ""],
      ]);
      const state = this.#canceling.get(row.key);
      setText(nodes.act, state ?? "Cancel");
      setAttribute(nodes.act, "aria-label", `Cancel ${row.side} ${row.symbol} of ${row.exchange}`);
      nodes.act.disabled = state !== undefined;
      nodes.act.onclick = () => void this.#cancel(row);
    });
  }

  #place<R extends { readonly key: string }>(
    body: HTMLElement,
    kind: string,
    rows: readonly R[],
    labels: readonly string[],
    draw: (row: R, nodes: RowNodes) => void,
  ): void {
    const wanted = new Set(rows.map(({ key }) => `${kind} ${key}`));
    for (const [key, { row }] of this.#rows) {
      if (!key.startsWith(`${kind} `) || wanted.has(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
    for (const [index, row] of rows.entries()) {
      const key = `${kind} ${row.key}`;
      const nodes = this.#rows.get(key) ?? rowNodes(labels);
      this.#rows.set(key, nodes);
      if (body.children[index] !== nodes.row) body.insertBefore(nodes.row, body.children[index] ?? null);
      draw(row, nodes);
    }
  }

  async #cancel(row: OrderRow): Promise<void> {
    const { account } = this.#account;
    if (account === null) return;
    this.#canceling.set(row.key, "Canceling");
    this.draw();
    const result = await this.#api.call("cancelOrder", {
      parameters: { exchange: row.exchange as ExchangeOfOrder, orderId: row.orderId },
      query: { symbol: row.symbol },
      body: { credentials: account.credentials },
    });
    const name = `${row.side} ${row.symbol} of ${row.exchange}`;
    if (result.ok) {
      this.#announce(`${name}: ${plainWords(result.data.status)}`);
      // The stream removes the row; an order of unknown outcome can be canceled again.
      if (result.data.status === "CANCELED") this.#canceling.set(row.key, "Canceled");
      else this.#canceling.delete(row.key);
    } else {
      const isOpen = isUndecided(result, false);
      this.#announce(
        isOpen ? `${name} may have been canceled: ${result.error}` : `${name} was not canceled: ${result.error}`,
      );
      this.#canceling.delete(row.key);
    }
    this.draw();
  }
}

function counted(count: number, word: string): string {
  return `${count === 0 ? "no" : count} ${word}${count === 1 ? "" : "s"}`;
}

function fill(nodes: RowNodes, texts: readonly (readonly [value: string, note: string])[]): void {
  for (const [index, { value, note }] of nodes.cells.entries()) {
    const [text, small] = texts[index] ?? ["", ""];
    setText(value, text);
    setText(note, small);
    setHidden(note, small === "");
  }
}

function rowNodes(labels: readonly string[]): RowNodes {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const name = document.createElement("span");
  const way = document.createElement("span");
  way.className = "way";
  head.append(name, way);
  row.append(head);
  const cells = labels.map((label) => {
    const cell = document.createElement("td");
    if (!NO_NUMBERS.has(label)) cell.className = "num";
    cell.dataset.label = label;
    const value = document.createElement("span");
    const note = document.createElement("small");
    cell.append(value, note);
    row.append(cell);
    return { value, note };
  });
  const last = document.createElement("td");
  last.className = "act";
  const act = document.createElement("button");
  act.type = "button";
  last.append(act);
  row.append(last);
  return { row, head: name, way, cells, act };
}
