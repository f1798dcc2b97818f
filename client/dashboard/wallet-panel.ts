/**
 * Server wallets of the caller: the list, a new one for a user, a signed message. What a person wants signed and the
 * signature stay in the dialog, which is emptied when it closes.
 */
import type { DataOf } from "../api/operations.js";
import { type WalletRow, walletRows } from "../view/wallets.js";
import { part, setAttribute, setData, setHidden, setText } from "./dom.js";
import { refusalText } from "./refusal-text.js";
import type { Calls } from "./session.js";

const PAGE_ROWS = 50;
/** Two parties make a key together, and a busy machine takes its time. */
const CREATE_TIMEOUT_MS = 30_000;
const COLUMNS = ["Address", "Wallet id", "Keys", "State"];
const CODES = 2;
const STATE_AT = 3;

export class WalletPanel {
  readonly #api: Calls;
  readonly #announce: (text: string) => void;
  readonly #listed: (wallets: DataOf<"walletList">["wallets"]) => void;
  readonly #panel = part("#wallets", HTMLElement);
  readonly #user = part("#wallet-user", HTMLInputElement);
  readonly #create = part("#wallet-create", HTMLButtonElement);
  readonly #more = part("#wallets-more", HTMLButtonElement);
  readonly #dialog = part("#sign-dialog", HTMLDialogElement);
  readonly #text = part("#sign-text", HTMLTextAreaElement);
  readonly #go = part("#sign-go", HTMLButtonElement);
  readonly #rows = new Map<string, HTMLElement>();
  #wallets: DataOf<"walletList">["wallets"] = [];
  #cursor: string | null = null;
  /** Counts the loads: a reply of an earlier one, or of another key, is dropped. */
  #load = 0;
  /** Of the wallet that the dialog is about. */
  #signing: WalletRow | null = null;
  /** Counts the openings of the dialog: a signature is shown only in the one that asked for it. */
  #opening = 0;
  /** Of a creation whose outcome is not known: with it the same user id is the same call. */
  #unfinished: { readonly userId: string; readonly key: string } | null = null;

