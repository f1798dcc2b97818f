/**
 * Closing one position: first a preview (a dry run with a quote), then the close itself, bound to that quote. What is
 * sent is what was shown; with a quote that has ended nothing is sent.
 */
import type { PositionRow } from "../view/account.js";
import {
  type CloseAsk,
  type CloseBody,
  closeBody,
  type CloseData,
  dryRunBody,
  isUndecided,
  outcomeOf,
  type Ticket,
  ticketOf,
} from "../view/close-ticket.js";
import { checkSize, refusalTitle } from "../view/exit.js";
import { UNKNOWN_TEXT } from "../view/format.js";
import type { AccountBoard } from "./account.js";
import type { CallResult } from "../api/operations.js";
import { isLocalCode } from "../api/reply.js";
import { part, setData, setText } from "./dom.js";
import type { Calls } from "./session.js";

const TYPING_PAUSE_MS = 250;
/** Longer than the service takes for any close. */
const SEND_DEADLINE_MS = 40_000;
const LIFE_MS = 200;

interface Quoted {
  readonly ask: CloseAsk;
  readonly ticket: Ticket;
  /** Our monotonic ms. */
  readonly endsMs: number;
}

/** A close that was sent, by its key: sent again with it, it is the same close. */
interface Sent {
  /** Identifies the close: the account and its position. */
  readonly name: string;
  readonly body: CloseBody;
  readonly key: string;
}

/** Most closes of unknown outcome that are kept for when their position is opened again; the oldest is dropped. */
const UNANSWERED_MAX = 64;

export class CloseDialog {
  readonly #account: AccountBoard;
  readonly #api: Calls;
  readonly #dialog = part("#close-dialog", HTMLDialogElement);
  readonly #form = part("#close-form", HTMLFormElement);
  readonly #size = part("#close-size", HTMLInputElement);
  readonly #send = part("#close-send", HTMLButtonElement);
  readonly #ticket = part("#ticket", HTMLElement);
  #position: PositionRow | null = null;
  #asking: AbortController | null = null;
  #quoted: Quoted | null = null;
  /** A close of unknown outcome: only this one may be sent until its outcome is known. */
  #sent: Sent | null = null;
  readonly #unanswered = new Map<string, Sent>();
  /** Counts the openings of the dialog: a reply is shown only in the opening that requested it. */
  #opening = 0;
  #isSending = false;
  #isDone = false;
  #timer = 0;

