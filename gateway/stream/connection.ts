/**
 * One client's connection: its subscriptions, and what happens when it reads too slowly.
 *
 * In step, it is a member of the shared channel of each of its keys and a frame is serialised once for all. It falls
 * out of step when more than the soft limit waits for it, or when a ping stays unanswered (kernel buffers hold what
 * `bufferedBytes` cannot see). It then leaves the channels and is notified once. From then it gets frames of its own,
 * each leading from what it was last sent to the present. They are sent only when everything before has left and the
 * ping behind it is answered: so at most `softBufferBytes` are under way to it, and they are fresh. One round that
 * brings every subscription up to date puts it back in step.
 *
 * Invariants: every subscription begins with a snapshot; on one connection each update's `prevSeq` is the `seq` sent
 * before it. After `isOpen` is false the socket is not used.
 */
import type { Image } from "./feed.js";
import { CLOSE_SLOW_CONSUMER, type StreamLimits } from "./limits.js";
import type { SnapshotTurns } from "./snapshot-turns.js";
import type { StreamCounts } from "./stream-counts.js";
import type { KeyWaiter, StreamKey } from "./stream-key.js";

/** The native socket; frames leave in the order of the calls, including shared ones. */
export interface StreamSocket {
  send(text: string): void;
  ping(payload: string): void;
  /** Bytes accepted by `send` and the channels, not yet taken by the kernel. */
  bufferedBytes(): number;
  join(channel: string): void;
  leave(channel: string): void;
  end(code: number, reason: string): void;
  /** Sends all frames of the call together. */
  cork(run: () => void): void;
}

interface Subscription {
  readonly key: StreamKey;
  /** Whether it is in the key's shared channel. */
  isInStep: boolean;
  /** Out of step: what this connection was sent last. With `image` null its snapshot waits. */
  sentSeq: number;
  image: Image | null;
  /** Its snapshot waits for its turn, or for the first image. */
  isOwed: boolean;
  /** The reason of a snapshot that waits. */
  reason: string;
}

/** What a connection needs from its hub. */
export interface ConnectionHost {
  readonly limits: StreamLimits;
  readonly counts: StreamCounts;
  wallMs(): number;
  monoNs(): number;
  /** `release`: the connection's subscription to the key has ended. */
  readonly keys: { release(key: StreamKey): void };
  /** Schedules the snapshots of all connections over turns. */
  readonly snapshots: SnapshotTurns;
  /** The connection has ended, on either side. */
  forget(connection: Connection): void;
}

const NS_PER_MS = 1e6;
const UNSET_NS = -1;
/** The first heartbeats of so many connections that came at once are spread over one interval. */
const FIRST_SHARES = 128;
/** The number of a ping has at most these digits. */
const PING_TEXT = /^[0-9]{1,15}$/;

export class Connection implements KeyWaiter {
  readonly address: string;
  /** Spreads the work of many connections over the pulses. */
  readonly slot: number;
  readonly #socket: StreamSocket;
  readonly #host: ConnectionHost;
  readonly #subscriptions = new Map<string, Subscription>();
  isOpen = true;
  isLagging = false;
  #levelCount = 0;
  #heartbeatCount = 0;
  #nextHeartbeatNs: number;
  #nextPingNs: number;
  #sentPing = 0;
  #answeredPing = 0;
  #pingSentNs = 0;
  #missedPongs = 0;
  #hardSinceNs = UNSET_NS;
  /** While lagging: the buffer at the last look, and the time when it last shrank. */
  #lastBuffered = 0;
  #progressNs = 0;
  /** Where the next round of own frames begins, so that every subscription has its turn. */
  #roundStart = 0;

  constructor(socket: StreamSocket, host: ConnectionHost, address: string, slot: number) {
    this.#socket = socket;
    this.#host = host;
    this.address = address;
    this.slot = slot;
    const nowNs = host.monoNs();
    const share = 1 - (slot % FIRST_SHARES) / FIRST_SHARES;
    this.#nextHeartbeatNs = nowNs + host.limits.heartbeatMs * NS_PER_MS * share;
    this.#nextPingNs = nowNs + host.limits.pingMs * NS_PER_MS * share;
  }

  /** Price levels of all its subscriptions. */
  get levelCount(): number {
    return this.#levelCount;
  }

