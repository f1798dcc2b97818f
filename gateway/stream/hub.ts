/**
 * The stream's core: connections, their rate limits and one timer. Knows no topic and no socket library.
 *
 * The pulse looks at the buffers of connections, and publishes the keys whose interval is due (publisher.ts). All
 * intervals use the one pulse, so thousands of keys cost one timer.
 *
 * Bounds: connections, connections per address (limits.ts), keys (stream-keys.ts). The pulse runs while there are
 * connections.
 */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { HiddenCounter } from "../../engine/domain/hidden-counter.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { NoticeReason } from "../../schemas/stream.js";
import { TokenBucket } from "../http/limiter.js";
import type { MarketView } from "../api/market-view.js";
import type { StreamAccounts } from "./account-topics.js";
import type { Revocations } from "../http/caller.js";
import { PUBLIC_AUTH, type StreamAuth } from "./auth.js";
import { StreamCallers } from "./callers.js";
import { DisconnectSwitches, type DisconnectDesk } from "./disconnect-switches.js";
import { Connection, type ConnectionHost, type StreamSocket } from "./connection.js";
import { FeedBoard } from "./feed-board.js";
import {
  CLOSE_AUTH_FAILED,
  CLOSE_RATE_LIMITED,
  CLOSE_RESTART,
  CLOSE_TRY_LATER,
  CONNECTION_LOOK_PULSES,
  DRIFT_LOOK_PULSES,
  PULSE_MS,
  ROOM_LOOK_PULSES,
  type StreamLimits,
} from "./limits.js";
import { MarketTaps } from "./market-tap.js";
import { Protocol, type ProtocolHost } from "./protocol.js";
import { Publisher } from "./publisher.js";
import { SnapshotTurns } from "./snapshot-turns.js";
import { createStreamCounts, type StreamCounts } from "./stream-counts.js";
import type { StoredWallets } from "./stored-blocks.js";
import { StreamKeys } from "./stream-keys.js";
import type { StreamTransfers } from "./transfer-topic.js";
import { Topics } from "./topics.js";

export interface HubParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly view: MarketView;
  /** Sends to all members of a channel. */
  readonly publish: (channel: string, text: string) => void;
  /** Runs at the end of this turn of the event loop. */
  readonly defer: (run: () => void) => void;
  /** Identifies this start: about six characters that no other start has. Lower-case letters and digits. */
  readonly epoch: string;
  /** Numbers the topics that are opened; absent: counts them, for tests. */
  readonly topicNumbers?: HiddenCounter;
  readonly refusedTickers: ReadonlySet<RoutableVenue>;
  /** Absent: there are no keys. */
  readonly auth?: StreamAuth;
  readonly revocations?: Revocations;
  /** Positions and orders; absent: those topics are not served. */
  readonly accounts?: StreamAccounts;
  /** Money of server wallets; absent: that topic is not served. */
  readonly transfers?: StreamTransfers;
  /** Cancels on disconnect; absent: not served. */
  readonly orders?: DisconnectDesk;
}

/** A connection and the rate limit of its client. */
interface Client {
  readonly connection: Connection;
  readonly inbound: TokenBucket;
}

export class StreamHub implements ConnectionHost, ProtocolHost {
  readonly limits: StreamLimits;
  readonly counts: StreamCounts = createStreamCounts();
  readonly topics: Topics;
  readonly callers: StreamCallers;
  readonly logger: Logger;
  readonly switches: DisconnectSwitches | null;
  readonly wallets: StoredWallets | null;
  readonly taps = new MarketTaps();
  readonly #clock: Clock;
  readonly #board: FeedBoard;
  readonly #protocol: Protocol;
  readonly snapshots: SnapshotTurns;
  readonly keys: StreamKeys;
  readonly #publisher: Publisher;
  readonly #clients = new Map<Connection, Client>();
  readonly #perAddress = new Map<string, number>();
  /** Bytes published since the last look at all buffers. */
  #unseenBytes = 0;
  #connectionsOpened = 0;
  #pulseCount = 0;
  #nextPulseNs = 0;
  #timer: TimerHandle | null = null;
  #isStopped = false;

