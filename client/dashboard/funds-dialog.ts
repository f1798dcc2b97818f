/**
 * A deposit, a transfer between accounts or a withdrawal: first its dry run, then the act itself, with what was checked.
 *
 * Invariants: an act has one Idempotency-Key, made when it is sent first. Where its outcome is not known the form keeps it
 * and can only send it again, so neither a second press nor a lost reply moves money twice, also after the dialog was
 * left. Money goes to the wallet itself.
 */
import type { FundRoute } from "../../schemas/page-facts.js";
import type { CallResult } from "../api/operations.js";
import { isUndecided } from "../view/close-ticket.js";
import {
  type Act,
  amountProblem,
  type Choice,
  checkLines,
  choicesOf,
  type FundOrder,
  type FundWallet,
  orderOf,
} from "../view/funds.js";
import { VENUES } from "../view/venues.js";
import { part, setData, setHidden, setText } from "./dom.js";
import { refusalText } from "./refusal-text.js";
import type { Calls } from "./session.js";

const TYPING_PAUSE_MS = 300;
/** Longer than the service waits for the first block of a deposit. */
const SEND_DEADLINE_MS = 60_000;
const CHECK_DEADLINE_MS = 15_000;
/** Acts of unknown outcome that are kept for when their form is opened again; the oldest is dropped. */
const UNANSWERED_MAX = 64;

const [WALLET, NATIVE] = VENUES;
const TRANSFER = `${NATIVE}Transfer` as const;
const NATIVE_WITHDRAW = `${NATIVE}Withdraw` as const;
const WALLET_WITHDRAW = `${WALLET}Withdraw` as const;

const TITLES: Readonly<Record<Act, string>> = {
  deposit: "Deposit",
  transfer: "Transfer between accounts",
  withdraw: "Withdraw",
};
/** On the button, and of what was done. */
const WORDS: Readonly<Record<Act, { readonly verb: string; readonly noun: string }>> = {
  deposit: { verb: "Deposit", noun: "Deposit" },
  transfer: { verb: "Transfer", noun: "Transfer" },
  withdraw: { verb: "Withdraw", noun: "Withdrawal" },
};

interface Sent {
  /** Of the wallet and the act. */
  readonly name: string;
  readonly order: FundOrder;
  readonly key: string;
  readonly choiceText: string;
  readonly amount: string;
  readonly asset: string;
}

type MoneyResult = CallResult<"deposit"> | CallResult<typeof TRANSFER> | CallResult<typeof NATIVE_WITHDRAW>;

export class FundsDialog {
  readonly #api: Calls;
  readonly #announce: (text: string) => void;
  readonly #acted: () => void;
  readonly #dialog = part("#funds-dialog", HTMLDialogElement);
  readonly #way = part("#funds-way", HTMLSelectElement);
  readonly #amount = part("#funds-amount", HTMLInputElement);
  readonly #go = part("#funds-go", HTMLButtonElement);
  #act: Act = "deposit";
  #wallet: FundWallet | null = null;
  #choices: readonly Choice[] = [];
  /** What the dry run let through, and what is sent: the same bytes but for the dry run. */
  #checked: Omit<Sent, "key"> | null = null;
  /** The dry run was refused, which may have been for a moment. */
  #isRefused = false;
  /** An act of unknown outcome: only this one may be sent until its outcome is known. */
  #sent: Sent | null = null;
  readonly #unanswered = new Map<string, Sent>();
  #asking: AbortController | null = null;
  /** Counts the openings: a reply is shown only in the one that asked for it. */
  #opening = 0;
  #isSending = false;
  #timer = 0;