  get subscriptionCount(): number {
    return this.#subscriptions.size;
  }

  /** Whether there is room for frames that are not merged. */
  get isKeepingUp(): boolean {
    return this.isOpen && !this.isLagging && this.#socket.bufferedBytes() <= this.#host.limits.softBufferBytes;
  }

  holds(keyText: string): boolean {
    return this.#subscriptions.has(keyText);
  }

  /** The last sequence number sent on this connection; 0 before the snapshot. */
  headOf(key: StreamKey): number {
    const subscription = this.#subscriptions.get(key.text);
    if (subscription === undefined || subscription.isInStep) return key.seq;
    return subscription.image === null ? 0 : subscription.sentSeq;
  }

  send(text: string): void {
    if (!this.isOpen) return;
    const { counts } = this.#host;
    counts.framesOut++;
    counts.bytesOut += text.length;
    this.#socket.send(text);
  }

  /** Adds a subscription: its snapshot, then the shared frames. */
  add(key: StreamKey): void {
    this.#snapshot(this.#take(key, 0, null), "");
  }

  /** Sends a snapshot again, or starts a new subscription whose snapshot states its reason. */
  restart(key: StreamKey, reason: string): void {
    this.#snapshot(this.#subscriptions.get(key.text) ?? this.#take(key, 0, null), reason);
  }

  /**
   * Continues from the subscriber's own position: the updates missed since, no snapshot. Does nothing if it runs
   * already.
   */
  resume(key: StreamKey, missedFrames: readonly string[]): void {
    if (this.holds(key.text)) return;
    for (const frame of missedFrames) this.send(frame);
    if (!this.isOpen) return;
    const subscription = this.#take(key, key.seq, key.image(this.#host.monoNs()));
    if (!this.isLagging) this.#join(subscription);
  }

  /** Runs when the key has its first image, or when it is this connection's turn. */
  begin(key: StreamKey): void {
    const subscription = this.#subscriptions.get(key.text);
    // The subscription has ended, or a round has sent its snapshot; a lagging connection gets it in a round.
    if (subscription?.key !== key || !subscription.isOwed || !this.isOpen || this.isLagging) return;
    this.#snapshot(subscription, subscription.reason);
  }

  remove(keyText: string): boolean {
    const subscription = this.#subscriptions.get(keyText);
    if (subscription === undefined) return false;
    this.#subscriptions.delete(keyText);
    this.#levelCount -= subscription.key.levels;
    this.#host.counts.subscriptions--;
    this.#leave(subscription);
    subscription.key.waiting.delete(this);
    subscription.key.memberCount--;
    this.#host.keys.release(subscription.key);
    return true;
  }

