/**
 * Money of one server wallet: what it has on chains and at venues, and its transfers, newest first. Read when it opens,
 * after each act, and every few seconds while a transfer may yet change.
 */
import type { DataOf } from "../api/operations.js";
import type { TransferView } from "../../schemas/transfers.js";
import {
  type Act,
  choicesOf,
  type FundRoute,
  type FundRow,
  fundRow,
  type FundWallet,
  type HeldRow,
  heldRows,
} from "../view/funds.js";
import { part, setAttribute, setData, setHidden, setText } from "./dom.js";
import { FundsDialog } from "./funds-dialog.js";
import { refusalText } from "./refusal-text.js";
import type { Calls } from "./session.js";

const PAGE_ROWS = 20;
const LOOK_MS = 3_000;
/** Chains and venues that do not answer take their time, each by itself. */
const READ_TIMEOUT_MS = 15_000;
const ACTS: readonly Act[] = ["deposit", "transfer", "withdraw"];

type ListedWallet = DataOf<"walletList">["wallets"][number];

export class FundsPanel {
  readonly #api: Calls;
  readonly #panel = part("#funds", HTMLElement);
  readonly #picker = part("#funds-wallet", HTMLSelectElement);
  readonly #more = part("#funds-more", HTMLButtonElement);
  readonly #again = part("#funds-again", HTMLButtonElement);
  readonly #dialog: FundsDialog;
  #routes: readonly FundRoute[] = [];
  #wallets: readonly ListedWallet[] = [];
  /** By wallet id. */
  #shown: FundWallet | null = null;
  #transfers: readonly TransferView[] = [];
  #cursor: string | null = null;
  /** Counts what is shown: a reply that another wallet or another key asked for is dropped. */
  #view = 0;
  #isReading = false;

  constructor(api: Calls, announce: (text: string) => void) {
    this.#api = api;
    this.#dialog = new FundsDialog(api, announce, () => void this.#read());
    this.#picker.addEventListener("change", () => this.#show(this.#picker.value));
    this.#more.addEventListener("click", () => void this.#readMore());
    this.#again.addEventListener("click", () => void this.#read());
    for (const act of ACTS)
      part(`#funds-${act}`, HTMLButtonElement).addEventListener("click", () => {
        if (this.#shown !== null) this.#dialog.open(act, this.#shown, this.#routes);
      });
    setInterval(() => this.#look(), LOOK_MS);
  }

  /** The service takes and pays money. */
  show(routes: readonly FundRoute[]): void {
    this.#routes = routes;
    setHidden(this.#panel, false);
    this.#drawPicker();
  }

  /** The wallets that are listed; none where another key was, or nobody is, signed in. */
  setWallets(wallets: readonly ListedWallet[]): void {
    this.#wallets = wallets;
    if (wallets.length === 0) this.#dialog.forget();
    const isListed = wallets.some(({ walletId }) => walletId === this.#shown?.walletId);
    if (isListed) this.#drawPicker();
    else this.#show(wallets[0]?.walletId ?? "");
  }

  #show(walletId: string): void {
    this.#view++;
    this.#shown = this.#wallets.find((one) => one.walletId === walletId) ?? null;
    this.#transfers = [];
    this.#cursor = null;
    this.#drawPicker();
    this.#drawHeld([]);
    this.#drawTransfers();
    this.#say("", "");
    setText(
      part("#funds-held-empty", HTMLElement),
      this.#shown === null ? "No wallet is shown." : "Asking the service…",
    );
    setText(part("#funds-empty", HTMLElement), this.#shown === null ? "" : "Asking the service…");
    if (this.#shown !== null) void this.#read();
  }

  /** Only while a transfer may yet change, and somebody can see it. */
  #look(): void {
    if (!this.#isReading && !document.hidden && this.#transfers.some((one) => fundRow(one).isOpen)) void this.#read();
  }

  async #read(): Promise<void> {
    const wallet = this.#shown;
    if (wallet === null) return;
    const view = this.#view;
    this.#isReading = true;
    this.#again.disabled = true;
    const parameters = { walletIdOrAddress: wallet.walletId };
    const [held, listed] = await Promise.all([
      this.#api.call("walletBalances", { parameters, timeoutMs: READ_TIMEOUT_MS }),
      this.#api.call("walletTransfers", { parameters, query: { limit: PAGE_ROWS } }),
    ]);
    this.#isReading = false;
    this.#again.disabled = false;
    if (view !== this.#view) return;
    if (held.ok) this.#drawHeld(heldRows(held.data));
    if (listed.ok) this.#take(listed.data.transfers, listed.data.nextCursor);
    const refused = held.ok ? listed : held;
    this.#say(refused.ok ? "" : refusalText(refused), refused.ok ? "" : "bad");
  }

  /** The newest page; what is shown of older ones stays. */
  #take(newest: readonly TransferView[], cursor: string | null): void {
    const ids = new Set(newest.map(({ transferId }) => transferId));
    const older = this.#transfers.filter(({ transferId }) => !ids.has(transferId));
    const hadNone = this.#transfers.length === 0;
    this.#transfers = [...newest, ...(cursor === null ? [] : older)];
    if (hadNone) this.#cursor = cursor;
    this.#drawTransfers();
  }

  async #readMore(): Promise<void> {
    const wallet = this.#shown;
    const cursor = this.#cursor;
    if (wallet === null || cursor === null) return;
    const view = this.#view;
    this.#more.disabled = true;
    const result = await this.#api.call("walletTransfers", {
      parameters: { walletIdOrAddress: wallet.walletId },
      query: { limit: PAGE_ROWS, cursor },
    });
    this.#more.disabled = false;
    if (view !== this.#view) return;
    if (!result.ok) {
      this.#say(refusalText(result), "bad");
      return;
    }
    const known = new Set(this.#transfers.map(({ transferId }) => transferId));
    this.#transfers = [...this.#transfers, ...result.data.transfers.filter((one) => !known.has(one.transferId))];
    this.#cursor = result.data.nextCursor;
    this.#drawTransfers();
  }

  #drawPicker(): void {
    this.#picker.replaceChildren(
      ...this.#wallets.map(({ walletId, userId, address }) => {
        const option = document.createElement("option");
        option.value = walletId;
        setText(option, `${userId} · ${address.slice(0, 8)}…${address.slice(-4)}`);
        return option;
      }),
    );
    this.#picker.value = this.#shown?.walletId ?? "";
    this.#picker.disabled = this.#wallets.length === 0;
    this.#again.disabled = this.#shown === null || this.#isReading;
    for (const act of ACTS)
      part(`#funds-${act}`, HTMLButtonElement).disabled =
        this.#shown === null || choicesOf(act, this.#routes).length === 0;
  }

  #drawHeld(rows: readonly HeldRow[]): void {
    part("#funds-held", HTMLElement).replaceChildren(
      ...rows.map(({ place, asset, amount, problem }) => {
        const row = document.createElement("tr");
        const head = headOf(place);
        const last = cellOf("Amount", problem === "" ? amount : problem);
        if (problem === "") last.className = "num";
        else setData(row, "known", "no");
        row.append(head, cellOf("Asset", asset), last);
        return row;
      }),
    );
    const empty = part("#funds-held-empty", HTMLElement);
    setHidden(empty, rows.length > 0);
  }

  #drawTransfers(): void {
    const rows = this.#transfers.map(fundRow);
    part("#funds-transfers", HTMLElement).replaceChildren(...rows.map(transferNode));
    const empty = part("#funds-empty", HTMLElement);
    setHidden(empty, rows.length > 0);
    setText(empty, this.#shown === null ? "" : "No transfers yet.");
    setHidden(this.#more, this.#cursor === null);
  }

  #say(text: string, kind: string): void {
    const said = part("#funds-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", kind);
  }
}

