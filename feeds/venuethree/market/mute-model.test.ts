/**
 * A model of a venue whose connections fall mute but for pongs, and of one that ends every connection on which its height
 * is asked for, under a judge that holds each book that is called fresh against the venue's. Virtual time; seeds decide
 * when, and which markets move. The stream as it is, which the judge must not blame, and one planted fault for each check:
 * the check sees it, and with the check taken out nothing does. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";
import { HEIGHT_LATE_MS, MAX_BOOK_AGE_MS } from "../rules/limits.js";
import { Shard } from "./shard.js";
import { sentTo, StreamBench } from "../test/stream-bench.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3] : [Number(process.env.FUZZ_SEED)];
const MARKETS = 12;
/** Fresh by a frame of its own, then by proofs while a height that was asked for may be late, then by the last of these. */
const FROZEN_AFTER_MS = MAX_BOOK_AGE_MS + HEIGHT_LATE_MS + MAX_BOOK_AGE_MS + 100;
const MUTE_MS = 30_000;
/** A new connection waits for the messages of a minute that those before it have spent. */
const BACK_MS = 75_000;
const MOVE_EVERY_MS = 1_000;

/**
 * FROZEN: no book is LIVE and fresh that has differed from the venue's for longer than a proof may last. LEFT: a mute
 * connection is replaced while it is mute. KEPT: one whose height comes is not, however quiet its markets. BACK: all books
 * are LIVE, fresh and right again after the venue speaks.
 */
type Check = "FROZEN" | "LEFT" | "KEPT" | "BACK";

afterEach(() => {
  vi.restoreAllMocks();
});

class Venue {
  readonly bench = new StreamBench(MARKETS);
  readonly #random: Random;
  readonly #without: readonly Check[];
  readonly #found = new Set<Check>();
  /** Since when a market differs from what was sent of it. */
  readonly #movedMs = new Map<number, number>();
  readonly #opened = new Set<FakeConnection>();
  /** Connections made before are mute. */
  muteUntil = 0;
  endsHeights = false;

  constructor(seed: number, without: readonly Check[]) {
    this.#random = createSeededRandom(seed);
    this.#without = without;
    // Pings of the library are answered too, however mute it is.
    this.bench.network.pong = '{"type":"pong"}';
  }

