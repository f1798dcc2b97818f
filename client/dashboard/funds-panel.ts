/**
 * Money of one server wallet: what it has on chains and at venues, and its transfers, newest first. Read when it opens and
 * after each act. Then the stream brings what changes, and balances are read behind it; while it does not, everything is
 * read every few seconds as long as a transfer may yet change.
 *
 * Invariants: what was asked for last is shown, in whatever order replies come, and no reply replaces what the stream
 * shows. However many changes the stream brings, balances are read once in LOOK_MS: each read costs the venues' budgets.
 */
import type { CallResult, DataOf } from "../api/operations.js";
import type { FundRoute } from "../../schemas/page-facts.js";
import type { TransferView } from "../../schemas/transfers.js";
import type { StreamClient, SubscriptionView } from "../stream/stream-client.js";
import { type Act, choicesOf, type FundRow, fundRow, type FundWallet, type HeldRow, heldRows } from "../view/funds.js";
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
  readonly #stream: Pick<StreamClient, "subscribe">;
  readonly #panel = part("#funds", HTMLElement);
  readonly #picker = part("#funds-wallet", HTMLSelectElement);
  readonly #more = part("#funds-more", HTMLButtonElement);
  readonly #again = part("#funds-again", HTMLButtonElement);
  readonly #dialog: FundsDialog;
  #routes: readonly FundRoute[] = [];
  /** Nothing is asked for before: a service without money has no such routes. */
  #isServed = false;
  #wallets: readonly ListedWallet[] = [];
  /** By wallet id. */
  #shown: FundWallet | null = null;
  #transfers: readonly TransferView[] = [];
  /** Of the oldest page that was read. */
  #cursor: string | null = null;
  #hasPage = false;
  /** Counts what is shown: a reply that another wallet or another key asked for is dropped. */
  #view = 0;
  /** Under way. */
  #reads = 0;
  /** Counts the reads of balances. */
  #heldReads = 0;
  /** Something changed since balances were asked for. */
  #isHeldOld = false;
  /** As the stream has them while it shows each change of them; null while it does not. */
  #streamed: readonly TransferView[] | null = null;
  #leave: () => void = () => {};

  constructor(api: Calls, stream: Pick<StreamClient, "subscribe">, announce: (text: string) => void) {
    this.#api = api;
    this.#stream = stream;
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
    this.#isServed = true;
    setHidden(this.#panel, false);
    this.setWallets(this.#wallets);
  }

  /** The wallets that are listed; none where another key was, or nobody is, signed in. */
  setWallets(wallets: readonly ListedWallet[]): void {
    this.#wallets = wallets;
    if (!this.#isServed) return;
    if (wallets.length === 0) this.#dialog.forget();
    const isListed = wallets.some(({ walletId }) => walletId === this.#shown?.walletId);
    if (isListed) this.#drawPicker();
    else this.#show(wallets[0]?.walletId ?? "");
  }

  #show(walletId: string): void {
    this.#view++;
    this.#leave();
    this.#streamed = null;
    this.#heldReads++;
    this.#isHeldOld = false;
    this.#shown = this.#wallets.find((one) => one.walletId === walletId) ?? null;
    this.#transfers = [];
    this.#cursor = null;
    this.#hasPage = false;
    this.#drawPicker();
    this.#drawHeld([]);
    this.#drawTransfers();
    this.#say("", "");
    setText(
      part("#funds-held-empty", HTMLElement),
      this.#shown === null ? "No wallet is shown." : "Asking the service…",
    );
    setText(part("#funds-empty", HTMLElement), this.#shown === null ? "" : "Asking the service…");
    if (this.#shown === null) return;
    this.#leave = this.#follow(this.#shown.walletId);
    void this.#read();
  }

  #follow(walletIdOrAddress: string): () => void {
    return this.#stream.subscribe(
      { topic: "transfers", walletIdOrAddress },
      { changed: (view) => this.#heard(view), refused: () => (this.#streamed = null) },
    );
  }

  #heard({ data, current }: SubscriptionView): void {
    this.#streamed = null;
    if (!current || data?.topic !== "transfers") return;
    // Rows of the stream are those of the routes.
    this.#streamed = [...data.transfers.values()] as unknown as readonly TransferView[];
    this.#merge([]);
    if (data.event !== null) this.#isHeldOld = true;
  }

  /** Only while somebody can see it: balances behind a change, and all while a change would not be seen. */
  #look(): void {
    if (this.#reads > 0 || document.hidden) return;
    if (this.#streamed === null && this.#transfers.some((one) => fundRow(one).isOpen)) void this.#read();
    else if (this.#isHeldOld && this.#shown !== null) void this.#readHeld(this.#shown);
  }

  async #readHeld({ walletId }: FundWallet): Promise<CallResult<"walletBalances">> {
    const read = ++this.#heldReads;
    this.#reads++;
    this.#isHeldOld = false;
    const parameters = { walletIdOrAddress: walletId };
    const held = await this.#api.call("walletBalances", { parameters, timeoutMs: READ_TIMEOUT_MS });
    this.#reads--;
    if (read === this.#heldReads && held.ok) this.#drawHeld(heldRows(held.data));
    return held;
  }

  async #read(): Promise<void> {
    const wallet = this.#shown;
    if (wallet === null) return;
    const view = this.#view;
    this.#reads++;
    this.#again.disabled = true;
    const parameters = { walletIdOrAddress: wallet.walletId };
    const [held, listed] = await Promise.all([
      this.#readHeld(wallet),
      this.#api.call("walletTransfers", { parameters, query: { limit: PAGE_ROWS } }),
    ]);
    this.#reads--;
    this.#again.disabled = this.#shown === null;
    if (view !== this.#view) return;
    if (listed.ok) {
      if (!this.#hasPage) this.#cursor = listed.data.nextCursor;
      this.#hasPage = true;
      this.#merge(listed.data.transfers);
    }
    const refused = held.ok ? listed : held;
    this.#say(refused.ok ? "" : refusalText(refused), refused.ok ? "" : "bad");
  }

  /** Newest first. What was read of a transfer replaces what was, and what is streamed replaces both; none ever goes. */
  #merge(read: readonly TransferView[]): void {
    const known = [...this.#transfers, ...read, ...(this.#streamed ?? [])];
    const byId = new Map(known.map((one) => [one.transferId, one]));
    this.#transfers = [...byId.values()].sort(
      (a, b) => b.createdAt - a.createdAt || (a.transferId < b.transferId ? 1 : -1),
    );
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
    this.#cursor = result.data.nextCursor;
    this.#merge(result.data.transfers);
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
    this.#again.disabled = this.#shown === null;
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
