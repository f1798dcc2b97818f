/**
 * The watched accounts of a room, over one socket: who listens to which, which of them are watched at all
 * (account-slots.ts), asked for (account-subscriptions.ts) and trusted (watched-account.ts). The venue brings its keys,
 * its channels and frames, and how reads and frames change an account (account-source.ts).
 *
 * Invariants: a caller is attached to an account only after the venue has confirmed whose the session is; an account that nobody may
 * read any more, or that nobody listens to and nobody uses, is dropped.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { AccountSession, AccountStream, CallOptions, Read } from "../../../engine/ports.js";
import { fullJitterMs } from "../net/backoff.js";
import { type FailedRead, failedRead } from "../net/call-results.js";
import type { SocketStats } from "../net/socket-options.js";
import { monoMs } from "../net/weight-window.js";
import { UnknownWords } from "../room/unknown-words.js";
import { type AccountSlotLimits, AccountSlots } from "./account-slots.js";
import type { AccountHost, AccountSource } from "./account-source.js";
import { type AccountProtocol, type AccountSocketOptions, AccountSubscriptions } from "./account-subscriptions.js";
import { ConnectionLife } from "./connection-life.js";
import type { WantedLots } from "./streamed-reads.js";
import { type AccountCounters, type AccountListener, WatchedAccount } from "./watched-account.js";

/** Begins every refusal for want of a place. */
const STREAM_LIMIT = "STREAM_LIMIT";
const RESOLVE: CallOptions = { timeoutMs: 5_000, lane: "read" };
const RESOLVE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const MAX_RESOLVE_TRIES = 5;
const HOUSEKEEPING_MS = 1_000;

export interface AccountWatcherOptions<Owner, Frame, Source extends AccountSource<Owner, Frame>> {
  /** Begins the names of log lines. */
  readonly venue: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly socket: AccountSocketOptions;
  readonly protocol: AccountProtocol<WatchedAccount<Owner, Frame, Source>>;
  readonly limits: AccountSlotLimits;
  readonly freeingMs: number;
  readonly truthEveryMs: number;
  /** Any frame of the connection proves all accounts alive; else each account's own frames do. */
  readonly isProvenByConnection: boolean;
  /** The account that the session names, before the venue is asked. */
  readonly admit: (
    session: AccountSession,
  ) => { readonly ok: true; readonly key: string } | { readonly ok: false; readonly problem: string };
  /** The owner of the session, as the venue confirms it. */
  readonly resolve: (session: AccountSession, options: CallOptions) => Promise<Read<Owner>>;
  readonly keyOf: (owner: Owner) => string;
  readonly open: (host: AccountHost) => Source;
  readonly onFrame: (data: Buffer, tsRecvNs: number, linkId: number) => void;
}

export interface AccountWatcherStats extends Readonly<AccountCounters> {
  readonly socket: SocketStats | null;
  readonly accountCount: number;
  readonly liveCount: number;
  /** Unknown words in frames. */
  readonly driftCount: number;
}

export class AccountWatcher<Owner, Frame, Source extends AccountSource<Owner, Frame>> {
  readonly counters: AccountCounters = { resyncCount: 0, decodeErrorCount: 0, differenceCount: 0 };
  readonly words: UnknownWords;
  readonly subscriptions: AccountSubscriptions<WatchedAccount<Owner, Frame, Source>>;
  readonly #options: AccountWatcherOptions<Owner, Frame, Source>;
  readonly #slots: AccountSlots<WatchedAccount<Owner, Frame, Source>>;
  /** Of the connection that all accounts share. */
  readonly #life: ConnectionLife;
  /** Waits between two questions for an owner, with what ends each early. */
  readonly #waits = new Map<TimerHandle, () => void>();
  #housekeeping: TimerHandle | null = null;
  #isStopped = false;

  constructor(options: AccountWatcherOptions<Owner, Frame, Source>) {
    this.#options = options;
    this.words = new UnknownWords(options.venue, () => options.logger);
    this.#life = new ConnectionLife(options.clock);
    this.#slots = new AccountSlots(options.limits);
    this.subscriptions = new AccountSubscriptions({
      ...options,
      life: this.#life,
      maxAccounts: () => this.#slots.maxAccounts,
    });
  }

