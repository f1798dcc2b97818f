/**
 * The one socket that carries the channels of all watched accounts, and how far each account has been asked for.
 *
 *   waits for a place ──► asked for ──► written ──► acknowledged           (again on each connection)
 *                            ▲             │
 *                            └─ by no deadline, each half as patient again
 *
 * Invariants: an account is asked for as a whole, as one channel alone would not make it whole; a channel that waits for
 * the pace of messages was not refused, and no deadline runs; a place that was given back counts as taken for `freeingMs`.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { SubscribeProtocol } from "../net/paced-writer.js";
import { PersistentSocket } from "../net/socket.js";
import type { SocketOptions, SocketStats } from "../net/socket-options.js";
import type { ProbeResult } from "../net/subscriptions.js";
import { monoMs } from "../net/weight-window.js";
import type { AccountAccess, AccountChannel } from "./account-source.js";
import type { ConnectionLife } from "./connection-life.js";

/** A channel that is not acknowledged by then was refused in a message that does not name it, or lost. */
const ACKNOWLEDGE_DEADLINE_MS = 5_000;
/** Tries in a row, each half as patient again as the one before. */
const MAX_PATIENCE = 6;

interface SubscribedAccount {
  readonly key: string;
  readonly source: {
    readonly channels: readonly AccountChannel[];
    readonly access: Pick<AccountAccess<never>, "isOpen" | "isEnding" | "refused">;
  };
  readonly isWhole: boolean;
  readonly isAcknowledged: boolean;
  readonly refresh: { probe(): Promise<ProbeResult> };
  invalidate(state: "STALE" | "SYNCING"): void;
  reverify(): void;
}

interface Asked<A> {
  readonly account: A;
  /** Monotonic ms at which the last of its channels was written. */
  askedAtMs: number;
  /** Channels that wait for the pace of messages. */
  readonly unwritten: Set<string>;
  tryCount: number;
}

/** What the socket has of its venue. */
export type AccountSocketOptions = Pick<
  SocketOptions,
  "name" | "url" | "connector" | "budget" | "pacers" | "heartbeat" | "maxSubscriptions"
>;

/** One channel a message. */
export interface AccountProtocol<A> {
  /** `account`: the one that has this channel; null when none has it any more. */
  subscribe(name: string, account: A | null): string;
  unsubscribe(name: string): string;
}

export interface AccountSubscriptionsOptions<A> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly socket: AccountSocketOptions;
  readonly protocol: AccountProtocol<A>;
  /** Of the connection; any frame of it counts. */
  readonly life: ConnectionLife;
  /** Accounts that the venue holds at once. */
  readonly maxAccounts: () => number;
  /** After the unsubscription of an account, until the venue counts it no more. */
  readonly freeingMs: number;
  readonly onFrame: (data: Buffer, tsRecvNs: number, linkId: number) => void;
}

export class AccountSubscriptions<A extends SubscribedAccount> {
  readonly #options: AccountSubscriptionsOptions<A>;
  readonly #asked = new Map<string, Asked<A>>();
  readonly #byChannel = new Map<string, Asked<A>>();
  /** Accounts just unsubscribed, with the monotonic ms at which their places are surely free. Bounded as the accounts are. */
  readonly #freeing = new Map<string, number>();
  #socket: PersistentSocket | null = null;

  constructor(options: AccountSubscriptionsOptions<A>) {
    this.#options = options;
  }

  stats(): SocketStats | null {
    return this.#socket?.stats() ?? null;
  }

