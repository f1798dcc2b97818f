/**
 * Seeded fuzzers of the whole path: malformed closes with good credentials through the real gateway, and malformed
 * frames into the sockets of the real rooms. No crash, no 5xx, nothing reaches a venue, flat memory.
 *
 * FUZZ_RUNS sets the number of requests and of frames; without it a short run. FUZZ_SEED repeats one.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ROUTABLE_VENUES } from "../../../engine/domain/venue.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { MarketRoom, NonceReservations } from "../../../engine/ports.js";
import { type Connector, connectWs } from "../../../feeds/shared/net/connector.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { createLogger } from "../../../gateway/app/log.js";
import { BookChecker } from "../support/book-checker.js";
import { FrameMutator, mutateClose } from "../support/malformed.js";
import { type LocalMarkets, startLocalMarkets } from "../support/local-markets.js";
import { credentialsOf, type LocalPair, PAIR_VENUES, startLocalPair, type Trader } from "../support/local-pair.js";
import { startSystem, type System, waitUntil } from "../support/system.js";

const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_121);
const REQUESTS = Number(process.env["FUZZ_RUNS"] ?? 4_000);
const FRAMES = Number(process.env["FUZZ_RUNS"] ?? 20_000);
const CONCURRENCY = 16;
/** Frames handed over between two turns of the event loop. */
const FRAME_BATCH = 100;
/** Growth of resident memory after the first fifth that counts as flat: heap that the collector has not returned. */
const RSS_GROWTH_MAX_BYTES = 160 << 20;
const MIB = 2 ** 20;

function rssBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