  stats(): AccountWatcherStats {
    return {
      socket: this.subscriptions.stats(),
      accountCount: this.#slots.size,
      liveCount: this.accounts().filter(({ state }) => state === "LIVE").length,
      ...this.counters,
      driftCount: this.words.count,
    };
  }

  openAccountStream(
    session: AccountSession,
    onEvent: AccountListener,
  ): { readonly ok: true; readonly stream: AccountStream } | { readonly ok: false; readonly problem: string } {
    if (this.#isStopped) return { ok: false, problem: "the room is stopped" };
    const admitted = this.#options.admit(session);
    if (!admitted.ok) return admitted;
    const slots = this.#slots;
    if (slots.get(admitted.key) === null && slots.isFull && slots.spare() === null) {
      const problem = `${STREAM_LIMIT}: all ${slots.maxAccounts} account streams of this venue are in use`;
      return { ok: false, problem };
    }
    const { logger, venue } = this.#options;
    // A listener's bug is its own.
    const stream = new OpenedStream((event) => {
      try {
        onEvent(event);
      } catch {
        logger.error(`${venue}.account.subscriber-failed`, { kind: event.kind });
      }
    });
    void this.#attach(stream, session);
    return { ok: true, stream };
  }

  /** A trade reads or uses an account, and `payer` pays for it; the second time within a while makes it hot. */
  noteUse(owner: Owner, payer: string | null): void {
    const nowMs = monoMs(this.#options.clock);
    const key = this.#options.keyOf(owner);
    let account = this.#slots.get(key);
    if (account === null && this.#slots.becomesHot(key, nowMs)) account = this.#acquire(key);
    if (account === null) return;
    this.#slots.used(account, nowMs);
    account.usedBy = payer;
    account.source.access.keep(owner);
    this.subscriptions.subscribe(account);
  }

  get(key: string): WatchedAccount<Owner, Frame, Source> | null {
    return this.#slots.get(key);
  }

  accounts(): readonly WatchedAccount<Owner, Frame, Source>[] {
    return this.#slots.all();
  }

  /** Streamed positions where they may be used in place of a live read, else null. `wanted` null: exact sizes count. */
  livePositions(key: string, wanted: WantedLots | null): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null {
    return this.#slots.get(key)?.settled(wanted) ?? null;
  }

  /** A frame that cannot be read. `key` null: it names no account, and may be of any. */
  unreadable(key: string | null, problem: string): void {
    const account = key === null ? null : this.#slots.get(key);
    if (account !== null) {
      account.distrust(problem);
      return;
    }
    this.counters.decodeErrorCount++;
    if (key === null) for (const other of this.accounts()) other.distrust(null);
  }

  /** The venue takes no more accounts: it refused those of which it has acknowledged nothing. */
  full(): void {
    const refused = this.subscriptions.unacknowledged();
    this.#slots.limitTo(this.#slots.size - refused.length);
    for (const account of refused) this.#drop(account);
  }

  stop(): void {
    this.#isStopped = true;
    const { clock } = this.#options;
    if (this.#housekeeping !== null) clock.clearTimer(this.#housekeeping);
    for (const [timer, end] of this.#waits) {
      clock.clearTimer(timer);
      end();
    }
    this.#waits.clear();
    for (const account of this.accounts()) {
      this.#slots.remove(account);
      account.dispose();
    }
    this.subscriptions.stop();
  }

  async #attach(stream: OpenedStream, session: AccountSession): Promise<void> {
    const owner = await this.#resolveOwner(session, () => stream.isClosed || this.#isStopped);
    if (stream.isClosed) return;
    if (this.#isStopped) {
      stream.fail(failedRead("VENUE_ERROR", "the room is stopped"));
      return;
    }
    if (!owner.ok) {
      stream.fail(owner);
      return;
    }
    const account = this.#acquire(this.#options.keyOf(owner.value));
    if (account === null) {
      stream.fail(failedRead("RATE_LIMITED", `${STREAM_LIMIT}: no account stream is free on this venue`));
      return;
    }
    const { access } = account.source;
    this.#slots.asked(account, monoMs(this.#options.clock));
    access.join(owner.value);
    account.listeners.set(stream.tell, session.payer);
    this.subscriptions.subscribe(account);
    stream.attach(account, () => {
      account.listeners.delete(stream.tell);
      access.leave(owner.value);
      if (account.listeners.size === 0 && !this.#slots.staysHot(account)) this.#drop(account);
    });
  }

  /** Asks who the session acts for; tries again on failures that may pass, until `isOver`. */
  async #resolveOwner(session: AccountSession, isOver: () => boolean): Promise<Read<Owner>> {
    const { clock, random, resolve } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const owner = await resolve(session, RESOLVE);
      if (owner.ok || owner.code === "AUTH" || attempt >= MAX_RESOLVE_TRIES || isOver()) return owner;
      await new Promise<void>((done) => {
        const timer = clock.setTimer(
          () => {
            this.#waits.delete(timer);
            done();
          },
          fullJitterMs(RESOLVE_BACKOFF, attempt, random),
        );
        this.#waits.set(timer, done);
      });
      if (isOver()) return owner;
    }
  }

  /** Watches the account, in the place of the spare one where all are taken; returns null when there is none either. */
  #acquire(key: string): WatchedAccount<Owner, Frame, Source> | null {
    const known = this.#slots.get(key);
    if (known !== null) return known;
    if (this.#isStopped) return null;
    if (this.#slots.isFull) {
      const spare = this.#slots.spare();
      if (spare === null) return null;
      this.#drop(spare);
    }
    const { isProvenByConnection, open } = this.#options;
    const connection = isProvenByConnection ? this.#life : null;
    const account = new WatchedAccount(key, { ...this.#options, counters: this.counters, connection }, open);
    this.#slots.add(account);
    this.#housekeep();
    return account;
  }

  #drop(account: WatchedAccount<Owner, Frame, Source>): void {
    if (!this.#slots.remove(account)) return;
    this.subscriptions.drop(account);
    account.dispose();
  }

  #housekeep(): void {
    if (this.#housekeeping !== null || this.#isStopped) return;
    this.#housekeeping = this.#options.clock.setTimer(() => {
      this.#housekeeping = null;
      for (const account of this.accounts()) this.#look(account);
      if (this.#slots.size > 0) this.#housekeep();
    }, HOUSEKEEPING_MS);
  }

  #look(account: WatchedAccount<Owner, Frame, Source>): void {
    const { access } = account.source;
    const isIdle = this.#slots.isIdle(account, monoMs(this.#options.clock));
    if (isIdle) access.forgetKept();
    const isUnused = isIdle && account.listeners.size === 0;
    if (!isUnused && access.isOpen) this.subscriptions.look(account);
    if (isUnused || !access.isOpen) this.#drop(account);
  }
}

/** What an opened stream shows of its account. */
interface ShownAccount {
  readonly state: FeedState;
  readonly reads: { readonly orders: { sinceMs(): number | null } };
  read(): Read<readonly VenuePosition[]>;
}

/** One who listens: starting, then attached to an account or failed. */
class OpenedStream implements AccountStream {
  readonly tell: AccountListener;
  isClosed = false;
  #account: ShownAccount | null = null;
  #onClose = (): void => {};
  #failure = failedRead("VENUE_ERROR", "the account stream is starting");
  #state: FeedState = "SYNCING";

  constructor(tell: AccountListener) {
    this.tell = tell;
  }

  get state(): FeedState {
    return this.#account?.state ?? this.#state;
  }

  ordersDoubtMs(): number | null {
    return this.#account?.reads.orders.sinceMs() ?? null;
  }

  positions(): Read<readonly VenuePosition[]> {
    return this.#account?.read() ?? this.#failure;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#onClose();
  }

  attach(account: ShownAccount, onClose: () => void): void {
    this.#account = account;
    this.#onClose = onClose;
    this.tell({ kind: "state", state: account.state });
  }

  fail(failure: FailedRead): void {
    this.#failure = failure;
    this.#state = "DOWN";
    this.tell({ kind: "state", state: "DOWN" });
  }
}
