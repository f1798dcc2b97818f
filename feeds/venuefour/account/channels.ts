/**
 * The private channels of one account, and which of them the venue has echoed on which connection. No answer is how this
 * venue refuses a subscription: it is asked for again, then on another connection.
 *
 * Bound: at most two connections overlap.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { PersistentSocket } from "../../shared/net/socket.js";
import { ECHO_TIMEOUT_MS } from "../rules/limits.js";
import { ACCOUNT_CHANNELS, ESSENTIAL_CHANNELS } from "./frames.js";

/** Echoes that stayed away this often on one connection: it is replaced. */
const MAX_ECHO_TRIES = 3;

export interface AccountChannelsOptions {
  readonly accountId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly socket: () => PersistentSocket;
}

export class AccountChannels {
  /** Each as its subscription names it. */
  readonly names: readonly string[];
  readonly #options: AccountChannelsOptions;
  readonly #echoes = new Map<number, Set<string>>();
  #tryCount = 0;
  #timer: TimerHandle | null = null;

  constructor(options: AccountChannelsOptions) {
    this.#options = options;
    this.names = ACCOUNT_CHANNELS.map((channel) => this.#nameOf(channel));
  }

  /** Without the essential ones the account is not known. */
  isAnswered(linkId: number): boolean {
    const echoed = this.#echoes.get(linkId);
    return echoed !== undefined && ESSENTIAL_CHANNELS.every((channel) => echoed.has(channel));
  }

  opened(linkId: number): void {
    for (const known of [...this.#echoes.keys()]) if (known < linkId) this.#echoes.delete(known);
    this.#tryCount = 0;
    if (!this.isAnswered(linkId)) this.#awaitEchoes();
  }

  /** True when the last essential one of the present connection is answered with it. */
  echoed(channel: string, tsRecvNs: number, linkId: number): boolean {
    const socket = this.#options.socket();
    const wasAnswered = this.isAnswered(linkId);
    const echoed = this.#echoes.get(linkId) ?? new Set<string>();
    this.#echoes.set(linkId, echoed.add(channel));
    socket.subscription(this.#nameOf(channel))?.alive(tsRecvNs, linkId);
    return !wasAnswered && this.isAnswered(linkId) && linkId === socket.primaryLinkId;
  }

  stop(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #awaitEchoes(): void {
    this.stop();
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = null;
      this.#askAgain();
    }, ECHO_TIMEOUT_MS);
  }

  #askAgain(): void {
    const { logger, socket } = this.#options;
    const { primaryLinkId: linkId } = socket();
    if (linkId === 0 || this.isAnswered(linkId)) return;
    this.#tryCount++;
    logger.warn("venuefour.account.unanswered", { count: this.#tryCount });
    if (this.#tryCount >= MAX_ECHO_TRIES) {
      socket().reconnect("subscriptions unanswered");
      return;
    }
    const echoed = this.#echoes.get(linkId);
    for (const channel of ESSENTIAL_CHANNELS)
      if (echoed?.has(channel) !== true) socket().resubscribe(this.#nameOf(channel));
    this.#awaitEchoes();
  }

  #nameOf(channel: string): string {
    return JSON.stringify({ source: channel, account: this.#options.accountId });
  }
}
