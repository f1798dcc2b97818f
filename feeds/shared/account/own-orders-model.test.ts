/**
 * Orders of ours over a watched account while connections are cut, frames and acknowledgements are lost or late, outcomes
 * are lost, reads are slow and the account begins to be followed with orders under way. Nobody else trades. The judge holds
 * what replaces a read against what the venue holds, and counts how often it does and what reads that costs. Other lives are
 * shared: strangers trade much on the same account, frames come, and reads lag behind them, undated. Virtual time; a seed
 * decides what happens. One planted fault for each rule. FUZZ_SEED replays one seed; FUZZ_RUNS plays so many, from 1 on.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { COIN, WatchBench } from "../test/watched-venue.js";
import { ContractBalance } from "./contract-balance.js";
import { StreamedReads } from "./streamed-reads.js";
import { UnconfirmedFills } from "./unconfirmed-fills.js";

const RUNS = Number(process.env.FUZZ_RUNS ?? 4);
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);
const SEEDS = Array.from(
  { length: process.env.FUZZ_SEED !== undefined && process.env.FUZZ_RUNS === undefined ? 1 : RUNS },
  (_, index) => FIRST_SEED + index,
);
const KEY = "alice";
const STEP_MS = 50;
const LIVES = 25;
const WILD_STEPS = 300;
const CALM_STEPS = 760;
/** Of a calm with orders all the time: the faults before it have been read away by then. */
const SETTLED_STEPS = 600;
/** Far from flat: a position that turned over is another one. */
const START_LOTS = 50_000;

/** Shared ones: long enough for regular reads, which begin shortly after any move. */
const SHARED_LIVES = 2;
const SHARED_STEPS = 2_600;
/** What strangers trade at least. */
const STRANGE_LOTS = 1_000;
/** What orders of ours move within seconds is less. */
const OWN_LOTS = 100;
/** Reads lag by so much at most. */
const LAG_MS = 1_100;

/** Of the moments of calm, with an order a second, so large a part is served without a read. */
const LEAST_USED = 0.75;
/** Reads of an account whose streams lose nothing and that sends an order a second. */
const MOST_CALM_READS_PER_MINUTE = 12;

/**
 * TRUE: what replaces a read is what the venue holds. SHOWN: and in a shared life no more than was streamed, but for orders of
 * ours. USED: where nothing fails, what is streamed replaces nearly all reads.
 * READ: where nothing fails, hardly a read is made beside it.
 */
type Check = "TRUE" | "SHOWN" | "USED" | "READ";

