/**
 * One client of the admin socket. Its requests run one after the other, one in a turn of the event loop, and while one
 * runs nothing more is read: what a client can make the service hold is one line and one reply.
 *
 * Invariants: every whole line gets one reply. A line that breaks the protocol is answered and ends the connection. A
 * client that neither asks nor reads is closed after a while.
 */
import type { Socket } from "node:net";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { LineReader } from "./line-reader.js";
import { AdminRefusal, type AdminReply, bad, decodeRequest, REQUEST_BYTES_MAX, refusalOf } from "./protocol.js";

export interface ConnectionLimits {
  /** Between requests: a line that trickles in does not prolong it. */
  readonly idleMs: number;
  /** For a reply to be read. */
  readonly replyMs: number;
  /** How long an ended connection may take to go away. */
  readonly lingerMs: number;
}

export interface ConnectionParts {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** Never rejects. */
  answer(id: string | null, op: string, params: Readonly<Record<string, unknown>>): Promise<AdminReply>;
  onGone(connection: AdminConnection): void;
}

export class AdminConnection {
  readonly #socket: Socket;
  readonly #parts: ConnectionParts;
  readonly #reader = new LineReader(REQUEST_BYTES_MAX);
  #timer: TimerHandle | null = null;
  #running = false;
  #hasEnded = false;
  #isEnding = false;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    // A peer that goes away is no event here: `close` follows.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#isEnding = true;
      this.#setTimer(null);
      parts.onGone(this);
    });
    socket.on("data", (chunk: Buffer) => {
      // Read on to let the peer see its reply, and forgotten.
      if (this.#isEnding) return;
      this.#reader.push(chunk);
      this.#next();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#next();
    });
    this.#waitForRequest();
  }

  /** Refuses this client before it has asked anything. */
  refuse(refusal: AdminRefusal): void {
    this.#endWith(refusalOf(null, refusal));
  }

  /** Ends it after the request that runs, if one does. */
  stop(): void {
    if (!this.#running && !this.#isEnding) this.#end();
    this.#hasEnded = true;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #next(): void {
    if (this.#running || this.#isEnding) return;
    const read = this.#reader.next();
    switch (read.kind) {
      case "line":
        void this.#run(read.text);
        return;
      case "too-long":
        this.#endWith(refusalOf(null, new AdminRefusal("LINE_TOO_LONG", `A line takes ${REQUEST_BYTES_MAX} bytes`)));
        return;
      case "not-utf8":
        this.#endWith(refusalOf(null, bad("a line must be UTF-8")));
        return;
      case "none":
        if (!this.#hasEnded) return;
        if (this.#reader.restBytes > 0) this.#endWith(refusalOf(null, bad("the last line has no end")));
        else this.#end();
    }
  }

  async #run(line: string): Promise<void> {
    this.#running = true;
    this.#setTimer(null);
    this.#socket.pause();
    let reply: AdminReply;
    try {
      const { id, op, params } = decodeRequest(line);
      reply = await this.#parts.answer(id, op, params);
    } catch (error) {
      this.#running = false;
      this.#endWith(refusalOf(null, error));
      return;
    }
    await this.#write(reply);
    // One request in a turn of the event loop: orders go on between two.
    await new Promise((resolve) => setImmediate(resolve));
    this.#running = false;
    if (this.#isEnding) return;
    this.#waitForRequest();
    this.#socket.resume();
    this.#next();
  }

  /** Resolves once the reply has left, or the connection has ended. */
  #write(reply: AdminReply): Promise<void> {
    if (this.#isEnding || this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#setTimer(() => this.#socket.destroy(), this.#parts.limits.replyMs);
      this.#socket.once("close", resolve);
      this.#socket.write(lineOf(reply), () => {
        this.#socket.off("close", resolve);
        this.#setTimer(null);
        resolve();
      });
    });
  }

  #endWith(reply: AdminReply): void {
    if (this.#isEnding || this.#socket.destroyed) return;
    this.#socket.write(lineOf(reply));
    this.#end();
  }

  #end(): void {
    this.#isEnding = true;
    this.#socket.end();
    // Bytes that nobody reads would make the kernel drop the reply as well.
    this.#socket.resume();
    this.#setTimer(() => this.#socket.destroy(), this.#parts.limits.lingerMs);
  }

  #waitForRequest(): void {
    this.#setTimer(
      () => this.#endWith(refusalOf(null, new AdminRefusal("IDLE_TIMEOUT", "No request came in time"))),
      this.#parts.limits.idleMs,
    );
  }

  #setTimer(run: (() => void) | null, delayMs = 0): void {
    if (this.#timer !== null) this.#parts.clock.clearTimer(this.#timer);
    this.#timer = run === null ? null : this.#parts.clock.setTimer(run, delayMs);
  }
}

function lineOf(reply: AdminReply): string {
  return `${JSON.stringify(reply)}\n`;
}
