/**
 * The service's end of the link: it connects to the co-signer, and connects again after pauses of full jitter, for ever
 * (docs/mpc.md, 3.1). The pauses grow until a connection has lasted as long as the longest of them, so neither a peer
 * that closes at once nor a `Hello` that does not fit makes it hurry.
 */
import { connect, type TLSSocket } from "node:tls";
import type { Message } from "../../engine/custody/mpc/wire/header.js";
import type { LinkListener, PartyLink } from "../../engine/custody/provider/party-link.js";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import { type BackoffPolicy, fullJitterMs } from "../../feeds/shared/net/backoff.js";
import { CONNECTION_LIMITS, type ConnectionLimits } from "./link-connection.js";
import { LinkCore } from "./link-core.js";
import type { LinkProblem, LinkStatus } from "./link-status.js";
import { type LinkIdentity, peerFault } from "./link-tls.js";

export interface ClientLimits extends ConnectionLimits {
  /** From the first packet to the proof of the peer. */
  readonly connectMs: number;
}

const CLIENT_LIMITS: ClientLimits = { ...CONNECTION_LIMITS, connectMs: 2_000 };

const PAUSES: BackoffPolicy = { baseMs: 100, capMs: 5_000 };

export interface LinkPlace {
  readonly host: string;
  readonly port: number;
}

export interface LinkClientParts {
  /** Asked before each attempt; null: the co-signer is not there yet. */
  place(): LinkPlace | null;
  readonly identity: LinkIdentity;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: Partial<ClientLimits>;
}

export class LinkClient implements PartyLink {
  readonly #parts: LinkClientParts;
  readonly #limits: ClientLimits;
  readonly #core: LinkCore;
  /** Not yet proven. */
  #attempt: TLSSocket | null = null;
  #pause: TimerHandle | null = null;
  #attemptCount = 0;
  /** Sockets that have not closed yet. */
  readonly #open = new Set<TLSSocket>();
  #onAllClosed: (() => void) | null = null;
  #closed: Promise<void> | null = null;
  /** The last one that was logged, so that an absent peer is one line. */
  #loggedProblem: LinkProblem | null = null;

  constructor(parts: LinkClientParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#limits = { ...CLIENT_LIMITS, ...parts.limits };
    this.#core = new LinkCore({
      ...{ self: 0, clock, logger, limits: this.#limits },
      onLost: (stoodMs) => {
        if (stoodMs >= PAUSES.capMs) this.#attemptCount = 0;
        this.#connectLater();
      },
    });
  }

  /** Begins to connect. After `listen`. */
  start(): void {
    this.#connect();
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
    return this.#core.status(this.#attempt === null ? 0 : 1);
  }

  /** Idempotent; resolves when every socket is closed. */
  close(): Promise<void> {
    if (this.#closed !== null) return this.#closed;
    if (this.#pause !== null) this.#parts.clock.clearTimer(this.#pause);
    this.#closed = new Promise((resolve) => {
      this.#onAllClosed = resolve;
      if (this.#open.size === 0) resolve();
    });
    this.#attempt?.destroy();
    this.#core.end("CLOSED");
    return this.#closed;
  }

  #connect(): void {
    const { identity, clock } = this.#parts;
    const place = this.#parts.place();
    if (place === null) {
      this.#core.book.problem("UNREACHABLE");
      this.#connectLater();
      return;
    }
    const { host, port } = place;
    const socket = connect({
      ...{ host, port, secureContext: identity.context },
      // The pin decides, in `#shaken`; not a name either.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    this.#attempt = socket;
    this.#open.add(socket);
    let isReached = false;
    const timer = clock.setTimer(() => fail("TIMEOUT"), this.#limits.connectMs);
    const settle = (): boolean => {
      clock.clearTimer(timer);
      if (this.#attempt !== socket) return false;
      this.#attempt = null;
      return true;
    };
    const fail = (problem: LinkProblem) => {
      if (settle()) this.#failed(socket, problem);
    };
    const broken = () => fail(isReached ? "HANDSHAKE" : "UNREACHABLE");
    socket.on("connect", () => {
      isReached = true;
    });
    socket.on("error", broken).on("close", () => {
      broken();
      this.#open.delete(socket);
      if (this.#open.size === 0) this.#onAllClosed?.();
    });
    socket.on("secureConnect", () => {
      if (settle()) this.#shaken(socket);
    });
  }

  #shaken(socket: TLSSocket): void {
    const fault = this.#closed === null ? peerFault(socket, this.#parts.identity.pins) : "CLOSED";
    if (fault !== null) {
      this.#failed(socket, fault);
      return;
    }
    this.#loggedProblem = null;
    this.#core.adopt(socket);
  }

  #failed(socket: TLSSocket, problem: LinkProblem): void {
    socket.destroy();
    if (this.#closed !== null) return;
    this.#core.book.problem(problem);
    if (problem !== this.#loggedProblem) this.#parts.logger.warn("custody.link_not_up", { problem });
    this.#loggedProblem = problem;
    this.#connectLater();
  }

  #connectLater(): void {
    if (this.#closed !== null) return;
    const { clock, random } = this.#parts;
    this.#pause = clock.setTimer(
      () => {
        this.#pause = null;
        this.#connect();
      },
      fullJitterMs(PAUSES, this.#attemptCount++, random),
    );
  }
}
