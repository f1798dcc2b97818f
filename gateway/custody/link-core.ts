/**
 * What both ends of the link do once a peer is proven: one connection at a time, the frames of a wallet handled one after
 * the other and those of several beside each other, `connected` and `lost` in turns.
 */
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import type { Message } from "../../engine/custody/mpc/wire/header.js";
import type { LinkListener } from "../../engine/custody/provider/party-link.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { TLSSocket } from "node:tls";
import { type ConnectionLimits, type ConnectionParts, LinkConnection } from "./link-connection.js";
import { LinkBook, type LinkProblem, type LinkStatus } from "./link-status.js";

export interface CoreParts {
  readonly self: Party;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ConnectionLimits;
  /** Behind the listener's `lost`. `stoodMs`: how long the connection had been up. */
  readonly onLost: (stoodMs: number) => void;
}

interface Frame {
  readonly connection: LinkConnection;
  readonly message: Message;
}

export class LinkCore {
  readonly book: LinkBook;
  readonly #parts: CoreParts;
  readonly #connectionParts: ConnectionParts;
  #listener: LinkListener | null = null;
  #current: LinkConnection | null = null;
  #connectedNs = 0;
  /** By wallet of which a frame is being handled: those that came behind it. */
  readonly #waiting = new Map<string, Frame[]>();

  constructor(parts: CoreParts) {
    this.#parts = parts;
    this.book = new LinkBook(parts.clock);
    this.#connectionParts = {
      self: parts.self,
      clock: parts.clock,
      limits: parts.limits,
      received: (connection, message) => this.#received(connection, message),
      malformed: (_, walletId) => this.#listening().malformed(walletId),
      ended: (connection, problem) => this.#lose(connection, problem),
    };
  }

  listen(listener: LinkListener): void {
    if (this.#listener !== null) throw new RangeError("a link has one listener");
    this.#listener = listener;
  }

  /** The peer of `socket` is proven, and nothing of it was read. */
  adopt(socket: TLSSocket): void {
    const former = this.#current;
    if (former !== null) {
      former.discard();
      this.#lose(former, "REPLACED");
    }
    const connection = new LinkConnection(socket, this.#connectionParts);
    this.#current = connection;
    this.#connectedNs = this.#parts.clock.monoNs();
    this.book.connected();
    this.#parts.logger.info("custody.link_connected");
    this.#listening().connected();
    connection.start();
  }

  send(message: Message): void {
    if (this.#current?.send(message) === true) this.book.framesOut++;
  }

  /** `lost` follows later in this turn of the event loop. */
  end(problem: LinkProblem): void {
    this.#current?.end(problem);
  }

  status(handshakes: number): LinkStatus {
    const connected = this.#current !== null && !this.#current.hasEnded;
    return this.book.view({ connected, waitingFrames: this.#current?.waitingCount ?? 0, handshakes });
  }

  #listening(): LinkListener {
    if (this.#listener === null) throw new RangeError("nobody listens to the link");
    return this.#listener;
  }

  #lose(connection: LinkConnection, problem: LinkProblem): void {
    // A replaced connection may have an end of its own under way; its loss was told.
    if (connection !== this.#current) return;
    this.#current = null;
    this.book.problem(problem);
    this.#parts.logger.info("custody.link_lost", { problem });
    this.#listening().lost();
    this.#parts.onLost((this.#parts.clock.monoNs() - this.#connectedNs) / 1e6);
  }

  #received(connection: LinkConnection, message: Message): void {
    this.book.framesIn++;
    const wallet = Buffer.from(message.header.walletId).toString("latin1");
    const waiting = this.#waiting.get(wallet);
    if (waiting === undefined) void this.#handleAll(wallet, { connection, message });
    else waiting.push({ connection, message });
  }

  /** One after the other over all connections: what a former one began is finished before the wallet's next frame. */
  async #handleAll(wallet: string, first: Frame): Promise<void> {
    const waiting: Frame[] = [];
    this.#waiting.set(wallet, waiting);
    // The first is handed on at once: what comes behind it, such as an end, finds it with the listener.
    for (let next: Frame | undefined = first; next !== undefined; next = waiting.shift()) await this.#handle(next);
    this.#waiting.delete(wallet);
  }

  /** Never rejects. */
  async #handle({ connection, message }: Frame): Promise<void> {
    if (connection.hasEnded) return;
    try {
      await this.#listening().message(message);
    } catch (error) {
      // Its message may name what a frame held.
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#parts.logger.error("custody.frame_not_handled", { errorName });
      connection.end("HANDLER");
    }
    connection.handled();
  }
}