  get found(): readonly Check[] {
    return [...this.#found].sort();
  }

  get connectionCount(): number {
    return this.bench.network.connections.length;
  }

  blame(check: Check): void {
    if (!this.#without.includes(check)) this.#found.add(check);
  }

  /** `isMoving`: a market moves each second; only connections that are not mute learn of it. */
  async pass(ms: number, isMoving: boolean): Promise<void> {
    let sinceMoveMs = 0;
    for (let passedMs = 0; passedMs < ms; passedMs += 50) {
      for (const connection of this.bench.network.connections) this.#open(connection);
      await this.bench.pass(50);
      sinceMoveMs += 50;
      if (isMoving && sinceMoveMs >= MOVE_EVERY_MS) {
        sinceMoveMs = 0;
        this.#move();
      }
      for (const connection of this.#speaking()) {
        if (sentTo(connection, '"height"').length === 0) continue;
        if (this.endsHeights) connection.end(1006);
        else connection.receive(this.bench.venue.height());
      }
      this.#look();
    }
  }

  judgeBack(): void {
    const { markets } = this.bench;
    const isRight = markets.every((_, index) => this.#isTrue(index + 1) && this.#isFresh(index + 1));
    if (!isRight) this.blame("BACK");
  }

  #open(connection: FakeConnection): void {
    if (this.#opened.has(connection) || connection.isEnded) return;
    this.#opened.add(connection);
    connection.open();
  }

  #speaking(): readonly FakeConnection[] {
    return this.bench.network.connections.filter(
      (connection, index) => index >= this.muteUntil && this.#opened.has(connection) && !connection.isEnded,
    );
  }

  #move(): void {
    const marketId = 1 + Math.floor(this.#random.next() * MARKETS);
    const frame = this.bench.venue.move(marketId, 1_000 + Math.floor(this.#random.next() * 500));
    for (const connection of this.#speaking())
      if (sentTo(connection, `"order_book/${marketId}"`).length > 0) connection.receive(frame);
  }

  #isTrue(marketId: number): boolean {
    return this.bench.markets[marketId - 1]?.book.bidTicks(0) === this.bench.venue.market(marketId).bidTicks;
  }

  #isFresh(marketId: number): boolean {
    const market = this.bench.markets[marketId - 1];
    return market?.book.state === BOOK_LIVE && this.bench.ageOf(market) <= MAX_BOOK_AGE_MS;
  }

  #look(): void {
    const nowMs = this.bench.clock.wallMs();
    for (let marketId = 1; marketId <= MARKETS; marketId++) {
      if (!this.#isFresh(marketId) || this.#isTrue(marketId)) this.#movedMs.delete(marketId);
      else if (!this.#movedMs.has(marketId)) this.#movedMs.set(marketId, nowMs);
      if (nowMs - (this.#movedMs.get(marketId) ?? nowMs) > FROZEN_AFTER_MS) this.blame("FROZEN");
    }
  }
}

const SCENES = {
  /** Its markets are quiet, and it says that it publishes. */
  quiet: async (venue: Venue, seed: number) => {
    await venue.pass(60_000 + 1_000 * seed, false);
    if (venue.connectionCount > 1) venue.blame("KEPT");
    venue.judgeBack();
  },
  /** It answers pings alone, and so do those made after it for a while. */
  mute: async (venue: Venue, seed: number) => {
    await venue.pass(5_000 + 370 * seed, true);
    venue.muteUntil = Number.POSITIVE_INFINITY;
    const before = venue.connectionCount;
    await venue.pass(MUTE_MS, true);
    if (venue.connectionCount === before) venue.blame("LEFT");
    // What it did not send is lost: only the next ones speak.
    venue.muteUntil = venue.connectionCount;
    await venue.pass(BACK_MS, false);
    venue.judgeBack();
  },
  /** Every connection ends on which the height is asked for; those on which it is given up fall mute. */
  "given up": async (venue: Venue, seed: number) => {
    venue.endsHeights = true;
    await venue.pass(40_000 + 370 * seed, false);
    venue.muteUntil = Number.POSITIVE_INFINITY;
    await venue.pass(MUTE_MS, true);
  },
} as const;

type Scene = keyof typeof SCENES;

async function played(scene: Scene, seed: number, without: readonly Check[] = []): Promise<readonly Check[]> {
  const venue = new Venue(seed, without);
  venue.bench.stream.add(venue.bench.markets);
  await SCENES[scene](venue, seed);
  venue.bench.stream.stop();
  return venue.found;
}

/** A height, be it asked for or given up, is never late. */
function trustAnyHeight(): void {
  vi.spyOn(Shard.prototype, "isPublishing").mockReturnValue(true);
  const { sweep } = Shard.prototype;
  vi.spyOn(Shard.prototype, "sweep").mockImplementation(function (this: Shard, nowNs) {
    const height = this.socket.subscription("height");
    const aliveNs = height?.aliveNs ?? 0;
    if (height !== null) height.aliveNs = nowNs;
    sweep.call(this, nowNs);
    if (height !== null) height.aliveNs = aliveNs;
  });
}

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  /** All that see it. */
  readonly checks: readonly Check[];
  readonly plant: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "a pong proves books, however long ago the height came",
    scene: "mute",
    checks: ["BACK", "FROZEN", "LEFT"],
    plant: trustAnyHeight,
  },
  {
    name: "a pong proves books of a connection whose height was given up",
    scene: "given up",
    checks: ["FROZEN"],
    plant: trustAnyHeight,
  },
  {
    name: "a mute connection proves nothing and is kept",
    scene: "mute",
    checks: ["BACK", "LEFT"],
    plant: () => {
      const { reconnect } = PersistentSocket.prototype;
      vi.spyOn(PersistentSocket.prototype, "reconnect").mockImplementation(function (this: PersistentSocket, reason) {
        if (reason !== "no height") reconnect.call(this, reason);
      });
    },
  },
  {
    name: "heights that come are not counted",
    scene: "quiet",
    checks: ["BACK", "KEPT"],
    plant: () => void vi.spyOn(Shard.prototype, "onHeight").mockReturnValue(),
  },
];

describe("the judge of connections that fall mute", () => {
  const cases = SEEDS.flatMap((seed) => (Object.keys(SCENES) as Scene[]).map((scene) => [scene, seed] as const));

  it.each(cases)("has nothing to say of the stream as it is: %s, seed %i", async (scene, seed) => {
    expect(await played(scene, seed)).toEqual([]);
  });

  it.each(MUTANTS)("sees by $checks alone: $name", async ({ checks, plant, scene }) => {
    plant();
    for (const seed of SEEDS) {
      expect(await played(scene, seed)).toEqual(checks);
      expect(await played(scene, seed, checks)).toEqual([]);
    }
  });
});