class Play {
  readonly #random: Random;
  readonly #seed: number;
  readonly found = new Map<Check, string>();
  #bench = new WatchBench();
  /** With all fills that were answered. */
  #knownLots = START_LOTS;
  /** Signed fills that were not answered yet. */
  readonly #unknown = new Map<string, number>();
  #count = 0;
  #lastFrameMs = 0;
  /** As streamed last, in a shared life. */
  #shownLots: number | null = null;
  /** Moments of calm, and those of them in which what is streamed replaces a read of a named size, or of an exact one. */
  readonly counts = { calm: 0, named: 0, exact: 0, calmReads: 0, wild: 0, wildNamed: 0, wildReads: 0 };
  readonly #handled = new Map<object, number>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = createSeededRandom(seed);
  }

  async run(): Promise<ReadonlyMap<Check, string>> {
    for (let life = 0; life < LIVES; life++) await this.#life(life);
    for (let life = 0; life < SHARED_LIVES; life++) await this.#sharedLife(LIVES + life);
    const { calm, calmReads, named } = this.counts;
    if (named < LEAST_USED * calm) this.#blame("USED", `${named} of ${calm} moments are served by the stream`);
    const perMinute = calmReads / ((calm * STEP_MS) / 60_000);
    if (perMinute > MOST_CALM_READS_PER_MINUTE) this.#blame("READ", `${perMinute.toFixed(1)} reads a minute`);
    return this.found;
  }

  /** With an account that nobody watched before. */
  #begin(life: number): void {
    this.#bench = new WatchBench({ seed: this.#seed * 1_000 + life });
    this.#knownLots = START_LOTS;
    this.#unknown.clear();
    this.#lastFrameMs = 0;
    this.#shownLots = null;
    this.#bench.venue.lots.set(KEY, START_LOTS);
    this.#bench.open(KEY);
  }

  async #life(life: number): Promise<void> {
    this.#begin(life);
    const { venue, watcher } = this.#bench;
    const { counts } = this;
    for (let step = 0; step < WILD_STEPS; step++) {
      await this.#step(true);
      counts.wild++;
      if (this.#replacing() !== null) counts.wildNamed++;
    }
    counts.wildReads += venue.calls.length;
    let readsBefore = 0;
    for (let step = 0; step < CALM_STEPS; step++) {
      if (step === SETTLED_STEPS) readsBefore = venue.calls.length;
      await this.#step(false);
      if (step < SETTLED_STEPS) continue;
      counts.calm++;
      if (this.#replacing() !== null) counts.named++;
      if (watcher.livePositions(KEY, null) !== null) counts.exact++;
    }
    counts.calmReads += venue.calls.length - readsBefore;
    watcher.stop();
  }

  async #sharedLife(life: number): Promise<void> {
    this.#begin(life);
    const { clock, venue, watcher } = this.#bench;
    this.#shownLots = START_LOTS;
    venue.readMs = 20;
    for (let step = 0; step < SHARED_STEPS; step++) {
      const isStrange = this.#happens(0.03) && watcher.get(KEY)?.state === "LIVE";
      if (isStrange) this.#strangeTrade();
      if (this.#happens(0.02)) this.#trade(false);
      await clock.advanceAsync(STEP_MS);
      this.#connect(false);
      await clock.advanceAsync(0);
      this.#judge();
    }
    watcher.stop();
  }

  #strangeTrade(): void {
    const lots = STRANGE_LOTS + this.#upTo(STRANGE_LOTS);
    this.#holds(this.#happens(0.5) ? lots : -lots);
    this.#frames(false, null, 0);
  }

  /** The venue holds so much more. In a shared life its reads show it later. */
  #holds(signedLots: number): void {
    const { clock, venue } = this.#bench;
    const before = venue.lots.get(KEY) ?? 0;
    venue.lots.set(KEY, before + signedLots);
    if (this.#shownLots === null) return;
    if (!venue.readLots.has(KEY)) venue.readLots.set(KEY, before);
    clock.setTimer(() => venue.readLots.set(KEY, (venue.readLots.get(KEY) ?? 0) + signedLots), this.#upTo(LAG_MS));
  }

  async #step(isWild: boolean): Promise<void> {
    const { clock, venue } = this.#bench;
    if (this.#happens(0.02)) venue.readMs = isWild ? this.#upTo(2_500) : 20;
    if (!isWild) venue.readMs = 20;
    if (this.#happens(0.05)) {
      this.#trade(isWild);
      // Another beside it, which may undo what it does.
      if (this.#happens(0.25)) this.#trade(isWild);
    }
    await clock.advanceAsync(STEP_MS);
    this.#connect(isWild);
    await clock.advanceAsync(0);
    this.#judge();
  }

  #trade(isWild: boolean): void {
    const { clock, watcher } = this.#bench;
    const account = watcher.get(KEY);
    if (account === null) return;
    const { reads } = account;
    const clientId = String(this.#count++);
    const qtyLots = 1 + this.#upTo(4);
    const filledLots = this.#happens(0.7) ? qtyLots : this.#upTo(qtyLots);
    const isBuy = this.#happens(0.5);
    const isOutcomeLost = isWild && this.#happens(0.1);
    reads.sent({ clientId, coin: COIN, side: isBuy ? "BUY" : "SELL", qtyLots, rests: false });
    const fillMs = this.#upTo(200);
    const signedLots = isBuy ? filledLots : -filledLots;
    clock.setTimer(() => {
      this.#holds(signedLots);
      this.#unknown.set(clientId, signedLots);
      this.#frames(isWild, clientId, filledLots);
    }, fillMs);
    clock.setTimer(
      () => {
        this.#knownLots += signedLots;
        this.#unknown.delete(clientId);
        const order = { filledLots, status: filledLots === qtyLots ? "FILLED" : "CANCELED" } as const;
        if (isOutcomeLost) reads.unclear(clientId);
        else reads.answered(clientId, order satisfies Pick<VenueOrder, "filledLots" | "status">);
        account.refreshSoon();
        this.#judge();
      },
      fillMs + this.#upTo(isWild ? 600 : 200),
    );
  }

  /** Of one fill, null: a stranger's, in the order of the connection; those of a connection that is cut meanwhile are lost. */
  #frames(isWild: boolean, clientId: string | null, filledLots: number): void {
    const { clock, network, venue } = this.#bench;
    const connection = network.connections.at(-1);
    if (connection === undefined || connection.isEnded || connection.sent.length === 0) return;
    const lots = venue.lots.get(KEY) ?? 0;
    const atMs = clock.trueMs();
    const send = (frame: Readonly<Record<string, unknown>>): void => {
      if (isWild && this.#happens(0.2)) return;
      this.#lastFrameMs = Math.max(this.#lastFrameMs, atMs + this.#upTo(isWild ? 250 : 60));
      clock.setTimer(() => {
        const isShared = this.#shownLots !== null && frame["kind"] === "positions";
        if (isShared) this.#shownLots = lots;
        // Undated: newer than what was read or asked for before it came.
        const dated = isShared ? { ...frame, atMs: clock.trueMs() } : frame;
        if (!connection.isEnded) connection.receive(JSON.stringify({ key: KEY, ...dated }));
        this.#judge();
      }, this.#lastFrameMs - clock.trueMs());
    };
    const frames: Readonly<Record<string, unknown>>[] = [{ kind: "positions", lots, atMs }];
    if (clientId !== null) frames.push({ kind: "ended", clientId, filledLots });
    for (const frame of this.#happens(0.5) ? frames : frames.reverse()) send(frame);
  }

  /** The venue's end of the connection. */
  #connect(isWild: boolean): void {
    const { network } = this.#bench;
    const connection = network.connections.at(-1);
    if (connection === undefined || connection.isEnded) return;
    if (connection.sent.length === 0 && this.#happens(0.5)) connection.open();
    if (isWild && this.#happens(0.01)) {
      connection.end(1006);
      return;
    }
    const fromIndex = this.#handled.get(connection) ?? 0;
    this.#handled.set(connection, connection.sent.length);
    for (const text of connection.sent.slice(fromIndex)) {
      const name = /"subscribe":"([^"]+)"/.exec(text)?.[1];
      if (name !== undefined && !(isWild && this.#happens(0.1))) connection.receive(JSON.stringify({ ack: name }));
    }
  }

  #replacing(): number | null {
    return this.#bench.watcher.livePositions(KEY, { coin: COIN, lots: 1 })?.value[0]?.qtyLots ?? null;
  }

  /** A fill that was not answered yet may show, or not, or in part behind another. */
  #judge(): void {
    const told = this.#replacing();
    if (told === null) return;
    if (this.#shownLots !== null) {
      this.#judgeShared(told, this.#shownLots);
      return;
    }
    let [least, most] = [this.#knownLots, this.#knownLots];
    for (const lots of this.#unknown.values()) [least, most] = [least + Math.min(0, lots), most + Math.max(0, lots)];
    if (told < least || told > most) this.#blame("TRUE", `${told} replaces a read of ${least} to ${most}`);
    const exact = this.#bench.watcher.livePositions(KEY, null)?.value[0]?.qtyLots ?? told;
    if (exact < least || exact > most) this.#blame("TRUE", `exactly ${exact} replaces a read of ${least} to ${most}`);
  }

  #judgeShared(told: number, shownLots: number): void {
    if (told > shownLots + OWN_LOTS) this.#blame("SHOWN", `${told} replaces a read, ${shownLots} were streamed`);
    const exact = this.#bench.watcher.livePositions(KEY, null)?.value[0]?.qtyLots ?? shownLots;
    if (Math.abs(exact - shownLots) > OWN_LOTS)
      this.#blame("SHOWN", `exactly ${exact} replaces a read, ${shownLots} were streamed`);
  }

  #blame(check: Check, text: string): void {
    if (!this.found.has(check)) this.found.set(check, text);
  }

  #happens(part: number): boolean {
    return this.#random.next() < part;
  }

  #upTo(max: number): number {
    return Math.floor(this.#random.next() * (max + 1));
  }
}

