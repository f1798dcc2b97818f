// hot path
/**
 * Transactions over one connection of their own (`jsonapi/sendtx`): written in the order they come, answered by id. A
 * transaction needs no login here, its signature is all; so the connection serves every account.
 *
 * Invariant: each transaction is written at most once, and settles exactly once: answered, or out of time, or lost with
 * its connection. The last two are `noResponse`: the venue may have executed it.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { AccountLimiter } from "../../shared/net/account-limiter.js";
import type { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { settleWithin } from "../../shared/net/deadline.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { isLimitCode } from "../rules/errors.js";
import { MAX_IN_FLIGHT, SINGLE_REQUESTS } from "./key-lanes.js";
import {
  MAX_UNANSWERED_TXS,
  TX_DISTRUST_MS,
  TX_IDLE_SOCKET_MS,
  TX_LIMITED_PAUSE_MS,
  TX_PING_EVERY_MS,
} from "../rules/limits.js";
import type { Way } from "./nonce-window.js";
import type { TxResult } from "./tx-answer.js";
import { decodeTxFrame, type TxFrame } from "./tx-reply.js";

export interface TxSocketOptions {
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: ConnectionBudget;
  /** Transactions of one account a minute: the same count as that of the single requests. */
  readonly accounts: AccountLimiter;
  /** False while the venue limits or fails us: single requests then report which. */
  readonly isVenueUsable: () => boolean;
}

interface Unanswered {
  readonly account: string;
  readonly sentAtMs: number;
  readonly timer: TimerHandle;
  readonly resolve: (result: TxResult) => void;
}

const PONG_TEXT = '{"type":"pong"}';
/** Unanswered in a row, with no answer to any between, from which single requests are tried for a while. */
const SILENT_TXS = 2;
const LOST: TxResult = { kind: "noResponse", reason: "CONNECTION_LOST" };

export class TxSocket {
  readonly #options: TxSocketOptions;
  /** By the id of the request, in order of writing. */
  readonly #unanswered = new Map<string, Unanswered>();
  readonly #way: { id: number; width: number } = { id: 0, width: MAX_IN_FLIGHT };
  #socket: PersistentSocket | null = null;
  #lastId = 0;
  #silentCount = 0;
  #distrustedUntilMs = 0;
  #isStopped = false;
  /** Resolves the wait of `stop` when the last one is answered. */
  #onEmpty: (() => void) | null = null;

  constructor(options: TxSocketOptions) {
    this.#options = options;
  }

  /** Connects, the first time: a caller is about to trade. */
  start(): void {
    if (this.#socket !== null || this.#isStopped) return;
    const { wsUrl, clock, random, logger, connector, budget } = this.#options;
    this.#socket = new PersistentSocket({
      name: "venuethree.transactions",
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      protocol: { subscribe: () => "", unsubscribe: () => "", maxNamesPerFrame: 1 },
      // Transactions are not counted as messages (fact sheet 10); their own limit is the account's.
      pacers: () => [],
      maxSubscriptions: 0,
      heartbeat: { pingText: null, everyMs: TX_PING_EVERY_MS, idleMs: TX_IDLE_SOCKET_MS },
      handlers: {
        onFrame: (data) => this.#frame(decodeTxFrame(data.toString("utf8"))),
        onDown: () => this.#lose(),
      },
    });
    this.#socket.start();
  }

  stats(): SocketStats | null {
    return this.#socket?.stats() ?? null;
  }

  /** This connection where it can be written to, else single requests. The object is reused: read it at once. */
  way(): Way {
    const socket = this.#socket;
    if (socket === null || socket.state !== "open" || this.#isStopped) return SINGLE_REQUESTS;
    if (this.#unanswered.size >= MAX_UNANSWERED_TXS || !this.#options.isVenueUsable()) return SINGLE_REQUESTS;
    if (this.#distrustedUntilMs > monoMs(this.#options.clock)) return SINGLE_REQUESTS;
    this.#way.id = socket.primaryLinkId;
    return this.#way;
  }

  /** Writes before it returns. `info` is the transaction's JSON text. */
  send(type: number, info: string, accountIndex: number, { timeoutMs, lane }: CallOptions): Promise<TxResult> {
    const { accounts, clock } = this.#options;
    const account = String(accountIndex);
    const takenAtMs = monoMs(clock);
    const waitMs = accounts.tryTake(account, 1, lane);
    if (waitMs > 0) return Promise.resolve({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: Math.ceil(waitMs) });
    const id = String(++this.#lastId);
    return new Promise((resolve) => {
      // Known before it is written: writing may find out that the connection is dead, which loses it.
      this.#unanswered.set(id, {
        account,
        sentAtMs: clock.wallMs(),
        timer: clock.setTimer(() => this.#outOfTime(id), timeoutMs),
        resolve,
      });
      const text = `{"type":"jsonapi/sendtx","data":{"id":"${id}","tx_type":${type},"tx_info":${info}}}`;
      if (this.#socket?.send(text) === true || !this.#unanswered.has(id)) return;
      accounts.refund(account, 1, lane, takenAtMs);
      this.#settle(id, NOT_WRITTEN);
    });
  }

  /** Takes no more; those unanswered have `graceMs` yet. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    if (this.#unanswered.size > 0) {
      const emptied = new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
      await settleWithin(this.#options.clock, emptied, graceMs);
    }
    this.#socket?.stop();
    this.#lose();
  }

  #frame(frame: TxFrame): void {
    const { accounts, clock, logger } = this.#options;
    switch (frame.kind) {
      case "reply": {
        const { id, isRefusal, code, message, hash } = frame;
        const asked = this.#unanswered.get(id);
        // Out of time meanwhile: it is being looked for already.
        if (asked === undefined) return;
        this.#silentCount = 0;
        if (code !== null && isLimitCode(code)) accounts.block(asked.account, TX_LIMITED_PAUSE_MS);
        const status = isRefusal ? 400 : 200;
        const { sentAtMs } = asked;
        const reply = { status, code, message, hash, retryAfterMs: null, sentAtMs, receivedAtMs: clock.wallMs() };
        this.#settle(id, { kind: "reply", reply });
        return;
      }
      case "nameless":
        logger.warn("venuethree.tx.error-frame", { code: frame.code ?? 0 });
        return;
      case "malformed":
        logger.warn("venuethree.tx.malformed-frame");
        return;
      case "ping":
        this.#socket?.send(PONG_TEXT);
        return;
      case "other":
        return;
    }
  }

  #outOfTime(id: string): void {
    const { clock, logger } = this.#options;
    this.#silentCount++;
    if (this.#silentCount >= SILENT_TXS) {
      logger.warn("venuethree.tx.silent", { count: this.#silentCount });
      this.#distrustedUntilMs = monoMs(clock) + TX_DISTRUST_MS;
    }
    this.#settle(id, { kind: "noResponse", reason: "TIMEOUT" });
  }

  #lose(): void {
    for (const id of [...this.#unanswered.keys()]) this.#settle(id, LOST);
  }

  #settle(id: string, result: TxResult): void {
    const asked = this.#unanswered.get(id);
    if (asked === undefined) return;
    this.#unanswered.delete(id);
    this.#options.clock.clearTimer(asked.timer);
    asked.resolve(result);
    if (this.#unanswered.size === 0) this.#onEmpty?.();
  }
}

const NOT_WRITTEN: TxResult = { kind: "notSent", reason: "CONNECT_FAILED", retryAfterMs: null };
