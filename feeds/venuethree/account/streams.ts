import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { AccountSession, AccountStreams, CallOptions, Read } from "../../../engine/ports.js";
import { AccountWatcher, type AccountWatcherStats } from "../../shared/account/account-watcher.js";
import type { WantedLots } from "../../shared/account/streamed-reads.js";
import type { WatchedAccount } from "../../shared/account/watched-account.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { logDropped } from "../../shared/net/dropped-frame.js";
import {
  ACCOUNT_MESSAGES_PER_MINUTE,
  ACCOUNT_PING_EVERY_MS,
  HOT_IDLE_MS,
  HOT_WINDOW_MS,
  IDLE_SOCKET_MS,
  MAX_HOT_ACCOUNTS,
  MAX_STREAMED_ACCOUNTS,
} from "../rules/limits.js";
import { ACCOUNT_CHANNELS, type AccountFrame, decodeAccountFrame } from "./frames.js";
import type { ConfirmedKey } from "./key-directory.js";
import { VenuethreeSession } from "./session.js";
import { VenuethreeAccountSource, type VenuethreeAccountNews, type VenuethreeSourceDeps } from "./source.js";

/** REST truth, independent of the streams; one read of the 60 a minute that a standard address has. */
const TRUTH_EVERY_MS = 120_000;
const PING_TEXT = '{"type":"ping"}';
const PONG_TEXT = '{"type":"pong"}';

export interface AccountStreamsOptions extends Omit<VenuethreeSourceDeps, "words"> {
  readonly wsUrl: string;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly messages: MessagePacer;
  /** The account behind a session; only then may it be subscribed. */
  readonly resolveKey: (session: AccountSession, options: CallOptions) => Promise<Read<ConfirmedKey>>;
  readonly maxAccounts?: number;
}

export type VenuethreeWatchedAccount = WatchedAccount<ConfirmedKey, VenuethreeAccountNews, VenuethreeAccountSource>;

export class VenuethreeAccountStreams implements AccountStreams {
  readonly #logger: Logger;
  readonly #watcher: AccountWatcher<ConfirmedKey, VenuethreeAccountNews, VenuethreeAccountSource>;

  constructor(options: AccountStreamsOptions) {
    const { budget, clock, connector, logger, messages, random, wsUrl } = options;
    // Over all its connections: what is cut again and again must not spend the minute of the books.
    const ownMessages = new MessagePacer(clock, ACCOUNT_MESSAGES_PER_MINUTE, 60_000);
    this.#logger = logger;
    this.#watcher = new AccountWatcher({
      venue: "venuethree",
      clock,
      random,
      logger,
      socket: {
        name: "venuethree.accounts",
        url: wsUrl,
        connector,
        budget,
        pacers: () => [messages, ownMessages],
        heartbeat: { pingText: PING_TEXT, everyMs: ACCOUNT_PING_EVERY_MS, idleMs: IDLE_SOCKET_MS },
        maxSubscriptions: MAX_STREAMED_ACCOUNTS * ACCOUNT_CHANNELS.length,
      },
      protocol: {
        subscribe: subscribeText,
        unsubscribe: (name) => JSON.stringify({ type: "unsubscribe", channel: name }),
      },
      limits: {
        maxAccounts: Math.min(options.maxAccounts ?? MAX_STREAMED_ACCOUNTS, MAX_STREAMED_ACCOUNTS),
        maxHot: MAX_HOT_ACCOUNTS,
        hotWindowMs: HOT_WINDOW_MS,
        hotIdleMs: HOT_IDLE_MS,
        hotReplaces: false,
        asksAreUses: false,
      },
      freeingMs: 0,
      truthEveryMs: TRUTH_EVERY_MS,
      // Pings every two seconds are answered; an account may be idle for days.
      isProvenByConnection: true,
      admit: (session) =>
        session instanceof VenuethreeSession
          ? { ok: true, key: String(session.accountIndex) }
          : { ok: false, problem: "an address alone streams nothing" },
      resolve: options.resolveKey,
      keyOf: ({ accountIndex }) => String(accountIndex),
      open: (host) => new VenuethreeAccountSource(host, { ...options, words: this.#watcher.words }),
      onFrame: (data) => this.#frame(decodeAccountFrame(data.toString("utf8"))),
    });
  }

  stats(): AccountWatcherStats {
    return this.#watcher.stats();
  }

  openAccountStream(
    ...asked: Parameters<AccountStreams["openAccountStream"]>
  ): ReturnType<AccountStreams["openAccountStream"]> {
    return this.#watcher.openAccountStream(...asked);
  }

  /** A trade reads or uses an account; the second time within a while makes it hot. */
  noteUse(key: ConfirmedKey, payer: string | null): void {
    this.#watcher.noteUse(key, payer);
  }

  /** The account of an order of ours, where it is watched. */
  watched(accountIndex: number): VenuethreeWatchedAccount | null {
    return this.#watcher.get(String(accountIndex));
  }

  /**
   * Streamed positions if they may take the place of a live read, else null. Exact sizes count where `wanted` is null.
   */
  livePositions(
    accountIndex: number,
    wanted: WantedLots | null = null,
  ): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null {
    return this.#watcher.livePositions(String(accountIndex), wanted);
  }

  /** A contract was listed on another scale: what is streamed was counted in other lots, until REST has been read again. */
  rescaled(): void {
    this.#watcher.subscriptions.reconnect("a contract was listed anew");
  }

  stop(): void {
    this.#watcher.stop();
  }

  #frame(frame: AccountFrame): void {
    const watcher = this.#watcher;
    switch (frame.kind) {
      case "orders":
      case "trades":
      case "positions":
        watcher.get(String(frame.accountIndex))?.onFrame(frame);
        return;
      case "unreadable":
        logDropped(this.#logger, "venuethree", "account", "MALFORMED", "");
        watcher.unreadable(frame.accountIndex === null ? null : String(frame.accountIndex), frame.problem);
        return;
      case "error":
        // What stays unacknowledged is asked for again, whether the error named it or not.
        this.#logger.warn("venuethree.account.error-frame", { code: frame.code });
        return;
      case "ping":
        watcher.subscriptions.send(PONG_TEXT);
        return;
      case "other":
        // Pongs, the greeting, acknowledgements of unsubscribing.
        return;
      case "unknown":
        watcher.words.note("frame", frame.type);
        return;
    }
  }
}

/** Signed as it is written: a token is never older than its subscription. */
function subscribeText(name: string, account: VenuethreeWatchedAccount | null): string {
  const token = account?.source.access.streamToken() ?? null;
  // Without a token (all who watched are gone) the venue refuses, and housekeeping drops the account.
  return JSON.stringify({ type: "subscribe", channel: name, ...(token === null ? {} : { auth: token }) });
}