  /** `listed`: gets the wallets that are shown, whenever they are read or dropped. */
  constructor(
    api: Calls,
    announce: (text: string) => void,
    listed: (wallets: DataOf<"walletList">["wallets"]) => void = () => {},
  ) {
    this.#api = api;
    this.#announce = announce;
    this.#listed = listed;
    part("#wallet-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#make();
    });
    this.#more.addEventListener("click", () => void this.#next());
    part("#sign-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#sign();
    });
    part("#sign-leave", HTMLElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#empty());
  }

  /** The service has wallets. `needsKey`: they are listed once a person has signed in. */
  show(needsKey: boolean): void {
    setHidden(this.#panel, false);
    if (needsKey) this.forget();
    else void this.load();
  }

  /** Drops what was shown under another key. */
  forget(): void {
    this.#load++;
    this.#wallets = [];
    this.#cursor = null;
    this.#unfinished = null;
    this.#dialog.close();
    this.#say("", "");
    this.#draw("Sign in to see wallets.");
    this.#listed([]);
  }

  async load(): Promise<void> {
    if (this.#panel.hidden) return;
    this.#wallets = [];
    this.#cursor = null;
    await this.#next();
  }

  async #next(): Promise<void> {
    const load = ++this.#load;
    const cursor = this.#cursor;
    this.#more.disabled = true;
    const query = { limit: PAGE_ROWS, ...(cursor === null ? {} : { cursor }) };
    const result = await this.#api.call("walletList", { query });
    if (load !== this.#load) return;
    this.#more.disabled = false;
    if (!result.ok) {
      this.#draw(refusalText(result));
      return;
    }
    this.#wallets = [...this.#wallets, ...result.data.wallets];
    this.#cursor = result.data.nextCursor;
    this.#draw("No wallets yet.");
    this.#listed(this.#wallets);
  }

  async #make(): Promise<void> {
    const userId = this.#user.value.normalize("NFC").trim();
    if (this.#create.disabled) return;
    if (userId === "") {
      this.#say("Enter a user id.", "bad");
      return;
    }
    const key = this.#unfinished?.userId === userId ? this.#unfinished.key : crypto.randomUUID();
    this.#create.disabled = true;
    this.#say("Two parties are making a key…", "open");
    const load = this.#load;
    const result = await this.#api.call("walletCreate", {
      body: { userId },
      idempotencyKey: key,
      timeoutMs: CREATE_TIMEOUT_MS,
    });
    this.#create.disabled = false;
    if (load !== this.#load) return;
    this.#unfinished = !result.ok && result.outcome === "unknown" ? { userId, key } : null;
    if (!result.ok) {
      this.#say(refusalText(result), result.outcome === "unknown" ? "open" : "bad");
      return;
    }
    this.#user.value = "";
    this.#say(`${userId} has the wallet ${result.data.address}.`, "good");
    await this.load();
  }

  #draw(emptyText: string): void {
    const rows = walletRows(this.#wallets);
    const body = part("#wallet-rows", HTMLElement);
    const wanted = new Set(rows.map(({ walletId }) => walletId));
    for (const [walletId, node] of this.#rows)
      if (!wanted.has(walletId)) {
        node.remove();
        this.#rows.delete(walletId);
      }
    for (const [index, row] of rows.entries()) {
      const node = this.#rows.get(row.walletId) ?? document.createElement("tr");
      this.#rows.set(row.walletId, node);
      node.replaceChildren(...this.#cells(row));
      if (body.children[index] !== node) body.insertBefore(node, body.children[index] ?? null);
    }
    const empty = part("#wallets-empty", HTMLElement);
    setHidden(empty, rows.length > 0);
    setText(empty, emptyText);
    setHidden(this.#more, this.#cursor === null);
  }

  #cells(row: WalletRow): HTMLElement[] {
    const head = document.createElement("th");
    head.scope = "row";
    setText(head, row.user);
    const texts = [row.address, row.walletId, row.keysText, row.stateText];
    const cells = texts.map((text, index) => {
      const cell = document.createElement("td");
      setData(cell, "label", COLUMNS[index] ?? "");
      const value = document.createElement(index < CODES ? "code" : "span");
      setText(value, text);
      if (index === STATE_AT) {
        setAttribute(value, "class", "badge");
        setData(value, "state", row.state);
      }
      cell.append(value);
      return cell;
    });
    const last = document.createElement("td");
    last.className = "act";
    const act = document.createElement("button");
    act.type = "button";
    act.disabled = row.problem !== "";
    setText(act, "Sign…");
    setAttribute(act, "aria-label", `Sign a message as ${row.user}${row.problem === "" ? "" : `. ${row.problem}`}`);
    act.onclick = () => this.#open(row);
    last.append(act);
    return [head, ...cells, last];
  }

  #open(row: WalletRow): void {
    this.#signing = row;
    setText(part("#sign-who", HTMLElement), `${row.user} · ${row.address}`);
    this.#dialog.showModal();
  }

  async #sign(): Promise<void> {
    const wallet = this.#signing;
    if (wallet === null || this.#go.disabled) return;
    const opening = this.#opening;
    this.#go.disabled = true;
    this.#saySigned("Two parties are signing…", "open");
    setHidden(part("#signed", HTMLElement), true);
    const result = await this.#api.call("walletSign", {
      parameters: { walletIdOrAddress: wallet.walletId },
      body: { message: this.#text.value },
      idempotencyKey: crypto.randomUUID(),
    });
    if (opening !== this.#opening) return;
    this.#go.disabled = false;
    if (!result.ok) {
      this.#saySigned(refusalText(result), result.outcome === "unknown" ? "open" : "bad");
      // It may have been frozen meanwhile.
      if (result.code === "WALLET_FROZEN") void this.load();
      return;
    }
    setText(part("#signed-signature", HTMLElement), result.data.signature);
    setText(part("#signed-digest", HTMLElement), result.data.digest);
    setHidden(part("#signed", HTMLElement), false);
    this.#saySigned("Signed.", "good");
    this.#announce(`${wallet.user} signed a message`);
  }

  #empty(): void {
    this.#opening++;
    this.#signing = null;
    this.#text.value = "";
    this.#go.disabled = false;
    setText(part("#signed-signature", HTMLElement), "");
    setText(part("#signed-digest", HTMLElement), "");
    setHidden(part("#signed", HTMLElement), true);
    this.#saySigned("", "");
  }

  #say(text: string, kind: string): void {
    const said = part("#wallet-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", kind);
  }

  #saySigned(text: string, kind: string): void {
    const said = part("#sign-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", kind);
  }
}