  constructor(limits: StreamLimits, parts: HubParts) {
    this.limits = limits;
    this.#clock = parts.clock;
    this.snapshots = new SnapshotTurns(limits.snapshotTurnBytes, parts.defer);
    this.#publisher = new Publisher(parts, this.counts, (bytes) => this.#lookAfter(bytes));
    this.keys = new StreamKeys({
      clock: parts.clock,
      epoch: parts.epoch,
      ...(parts.topicNumbers === undefined ? {} : { numbers: parts.topicNumbers }),
      limits,
      counts: this.counts,
      markDirty: (key, urgent) => this.#publisher.markDirty(key, urgent),
    });
    this.logger = parts.logger;
    this.callers = new StreamCallers(parts.auth ?? PUBLIC_AUTH, limits, () => this.monoNs());
    // Its switches fire, as those of any lost connection.
    parts.revocations?.onRevoked((keyId) => {
      for (const connection of this.callers.ofKey(keyId)) {
        try {
          endUnproven(this.#protocol, connection, "KEY_REVOKED");
        } catch (error) {
          // A bug in a topic of one connection leaves none of the others open.
          logFailedLook(this.logger, error);
        }
      }
    });
    this.#board = new FeedBoard(parts.view);
    this.topics = new Topics({
      view: parts.view,
      taps: this.taps,
      board: this.#board,
      refusedTickers: parts.refusedTickers,
      clock: parts.clock,
      ...(parts.accounts === undefined ? {} : { accounts: parts.accounts }),
      ...(parts.transfers === undefined ? {} : { transfers: parts.transfers }),
    });
    this.switches =
      parts.orders === undefined
        ? null
        : new DisconnectSwitches(
            { clock: parts.clock, logger: parts.logger, desk: parts.orders },
            (connection, error) => this.#protocol.error(connection, error, {}),
          );
    this.wallets = parts.accounts?.wallets ?? null;
    this.#protocol = new Protocol(this);
  }

  get frameBytesMax(): number {
    return this.limits.frameBytesMax;
  }

  get resumeBytesMax(): number {
    return this.limits.hardBufferBytes;
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  monoNs(): number {
    return this.#clock.monoNs();
  }

  // ---------------------------------------------------------------- connections

  /** Accepts a new socket; one too many gets an error and is closed. `addressText`: for the checks of keys. */
  connect(socket: StreamSocket, address: string, addressText = address): Connection {
    const connection = new Connection(socket, this, address, this.#connectionsOpened++);
    const inbound = new TokenBucket(
      "ws",
      { perSecond: this.limits.framesPerSecond, burst: this.limits.framesPerSecond },
      this.monoNs(),
    );
    const sameAddress = (this.#perAddress.get(address) ?? 0) + 1;
    this.#perAddress.set(address, sameAddress);
    this.#clients.set(connection, { connection, inbound });
    this.counts.connections++;
    const isAdmitted = this.callers.admit(connection, addressText);
    if (this.#isStopped) this.turnAway(connection, "RESTART", CLOSE_RESTART);
    else if (this.#clients.size > this.limits.connectionsMax || sameAddress > this.limits.connectionsPerAddressMax)
      this.turnAway(connection);
    else if (!isAdmitted) this.turnAway(connection, "TOO_MANY_UNAUTHENTICATED", CLOSE_TRY_LATER);
    else this.#startPulse();
    return connection;
  }

  receive(connection: Connection, bytes: Buffer, isBinary: boolean): void {
    if (this.#charge(connection)) this.#protocol.handle(connection, bytes, isBinary);
  }

  /** A ping of the client, or a pong that answers none of ours: it counts as a frame all the same. */
  control(connection: Connection): void {
    this.#charge(connection);
  }

  forget(connection: Connection): void {
    if (!this.#clients.delete(connection)) return;
    this.callers.forget(connection);
    if (this.#isStopped) this.switches?.leave(connection);
    else this.switches?.gone(connection);
    this.counts.connections--;
    const left = (this.#perAddress.get(connection.address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(connection.address, left);
    else this.#perAddress.delete(connection.address);
    if (this.#clients.size === 0) this.#stopPulse();
  }

  /** Notifies every client and closes all connections with 1012. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#board.stopping();
    const status = this.keys.get("status");
    if (status !== undefined) this.#publisher.advance(status);
    for (const connection of [...this.#clients.keys()]) this.turnAway(connection, "RESTART", CLOSE_RESTART);
    this.keys.clearRetained();
    this.#stopPulse();
  }

  /** Ends a connection, by default one that is one too many, with the time when to come back. */
  turnAway(connection: Connection, reason: NoticeReason = "TOO_MANY_CONNECTIONS", code = CLOSE_TRY_LATER): void {
    const { retryAfterMs } = this.limits;
    connection.send(JSON.stringify({ type: "status", ts: this.wallMs(), reason, retryAfterMs }));
    connection.end(code, reason);
  }

  #charge(connection: Connection): boolean {
    const client = this.#clients.get(connection);
    if (client === undefined || !connection.isOpen) return false;
    this.counts.framesIn++;
    const nowNs = this.monoNs();
    if (client.inbound.take(1, nowNs)) return true;
    const { framesPerSecond: limit } = this.limits;
    const retryAfterMs = client.inbound.waitMs(1, nowNs);
    const details = { policy: "ws", limit, windowSeconds: 1, retryAfterMs };
    this.#protocol.error(connection, new ServiceError("RATE_LIMITED", details), {});
    connection.end(CLOSE_RATE_LIMITED, "RATE_LIMITED");
    return false;
  }

  /**
   * The pulse looks at every buffer ten times a second. A burst is looked at earlier, each time that as much was
   * published as a socket in step may have waiting.
   */
  #lookAfter(bytes: number): void {
    this.#unseenBytes += bytes;
    if (this.#unseenBytes < this.limits.softBufferBytes) return;
    this.#unseenBytes = 0;
    const nowNs = this.monoNs();
    for (const connection of this.#clients.keys()) {
      try {
        connection.lookAtBuffer(nowNs);
      } catch (error) {
        logFailedLook(this.logger, error);
      }
    }
  }

  // ---------------------------------------------------------------- the pulse

  #startPulse(): void {
    if (this.#timer !== null || this.#isStopped) return;
    this.#board.refresh(this.monoNs());
    this.#nextPulseNs = this.monoNs() + PULSE_MS * 1e6;
    this.#timer = this.#clock.setTimer(() => this.#pulse(), PULSE_MS);
  }

  #stopPulse(): void {
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #pulse(): void {
    const nowNs = this.monoNs();
    this.#pulseCount++;
    // An event loop that was held up skips the pulses it missed: what they would have sent is merged.
    this.#nextPulseNs = Math.max(this.#nextPulseNs + PULSE_MS * 1e6, nowNs);
    this.#timer = this.#clock.setTimer(() => this.#pulse(), (this.#nextPulseNs - nowNs) / 1e6);
    try {
      this.#lookAtConnections(nowNs);
      if (this.#pulseCount % ROOM_LOOK_PULSES === 0) this.#board.refresh(nowNs);
      if (this.#pulseCount % DRIFT_LOOK_PULSES === 0) this.#lookForDrift(nowNs);
      this.#publisher.flushDue(this.#pulseCount);
    } catch (error) {
      this.logger.error("stream.pulse_failed", { errorName: error instanceof Error ? error.name : "unknown" });
    }
  }

  #lookAtConnections(nowNs: number): void {
    // Made once for all heartbeats of this pulse, and only when one is due.
    let text = "";
    const feeds = () => {
      if (text === "") text = this.#board.feedsText(this.#board.health, nowNs);
      return text;
    };
    for (const connection of this.#clients.keys()) {
      if ((connection.slot + this.#pulseCount) % CONNECTION_LOOK_PULSES !== 0) continue;
      try {
        if (this.callers.isOverdue(connection, nowNs)) endUnproven(this.#protocol, connection, "AUTH_REQUIRED");
        connection.look(nowNs, feeds);
      } catch (error) {
        logFailedLook(this.logger, error);
      }
    }
  }

  /** Publishes what time alone changed: a state that is no longer true is urgent. */
  #lookForDrift(nowNs: number): void {
    for (const key of this.keys.values())
      try {
        if (key.drifted(nowNs)) this.#publisher.markDirty(key, true);
      } catch (error) {
        logFailedLook(this.logger, error);
      }
  }
}

function endUnproven(protocol: Protocol, connection: Connection, code: "AUTH_REQUIRED" | "KEY_REVOKED"): void {
  protocol.error(connection, new ServiceError(code), {});
  connection.end(CLOSE_AUTH_FAILED, code === "KEY_REVOKED" ? code : "AUTH_FAILED");
}

/** A bug in a topic of one connection, or of one key, does not end the frames of the others. */
function logFailedLook(logger: Logger, error: unknown): void {
  logger.error("stream.look_failed", { errorName: error instanceof Error ? error.name : "unknown" });
}
