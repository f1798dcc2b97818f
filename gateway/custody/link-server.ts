/**
 * The co-signer's end of the link: it listens, and the service connects (docs/mpc.md, 3.1). Strangers reach a handshake
 * at most, a bounded number of them at once and for a bounded time; the connection that serves is not touched by them.
 */
import { createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Message } from "../../engine/custody/mpc/wire/header.js";
import type { LinkListener, PartyLink } from "../../engine/custody/provider/party-link.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import { CONNECTION_LIMITS, type ConnectionLimits } from "./link-connection.js";
import { LinkCore } from "./link-core.js";
import type { LinkProblem, LinkStatus } from "./link-status.js";
import { type LinkIdentity, peerFault } from "./link-tls.js";

export interface ServerLimits extends ConnectionLimits {
  readonly handshakesMax: number;
  readonly handshakeMs: number;
}

const SERVER_LIMITS: ServerLimits = { ...CONNECTION_LIMITS, handshakesMax: 8, handshakeMs: 2_000 };

export interface LinkServerParts {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly identity: LinkIdentity;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<ServerLimits>;
}

/** Why the port cannot be opened; a text for the operator. */
export class LinkListenError extends Error {
  override readonly name = "LinkListenError";
}

export class LinkServer implements PartyLink {
  readonly #parts: LinkServerParts;
  readonly #limits: ServerLimits;
  readonly #core: LinkCore;
  readonly #server: Server;
  /** Each ends one that is under way. */
  readonly #handshakes = new Set<(problem: LinkProblem) => void>();
  #closed: Promise<void> | null = null;

  constructor(parts: LinkServerParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#limits = { ...SERVER_LIMITS, ...parts.limits };
    this.#core = new LinkCore({ self: 1, clock, logger, limits: this.#limits, onLost: () => {} });
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** The port is open when it resolves. Rejects with LinkListenError. */
  async start(): Promise<{ readonly port: number }> {
    const { host, port } = this.#parts;
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error) =>
        reject(new LinkListenError(`cannot listen on ${host} port ${port} (${codeOf(error)})`));
      this.#server.once("error", fail);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", fail);
        resolve();
      });
    });
    // Without descriptors left an accept fails; the port stays open.
    this.#server.on("error", (error) => this.#parts.logger.error("custody.accept_failed", { code: codeOf(error) }));
    const address = this.#server.address();
    return { port: typeof address === "object" && address !== null ? address.port : port };
  }

  listen(listener: LinkListener): void {
    this.#core.listen(listener);
  }

  send(message: Message): void {
    this.#core.send(message);
  }

  drop(): void {
    this.#core.end("DROPPED");
  }

  status(): LinkStatus {
    return this.#core.status(this.#handshakes.size);
  }

  /** Idempotent; resolves when every socket is closed. */
  close(): Promise<void> {
    if (this.#closed !== null) return this.#closed;
    this.#closed = new Promise((resolve) => this.#server.close(() => resolve()));
    for (const fail of this.#handshakes) fail("CLOSED");
    this.#core.end("CLOSED");
    return this.#closed;
  }

  #accept(raw: Socket): void {
    // What goes wrong below TLS also ends the socket above it.
    raw.on("error", () => {});
    if (this.#closed !== null || this.#handshakes.size >= this.#limits.handshakesMax) {
      raw.destroy();
      this.#problem("BUSY");
      return;
    }
    const { identity, clock } = this.#parts;
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: identity.context,
      requestCert: true,
      // The pin decides, in `#shaken`.
      rejectUnauthorized: false,
    });
    const timer = clock.setTimer(() => fail("TIMEOUT"), this.#limits.handshakeMs);
    const settle = (): boolean => {
      clock.clearTimer(timer);
      return this.#handshakes.delete(fail);
    };
    const fail = (problem: LinkProblem) => {
      if (!settle()) return;
      socket.destroy();
      this.#problem(problem);
    };
    this.#handshakes.add(fail);
    socket.on("error", () => fail("HANDSHAKE")).on("close", () => fail("HANDSHAKE"));
    // What `tls.Server` itself waits for; there is no other sign of a server's handshake on a socket of its own.
    socket.on("secure", () => {
      if (settle()) this.#shaken(socket);
    });
  }

  #shaken(socket: TLSSocket): void {
    const fault = peerFault(socket, this.#parts.identity.pins);
    if (fault === null) {
      this.#core.adopt(socket);
      return;
    }
    socket.destroy();
    this.#problem(fault);
  }

  /** Of a stranger: counted, and in the log of those who look for it alone, since anybody can cause them without end. */
  #problem(problem: LinkProblem): void {
    this.#core.book.problem(problem);
    this.#parts.logger.debug?.("custody.stranger_closed", { problem });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
}
