/**
 * A reply that is not written within its handler. Invariants: written at most once, never after the client has left,
 * always corked; nothing but a refusal before its caller is proven.
 */
import type { HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Caller } from "./caller.js";
import type { Payers } from "./caller-tags.js";
import type { ReplyState, ReplyWriter } from "./reply-state.js";
import { StreamReply } from "./stream-reply.js";

export class PendingReply {
  readonly #writer: ReplyWriter;
  readonly #response: HttpResponse;
  readonly #state: ReplyState;
  #over = false;
  #onAborted: (() => void) | null = null;
  #stream: StreamReply | null = null;

  /** Must be created within the handler: it installs the abort handler that the server requires. */
  constructor(writer: ReplyWriter, response: HttpResponse, state: ReplyState) {
    this.#writer = writer;
    this.#response = response;
    this.#state = state;
    response.onAborted(() => {
      if (this.#over && (this.#stream?.over ?? true)) return;
      this.#end();
      // The outcome of a body in pieces decides how it is counted.
      if (this.#stream === null) writer.aborted(state);
      else this.#stream.gone();
      this.#onAborted?.();
    });
  }

  get requestId(): string {
    return this.#state.requestId;
  }

  /** Replied or aborted. */
  get over(): boolean {
    return this.#over;
  }

  /**
   * Proves the caller with the body of the request, exactly as it came; does nothing where that is done. Throws the
   * refusal. Must come before anything else is done with the body.
   */
  prove(body: Uint8Array): Caller {
    const refused = this.#writer.prove(this.#state, body);
    if (refused !== null) throw refused;
    return this.caller;
  }

  /** Not null: the body comes from someone who is not known before it is there; the object is that of their address. */
  get stranger(): object | null {
    const { proof } = this.#state;
    return proof === null || proof.isKnown ? null : proof.anon;
  }

  /** Not null: the body comes with this key, which was proven from its address before. */
  get knownKey(): string | null {
    const { proof } = this.#state;
    return proof?.isKnown === true ? proof.headers.apiKey : null;
  }

  /** Not null: what may change something waits for it, after `prove`. It never rejects. */
  get settled(): Promise<void> | null {
    return this.#state.settled;
  }

  /** Throws before the caller is proven: that is a bug of the route. */
  get caller(): Caller {
    return callerOf(this.#state);
  }

  /** Charges these callers, or the address for null. Throws RATE_LIMITED when one has no tokens left. */
  charge(caller: Payers): void {
    const refused = this.#writer.charge(this.#state, caller);
    if (refused !== null) throw refused;
  }

  whenAborted(callback: () => void): void {
    this.#onAborted = callback;
  }

  json(body: string, extraHeaders = ""): void {
    callerOf(this.#state);
    this.#once(() => this.#writer.write(this.#response, this.#state, 200, body, extraHeaders, false, ""));
  }

  text(contentType: string, body: string): void {
    callerOf(this.#state);
    this.#once(() => this.#writer.write(this.#response, this.#state, 200, body, "", false, contentType));
  }

  /**
   * Sends status 200 and headers now; the body follows in pieces. Returns null when the client has left, or requested
   * the headers only.
   */
  stream(contentType: string, extraHeaders: string, clock: Clock, stallMs: number): StreamReply | null {
    callerOf(this.#state);
    this.#once(() => {
      this.#writer.writeHead(this.#response, this.#state, extraHeaders, contentType);
      const { headOnly, counts } = this.#state.admission;
      if (headOnly) {
        counts.okCount++;
        this.#response.endWithoutBody();
      } else this.#stream = new StreamReply(this.#response, clock, stallMs, counts);
    });
    return this.#stream;
  }

  /** `closeConnection`: the rest of the request will not be read. */
  fail(error: ServiceError, extraHeaders = "", closeConnection = false): void {
    this.#once(() => this.#writer.writeError(this.#response, this.#state, error, extraHeaders, closeConnection));
  }

  /** Ends a reply in pieces before its end, so that it never looks complete; nothing where there is none. */
  cut(): void {
    this.#stream?.cut();
  }

  #once(write: () => void): void {
    if (this.#over) return;
    this.#end();
    this.#response.cork(write);
  }

  /** With what a body that never came was to be proven by. */
  #end(): void {
    this.#over = true;
    this.#state.proof = null;
  }
}

/** Throws before the caller is proven. */
export function callerOf({ caller }: ReplyState): Caller {
  if (caller === null) throw new ServiceError("INTERNAL", {}, { cause: new Error("the caller is not proven") });
  return caller;
}
