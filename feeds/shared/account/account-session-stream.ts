/**
 * One account's stream over a connection of its own, and all who stream it with the same credentials.
 *
 *   connect → ready → reconcile over REST → LIVE      (again after every loss)
 *
 * Invariants: positions are readable only while LIVE (account-reconciler.ts); frames that arrive before are applied at
 * once and outlive an older answer; a session is used only while its owner keeps the stream open and has not closed it;
 * the stream ends with its last member. A connection that takes over before it is ready is a loss.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { AccountEvent, AccountSession, AccountStream } from "../../../engine/ports.js";
import { type ConnectionBudget, MessagePacer } from "../net/connection-budget.js";
import type { Connector } from "../net/connector.js";
import { PersistentSocket } from "../net/socket.js";
import type { SocketHandlers } from "../net/socket-options.js";
import { WireFault } from "../room/wire-fields.js";
import type { AccountConnection, AccountFeed } from "./account-feed.js";
import { type AccountCounters, AccountReconciler, type ReconcilePace } from "./account-reconciler.js";
import { StreamMembers } from "./stream-members.js";
import { ConnectionLife } from "./connection-life.js";
import { sameSizes } from "./held-positions.js";
import { heldAtLeast, type LiveRead, StreamedReads, type WantedLots } from "./streamed-reads.js";

/** What a feed uses of its stream. None of it may be called before the feed is made. */
export interface FeedParts<S> {
  readonly accountId: string;
  readonly reads: StreamedReads;
  readonly counters: AccountCounters;
  readonly isLive: () => boolean;
  readonly reconciler: () => Pick<
    AccountReconciler<S>,
    "happened" | "noteRefusal" | "refreshSoon" | "start" | "unread"
  >;
  readonly socket: () => PersistentSocket;
  /** A session whose owner is still streaming; null where all of them were closed. */
  readonly session: () => S | null;
  readonly tell: (event: AccountEvent) => void;
  /** The connection and its standby are useless, even if they look alive: connects again, and nothing is LIVE until then. */
  readonly renew: (reason: string) => void;
}

/** A venue with one connection for each set of credentials. */
export interface SessionVenue<S extends AccountSession> {
  /** Begins the names of sockets and each line of the log, as `<venue>.account`. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly pace: ReconcilePace;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** The venue's own, and not closed. */
  readonly isUsable: (session: AccountSession) => session is S;
  readonly feed: (parts: FeedParts<S>) => AccountFeed<S>;
}

export class AccountSessionStream<S extends AccountSession> {
  readonly accountId: string;
  readonly reads: StreamedReads;
  readonly #life: ConnectionLife;
  readonly #members: StreamMembers<S>;
  readonly #feed: AccountFeed<S>;
  readonly #reconciler: AccountReconciler<S>;
  readonly #socket: PersistentSocket;
  readonly #onEnd: () => void;
  #isStopped = false;

