/**
 * What a venue brings to the stream of one account's credentials (account-session-stream.ts): its connection, what its
 * frames mean, and what it says over REST. The stream brings the life cycle; a feed starts nothing by itself.
 */
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, Read } from "../../../engine/ports.js";
import type { Heartbeat } from "../net/link.js";
import type { SubscribeProtocol } from "../net/paced-writer.js";
import type { SocketOptions } from "../net/socket-options.js";

/** `positions`: the cheap question to a stream that lost nothing. A venue whose reads are cheap reads all of it. */
export type ReconcileScope = "all" | "positions";

/** The venue refused the credentials; or it gave no whole answer, for any cause. */
export type LoadFailure = "refused" | "unanswered";

export interface Question {
  readonly scope: ReconcileScope;
  /** Of `StreamedReads.begin`: no answer knows less than what had happened by then, but for the lag of reads. */
  readonly beganMs: number;
  /** False after a loss: an answer changes nothing any more. */
  isWanted(): boolean;
}

/** A whole answer. The feed has taken its orders and fills (`takeNews`) before `adopt`, its positions only with it. */
export interface AccountTruth {
  readonly positions: readonly VenuePosition[];
  /** Wall ms of ours. */
  readonly asOfMs: number;
  /** Takes the positions, except where something newer is held. True when what readers see has changed. */
  adopt(): boolean;
}

export interface AccountConnection {
  readonly url: SocketOptions["url"];
  readonly heartbeat: Heartbeat;
  readonly protocol: SubscribeProtocol;
  /** Names asked for on each connection. Empty where the URL is the subscription. */
  readonly channels: readonly string[];
  readonly messagesPerSecond: number;
  readonly rotateAfterMs: number;
}

export interface AccountFeed<S> {
  readonly connection: AccountConnection;
  positions(): readonly VenuePosition[];
  /** Throws WireFault where the frame cannot be read. */
  onFrame(data: Buffer, tsRecvNs: number, linkId: number): void;
  /** This connection is the primary one from now on. */
  onOpen(linkId: number): void;
  /** The venue has taken every subscription of this connection. */
  isReady(linkId: number): boolean;
  /** Frames may have been missed from here on. `isReconnected`: the next ones come over another connection. */
  lost(isReconnected: boolean): void;
  /** Bounded: each of its reads has its own time limit. */
  load(session: S, question: Question): Promise<AccountTruth | LoadFailure>;
  /** What reads brought since the last call; emitted after the positions. */
  takeNews(): readonly AccountEvent[];
  stop(): void;
}

/** Of the first read that failed. */
export function failureOf(...reads: readonly Read<unknown>[]): LoadFailure {
  const failed = reads.find((read) => !read.ok);
  return failed?.ok === false && failed.code === "AUTH" ? "refused" : "unanswered";
}
