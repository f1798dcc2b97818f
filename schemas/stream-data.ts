/**
 * What the stream's public topics carry: snapshots and updates of ticker, book and status, one schema per frame (those
 * of accounts: stream-accounts.ts, of transfers: stream-transfers.ts). The AsyncAPI document prints them, the tests
 * judge every frame by them.
 *
 * Folding: an update merges into the snapshot. `ticker`, `status`: fields replace fields. `book`: each
 * `[price, size]` is absolute, size `"0"` removes the level; the other fields replace. A frame is next in line when
 * its `prevSeq` is the `seq` last seen of its `sub` and `epoch`.
 */
import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { BOOK_DEPTH_BOUNDS } from "./book.js";
import { breakerState, decimal, feedState, nullable, ROUTABLE_VENUE_WORDS, reply, timeMs, words } from "./common.js";
import { CONTRACTS } from "./venues.js";

/** Topics of the interface, and those of them that need no key. */
export const TOPIC_WORDS = ["ticker", "book", "positions", "orders", "transfers", "status"] as const;
export const PUBLIC_TOPIC_WORDS = ["ticker", "book", "status"] as const;
/** Their keys are private: one per wallet and credentials (stream-accounts.ts). */
export const ACCOUNT_TOPIC_WORDS = ["positions", "orders"] as const;
/** Its keys are private: one per wallet and owner (stream-transfers.ts). */
export const TRANSFER_TOPIC_WORDS = ["transfers"] as const;

export const INTERVALS_MS = [0, 50, 100, 250, 1000] as const;
export const DEFAULT_INTERVAL_MS = 100;

/** Levels per side in a checksum, and after how many changes of a venue's book its update carries one. */
export const CRC_LEVELS = 10;
export const CRC_EVERY_UPDATES = 50;

const CRC_TEXT = `CRC-32 (ISO-HDLC, as zlib) over the ASCII text of the best ${CRC_LEVELS} levels: \`price:size\` of the bids best first, then of the asks best first, texts as sent, joined by \`|\`; fewer levels where fewer are shown.`;

const ageMs = nullable(Type.Integer({ minimum: 0 }), {
  description: "At the frame's `ts`; null before the first data.",
});
const seq = Type.Integer({ minimum: 1 });
const epoch = Type.String({ pattern: "^[a-z0-9]{1,32}$", description: "Another epoch is another sequence." });
const symbol = Type.String({ description: "Canonical symbol." });

function subText(topic: (typeof TOPIC_WORDS)[number]) {
  return Type.String({ pattern: `^${topic}(:|$)`, description: "Key of the subscription." });
}

export const SNAPSHOT_REASON_WORDS = ["RESUME_MISS"] as const;

export function snapshotFrame<T extends TSchema>(topic: (typeof TOPIC_WORDS)[number], data: T, $id: string) {
  return reply(
    {
      type: Type.Literal("snapshot"),
      sub: subText(topic),
      epoch,
      seq,
      ts: timeMs,
      reason: Type.Optional(words(SNAPSHOT_REASON_WORDS, { description: "Why a resume is answered with a snapshot." })),
      data,
    },
    { $id },
  );
}

export function updateFrame<T extends TSchema>(topic: (typeof TOPIC_WORDS)[number], data: T, $id: string) {
  return reply(
    {
      type: Type.Literal("update"),
      sub: subText(topic),
      epoch,
      seq,
      prevSeq: Type.Integer({ minimum: 1, description: "The `seq` before this one on this socket." }),
      ts: timeMs,
      data,
    },
    { $id },
  );
}

/** One optional member per venue; at least one venue beside the fixed fields. */
function perVenue<T extends TProperties>(fixed: T, member: (venue: (typeof ROUTABLE_VENUE_WORDS)[number]) => TSchema) {
  const members: TProperties = {};
  for (const venue of ROUTABLE_VENUE_WORDS) members[venue] = Type.Optional(member(venue));
  return reply({ ...fixed, ...members });
}

/** A venue that has sent no ticker yet. */
const unknownTicker = reply({ state: feedState, ageMs: Type.Null() });

export const tickerSnapshotSchema = snapshotFrame(
  "ticker",
  perVenue({ symbol }, (venue) =>
    Type.Unsafe({ anyOf: [{ $ref: `${CONTRACTS[venue].ticker.schema.$id ?? ""}#` }, unknownTicker] }),
  ),
  "TickerSnapshot",
);

export const tickerUpdateSchema = updateFrame(
  "ticker",
  perVenue({}, (venue) =>
    Type.Partial(Type.Object(CONTRACTS[venue].ticker.schema.properties), {
      additionalProperties: false,
      minProperties: 1,
    }),
  ),
  "TickerUpdate",
);

const level = Type.Unsafe<[string, string]>({
  type: "array",
  items: decimal(),
  minItems: 2,
  maxItems: 2,
  description: "[price, size] in base units.",
});
const crc = Type.Integer({ minimum: 0, maximum: 0xffff_ffff, description: CRC_TEXT });
const levels = (note: string, maxItems: number) => Type.Array(level, { maxItems, description: note });
const depthMax = BOOK_DEPTH_BOUNDS.max;
const venueSeq = nullable(Type.String({ description: "The venue's own sequence number, where it has one." }));

export const bookSnapshotSchema = snapshotFrame(
  "book",
  perVenue({ symbol }, () =>
    reply({
      bids: levels("Best first.", depthMax),
      asks: levels("Best first.", depthMax),
      venueSeq,
      state: feedState,
      crc,
    }),
  ),
  "BookSnapshot",
);

export const bookUpdateSchema = updateFrame(
  "book",
  perVenue({}, () =>
    reply({
      // All old levels removed and all new ones set, at most.
      bids: levels('Changed levels; size "0" removes.', 2 * depthMax),
      asks: levels('Changed levels; size "0" removes.', 2 * depthMax),
      venueSeq,
      state: Type.Optional(feedState),
      crc: Type.Optional(crc),
    }),
  ),
  "BookUpdate",
);

const venueFeed = reply({ state: feedState, ageMs, breaker: breakerState });
export const feedsSchema = perVenue({}, () => venueFeed);

export const SERVICE_STATE_WORDS = ["LIVE", "STOPPING"] as const;
const service = reply({ state: words(SERVICE_STATE_WORDS) });

export const statusSnapshotSchema = snapshotFrame("status", reply({ service, feeds: feedsSchema }), "StatusSnapshot");

export const statusUpdateSchema = updateFrame(
  "status",
  reply({ service: Type.Optional(service), feeds: Type.Optional(feedsSchema) }),
  "StatusUpdate",
);

export const heartbeatSchema = reply(
  {
    type: Type.Literal("heartbeat"),
    ts: timeMs,
    n: Type.Integer({ minimum: 1, description: "Heartbeats sent on this connection." }),
    heads: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description:
        "The last `seq` sent on this connection, by subscription. If the client's last one differs, a frame is lost; 0 means that the snapshot waits and comes by itself: a new request would only restart the wait.",
    }),
    feeds: feedsSchema,
  },
  { $id: "Heartbeat" },
);