  constructor(api: Calls, announce: (text: string) => void, acted: () => void) {
    this.#api = api;
    this.#announce = announce;
    this.#acted = acted;
    part("#funds-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    for (const field of [this.#way, this.#amount]) field.addEventListener("input", () => this.#edited());
    part("#funds-leave", HTMLElement).addEventListener("click", () => this.#dialog.close());
    // An act that is under way cannot be left by accident.
    this.#dialog.addEventListener("cancel", (event) => {
      if (this.#isSending) event.preventDefault();
    });
    this.#dialog.addEventListener("close", () => this.#drop());
  }

  open(act: Act, wallet: FundWallet, routes: readonly FundRoute[]): void {
    this.#act = act;
    this.#wallet = wallet;
    this.#choices = choicesOf(act, routes);
    this.#sent = this.#unanswered.get(`${act} ${wallet.walletId}`) ?? null;
    setText(part("#funds-act", HTMLElement), TITLES[act]);
    setText(part("#funds-who", HTMLElement), `${act === "deposit" ? "From" : "Of"} ${wallet.address}`);
    this.#way.replaceChildren(
      ...this.#choices.map(({ text }, index) => {
        const option = document.createElement("option");
        option.value = String(index);
        setText(option, text);
        return option;
      }),
    );
    const at = this.#choices.findIndex(({ text }) => text === this.#sent?.choiceText);
    this.#way.value = String(Math.max(0, at));
    this.#amount.value = this.#sent?.amount ?? "";
    this.#showCheck([]);
    if (this.#sent === null) this.#say("Enter an amount.", "");
    else this.#say("Sent before, and no answer yet. Sending it again is safe: it is the same one.", "open");
    this.#drawGo();
    this.#dialog.showModal();
    this.#amount.focus();
  }

  /** Another key, or none: its acts are another owner's. */
  forget(): void {
    this.#unanswered.clear();
    this.#dialog.close();
  }

  #edited(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#checked = null;
    this.#isRefused = false;
    this.#showCheck([]);
    this.#drawGo();
    const choice = this.#choice();
    const problem = choice === null ? "" : amountProblem(this.#amount.value.trim(), choice.route);
    this.#say(problem === "" ? "Checking…" : problem, "");
    if (problem === "") this.#timer = window.setTimeout(() => void this.#check(), TYPING_PAUSE_MS);
  }

  #choice(): Choice | null {
    return this.#choices[Number(this.#way.value)] ?? null;
  }

  async #check(): Promise<void> {
    const wallet = this.#wallet;
    const choice = this.#choice();
    const amount = this.#amount.value.trim();
    if (wallet === null || choice === null || this.#isSending) return;
    const { asset } = choice.route;
    const name = `${this.#act} ${wallet.walletId}`;
    const wish = { name, order: orderOf(this.#act, wallet, choice, amount), choiceText: choice.text, amount, asset };
    const asking = new AbortController();
    this.#asking = asking;
    const options = { signal: asking.signal, timeoutMs: CHECK_DEADLINE_MS };
    const result = await callOf(this.#api, wish.order, true, options);
    if (asking.signal.aborted) return;
    if (!result.ok) {
      this.#isRefused = true;
      this.#say(refusalText(result), "bad");
      this.#drawGo();
      return;
    }
    this.#checked = wish;
    this.#showCheck(checkLines(result.data, asset));
    this.#say("Checked: nothing is sent yet.", "good");
    this.#drawGo();
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    if (this.#isRefused) {
      this.#edited();
      return;
    }
    const before = this.#sent;
    const sent = before ?? (this.#checked === null ? null : { ...this.#checked, key: crypto.randomUUID() });
    if (sent === null) return;
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#isSending = true;
    this.#keep(sent);
    this.#drawGo();
    this.#say("Sent; waiting for the first answer…", "open");
    const opening = this.#opening;
    const options = { idempotencyKey: sent.key, timeoutMs: SEND_DEADLINE_MS, attempts: 1 };
    const result = await callOf(this.#api, sent.order, false, options);
    const isOpen = !result.ok && isUndecided(result, before !== null);
    if (!isOpen) this.#unanswered.delete(sent.name);
    this.#acted();
    // Left meanwhile: the dialog now belongs to another opening.
    if (opening !== this.#opening) return;
    this.#isSending = false;
    this.#sent = isOpen ? sent : null;
    this.#checked = null;
    if (result.ok) {
      this.#amount.value = "";
      this.#showCheck([]);
      const said = `${WORDS[this.#act].noun} of ${sent.amount} ${sent.asset}: ${result.data.status.toLowerCase()}.`;
      this.#say(said, result.data.status === "UNKNOWN" ? "open" : "good");
      this.#announce(said);
    } else if (isOpen) this.#say(`${refusalText({ ...result, outcome: "unknown" })} It is the same one.`, "open");
    else this.#say(refusalText(result), "bad");
    this.#drawGo();
  }

  #keep(sent: Sent): void {
    this.#unanswered.delete(sent.name);
    this.#unanswered.set(sent.name, sent);
    const [oldest] = this.#unanswered.keys();
    if (this.#unanswered.size > UNANSWERED_MAX && oldest !== undefined) this.#unanswered.delete(oldest);
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#opening++;
    this.#isSending = false;
    this.#wallet = null;
    this.#checked = null;
    this.#isRefused = false;
    this.#sent = null;
    this.#amount.value = "";
  }

  #drawGo(): void {
    const isFixed = this.#isSending || this.#sent !== null;
    this.#way.disabled = isFixed;
    this.#amount.disabled = isFixed;
    const { verb } = WORDS[this.#act];
    setText(this.#go, this.#sent !== null ? "Send it again" : this.#isRefused ? "Check again" : verb);
    const isIdle = this.#checked === null && this.#sent === null && !this.#isRefused;
    this.#go.disabled = this.#isSending || isIdle;
  }

  #showCheck(lines: readonly { readonly name: string; readonly text: string }[]): void {
    const list = part("#funds-check", HTMLElement);
    setHidden(list, lines.length === 0);
    list.replaceChildren(
      ...lines.map(({ name, text }) => {
        const pair = document.createElement("div");
        const [term, value] = [document.createElement("dt"), document.createElement("dd")];
        setText(term, name);
        setText(value, text);
        pair.append(term, value);
        return pair;
      }),
    );
  }

  #say(text: string, kind: string): void {
    const said = part("#funds-dialog-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", kind);
  }
}

interface Options {
  readonly signal?: AbortSignal;
  readonly timeoutMs: number;
  readonly attempts?: number;
  readonly idempotencyKey?: string;
}

function callOf(api: Calls, order: FundOrder, isDry: boolean, options: Options): Promise<MoneyResult> {
  const dry = isDry ? { dryRun: true } : {};
  if (order.act === "deposit")
    return api.call("deposit", {
      parameters: { exchange: order.exchange },
      body: { ...order.body, ...dry },
      ...options,
    });
  if (order.act === "transfer") return api.call(TRANSFER, { body: { ...order.body, ...dry }, ...options });
  if (order.isNative) return api.call(NATIVE_WITHDRAW, { body: { ...order.body, ...dry }, ...options });
  const headers = { "x-wallet-id": order.walletId };
  return api.call(WALLET_WITHDRAW, { body: { ...order.body, ...dry }, headers, ...options });
}