  /** Called every few pulses. `feeds` is the text of all feed states. */
  look(nowNs: number, feeds: () => string): void {
    this.lookAtBuffer(nowNs);
    if (this.isOpen && nowNs >= this.#nextPingNs) this.#livenessPing(nowNs);
    if (this.isOpen && nowNs >= this.#nextHeartbeatNs) this.#heartbeat(nowNs, feeds());
  }

  /** Also called when much was published since the last look: a burst must not fill the buffer unseen. */
  lookAtBuffer(nowNs: number): void {
    if (!this.isOpen) return;
    const { limits } = this.#host;
    const buffered = this.#socket.bufferedBytes();
    if (this.#isTooSlow(buffered, nowNs)) {
      this.end(CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER");
      return;
    }
    if (this.isLagging) {
      this.catchUp();
      return;
    }
    const unansweredNs = this.#sentPing > this.#answeredPing ? nowNs - this.#pingSentNs : 0;
    if (buffered > limits.softBufferBytes || unansweredNs > limits.ackLagMs * NS_PER_MS) this.#enterLag(nowNs);
  }

  /** Handles the client's reply to a ping; returns false when it answers none of ours. */
  pong(payload: string): boolean {
    const number = PING_TEXT.test(payload) ? Number(payload) : 0;
    if (number <= this.#answeredPing || number > this.#sentPing) return false;
    this.#answeredPing = number;
    this.#missedPongs = 0;
    this.#progressNs = this.#host.monoNs();
    // A later ping may still be unanswered: its time counts from here.
    this.#pingSentNs = this.#progressNs;
    if (this.isLagging) this.catchUp();
    return true;
  }

  /** While lagging: sends own frames when nothing is under way to this client. Called whenever that may be so. */
  catchUp(): void {
    if (!this.isOpen || !this.isLagging || this.#answeredPing < this.#sentPing) return;
    if (this.#socket.bufferedBytes() > 0) return;
    this.#socket.cork(() => this.#round());
  }

  end(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.#leaveHub(code);
    this.#socket.end(code, reason);
  }

  /** The client has disconnected. */
  gone(): void {
    if (this.isOpen) this.#leaveHub(0);
  }

  #leaveHub(code: number): void {
    this.isOpen = false;
    for (const keyText of [...this.#subscriptions.keys()]) this.remove(keyText);
    const { counts } = this.#host;
    if (this.isLagging) counts.lagging--;
    counts.closedByCode.set(code, (counts.closedByCode.get(code) ?? 0) + 1);
    this.#host.forget(this);
  }

  #take(key: StreamKey, sentSeq: number, image: Image | null): Subscription {
    const subscription: Subscription = { key, isInStep: false, sentSeq, image, isOwed: false, reason: "" };
    this.#subscriptions.set(key.text, subscription);
    this.#levelCount += key.levels;
    key.memberCount++;
    this.#host.counts.subscriptions++;
    return subscription;
  }

  #join(subscription: Subscription): void {
    const { key } = subscription;
    subscription.isInStep = true;
    subscription.image = null;
    key.inStepCount++;
    this.#socket.join(key.channel);
  }

  #leave(subscription: Subscription): void {
    if (!subscription.isInStep) return;
    const { key } = subscription;
    subscription.isInStep = false;
    key.inStepCount--;
    // The server itself ends all memberships of a closed socket.
    if (this.isOpen) this.#socket.leave(key.channel);
  }

  #snapshot(subscription: Subscription, reason: string): void {
    const isReady = subscription.key.isReady(this.#host.monoNs());
    if (!isReady) subscription.key.waiting.add(this);
    const { snapshots } = this.#host;
    if (!isReady || this.#mustWait() || !snapshots.admits(this, subscription.key)) {
      subscription.image = null;
      subscription.isOwed = true;
      subscription.reason = reason;
      return;
    }
    subscription.isOwed = false;
    const frame = subscription.key.snapshotFrame(this.#host.wallMs(), this.#host.monoNs(), reason);
    snapshots.made(frame.length);
    this.send(frame);
    if (this.isOpen && !subscription.isInStep) this.#join(subscription);
  }

  /** Many snapshots at once can fill the buffer: those that do not fit wait for their turn. */
  #mustWait(): boolean {
    if (!this.isLagging && this.#socket.bufferedBytes() > this.#host.limits.softBufferBytes)
      this.#enterLag(this.#host.monoNs());
    return this.isLagging;
  }

  #enterLag(nowNs: number): void {
    const { counts } = this.#host;
    this.isLagging = true;
    counts.lagging++;
    counts.laggedTotal++;
    for (const subscription of this.#subscriptions.values()) {
      // A subscription added in this turn has been sent nothing: its snapshot waits.
      if (!subscription.isInStep) continue;
      subscription.sentSeq = subscription.key.seq;
      // A subscription that still waits for a requested snapshot gets it in a round, not an update.
      subscription.image = subscription.isOwed ? null : subscription.key.image(nowNs);
      this.#leave(subscription);
    }
    this.#lastBuffered = this.#socket.bufferedBytes();
    this.#progressNs = nowNs;
    this.send(`{"type":"lagging","ts":${this.#host.wallMs()}}`);
    this.#ping(nowNs);
  }

  #round(): void {
    const { limits } = this.#host;
    const nowMs = this.#host.wallMs();
    const nowNs = this.#host.monoNs();
    const all = [...this.#subscriptions.values()];
    let bytes = 0;
    for (let step = 0; step < all.length; step++) {
      const index = (this.#roundStart + step) % all.length;
      const subscription = all[index] as Subscription;
      const { key } = subscription;
      if (subscription.image !== null && subscription.sentSeq === key.seq) continue;
      if (subscription.image === null && !key.isReady(nowNs)) continue;
      const isSnapshot = subscription.image === null;
      // Frames to other connections in this turn count too: the round continues when the ping is answered.
      if (bytes >= limits.softBufferBytes || (isSnapshot && !this.#host.snapshots.admits(this, key))) {
        this.#roundStart = index;
        this.#ping(nowNs);
        return;
      }
      if (key.isUnmerged && subscription.image !== null) {
        bytes += this.#sendEvents(subscription, limits.softBufferBytes - bytes, nowMs);
        if (!this.isOpen) return;
        // What did not fit comes first in the next round.
        if (subscription.image !== null && subscription.sentSeq === key.seq) continue;
        this.#roundStart = index;
        this.#ping(nowNs);
        return;
      }
      const frame =
        subscription.image === null
          ? key.snapshotFrame(nowMs, nowNs, subscription.reason)
          : key.updateFrame(subscription.sentSeq, subscription.image, nowMs, nowNs);
      subscription.image = key.image(nowNs);
      subscription.sentSeq = key.seq;
      if (isSnapshot) this.#host.snapshots.made(frame.length);
      subscription.isOwed = false;
      bytes += frame.length;
      this.send(frame);
      if (!this.isOpen) return;
    }
    this.#roundStart = 0;
    this.#rejoin(all);
  }

  /**
   * Sends missed events one by one, as many as fit, because events are not merged. When some are gone from the ring, it
   * sends that reason and a snapshot instead. Returns the bytes sent.
   */
  #sendEvents(subscription: Subscription, bytesLeft: number, nowMs: number): number {
    const { key } = subscription;
    const frames = key.framesAfter(subscription.sentSeq, nowMs);
    let bytes = 0;
    if (frames === null) {
      const resync = key.resyncFrame(nowMs, "OVERFLOW");
      this.send(resync);
      subscription.image = null;
      subscription.reason = "";
      return resync.length;
    }
    for (const frame of frames) {
      if (bytes >= bytesLeft || !this.isOpen) break;
      this.send(frame);
      bytes += frame.length;
      subscription.sentSeq++;
    }
    return bytes;
  }

  #rejoin(all: readonly Subscription[]): void {
    this.isLagging = false;
    this.#host.counts.lagging--;
    // A subscription whose key is not ready keeps waiting.
    for (const subscription of all) if (subscription.image !== null) this.#join(subscription);
  }

  #isTooSlow(buffered: number, nowNs: number): boolean {
    const { limits } = this.#host;
    if (buffered > limits.fatalBufferBytes) return true;
    if (buffered <= limits.hardBufferBytes) this.#hardSinceNs = UNSET_NS;
    else if (this.#hardSinceNs === UNSET_NS) this.#hardSinceNs = nowNs;
    else if (nowNs - this.#hardSinceNs >= limits.hardBufferMs * NS_PER_MS) return true;
    if (!this.isLagging) return false;
    if (buffered === 0 || buffered < this.#lastBuffered) this.#progressNs = nowNs;
    this.#lastBuffered = buffered;
    return nowNs - this.#progressNs >= limits.stalledMs * NS_PER_MS;
  }

  #livenessPing(nowNs: number): void {
    const { limits } = this.#host;
    this.#nextPingNs = nowNs + limits.pingMs * NS_PER_MS;
    if (this.#sentPing > this.#answeredPing && ++this.#missedPongs >= limits.missedPongsMax)
      this.end(CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER");
    else this.#ping(nowNs);
  }

  #ping(nowNs: number): void {
    if (!this.isOpen) return;
    // The time of the oldest unanswered ping counts.
    if (this.#sentPing === this.#answeredPing) this.#pingSentNs = nowNs;
    this.#sentPing++;
    this.#socket.ping(String(this.#sentPing));
  }

  #heartbeat(nowNs: number, feeds: string): void {
    this.#nextHeartbeatNs = nowNs + this.#host.limits.heartbeatMs * NS_PER_MS;
    this.#heartbeatCount++;
    let heads = "";
    for (const { key } of this.#subscriptions.values()) {
      // Includes subscriptions whose snapshot waits, with 0: they are not lost.
      heads += `${heads === "" ? "" : ","}${key.quotedText}:${this.headOf(key)}`;
    }
    this.send(
      `{"type":"heartbeat","ts":${this.#host.wallMs()},"n":${this.#heartbeatCount},"heads":{${heads}},"feeds":${feeds}}`,
    );
  }
}