  constructor(account: AccountBoard, api: Calls) {
    this.#account = account;
    this.#api = api;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#act();
    });
    this.#form.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#drop("Asking…", "loading");
      this.#timer = window.setTimeout(() => void this.#ask(), TYPING_PAUSE_MS);
    });
    part("#close-leave", HTMLElement).addEventListener("click", () => this.#dialog.close());
    // A close that is under way cannot be left by accident.
    this.#dialog.addEventListener("cancel", (event) => {
      if (this.#isSending) event.preventDefault();
    });
    this.#dialog.addEventListener("close", () => {
      clearTimeout(this.#timer);
      this.#asking?.abort();
      this.#quoted = null;
      this.#position = null;
      this.#isSending = false;
      this.#opening++;
    });
    setInterval(() => this.#drawLife(), LIFE_MS);
  }

  open(position: PositionRow): void {
    this.#position = position;
    this.#sent = this.#unanswered.get(this.#nameOf(position)) ?? null;
    this.#isDone = false;
    this.#form.reset();
    this.#size.value = position.size;
    setText(part("#close-title", HTMLElement), `Close ${position.symbol} ${position.direction}`);
    setText(part("#close-here", HTMLElement), `On ${position.exchange} only`);
    this.#say("", "");
    this.#enable(this.#sent === null);
    this.#dialog.showModal();
    if (this.#sent === null) void this.#ask();
    else {
      this.#drop("Sent before", "none");
      this.#leaveOpen("No answer yet");
    }
  }

  #nameOf({ key }: PositionRow): string {
    return `${this.#account.account?.walletAddress ?? ""} ${key}`;
  }

  async #ask(): Promise<void> {
    const { account } = this.#account;
    const position = this.#position;
    if (account === null || position === null) return;
    this.#asking?.abort();
    this.#say("", "");
    const check = checkSize(this.#size.value);
    if (!check.ok) {
      this.#drop(check.problem, "none");
      return;
    }
    const isHere = new FormData(this.#form).get("where") === "here";
    const { symbol, direction, exchange } = position;
    const here = exchange as NonNullable<CloseAsk["exchange"]>;
    const ask: CloseAsk = { symbol, direction, size: check.size, exchange: isHere ? here : null };
    this.#drop("Asking…", "loading");
    const asking = new AbortController();
    this.#asking = asking;
    const askedMs = performance.now();
    const body = dryRunBody(ask, account.credentials);
    const result = await this.#api.call("positionClose", { body, signal: asking.signal });
    if (this.#asking !== asking) return;
    this.#asking = null;
    if (!result.ok) {
      if (result.code !== "ABORTED") this.#drop(refusalTitle(result.code, result.error, result.details), "none");
      return;
    }
    const ticket = ticketOf(result.data, result.serverMs ?? Number.NaN);
    if (ticket === null || !Number.isFinite(ticket.lifeMs)) {
      this.#drop(outcomeOf(result.data).text, "none");
      return;
    }
    // Counts from the request: the reply's way back is part of the quote's life.
    this.#quoted = { ask, ticket, endsMs: askedMs + ticket.lifeMs };
    this.#draw(ticket);
  }

  async #act(): Promise<void> {
    if (this.#isSending) return;
    if (this.#isDone) {
      this.#dialog.close();
      return;
    }
    const { account } = this.#account;
    const position = this.#position;
    if (account === null || position === null) return;
    const isAgain = this.#sent !== null;
    if (this.#sent === null) {
      const quoted = this.#quoted;
      if (quoted === null || performance.now() >= quoted.endsMs) {
        await this.#ask();
        return;
      }
      const body = closeBody(quoted.ask, account.credentials, quoted.ticket.quoteId);
      this.#sent = { name: this.#nameOf(position), body, key: crypto.randomUUID() };
      this.#keep(this.#sent);
    }
    const opening = this.#opening;
    this.#isSending = true;
    this.#enable(false);
    setText(this.#send, "Sending…");
    this.#say("Sent; waiting for the venue.", "open");
    const { name, body, key } = this.#sent;
    // One attempt: the person sees each, and decides whether it is sent again.
    const request = { body, idempotencyKey: key, timeoutMs: SEND_DEADLINE_MS, attempts: 1 };
    const result = await this.#api.call("positionClose", request);
    const isOpen = !result.ok && isUndecided(result, isAgain);
    if (!isOpen) this.#unanswered.delete(name);
    // The dialog was left meanwhile: the positions show the outcome, and the next opening requests a new quote.
    if (opening !== this.#opening) return;
    this.#isSending = false;
    this.#conclude(result, isOpen);
  }

  #keep(sent: Sent): void {
    const [oldest] = this.#unanswered.keys();
    if (this.#unanswered.size >= UNANSWERED_MAX && oldest !== undefined) this.#unanswered.delete(oldest);
    this.#unanswered.set(sent.name, sent);
  }

  #conclude(result: CallResult<"positionClose">, isOpen: boolean): void {
    this.#quoted = null;
    if (result.ok) {
      const { kind, text } = outcomeOf(result.data);
      this.#say(text, kind);
      this.#finish();
      return;
    }
    if (isOpen) {
      this.#leaveOpen(isLocalCode(result.code) ? "No answer" : result.error);
      return;
    }
    const told = isCloseData(result.data) ? outcomeOf(result.data).text : result.error;
    this.#say(told, "bad");
    if (isCloseData(result.data)) {
      this.#finish();
      return;
    }
    // Refused before anything was sent: it can be requested again.
    this.#sent = null;
    this.#enable(true);
    this.#drop(result.code.startsWith("QUOTE_") ? "The quote has ended" : "Nothing was sent", "none");
    setText(this.#send, "Ask again");
    this.#send.disabled = false;
  }

  /** No reply is not a refusal. Repeating the key repeats the same close, with any outcome. */
  #leaveOpen(why: string): void {
    this.#say(`${why}: it may have been sent. Asking again is safe, it is the same close.`, "open");
    setText(this.#send, "Ask again");
    this.#send.disabled = false;
  }

  #finish(): void {
    this.#isDone = true;
    this.#sent = null;
    setText(this.#send, "Done");
    this.#send.disabled = false;
    this.#send.focus();
  }

  #draw(ticket: Ticket): void {
    setData(this.#ticket, "kind", "won");
    setText(part("#ticket-venue", HTMLElement), ticket.venue);
    setText(part("#ticket-all-in", HTMLElement), ticket.allIn);
    setText(part("#ticket-cost", HTMLElement), ticket.cost);
    setText(part("#ticket-worst", HTMLElement), ticket.worst);
    setText(part("#ticket-second", HTMLElement), ticket.runnerUp);
    if (ticket.changes.length > 0) this.#say(`Of the size: ${ticket.changes.join("; ")}`, "open");
    setText(this.#send, "Send the close");
    this.#drawLife();
  }

  #drop(title: string, kind: "loading" | "none"): void {
    this.#quoted = null;
    setData(this.#ticket, "kind", kind);
    setText(part("#ticket-venue", HTMLElement), title);
    for (const name of ["all-in", "cost", "worst", "second", "life"])
      setText(part(`#ticket-${name}`, HTMLElement), UNKNOWN_TEXT);
    if (!this.#isDone && this.#sent === null) this.#send.disabled = true;
  }

  #drawLife(): void {
    if (this.#quoted === null || this.#isSending) return;
    const leftMs = this.#quoted.endsMs - performance.now();
    setText(part("#ticket-life", HTMLElement), leftMs > 0 ? `${Math.ceil(leftMs / 1_000)} s` : "ended");
    setText(this.#send, leftMs > 0 ? "Send the close" : "Ask again");
    this.#send.disabled = false;
  }

  #enable(isFree: boolean): void {
    for (const input of this.#form.querySelectorAll("input")) input.disabled = !isFree;
    part("#close-leave", HTMLButtonElement).disabled = false;
    this.#send.disabled = !isFree;
  }

  #say(text: string, kind: string): void {
    const said = part("#close-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", kind);
  }
}

function isCloseData(value: unknown): value is CloseData {
  return typeof value === "object" && value !== null && "execution" in value && "routing" in value;
}
