/**
 * The admin socket of a running service: a Unix socket that its owner alone can open. It is the only way to keys, audit
 * rows and seals while the service runs, because the service alone may have its store open.
 *
 * Invariants: the file has mode 0600 from its first moment. Nothing that a client sends ends the process or holds more
 * than a line. Connections and operations under way are bounded. After `stop` the file is gone.
 */
import { chmodSync } from "node:fs";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import { AdminConnection, type ConnectionLimits, type ConnectionParts } from "./admin-connection.js";
import type { AdminOperations } from "./operations.js";
import { AdminRefusal, type AdminReply, refusalOf } from "./protocol.js";
import { clearSocketPath, codeOf, removeQuietly } from "./socket-path.js";

export interface AdminLimits extends ConnectionLimits {
  readonly connectionsMax: number;
  /** Those that did not end in time included. */
  readonly operationsMax: number;
  readonly operationMs: number;
  /** For one that goes over all rows of the store, or runs a session with the co-signer, which ends by itself. */
  readonly longOperationMs: number;
}

export const ADMIN_LIMITS: AdminLimits = {
  connectionsMax: 16,
  operationsMax: 32,
  operationMs: 30_000,
  longOperationMs: 600_000,
  idleMs: 60_000,
  replyMs: 10_000,
  lingerMs: 1_000,
};

/** Clients beyond the limit that get an answer; more of them at once are closed without one. */
const REFUSED_MAX = 16;
const LONG_OPERATIONS: ReadonlySet<string> = new Set(["seal.rotate", "wallets.refresh", "wallets.unfreeze"]);
/** Nobody but the owner may connect. */
const UMASK = 0o177;

export interface AdminServerParts {
  readonly path: string;
  readonly operations: Pick<AdminOperations, "run">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<AdminLimits>;
}

/** Why the admin socket cannot be opened; a text for the operator. */
export class AdminSocketError extends Error {
  override readonly name = "AdminSocketError";
}

export class AdminServer {
  readonly #parts: AdminServerParts;
  readonly #limits: AdminLimits;
  readonly #server: NetServer;
  readonly #connections = new Set<AdminConnection>();
  /** Those beyond the limit, until they are closed. */
  readonly #refused = new Set<AdminConnection>();
  #runningCount = 0;
  #isStopping = false;
  #onIdle: (() => void) | null = null;

  constructor(parts: AdminServerParts) {
    this.#parts = parts;
    this.#limits = { ...ADMIN_LIMITS, ...parts.limits };
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    this.#server.maxConnections = this.#limits.connectionsMax + REFUSED_MAX;
  }

  /** Rejects with AdminSocketError; nothing is opened then. */
  async start(): Promise<void> {
    const { path } = this.#parts;
    const problem = await clearSocketPath(path);
    if (problem !== null) throw new AdminSocketError(problem);
    await this.#listen(path);
    this.#server.on("error", (error) => this.#parts.logger.error("admin.socket_failed", { code: codeOf(error) }));
    this.#parts.logger.info("admin.listening");
  }

  /** Waits for operations under way at most `graceMs`, then ends all connections. Idempotent. */
  async stop(graceMs: number): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.stop();
    await this.#operationsEnd(graceMs);
    for (const connection of [...this.#connections, ...this.#refused]) connection.destroy();
    await closed;
    removeQuietly(this.#parts.path);
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  #listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        reject(new AdminSocketError(`cannot open the admin socket ${path} (${codeOf(error)})`));
      };
      this.#server.once("error", fail);
      // The file is made within `listen`, so the mask of the process holds for it from the first moment.
      const before = process.umask(UMASK);
      try {
        this.#server.listen(path, () => {
          this.#server.off("error", fail);
          resolve();
        });
        if (this.#server.listening) chmodSync(path, 0o600);
      } finally {
        process.umask(before);
      }
    });
  }

  #accept(socket: Socket): void {
    if (this.#isStopping) {
      socket.destroy();
      return;
    }
    const isFull = this.#connections.size >= this.#limits.connectionsMax;
    const members = isFull ? this.#refused : this.#connections;
    const connection = new AdminConnection(socket, this.#connectionParts(members));
    members.add(connection);
    if (!isFull) return;
    const limit = this.#limits.connectionsMax;
    connection.refuse(new AdminRefusal("TOO_MANY_CONNECTIONS", `At most ${limit} clients at once`, { limit }));
  }

  #connectionParts(members: Set<AdminConnection>): ConnectionParts {
    return {
      clock: this.#parts.clock,
      limits: this.#limits,
      answer: (id, op, params) => this.#answer(id, op, params),
      onGone: (connection) => members.delete(connection),
    };
  }

  async #answer(id: string | null, op: string, params: Readonly<Record<string, unknown>>): Promise<AdminReply> {
    if (this.#isStopping) return refusalOf(id, new AdminRefusal("SHUTTING_DOWN", "The service is shutting down"));
    if (this.#runningCount >= this.#limits.operationsMax)
      return refusalOf(id, new AdminRefusal("OVERLOADED", "Too many operations have not ended"));
    try {
      return { id, ok: true, result: await this.#inTime(op, this.#counted(op, params)) };
    } catch (error) {
      const reply = refusalOf(id, error);
      if (!reply.ok && reply.code === "INTERNAL")
        this.#parts.logger.error("admin.operation_failed", {
          what: op,
          errorName: error instanceof Error ? error.name : "unknown",
        });
      return reply;
    }
  }

  async #counted(op: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    this.#runningCount++;
    try {
      return await this.#parts.operations.run(op, params);
    } finally {
      this.#runningCount--;
      if (this.#runningCount === 0) this.#onIdle?.();
    }
  }

  /** An act that is late may still take effect, so it is not called failed. */
  #inTime<T>(op: string, act: Promise<T>): Promise<T> {
    const { clock } = this.#parts;
    const limitMs = LONG_OPERATIONS.has(op) ? this.#limits.longOperationMs : this.#limits.operationMs;
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(
        () => reject(new AdminRefusal("OUTCOME_UNKNOWN", "It has not ended in time and may still take effect")),
        limitMs,
      );
      act.then(resolve, reject).finally(() => clock.clearTimer(timer));
    });
  }

  #operationsEnd(graceMs: number): Promise<void> {
    if (this.#runningCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#parts.clock.setTimer(resolve, graceMs);
      this.#onIdle = () => {
        this.#parts.clock.clearTimer(timer);
        // After the replies of this turn.
        setImmediate(resolve);
      };
    });
  }
}
