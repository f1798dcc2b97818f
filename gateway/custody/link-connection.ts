/**
 * One proven connection: frames in, frames out, and the bounds of both. It ends once; after that nothing of it is told
 * and nothing is sent.
 *
 * Bounds: `waitingMax` frames received and not handled, then the socket is paused (what is held beside them is the rest
 * of one chunk, and what the kernel and Node hold of a paused socket); `outgoingBytesMax` bytes that the peer has not
 * taken, then the connection ends.
 */
import type { TLSSocket } from "node:tls";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import { encodeHeader, type Message } from "../../engine/custody/mpc/wire/header.js";
import type { Clock } from "../../engine/domain/clock.js";
import { FrameReader, type FrameSource } from "./frame-reader.js";
import type { LinkProblem } from "./link-status.js";

export interface ConnectionLimits {
  readonly waitingMax: number;
  readonly outgoingBytesMax: number;
  readonly keepAliveMs: number;
  /** For what was sent before an end. */
  readonly lingerMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  waitingMax: 64,
  // State and StateReply of 100,000 wallets are 30 MB, the messages of 32 sessions 9 MB.
  outgoingBytesMax: 48 * 1024 * 1024,
  keepAliveMs: 10_000,
  lingerMs: 1_000,
};

export interface ConnectionParts {
  readonly self: Party;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** `handled` is to be called when it is. */
  received(connection: LinkConnection, message: Message): void;
  /** The connection is about to end. */
  malformed(connection: LinkConnection, walletId: Uint8Array | null): void;
  /** Once; never from within `send` or `end`. */
  ended(connection: LinkConnection, problem: LinkProblem): void;
}

export class LinkConnection {
  readonly #socket: TLSSocket;
  readonly #parts: ConnectionParts;
  readonly #reader: FrameReader;
  /** What was received and not read yet. */
  #rest: FrameSource | null = null;
  #waitingCount = 0;
  #frameCount = 0;
  #hasEnded = false;

  constructor(socket: TLSSocket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#reader = new FrameReader(parts.self);
    socket.setNoDelay(true);
    // No message of the protocol is a sign of life. The probes end a dead peer's connection where nothing is under way;
    // where something is, its deadline passes, and the runner drops the connection.
    socket.setKeepAlive(true, parts.limits.keepAliveMs);
    const lost = () => this.#endNow(this.#frameCount === 0 ? "REFUSED" : "LOST");
    socket.on("error", lost).on("end", lost).on("close", lost);
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Begins to read. */
  start(): void {
    this.#socket.on("data", (chunk: Buffer) => {
      // A paused socket gives none; if one did, its bytes would still be in order.
      const before = this.#rest === null ? chunk : Buffer.concat([this.#rest.chunk.subarray(this.#rest.at), chunk]);
      this.#rest = { chunk: before, at: 0 };
      this.#readOn();
    });
  }

  /** Returns false where nothing was sent. The body may be wiped when it returns. */
  send({ header, body }: Message): boolean {
    if (this.#hasEnded) return false;
    if (header.length !== body.byteLength) throw new RangeError("the header names another length");
    this.#socket.write(Buffer.concat([encodeHeader(header), body]));
    if (this.#socket.writableLength > this.#parts.limits.outgoingBytesMax) this.end("SLOW");
    return true;
  }

  /** A frame that was received is handled. */
  handled(): void {
    this.#waitingCount--;
    if (!this.#hasEnded) this.#readOn();
  }

  /**
   * Nothing is read or sent any more; `ended` is called later in this turn of the event loop. Of a connection that the
   * runner drops what was sent before still goes out: a `Hello` that does not fit has to be read to be understood.
   */
  end(problem: LinkProblem): void {
    if (!this.#close(problem === "DROPPED")) return;
    queueMicrotask(() => this.#parts.ended(this, problem));
  }

  /** Like `end`; for those who know already, and are not told. */
  discard(): void {
    this.#close();
  }

  #endNow(problem: LinkProblem): void {
    if (this.#close(problem === "VERSION")) this.#parts.ended(this, problem);
  }

  /** Returns false where it has ended already. */
  #close(flushes = false): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.#rest = null;
    if (!flushes || this.#socket.destroyed) {
      this.#socket.destroy();
      return true;
    }
    const { clock, limits } = this.#parts;
    const lingering = clock.setTimer(() => this.#socket.destroy(), limits.lingerMs);
    this.#socket.once("close", () => clock.clearTimer(lingering));
    this.#socket.destroySoon();
    return true;
  }

  #readOn(): void {
    const { waitingMax } = this.#parts.limits;
    while (this.#rest !== null && this.#waitingCount < waitingMax) {
      const reading = this.#reader.read(this.#rest);
      if (reading.kind === "more") this.#rest = null;
      else if (reading.kind === "message") {
        this.#waitingCount++;
        this.#frameCount++;
        this.#parts.received(this, reading.message);
      } else if (reading.fault === "version") {
        // No rule is broken by it. The own `Hello` still goes out, so that the peer can name the cause too.
        this.#endNow("VERSION");
      } else {
        this.#parts.malformed(this, reading.walletId);
        this.#endNow("MALFORMED");
      }
    }
    if (this.#hasEnded) return;
    if (this.#waitingCount >= waitingMax) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }
}