const MUTANTS: readonly { readonly name: string; readonly check: Check; readonly plant: () => void }[] = [
  {
    name: "an order under way at the first picture counts as one that went out after it",
    check: "TRUE",
    plant: () => {
      const { sent } = UnconfirmedFills.prototype;
      vi.spyOn(UnconfirmedFills.prototype, "sent").mockImplementation(function (this: UnconfirmedFills, order) {
        return sent.call(this, order, true);
      });
    },
  },
  {
    name: "moves are counted for orders while nobody follows the account",
    check: "TRUE",
    plant: () => void vi.spyOn(StreamedReads.prototype, "follow").mockReturnValue(),
  },
  {
    name: "an order of which the outcome is lost leaves its contract as it was",
    check: "TRUE",
    plant: () => {
      const { forget } = UnconfirmedFills.prototype;
      vi.spyOn(UnconfirmedFills.prototype, "unclear").mockImplementation(forget);
    },
  },
  {
    name: "a read settles orders that were answered after it began",
    check: "TRUE",
    plant: () => {
      const { agreed } = UnconfirmedFills.prototype;
      vi.spyOn(UnconfirmedFills.prototype, "agreed").mockImplementation(function (this: UnconfirmedFills, untilMs) {
        agreed.call(this, untilMs + 60_000);
      });
    },
  },
  {
    name: "a contract is forgotten as soon as it is balanced",
    check: "TRUE",
    plant: () => {
      vi.spyOn(ContractBalance.prototype, "isOver").mockImplementation(function (this: ContractBalance) {
        return this.isBalanced;
      });
      // A read that undoes a late frame would settle it.
      vi.spyOn(StreamedReads.prototype, "movedMs", "get").mockReturnValue(null);
    },
  },
  {
    name: "what is missing is taken for an order of ours, whoever took it",
    check: "SHOWN",
    plant: () =>
      void vi.spyOn(ContractBalance.prototype, "leastOf").mockImplementation(function (
        this: ContractBalance,
        position,
      ) {
        return this.surelyOf(position)?.qtyLots ?? null;
      }),
  },
  {
    name: "a read is taken for newer than what moved shortly before it",
    check: "SHOWN",
    plant: () => void vi.spyOn(StreamedReads.prototype, "movedMs", "get").mockReturnValue(null),
  },
  {
    name: "moves confirm nothing",
    check: "USED",
    plant: () => void vi.spyOn(ContractBalance.prototype, "moved").mockReturnValue(),
  },
  {
    name: "orders are confirmed by reads alone",
    check: "READ",
    plant: () => {
      const { sent } = UnconfirmedFills.prototype;
      vi.spyOn(UnconfirmedFills.prototype, "sent").mockImplementation(function (this: UnconfirmedFills, order) {
        return sent.call(this, order, false);
      });
    },
  },
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the judge of our own orders over a watched account", () => {
  it.each(SEEDS)("finds no fault in it as it is, seed %i", async (seed) => {
    const play = new Play(seed);
    expect([...(await play.run())]).toEqual([]);
    if (process.env.FUZZ_RUNS !== undefined) process.stdout.write(`seed ${seed}: ${JSON.stringify(play.counts)}\n`);
  });

  it.each(MUTANTS)("sees by $check that $name", async ({ check, plant }) => {
    plant();
    for (const seed of SEEDS) if ((await new Play(seed).run()).has(check)) return;
    expect.fail("no seed shows it");
  });
});
