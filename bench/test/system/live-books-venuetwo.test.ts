/**
 * Faults of venuetwo's books alone, under the true-book checker: ids that begin again, unreadable frames, and the tier
 * of the best levels. Each also runs with its bug planted: the checker finds it, and finds nothing once that check is
 * taken out.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { Book, BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import { type Connector, connectWs } from "../../../feeds/shared/net/connector.js";
import { BookSync } from "../../../feeds/venuetwo/market/sync.js";
import { VenuetwoDecoder } from "../../../feeds/venuetwo/market/decode.js";
import { FRAME_DEPTH, type VenuetwoFrame } from "../../../feeds/venuetwo/market/frame.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { startVenuetwoSim, type VenuetwoSim } from "../../sim/venuetwo/sim.js";
import { BookChecker } from "../support/book-checker.js";
import { waitUntil } from "../support/system.js";

/** The planted bug: the room ignores for which book an unreadable frame was. */
const planted = vi.hoisted(() => ({ isUnreadableIgnored: false }));
vi.mock(import("../../../feeds/venuetwo/market/unreadable.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    depthSymbolOf: (...frame) => (planted.isUnreadableIgnored ? null : original.depthSymbolOf(...frame)),
  };
});

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const LEVELS = 80;
const NO_LIMIT = 1_000_000_000;
const DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 10;
/** The ids of the venue's engine begin at 156 391 000 000; after a restart they are small. */
const ID_FALL = 156_000_000_000;

function startVenue(seed: number): Promise<VenuetwoSim> {
  return startVenuetwoSim({
    seed,
    symbols: ["BTCUSDT"],
    flow: { levelCount: LEVELS },
    limits: { weightPerMinute: NO_LIMIT },
  });
}

/** The venue's engine continues; on the wire its ids have fallen. */
function fallen(frame: VenuetwoFrame): void {
  frame.firstId -= ID_FALL;
  frame.lastId -= ID_FALL;
  frame.prevId -= ID_FALL;
}

interface RestartPlay {
  /** The rule under test, or the bug in its place. */
  readonly takeLate: "counted" | "ignored";
  readonly checksProgress: boolean;
}

/**
 * Plays diffs of a living connection whose ids begin again. Returns the checker's findings once it has one, or the book
 * is LIVE again.
 */
async function playRestart(seed: number, { takeLate, checksProgress }: RestartPlay): Promise<BookChecker> {
  const venue = await startVenue(seed);
  const instrument = venue.exchange.instruments.get("BTCUSDT");
  if (instrument === undefined) throw new Error("no BTCUSDT");
  const decoder = new VenuetwoDecoder();
  const slot = decoder.register("BTCUSDT", instrument.priceDecimals, instrument.qtyDecimals);
  const book = new Book(instrument.priceStepTicks);
  let hasRestarted = false;
  const engineSeq = (seq: number): number => (seq < ID_FALL ? seq + ID_FALL : seq);
  const checker = new BookChecker();
  checker.watchBook("venuetwo BTC book", "venuetwo", book, () =>
    venue.exchange.market.trueBook("BTCUSDT", engineSeq(book.seq)),
  );
  if (checksProgress) {
    checker.watchProgress(book, () => {
      const seq = venue.exchange.market.seq("BTCUSDT");
      return book.seq < ID_FALL ? seq - ID_FALL : seq;
    });
  }
  let loading: Promise<void> | null = null;
  const load = (): void => {
    loading ??= fetch(`${venue.restUrl}/fapi/v1/depth?symbol=BTCUSDT&limit=1000`)
      .then(async (response) => Buffer.from(await response.arrayBuffer()))
      .then((body) => {
        if (sync.isLive || decoder.decodeSnapshot(body, 0, body.length, slot) !== FRAME_DEPTH) return;
        if (hasRestarted) fallen(decoder.frame);
        sync.onSnapshot(decoder.frame, Math.round(performance.now() * 1e6));
      })
      .finally(() => {
        loading = null;
      });
  };
  const sync = new BookSync(book, load);
  sync.begin();
  const socket = new WebSocket(`${venue.wsUrl}/ws/btcusdt@depth@100ms`);
  let ignoredCount = 0;
  socket.on("message", (data: Buffer) => {
    if (decoder.decodeFrame(data, 0, data.length) !== FRAME_DEPTH) return;
    if (hasRestarted) fallen(decoder.frame);
    const isLate = sync.isLive && decoder.frame.lastId < book.seq;
    if (isLate) ignoredCount++;
    // The earlier rule: a standby's late diffs are never counted.
    sync.onDiff(decoder.frame, Math.round(performance.now() * 1e6), 0, isLate && takeLate === "ignored");
    if (!sync.isLive) load();
  });
  const reader = setInterval(() => checker.sample(), LOOK_EVERY_MS);
  try {
    await waitUntil("a LIVE book", DEADLINE_MS, () => sync.isLive && sync.appliedCount > 10);
    hasRestarted = true;
    // Long enough for a book to count as frozen.
    await waitUntil(
      "the restart to show",
      DEADLINE_MS,
      () =>
        checker.counts().differenceCount > 0 || (book.state === BOOK_LIVE && book.seq < ID_FALL) || ignoredCount > 50,
    );
    const commitCount = checker.counts().commitCount;
    const isRead = book.state === BOOK_LIVE && book.seq < ID_FALL;
    if (isRead) await waitUntil("diffs after it", DEADLINE_MS, () => checker.counts().commitCount > commitCount + 10);
  } finally {
    clearInterval(reader);
    socket.terminate();
    await Promise.resolve(loading);
    await venue.stop();
  }
  return checker;
}