  /** Asks for an account that was not asked for yet, unless the venue still counts accounts that were given back. */
  subscribe(account: A): void {
    if (this.#asked.has(account.key)) return;
    const nowMs = monoMs(this.#options.clock);
    for (const [key, freeAtMs] of this.#freeing) if (freeAtMs <= nowMs) this.#freeing.delete(key);
    this.#freeing.delete(account.key);
    if (this.#asked.size + this.#freeing.size >= this.#options.maxAccounts()) return;
    const socket = this.#openSocket();
    const asked: Asked<A> = { account, askedAtMs: nowMs, unwritten: new Set(), tryCount: 0 };
    this.#asked.set(account.key, asked);
    for (const { name } of account.source.channels) this.#byChannel.set(name, asked);
    this.#toBeWritten(asked);
    for (const { livenessMs, name } of account.source.channels)
      socket.subscribe({ name, livenessMs, probe: livenessMs > 0 ? () => account.refresh.probe() : null });
  }

  drop(account: A): void {
    if (this.#asked.get(account.key)?.account !== account) return;
    this.#asked.delete(account.key);
    for (const { name } of account.source.channels) {
      this.#byChannel.delete(name);
      this.#socket?.unsubscribe(name);
    }
    const { clock, freeingMs } = this.#options;
    if (freeingMs > 0) this.#freeing.set(account.key, monoMs(clock) + freeingMs);
  }

  /** Called regularly for each account: asks, asks again, or has it reverify itself. */
  look(account: A): void {
    const asked = this.#asked.get(account.key);
    if (asked === undefined) {
      this.subscribe(account);
      return;
    }
    if (this.#socket?.state !== "open") return;
    const { access } = account.source;
    if (account.isWhole) {
      asked.tryCount = 0;
      account.reverify();
      if (access.isEnding) this.#askAgain(asked, "SYNCING");
      return;
    }
    if (asked.unwritten.size > 0) return;
    const patienceMs = ACKNOWLEDGE_DEADLINE_MS * 1.5 ** Math.min(asked.tryCount, MAX_PATIENCE);
    if (monoMs(this.#options.clock) - asked.askedAtMs < patienceMs) return;
    asked.tryCount++;
    access.refused();
    if (access.isOpen) this.#askAgain(asked, "SYNCING");
  }

  /** Accounts that were asked for, and of which the venue has acknowledged nothing. */
  unacknowledged(): readonly A[] {
    return [...this.#asked.values()].map(({ account }) => account).filter(({ isAcknowledged }) => !isAcknowledged);
  }

  /** The channel delivered a frame. */
  alive(name: string, tsRecvNs: number, linkId: number): void {
    this.#socket?.subscription(name)?.alive(tsRecvNs, linkId);
  }

  send(text: string): void {
    this.#socket?.send(text);
  }

  reconnect(reason: string): void {
    this.#socket?.reconnect(reason);
  }

  stop(): void {
    this.#socket?.stop();
  }

  #toBeWritten(asked: Asked<A>): void {
    asked.askedAtMs = monoMs(this.#options.clock);
    for (const { name } of asked.account.source.channels) asked.unwritten.add(name);
  }

  /** Unsubscribes and subscribes again, all of it. */
  #askAgain(asked: Asked<A>, state: "STALE" | "SYNCING"): void {
    this.#toBeWritten(asked);
    asked.account.invalidate(state);
    for (const { name } of asked.account.source.channels) this.#socket?.resubscribe(name);
  }

  #openSocket(): PersistentSocket {
    if (this.#socket !== null) return this.#socket;
    const { clock, life, logger, onFrame, protocol, random, socket: options } = this.#options;
    const wire: SubscribeProtocol = {
      subscribe: ([name = ""]) => {
        const asked = this.#byChannel.get(name);
        if (asked?.unwritten.delete(name) === true) asked.askedAtMs = monoMs(clock);
        return protocol.subscribe(name, asked?.account ?? null);
      },
      unsubscribe: ([name = ""]) => protocol.unsubscribe(name),
      maxNamesPerFrame: 1,
    };
    const socket = new PersistentSocket({
      ...options,
      clock,
      random,
      logger,
      protocol: wire,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => {
          life.noteFrame();
          onFrame(data, tsRecvNs, linkId);
        },
        onOpen: () => {
          life.noteFrame();
          for (const asked of this.#asked.values()) asked.askedAtMs = monoMs(clock);
        },
        onDown: () => this.#down(),
        onSilent: (name) => {
          const asked = this.#byChannel.get(name);
          if (asked !== undefined) this.#askAgain(asked, "STALE");
        },
      },
    });
    this.#socket = socket;
    socket.start();
    return socket;
  }

  /** The next connection asks for all of it again. */
  #down(): void {
    this.#options.life.lost();
    for (const asked of this.#asked.values()) {
      this.#toBeWritten(asked);
      asked.account.invalidate("STALE");
    }
  }
}
