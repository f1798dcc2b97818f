/**
 * Every bound of the stream in one place: limits of the realtime design as defaults, and what happens beyond each.
 */
import { SUBSCRIPTIONS_MAX } from "../../schemas/stream.js";

export interface StreamLimits {
  /** Open connections; one more gets TOO_MANY_CONNECTIONS and is closed with 1013. */
  readonly connectionsMax: number;
  /** The same, for one caller address. */
  readonly connectionsPerAddressMax: number;
  /** The same, for one API key. */
  readonly connectionsPerKeyMax: number;
  /** Outside public mode: connections of one address that have proven no key; likewise. */
  readonly unauthenticatedPerAddressMax: number;
  /** Time for the proof of a key, from the first wish on that needs one; beyond: 4401. */
  readonly authDeadlineMs: number;
  /**
   * Different keys over all connections; a subscribe beyond is refused with OVERLOADED, and the connection stays open.
   */
  readonly keysMax: number;
  /** Private keys among these (each has a ring of updates); refused the same way. */
  readonly privateKeysMax: number;
  /** Price levels of all keys, each at its requested depth; refused the same way. */
  readonly levelsMax: number;
  /** Price levels of a connection's subscriptions; a subscribe beyond is refused with SUBSCRIPTION_LIMIT. */
  readonly connectionLevelsMax: number;
  /** Subscriptions of a connection; a subscribe beyond is refused with SUBSCRIPTION_LIMIT. */
  readonly subscriptionsMax: number;
  /** Bytes of a client's frame; beyond: 4400. */
  readonly frameBytesMax: number;
  /** Frames a client may send, per second and at once; beyond: 4429. */
  readonly framesPerSecond: number;
  /** Waiting bytes above which a connection is lagging. */
  readonly softBufferBytes: number;
  /**
   * Bytes waiting for `hardBufferMs`: 4408. Also the most missed updates that one resume frame brings; beyond it a
   * subscription gets a new snapshot.
   */
  readonly hardBufferBytes: number;
  readonly hardBufferMs: number;
  /** Bytes waiting at any moment: 4408. */
  readonly fatalBufferBytes: number;
  /** A lagging connection whose waiting bytes do not shrink in this time: 4408. */
  readonly stalledMs: number;
  /**
   * A ping unanswered for this long: what was sent is in buffers that cannot be seen, and the connection is lagging.
   */
  readonly ackLagMs: number;
  /**
   * Bytes of snapshots made in one turn of the event loop, a few ms of it; a snapshot that began within goes out whole.
   */
  readonly snapshotTurnBytes: number;
  readonly heartbeatMs: number;
  readonly pingMs: number;
  /** Pings in a row without an answer: 4408. */
  readonly missedPongsMax: number;
  /** Sent to callers that are turned away. */
  readonly retryAfterMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_STREAM_LIMITS: StreamLimits = {
  connectionsMax: 20_000,
  // Public mode listens on this machine only, so an address does not identify a caller there.
  connectionsPerAddressMax: 20_000,
  connectionsPerKeyMax: 10_000,
  unauthenticatedPerAddressMax: 5,
  authDeadlineMs: 5_000,
  keysMax: 5_000,
  privateKeysMax: 1_000,
  levelsMax: 4_000_000,
  connectionLevelsMax: 400_000,
  subscriptionsMax: SUBSCRIPTIONS_MAX,
  frameBytesMax: 64 * KIB,
  framesPerSecond: 20,
  softBufferBytes: 256 * KIB,
  hardBufferBytes: MIB,
  hardBufferMs: 3_000,
  fatalBufferBytes: 4 * MIB,
  stalledMs: 10_000,
  ackLagMs: 3_000,
  snapshotTurnBytes: 128 * KIB,
  heartbeatMs: 5_000,
  pingMs: 15_000,
  missedPongsMax: 2,
  retryAfterMs: 1_000,
};

/** Private keys retained for returning clients after the last subscriber has left, up to 1 MiB each. */
export const RETAINED_KEYS_MAX = 128;

/** The one timer of the stream; every interval of a key is a multiple of it. */
export const PULSE_MS = 50;
/** Number of pulses between two looks at a connection (buffer, ping, heartbeat). */
export const CONNECTION_LOOK_PULSES = 2;
/**
 * Number of pulses between two checks for changes without a signal: an age past its limit, a market replaced by its
 * room.
 */
export const DRIFT_LOOK_PULSES = 5;
/** Number of pulses between two reads of the rooms' state. */
export const ROOM_LOOK_PULSES = 20;

export const CLOSE_BAD_FRAME = 4400;
export const CLOSE_AUTH_FAILED = 4401;
export const CLOSE_SLOW_CONSUMER = 4408;
export const CLOSE_RATE_LIMITED = 4429;
export const CLOSE_RESTART = 1012;
export const CLOSE_TRY_LATER = 1013;