function headOf(text: string): HTMLElement {
  const head = document.createElement("th");
  head.scope = "row";
  setText(head, text);
  return head;
}

function cellOf(label: string, text: string): HTMLElement {
  const cell = document.createElement("td");
  setData(cell, "label", label);
  const value = document.createElement("span");
  setText(value, text);
  cell.append(value);
  return cell;
}

function transferNode(row: FundRow): HTMLElement {
  const node = document.createElement("tr");
  const amount = cellOf("Amount", row.amount);
  amount.className = "num";
  const state = cellOf("State", row.stateText);
  const badge = state.firstElementChild;
  if (badge instanceof HTMLElement) {
    setAttribute(badge, "class", "badge");
    setData(badge, "state", row.state);
  }
  if (row.note !== "") {
    const note = document.createElement("small");
    setText(note, row.note);
    state.append(note);
  }
  node.append(
    headOf(row.title),
    amount,
    cellOf("Network", row.network),
    state,
    cellOf("Confirmations", row.confirmations),
    hashCell(row),
    cellOf("Begun", row.time),
  );
  return node;
}

function hashCell({ hash, hashUrl }: FundRow): HTMLElement {
  const cell = document.createElement("td");
  setData(cell, "label", "Transaction");
  const short = hash === "" ? "–" : `${hash.slice(0, 8)}…${hash.slice(-6)}`;
  const value = document.createElement(hashUrl === "" ? "code" : "a");
  setText(value, short);
  if (hash !== "") setAttribute(value, "title", hash);
  if (hashUrl !== "") {
    setAttribute(value, "href", hashUrl);
    setAttribute(value, "rel", "noopener noreferrer");
    setAttribute(value, "target", "_blank");
    setAttribute(value, "aria-label", `Transaction ${short} at the explorer`);
  }
  cell.append(value);
  return cell;
}