describe("ids that begin again on a living connection", () => {
  it("take their book down: it is read again, and equals the venue's", async () => {
    const checker = await playRestart(SEED, { takeLate: "counted", checksProgress: true });
    expect(checker.differences).toEqual([]);
    expect(checker.counts().unjudgedCount).toBe(0);
  });

  it("planted, every late diff ignored: the checker sees that the book does not move", async () => {
    const checker = await playRestart(SEED, { takeLate: "ignored", checksProgress: true });
    expect(checker.counts().differenceCount).toBeGreaterThan(0);
  });

  it("planted, and unseen by a checker that holds books to their own time alone", async () => {
    const checker = await playRestart(SEED, { takeLate: "ignored", checksProgress: false });
    expect(checker.counts().differenceCount).toBe(0);
  });
});

interface RoomPlay {
  readonly shallowFromMarkets: number;
  /** Fault of one frame of the diffs, the last before the market falls quiet; undefined: none. */
  readonly spoil?: (text: string) => string | null;
  readonly checksProgress: boolean;
  /** Checks a book of the twenty best (default). */
  readonly judgesTier?: boolean;
  /** Runs for each frame of the diffs. */
  readonly tap?: (data: Buffer) => void;
  /** Runs after the book is LIVE. */
  readonly act: (venue: VenuetwoSim, market: Market, checker: BookChecker, spoilNext: () => void) => Promise<void>;
}

/** The real room on the local venue. */
async function playRoom(seed: number, play: RoomPlay): Promise<BookChecker> {
  const venue = await startVenue(seed);
  let isSpoiling = false;
  const connector: Connector = (url, handlers, options) =>
    connectWs(
      url,
      {
        ...handlers,
        onMessage: (data) => {
          const text = data.toString("utf8");
          if (text.includes("@depth@100ms")) play.tap?.(data);
          if (!isSpoiling || play.spoil === undefined || !text.includes("@depth@100ms"))
            return handlers.onMessage(data);
          isSpoiling = false;
          venue.exchange.controls.setHalted("BTCUSDT", true);
          const spoilt = play.spoil(text);
          if (spoilt !== null) handlers.onMessage(Buffer.from(spoilt));
        },
      },
      options,
    );
  const room = createVenuetwoRoom({
    restUrl: venue.restUrl,
    wsUrl: venue.wsUrl,
    connector,
    clock: createSystemClock(),
    random: createSeededRandom(seed),
    logger: silentLogger,
    nonces: { reserve: () => Promise.reject(new Error("not used")) },
    symbols: ["BTC"],
    isMainnet: true,
    shallowFromMarkets: play.shallowFromMarkets,
  });
  await room.start();
  const market = room.markets.get("BTC");
  if (market === undefined) throw new Error("no BTC");
  const { book } = market;
  const checker = new BookChecker();
  // The tier shows twenty levels a side and no other number: the checker compares a book of that form with the venue's
  // twenty best.
  const depth = (): number => (book.bidCount === 20 && book.askCount === 20 ? 20 : Number.MAX_SAFE_INTEGER);
  const isTier = (): boolean => book.bidCount < LEVELS / 2 || book.askCount < LEVELS / 2;
  checker.watchBook("venuetwo BTC book", "venuetwo", book, () =>
    play.judgesTier === false && isTier() ? null : venue.exchange.market.trueBook("BTCUSDT", book.seq, depth()),
  );
  if (play.checksProgress) checker.watchProgress(book, () => venue.exchange.market.seq("BTCUSDT"));
  const reader = setInterval(() => checker.sample(), LOOK_EVERY_MS);
  try {
    await waitUntil("a LIVE book", DEADLINE_MS, () => book.state === BOOK_LIVE);
    await play.act(venue, market, checker, () => {
      isSpoiling = true;
    });
  } finally {
    clearInterval(reader);
    await room.stop();
    await venue.stop();
  }
  return checker;
}

describe("a depth frame that nobody can read, the last one for a while", () => {
  const cut = (text: string): string => text.slice(0, -20);

  it("takes its book down at once; read again, it equals the venue's", async () => {
    const checker = await playRoom(SEED + 1, {
      shallowFromMarkets: Number.POSITIVE_INFINITY,
      spoil: cut,
      checksProgress: true,
      act: async (venue, { book }, _checker, spoilNext) => {
        await waitUntil("a chain", DEADLINE_MS, () => book.bidCount > 20);
        spoilNext();
        await waitUntil("the frame", DEADLINE_MS, () => book.state !== BOOK_LIVE);
        await waitUntil(
          "the venue's book",
          DEADLINE_MS,
          () => book.state === BOOK_LIVE && book.seq === venue.exchange.market.seq("BTCUSDT"),
        );
      },
    });
    expect(checker.differences).toEqual([]);
    expect(checker.counts().unjudgedCount).toBe(0);
  });
});

