/** Options, handlers and figures of the persistent socket (socket.ts). */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { BackoffPolicy } from "./backoff.js";
import type { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import type { Connector } from "./connector.js";
import type { Heartbeat } from "./link.js";
import type { SubscribeProtocol } from "./paced-writer.js";

export type SocketState = "idle" | "connecting" | "open" | "waiting" | "stopped";

export interface SocketHandlers {
  /** One message. `data` may be kept. A throw is counted, never spreads. `linkId` grows with each connection. */
  onFrame(data: Buffer, tsRecvNs: number, linkId: number): void;
  /** A ping or pong on the primary connection: it lives. */
  onControl?(): void;
  /** A connection became usable; subscribing begins. Not called for a standby until it takes over. */
  onOpen?(linkId: number): void;
  /** The primary connection is gone and no standby could take over: nothing arrives until the next onOpen. */
  onDown?(code: number, reason: string): void;
  /** The stream was found dead; it is being subscribed again. */
  onSilent?(name: string): void;
  /** The name killed the socket when it was sent alone; it is not sent for a while. */
  onQuarantined?(name: string): void;
  /** A name that was given up is being asked for again. */
  onRetried?(name: string): void;
  /** Further condition for taking over with a standby (the room's sequences bridge). Default: data seen. */
  isStandbyReady?(linkId: number): boolean;
}

export interface SocketOptions {
  /** For logs: `{venue}.market`. */
  readonly name: string;
  /** A function where each connect needs a fresh one (listen keys); a rejection counts as a failed connect. */
  readonly url: string | (() => Promise<string>);
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly handlers: SocketHandlers;
  readonly heartbeat: Heartbeat;
  readonly protocol: SubscribeProtocol;
  readonly budget: Pick<ConnectionBudget, "tryOpen" | "closed" | "hold">;
  /** Pacers of each new connection: shared ones (per IP) and fresh ones (per connection). */
  readonly pacers: () => readonly MessagePacer[];
  readonly maxSubscriptions: number;
  readonly backoff?: BackoffPolicy;
  /** Planned replacement after this age, ms; 0 for none. Happens up to 10 % earlier, at random. */
  readonly rotateAfterMs?: number;
  readonly connectTimeoutMs?: number;
  readonly maxFrameBytes?: number;
  readonly maxQueuedSends?: number;
}

export interface SocketStats {
  readonly state: SocketState;
  readonly connectionCount: number;
  readonly reconnectCount: number;
  readonly rotationCount: number;
  readonly frameCount: number;
  readonly frameBytes: number;
  readonly handlerErrorCount: number;
  readonly silentCount: number;
  readonly quarantinedCount: number;
  readonly queuedSendCount: number;
  readonly subscriptionCount: number;
}
