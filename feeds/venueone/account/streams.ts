/**
 * Pushed account state over the streams that name their user (userFills, openOrders, clearinghouseState): one socket
 * serves all accounts, addresses only, no key is held (feeds/shared/account/account-watcher.ts). The two streams that do
 * not name it (orderUpdates, user) would cost one of ten connections per account; they carry nothing that these and a
 * status look-up do not.
 *
 * Slots: the venue allows ten users per IP. Streams asked for hold a slot; accounts that trade repeatedly get a free one
 * by themselves, and lose it first (least recently used).
 */
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { AccountSession, AccountStreams, CallOptions, Read } from "../../../engine/ports.js";
import { AccountWatcher, type AccountWatcherStats } from "../../shared/account/account-watcher.js";
import type { WantedLots } from "../../shared/account/streamed-reads.js";
import type { WatchedAccount } from "../../shared/account/watched-account.js";
import type { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { logDropped } from "../../shared/net/dropped-frame.js";
import { SUBSCRIBE_PROTOCOL } from "../market/stream.js";
import { MAX_STREAMED_USERS, PING_EVERY_MS, PING_TEXT, QUIET_SOCKET_IDLE_MS } from "../rules/limits.js";
import { decodeAccountFrame, type VenueoneAccountFrame } from "./frames.js";
import {
  ACCOUNT_STREAMS,
  streamName,
  VenueoneAccountSource,
  type VenueoneAccountNews,
  type VenueoneSourceDeps,
} from "./source.js";

/** The venue frees a user about 2 s after the unsubscription. */
const FREEING_MS = 3_000;
/** A second use within this makes an account hot. */
const HOT_WINDOW_MS = 10 * 60_000;
/**
 * A slot that is unused for so long is released: until then it costs no key and no token, and a new one takes
 * FREEING_MS.
 */
const HOT_IDLE_MS = 10 * 60_000;
/** How often the account is read over REST beside its streams. */
const TRUTH_EVERY_MS = 60_000;

export interface AccountStreamsOptions extends Omit<VenueoneSourceDeps, "onUnresolved" | "words"> {
  readonly wsUrl: string;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly messages: MessagePacer;
  /** The account behind a session; only then may its address be subscribed. */
  readonly resolveAccount: (session: AccountSession, options: CallOptions) => Promise<Read<string>>;
  readonly maxUsers?: number;
}

export interface AccountStreamsStats extends AccountWatcherStats {
  /** Orders whose end could not be learnt. */
  readonly unresolvedEndCount: number;
}

type Watched = WatchedAccount<string, VenueoneAccountNews, VenueoneAccountSource>;

export class VenueoneAccountStreams implements AccountStreams {
  readonly #logger: Logger;
  readonly #watcher: AccountWatcher<string, VenueoneAccountNews, VenueoneAccountSource>;
  #unresolvedEndCount = 0;

  constructor(options: AccountStreamsOptions) {
    const { budget, clock, connector, logger, messages, random, wsUrl } = options;
    const maxAccounts = Math.min(options.maxUsers ?? MAX_STREAMED_USERS, MAX_STREAMED_USERS);
    this.#logger = logger;
    this.#watcher = new AccountWatcher({
      venue: "venueone",
      clock,
      random,
      logger,
      socket: {
        name: "venueone.accounts",
        url: wsUrl,
        connector,
        budget,
        pacers: () => [messages],
        heartbeat: { pingText: PING_TEXT, everyMs: PING_EVERY_MS, idleMs: QUIET_SOCKET_IDLE_MS },
        maxSubscriptions: MAX_STREAMED_USERS * ACCOUNT_STREAMS.length,
      },
      protocol: {
        subscribe: (name) => SUBSCRIBE_PROTOCOL.subscribe([name]),
        unsubscribe: (name) => SUBSCRIBE_PROTOCOL.unsubscribe([name]),
      },
      limits: {
        maxAccounts,
        maxHot: maxAccounts,
        hotWindowMs: HOT_WINDOW_MS,
        hotIdleMs: HOT_IDLE_MS,
        hotReplaces: true,
        asksAreUses: true,
      },
      freeingMs: FREEING_MS,
      truthEveryMs: TRUTH_EVERY_MS,
      // Pongs are 30 s apart, and the cadence of whole states is not stated: a silent one is probed.
      isProvenByConnection: false,
      admit: ({ accountId }) => ({ ok: true, key: accountId }),
      resolve: options.resolveAccount,
      keyOf: (address) => address,
      open: (host) =>
        new VenueoneAccountSource(host, {
          ...options,
          words: this.#watcher.words,
          onUnresolved: () => this.#unresolvedEndCount++,
        }),
      onFrame: (data, tsRecvNs, linkId) => this.#frame(decodeAccountFrame(data), tsRecvNs, linkId),
    });
  }

  stats(): AccountStreamsStats {
    return { ...this.#watcher.stats(), unresolvedEndCount: this.#unresolvedEndCount };
  }

  openAccountStream(
    ...asked: Parameters<AccountStreams["openAccountStream"]>
  ): ReturnType<AccountStreams["openAccountStream"]> {
    return this.#watcher.openAccountStream(...asked);
  }

  /** An account was used (read or traded); the second use within a while makes it hot. */
  noteUse(address: string, payer: string | null): void {
    this.#watcher.noteUse(address, payer);
  }

  /** Returns the streamed account of the session. Null means that its account is not known: it may be any of them. */
  watched(address: string | null): readonly Watched[] {
    if (address === null) return this.#watcher.accounts();
    const account = this.#watcher.get(address);
    return account === null ? [] : [account];
  }

  /** Returns streamed positions where they may replace a live read, else null. `wanted` null: exact sizes count. */
  livePositions(
    address: string,
    wanted: WantedLots | null = null,
  ): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null {
    return this.#watcher.livePositions(address, wanted);
  }

  /** A contract was listed on another scale: what is streamed was counted in other lots, until REST has been read again. */
  rescaled(): void {
    this.#watcher.subscriptions.reconnect("a contract was listed again");
  }

  stop(): void {
    this.#watcher.stop();
  }

  #frame(frame: VenueoneAccountFrame, tsRecvNs: number, linkId: number): void {
    const watcher = this.#watcher;
    switch (frame.kind) {
      case "subscribed":
        if (frame.method === "subscribe" && frame.user !== null) {
          const user = frame.user.toLowerCase();
          watcher.get(user)?.acknowledge(streamName(frame.type, user));
        }
        return;
      case "clearinghouseState":
        watcher.subscriptions.alive(streamName("clearinghouseState", frame.user), tsRecvNs, linkId);
        watcher.get(frame.user)?.onFrame(frame);
        return;
      case "openOrders":
      case "userFills":
        watcher.get(frame.user)?.onFrame(frame);
        return;
      case "malformed":
        this.#unreadable(frame);
        return;
      case "unknown":
        watcher.words.note("channel", frame.channel);
        return;
      case "error":
        this.#logger.warn("venueone.account.error-frame", { text: frame.text.slice(0, 120) });
        // `Cannot track more …` names nobody.
        if (frame.text.startsWith("Cannot track more")) watcher.full();
        return;
      default:
        // Pongs and the greeting.
        return;
    }
  }

  /** A frame of an account channel, or of an unreadable one, that names no account may be about any of them. */
  #unreadable({ channel, subject, problem }: Extract<VenueoneAccountFrame, { readonly kind: "malformed" }>): void {
    logDropped(this.#logger, "venueone", channel, "MALFORMED", "");
    const mayBeAnybodys = subject === null && (channel === "" || ACCOUNT_STREAMS.some((type) => type === channel));
    if (subject !== null || mayBeAnybodys) this.#watcher.unreadable(subject?.toLowerCase() ?? null, problem);
    else this.#watcher.counters.decodeErrorCount++;
  }
}