describe("a depth frame that nobody can read, ignored", () => {
  afterEach(() => {
    planted.isUnreadableIgnored = false;
  });

  it("planted: the checker sees that the book does not move, and by no other check", async () => {
    planted.isUnreadableIgnored = true;
    const checker = await playRoom(SEED + 1, {
      shallowFromMarkets: Number.POSITIVE_INFINITY,
      spoil: (text) => text.slice(0, -20),
      checksProgress: true,
      act: async (venue, { book }, watching, spoilNext) => {
        await waitUntil("a chain", DEADLINE_MS, () => book.bidCount > 20);
        venue.exchange.controls.setHalted("BTCUSDT", true);
        await waitUntil("the last diff", DEADLINE_MS, () => book.seq === venue.exchange.market.seq("BTCUSDT"));
        spoilNext();
        // Below the best levels, because the probe of a quiet stream compares the best prices.
        venue.exchange.controls.setHouseLevel("BTCUSDT", "BUY", book.bidTicks(10), book.bidLots(10) + 1);
        await waitUntil("a frozen book", DEADLINE_MS, () => watching.counts().differenceCount > 0);
        expect(book.state).toBe(BOOK_LIVE);
      },
    });
    expect(checker.differences.filter((text) => !text.includes("is at seq"))).toEqual([]);
    expect(checker.counts().unjudgedCount).toBe(0);
  });
});

describe("the best levels alone, while no snapshot is to be had", () => {
  const withoutSnapshots = async (venue: VenuetwoSim, market: Market): Promise<void> => {
    venue.faults.add({ kind: "errorBefore", scope: ["rest"], match: "depth" });
    for (const socket of [...venue.shell.sockets]) socket.terminate();
    await waitUntil("the tier", DEADLINE_MS, () => market.book.state === BOOK_LIVE && market.book.bidCount === 20);
  };

  it("equal the venue's twenty best at every commit, and the whole book follows them", async () => {
    const checker = await playRoom(SEED + 2, {
      shallowFromMarkets: 1,
      checksProgress: true,
      act: async (venue, market, watching) => {
        await withoutSnapshots(venue, market);
        const before = watching.counts().commitCount;
        await waitUntil("frames of the tier", DEADLINE_MS, () => watching.counts().commitCount > before + 20);
        expect(market.book.bidCount).toBe(20);
        venue.faults.clear();
        await waitUntil("the whole book", DEADLINE_MS, () => market.book.bidCount > 20);
        const after = watching.counts().commitCount;
        await waitUntil("diffs", DEADLINE_MS, () => watching.counts().commitCount > after + 10);
      },
    });
    expect(checker.differences).toEqual([]);
    expect(checker.counts().unjudgedCount).toBe(0);
  });

  /** The planted tier: each diff is applied to the shown levels. */
  async function playMixed(
    judgesTier: boolean,
  ): Promise<{ readonly checker: BookChecker; readonly mixedCount: number }> {
    let shown: Market | null = null;
    let mixedCount = 0;
    const decoder = new VenuetwoDecoder();
    const checker = await playRoom(SEED + 2, {
      shallowFromMarkets: 1,
      checksProgress: false,
      judgesTier,
      tap: (data) => {
        if (shown === null || shown.book.state !== BOOK_LIVE) return;
        const { priceDecimals, qtyDecimals } = shown.instrument;
        decoder.register("BTCUSDT", priceDecimals, qtyDecimals);
        if (decoder.decodeFrame(data, 0, data.length) !== FRAME_DEPTH) return;
        const { frame } = decoder;
        const { book } = shown;
        for (let at = 0; at < frame.bidCount; at++) book.applyBid(frame.bidTicks[at] ?? 0, frame.bidLots[at] ?? 0);
        for (let at = 0; at < frame.askCount; at++) book.applyAsk(frame.askTicks[at] ?? 0, frame.askLots[at] ?? 0);
        if (book.commit(frame.lastId, frame.tsEventMs, Math.round(performance.now() * 1e6))) mixedCount++;
      },
      act: async (venue, market) => {
        await withoutSnapshots(venue, market);
        shown = market;
        await waitUntil("mixed commits", DEADLINE_MS, () => mixedCount > 20);
      },
    });
    return { checker, mixedCount };
  }

  it("planted, mixed with diffs: the checker sees it", async () => {
    const { checker } = await playMixed(true);
    expect(checker.counts().differenceCount).toBeGreaterThan(0);
  });

  it("planted, and unseen by a checker that does not judge the tier", async () => {
    const { checker, mixedCount } = await playMixed(false);
    expect([checker.counts().differenceCount, mixedCount > 20]).toEqual([0, true]);
  });
});
