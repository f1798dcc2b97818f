/**
 * The options of the stream, a part of the one table (config-options.ts). The defaults are the stream's own limits.
 * Limits that are no option are part of the protocol (heartbeats, pings), which clients rely on.
 */
import { option } from "./config-option.js";
import { DEFAULT_STREAM_LIMITS } from "../stream/limits.js";

const CONNECTIONS_BOUND = 1_000_000;
const BUFFER_BYTES_BOUND = 67_108_864;

export const STREAM_OPTIONS = {
  STREAM_CONNECTIONS_MAX: option({
    kind: "integer",
    min: 1,
    max: CONNECTIONS_BOUND,
    default: DEFAULT_STREAM_LIMITS.connectionsMax,
    doc: "Stream connections open at once; one more is told so and closed with 1013.",
  }),
  STREAM_CONNECTIONS_PER_ADDRESS_MAX: option({
    kind: "integer",
    min: 1,
    max: CONNECTIONS_BOUND,
    default: DEFAULT_STREAM_LIMITS.connectionsPerAddressMax,
    doc: "Of these, those of one address. In public mode all callers are on this machine, so the default is no narrower.",
  }),
  STREAM_CONNECTIONS_PER_KEY_MAX: option({
    kind: "integer",
    min: 1,
    max: CONNECTIONS_BOUND,
    default: DEFAULT_STREAM_LIMITS.connectionsPerKeyMax,
    doc: "Of these, those of one API key; likewise.",
  }),
  STREAM_UNAUTHENTICATED_PER_ADDRESS_MAX: option({
    kind: "integer",
    min: 1,
    max: CONNECTIONS_BOUND,
    default: DEFAULT_STREAM_LIMITS.unauthenticatedPerAddressMax,
    doc: "Of these, those of one address that have proven no API key; in public mode there is no such bound. Likewise.",
  }),
  STREAM_SUBSCRIPTIONS_MAX: option({
    kind: "integer",
    min: 1,
    max: 10_000,
    default: DEFAULT_STREAM_LIMITS.subscriptionsMax,
    doc: "Subscriptions of one connection; a subscribe beyond it is refused with SUBSCRIPTION_LIMIT. One frame names 200 at most.",
  }),
  STREAM_KEYS_MAX: option({
    kind: "integer",
    min: 1,
    max: 1_000_000,
    default: DEFAULT_STREAM_LIMITS.keysMax,
    doc: "Different subscriptions over all connections; a subscribe beyond it is refused with OVERLOADED. Where keys are needed, connections without one open none beyond half of it.",
  }),
  STREAM_LEVELS_MAX: option({
    kind: "integer",
    min: 1000,
    max: 1_000_000_000,
    default: DEFAULT_STREAM_LIMITS.levelsMax,
    doc: "Price levels of all book subscriptions that differ, each counted as deep as it was asked for, on both sides of every venue; likewise.",
  }),
  STREAM_CONNECTION_LEVELS_MAX: option({
    kind: "integer",
    min: 1000,
    max: 1_000_000_000,
    default: DEFAULT_STREAM_LIMITS.connectionLevelsMax,
    doc: "The same of one connection; a subscribe beyond it is refused with SUBSCRIPTION_LIMIT.",
  }),
  STREAM_ACCOUNT_KEYS_MAX: option({
    kind: "integer",
    min: 1,
    max: 100_000,
    default: DEFAULT_STREAM_LIMITS.privateKeysMax,
    doc: "Of these, those of accounts, each with a ring of up to 1 MiB of its latest updates; likewise. One API key opens half of them at most.",
  }),
  STREAM_FRAME_BYTES_MAX: option({
    kind: "integer",
    min: 1024,
    max: 262_144,
    default: DEFAULT_STREAM_LIMITS.frameBytesMax,
    doc: "Longest frame of a client; beyond it 4400.",
  }),
  STREAM_FRAMES_PER_SECOND: option({
    kind: "integer",
    min: 1,
    max: 100_000,
    default: DEFAULT_STREAM_LIMITS.framesPerSecond,
    doc: "Frames a client may send, a second and at once, pings included; beyond it 4429.",
  }),
  STREAM_SOFT_BUFFER_BYTES: option({
    kind: "integer",
    min: 16_384,
    max: BUFFER_BYTES_BOUND,
    default: DEFAULT_STREAM_LIMITS.softBufferBytes,
    doc: "Bytes waiting for a connection from which on it lags and gets merged frames.",
  }),
  STREAM_HARD_BUFFER_BYTES: option({
    kind: "integer",
    min: 16_384,
    max: BUFFER_BYTES_BOUND,
    default: DEFAULT_STREAM_LIMITS.hardBufferBytes,
    doc: "Bytes waiting for 3 s that close it with 4408.",
  }),
  STREAM_FATAL_BUFFER_BYTES: option({
    kind: "integer",
    min: 16_384,
    max: BUFFER_BYTES_BOUND,
    default: DEFAULT_STREAM_LIMITS.fatalBufferBytes,
    doc: "Bytes waiting at any moment that close it with 4408. The three grow in this order.",
  }),
} as const;