  constructor(venue: SessionVenue<S>, counters: AccountCounters, accountId: string, onEnd: () => void) {
    const { clock, clockOffsetMs, isUsable, logger, name, pace, random } = venue;
    this.accountId = accountId;
    this.#onEnd = onEnd;
    this.#life = new ConnectionLife(clock);
    this.reads = new StreamedReads(clock, this.#life);
    this.#members = new StreamMembers({
      logger,
      failureEvent: `${name}.subscriber-failed`,
      positions: () => this.#read(this.#feed.positions()),
      ordersDoubtMs: () => this.reads.orders.sinceMs(),
      onEmpty: () => this.stop(),
    });
    const session = (): S | null => this.#members.session(isUsable);
    this.#feed = venue.feed({
      accountId,
      reads: this.reads,
      counters,
      isLive: () => this.isLive,
      reconciler: () => this.#reconciler,
      socket: () => this.#socket,
      session,
      tell: (event) => this.#members.tell(event),
      renew: (reason) => {
        this.#lost();
        this.#socket.reconnectBoth(reason);
      },
    });
    this.#reconciler = new AccountReconciler({
      ...{ name, clock, random, logger, pace, counters, clockOffsetMs, session },
      reads: this.reads,
      members: this.#members,
      feed: this.#feed,
      isReady: () => this.#socket.state === "open" && this.#feed.isReady(this.#socket.primaryLinkId),
      onRefused: () => this.stop(),
    });
    this.#socket = socketOf(venue, this.#feed.connection, {
      onFrame: (data, tsRecvNs, linkId) => this.#onFrame(data, tsRecvNs, linkId),
      onControl: () => this.#onControl(),
      onOpen: (linkId) => this.#onOpen(linkId),
      onDown: () => this.#lost(),
      isStandbyReady: (linkId) => this.#feed.isReady(linkId),
    });
  }

  get isLive(): boolean {
    return this.#members.state === "LIVE";
  }

  join(session: S, onEvent: (event: AccountEvent) => void): AccountStream {
    const stream = this.#members.join(session, onEvent);
    this.#socket.start();
    return stream;
  }

  /** Positions that may be used in place of a live read; returns null where only the venue may answer. `wanted` null: exact sizes count. */
  settled(wanted: WantedLots | null): LiveRead | null {
    // LIVE also means that the venue has answered these credentials.
    const value = this.isLive ? this.reads.trusted(this.#feed.positions(), wanted) : null;
    return value === null ? null : this.#read(value);
  }

  /**
   * Compares a read of the venue with what is streamed; where they differ, the stream is not trusted until it agrees again.
   * Returns what is held at least. `instrument` null: all of it was asked for.
   */
  compare(instrument: Instrument | null, positions: readonly VenuePosition[]): readonly VenuePosition[] {
    if (!this.isLive) return positions;
    const all = this.#feed.positions();
    const held = instrument === null ? all : all.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol);
    if (sameSizes(held, positions)) return positions;
    this.reads.doubt();
    if (!this.#reconciler.isRunning) this.#reconciler.start("positions");
    return heldAtLeast(this.reads, held, positions);
  }

  /** The stream is to report something of ours; where it does not, the venue is asked. */
  refreshSoon(): void {
    this.#reconciler.refreshSoon();
  }

  /** Also where a standby connection could take over: what is held is given up first. */
  renew(reason: string): void {
    this.#lost();
    this.#socket.reconnect(reason);
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#members.end();
    this.#reconciler.stop();
    this.#feed.stop();
    this.#socket.stop();
    this.#onEnd();
  }

  #read(value: readonly VenuePosition[]): LiveRead {
    return { ok: true, value, asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /** Of a venue that is pinged with a message, the message that answers it is the proof. */
  #onControl(): void {
    if (this.#feed.connection.heartbeat.pingText === null) this.#life.noteFrame();
  }

  #onFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    if (linkId === this.#socket.primaryLinkId) this.#life.noteFrame();
    try {
      this.#feed.onFrame(data, tsRecvNs, linkId);
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      this.#reconciler.unread(`${error.field} ${error.problem}`);
    }
  }

  #onOpen(linkId: number): void {
    // After a planned change of connection nothing is lost, and it stays LIVE.
    if (!this.#feed.isReady(linkId)) this.#lost();
    this.#life.noteFrame();
    this.#feed.onOpen(linkId);
    this.#reconciler.start();
  }

  #lost(): void {
    this.#life.lost();
    this.#reconciler.lost();
  }
}

function socketOf<S extends AccountSession>(
  { name, clock, random, logger, connector, budget }: SessionVenue<S>,
  { url, heartbeat, protocol, channels, messagesPerSecond, rotateAfterMs }: AccountConnection,
  handlers: SocketHandlers,
): PersistentSocket {
  const socket = new PersistentSocket({
    ...{ name, url, clock, random, logger, connector, budget, heartbeat, protocol, rotateAfterMs, handlers },
    pacers: () => [new MessagePacer(clock, messagesPerSecond, 1_000)],
    maxSubscriptions: Math.max(1, channels.length),
  });
  // Silence proves nothing: an account at rest has nothing to report.
  for (const channel of channels) socket.subscribe({ name: channel, livenessMs: 0, probe: null });
  return socket;
}