describe("malformed closes", () => {
  let pair: LocalPair;
  let system: System;
  let trader: Trader;

  beforeAll(async () => {
    pair = await startLocalPair({ seed: SEED, flow: { levelCount: 60, stepMs: 200 } });
    trader = pair.addTrader("fuzz", { positions: { BTC: "2", ETH: "-20" } });
    system = await startSystem(pair, { environment: { LOG_LEVEL: "warn" } });
  });
  afterAll(async () => {
    await system.stop();
    system.cleanUp();
    await pair.stop();
  });

  it(
    `are refused with a precise 4xx, ${REQUESTS} of them (seed ${SEED}), and nothing is sent`,
    async () => {
      const random = createSeededRandom(SEED);
      const credentials = credentialsOf(trader);
      const counts = new Map<string, number>();
      let sent = 0;
      let rssWarm = 0;
      const worker = async (): Promise<void> => {
        while (sent < REQUESTS) {
          sent++;
          if (sent === Math.ceil(REQUESTS / 5)) rssWarm = rssBytes();
          const { kind, body } = mutateClose(random, credentials);
          const reply = await system.client.close(
            body,
            random.next() < 0.3 ? { "idempotency-key": `fuzz-${sent}` } : {},
          );
          const { code, details } = reply.body as {
            readonly code?: string;
            readonly details?: { readonly fields?: readonly { readonly path: string }[] };
          };
          if (reply.status < 400 || reply.status >= 500)
            throw new Error(
              `${kind}: ${reply.status} ${reply.text.slice(0, 300)} for ${body.toString().slice(0, 600)}`,
            );
          // The reply names a field that is wrong in itself.
          if (code === "INVALID_PARAMETERS" && (details?.fields ?? []).length === 0)
            throw new Error(`${kind}: no field named: ${reply.text.slice(0, 300)}`);
          const what = `${kind}: ${reply.status} ${code ?? ""}`;
          counts.set(what, (counts.get(what) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      const growth = rssBytes() - rssWarm;
      const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, count]) => `  ${what}: ${count}\n`);
      process.stdout.write(
        `fuzz seed ${SEED}: ${REQUESTS} malformed closes, RSS ${(rssBytes() / MIB).toFixed(0)} MiB, ${(growth / MIB).toFixed(1)} MiB more than warm\n${rows.join("")}`,
      );
      expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(sent);
      for (const venue of PAIR_VENUES) expect(pair[venue].log.records(), venue).toEqual([]);
      expect((await system.client.get("/health")).status).toBe(200);
      expect(system.service.closeService.status()).toMatchObject({ inFlight: 0, unknownCount: 0 });
      expect(growth).toBeLessThan(RSS_GROWTH_MAX_BYTES);
    },
    Math.max(300_000, REQUESTS * 10),
  );
});

/** No order is signed here. */
const NO_NONCES: NonceReservations = { reserve: () => Promise.reject(new Error("not used")) };
const CORPUS_PER_VENUE = 400;

/** Hands bytes to a room's connections in turn, as if the venue had sent them, and keeps what the venue really sent. */
class FrameTap {
  readonly corpus: Buffer[] = [];
  readonly #open = new Set<(data: Buffer) => void>();
  #turn = 0;

  readonly connector: Connector = (url, handlers, options) => {
    const deliver = (data: Buffer): void => handlers.onMessage(data);
    return connectWs(
      url,
      {
        onOpen: () => {
          this.#open.add(deliver);
          handlers.onOpen();
        },
        onMessage: (data) => {
          if (this.corpus.length < CORPUS_PER_VENUE) this.corpus.push(Buffer.from(data));
          handlers.onMessage(data);
        },
        onControl: () => handlers.onControl(),
        onClose: (code, reason) => {
          this.#open.delete(deliver);
          handlers.onClose(code, reason);
        },
      },
      options,
    );
  };

  deliver(data: Buffer): void {
    const open = [...this.#open];
    open[this.#turn++ % Math.max(1, open.length)]?.(data);
  }
}

describe("malformed frames", () => {
  let markets: LocalMarkets;
  let rooms: readonly MarketRoom[];
  const taps = ROUTABLE_VENUES.map(() => new FrameTap());
  const logLines: string[] = [];

  beforeAll(async () => {
    markets = await startLocalMarkets({ seed: SEED, symbols: ["BTC", "ETH"], flow: { levelCount: 60 } });
    const logger = createLogger("warn", { write: (line: string) => void logLines.push(line) });
    const common = {
      clock: createSystemClock(),
      random: createSeededRandom(SEED),
      logger,
      nonces: NO_NONCES,
      symbols: ["BTC", "ETH"],
      isMainnet: true,
    };
    rooms = [
      createVenueoneRoom({
        ...common,
        restUrl: markets.venueone.restUrl,
        wsUrl: markets.venueone.wsUrl,
        connector: (taps[0] as FrameTap).connector,
      }),
      createVenuetwoRoom({
        // Each garbled frame costs a resync. The test judges that books come back, not the venue's budget.
        limits: { weightPerMinute: 1_000_000 },
        ...common,
        restUrl: markets.venuetwo.restUrl,
        wsUrl: markets.venuetwo.wsUrl,
        connector: (taps[1] as FrameTap).connector,
      }),
      createVenuethreeRoom({
        ...common,
        restUrl: markets.venuethree.restUrl,
        wsUrl: markets.venuethree.wsUrl,
        connector: (taps[2] as FrameTap).connector,
      }),
      createVenuefourRoom({
        ...common,
        restUrl: markets.venuefour.restUrl,
        wsUrl: markets.venuefour.wsUrl,
        connector: (taps[3] as FrameTap).connector,
      }),
    ];
    await Promise.all(rooms.map((room) => room.start()));
    await waitUntil("a corpus of real frames", 20_000, () =>
      taps.every(({ corpus }) => corpus.length >= CORPUS_PER_VENUE / 2),
    );
  });
  afterAll(async () => {
    await Promise.all(rooms.map((room) => room.stop()));
    await markets.stop();
  });

  it(
    `neither crash a room nor leave a broken book, ${FRAMES} of them (seed ${SEED})`,
    async () => {
      const mutator = new FrameMutator(
        createSeededRandom(SEED),
        taps.map(({ corpus }) => corpus),
      );
      const counts = new Map<string, number>();
      let rssWarm = 0;
      for (let index = 0; index < FRAMES; index++) {
        if (index === Math.ceil(FRAMES / 5)) rssWarm = rssBytes();
        const { venueIndex, kind, data } = mutator.next();
        (taps[venueIndex] as FrameTap).deliver(data);
        counts.set(kind, (counts.get(kind) ?? 0) + 1);
        if (index % FRAME_BATCH !== 0) continue;
        expect(brokenBooks(rooms)).toEqual([]);
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      const growth = rssBytes() - rssWarm;
      const statuses = rooms.map((room) => room.status());
      const seen = statuses.map(
        ({ venue, decodeErrorCount, protocolDriftCount }) =>
          `${venue} counted ${decodeErrorCount} undecodable and ${protocolDriftCount} drifted`,
      );
      const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => `  ${kind}: ${count}\n`);
      process.stdout.write(
        `fuzz seed ${SEED}: ${FRAMES} malformed frames, RSS ${(rssBytes() / MIB).toFixed(0)} MiB, ${(growth / MIB).toFixed(1)} MiB more than warm; ${seen.join(", ")}\n${rows.join("")}`,
      );
      // The socket catches a handler that throws, and logs it once.
      expect(logLines.filter((line) => line.includes("handler-failed"))).toEqual([]);
      for (const { decodeErrorCount, protocolDriftCount } of statuses)
        expect(decodeErrorCount + protocolDriftCount).toBeGreaterThan(0);
      expect(growth).toBeLessThan(RSS_GROWTH_MAX_BYTES);

      // Some mutants are well-formed lies, which no client can detect. A fresh connection must end every one of them.
      const checker = new BookChecker();
      const cutNs = createSystemClock().monoNs();
      for (const venue of ROUTABLE_VENUES) for (const socket of [...markets[venue].shell.sockets]) socket.terminate();
      checker.watch(markets, rooms, ["BTC", "ETH"]);
      const recoveryMs = await waitUntil("every book LIVE and renewed", 60_000, () =>
        checker.isRenewedSince(cutNs),
      ).catch((error: unknown) => {
        const late = checker.books.map(
          ({ name, book, lastCommitNs }) =>
            `${name}: state ${book.state} ${book.invalidReason}, ${lastCommitNs > cutNs ? "renewed" : "not renewed"}`,
        );
        throw new Error(
          `${late.join("\n")}\n${JSON.stringify(rooms.map((room) => room.status()))}\n${logLines.slice(-10).join("")}`,
          { cause: error },
        );
      });
      process.stdout.write(`  books true again ${recoveryMs.toFixed(0)} ms after a fresh start\n`);
      checker.sample();
      expect(checker.differences).toEqual([]);
    },
    Math.max(300_000, FRAMES * 10),
  );
});

/** Returns what a reader of a LIVE book must never see, whatever the frames. */
function brokenBooks(rooms: readonly MarketRoom[]): string[] {
  const found: string[] = [];
  for (const room of rooms) {
    for (const [symbol, { book, deep }] of room.markets) {
      for (const one of deep === null ? [book] : [book, deep]) {
        if (one.state !== BOOK_LIVE) continue;
        const figures = [one.bidTicks(0), one.bidLots(0), one.askTicks(0), one.askLots(0)].filter(
          (figure) => !Number.isNaN(figure),
        );
        const isSane = figures.every((figure) => Number.isSafeInteger(figure) && figure > 0);
        const isCrossed = one.bidCount > 0 && one.askCount > 0 && one.bidTicks(0) >= one.askTicks(0);
        if (!isSane || isCrossed) found.push(`${room.venue} ${symbol}: ${figures.join(" ")}`);
      }
    }
  }
  return found;
}
