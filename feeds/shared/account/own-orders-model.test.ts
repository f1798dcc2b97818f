/**
 * Orders of ours over a watched account while connections are cut, frames and acknowledgements are lost or late, reads are
 * slow and the account begins to be followed with orders under way. Each order is answered, and nobody else trades. The
 * judge holds what replaces a read against what the venue holds. Virtual time; a seed decides what happens. One planted
 * fault for each rule. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { COIN, WatchBench } from "../test/watched-venue.js";
import { StreamedReads } from "./streamed-reads.js";
import { UnconfirmedFills } from "./unconfirmed-fills.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3, 4, 5, 6] : [Number(process.env.FUZZ_SEED)];
const KEY = "alice";
const STEP_MS = 50;
const LIVES = 25;
const WILD_STEPS = 300;
const CALM_STEPS = 760;
/** Of a calm with orders all the time: the faults before it have been read away by then. */
const SETTLED_STEPS = 600;
/** Far from flat: a position that turned over is another one. */
const START_LOTS = 50_000;

/** TRUE: what replaces a read is what the venue holds. USED: where nothing fails, what is streamed does replace reads. */
type Check = "TRUE" | "USED";

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
  readonly #handled = new Map<object, number>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = createSeededRandom(seed);
  }

  async run(): Promise<ReadonlyMap<Check, string>> {
    for (let life = 0; life < LIVES; life++) await this.#life(life);
    return this.found;
  }

  /** Begins with an account that nobody watched before. */
  async #life(life: number): Promise<void> {
    this.#bench = new WatchBench({ seed: this.#seed * 1_000 + life });
    this.#knownLots = START_LOTS;
    this.#unknown.clear();
    this.#lastFrameMs = 0;
    const { venue, watcher } = this.#bench;
    venue.lots.set(KEY, START_LOTS);
    this.#bench.open(KEY);
    for (let step = 0; step < WILD_STEPS; step++) await this.#step(true);
    let usedCount = 0;
    for (let step = 0; step < CALM_STEPS; step++) {
      await this.#step(false);
      if (step >= SETTLED_STEPS && this.#replacing() !== null) usedCount++;
    }
    if (usedCount === 0) this.#blame("USED", `in life ${life} nothing was used`);
    watcher.stop();
  }

  async #step(isWild: boolean): Promise<void> {
    const { clock, venue } = this.#bench;
    if (this.#happens(0.02)) venue.readMs = isWild ? this.#upTo(2_500) : 20;
    if (!isWild) venue.readMs = 20;
    if (this.#happens(0.05)) this.#trade(isWild);
    await clock.advanceAsync(STEP_MS);
    this.#connect(isWild);
    await clock.advanceAsync(0);
    this.#judge();
  }

  #trade(isWild: boolean): void {
    const { clock, venue, watcher } = this.#bench;
    const account = watcher.get(KEY);
    if (account === null) return;
    const { reads } = account;
    const clientId = String(this.#count++);
    const qtyLots = 1 + this.#upTo(30);
    const filledLots = this.#happens(0.7) ? qtyLots : this.#upTo(qtyLots);
    const isBuy = this.#happens(0.5);
    reads.sent({ clientId, coin: COIN, side: isBuy ? "BUY" : "SELL", qtyLots, rests: false });
    const fillMs = this.#upTo(200);
    const signedLots = isBuy ? filledLots : -filledLots;
    clock.setTimer(() => {
      venue.lots.set(KEY, (venue.lots.get(KEY) ?? 0) + signedLots);
      this.#unknown.set(clientId, signedLots);
      this.#frames(isWild, clientId, filledLots);
    }, fillMs);
    clock.setTimer(
      () => {
        this.#knownLots += signedLots;
        this.#unknown.delete(clientId);
        const order = { filledLots, status: filledLots === qtyLots ? "FILLED" : "CANCELED" } as const;
        reads.answered(clientId, order satisfies Pick<VenueOrder, "filledLots" | "status">);
        account.refreshSoon();
        this.#judge();
      },
      fillMs + this.#upTo(isWild ? 600 : 200),
    );
  }

  /** Of one fill, in the order of the connection; those of a connection that is cut meanwhile are lost. */
  #frames(isWild: boolean, clientId: string, filledLots: number): void {
    const { clock, network, venue } = this.#bench;
    const connection = network.connections.at(-1);
    if (connection === undefined || connection.isEnded || connection.sent.length === 0) return;
    const lots = venue.lots.get(KEY) ?? 0;
    const atMs = clock.trueMs();
    const send = (frame: Readonly<Record<string, unknown>>): void => {
      if (isWild && this.#happens(0.2)) return;
      this.#lastFrameMs = Math.max(this.#lastFrameMs, atMs + this.#upTo(isWild ? 250 : 60));
      clock.setTimer(() => {
        if (!connection.isEnded) connection.receive(JSON.stringify({ key: KEY, ...frame }));
        this.#judge();
      }, this.#lastFrameMs - clock.trueMs());
    };
    const frames = [
      { kind: "positions", lots, atMs },
      { kind: "ended", clientId, filledLots },
    ];
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
    let [least, most] = [this.#knownLots, this.#knownLots];
    for (const lots of this.#unknown.values()) [least, most] = [least + Math.min(0, lots), most + Math.max(0, lots)];
    if (told < least || told > most) this.#blame("TRUE", `${told} replaces a read of ${least} to ${most}`);
    const exact = this.#bench.watcher.livePositions(KEY, null)?.value[0]?.qtyLots ?? told;
    if (exact < least || exact > most) this.#blame("TRUE", `exactly ${exact} replaces a read of ${least} to ${most}`);
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
    plant: () => void vi.spyOn(UnconfirmedFills.prototype, "untrace").mockReturnValue(),
  },
  {
    name: "moves are counted for orders while nobody follows the account",
    check: "TRUE",
    plant: () => void vi.spyOn(StreamedReads.prototype, "follow").mockReturnValue(),
  },
  {
    name: "an order beside one that is untraced is untraced as well, and so on",
    check: "USED",
    plant: () => {
      const { sent } = UnconfirmedFills.prototype;
      vi.spyOn(UnconfirmedFills.prototype, "sent").mockImplementation(function (this: UnconfirmedFills, order) {
        const isCounted = sent.call(this, order);
        if (this.size > 1) this.untrace();
        return isCounted;
      });
    },
  },
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the judge of our own orders over a watched account", () => {
  it.each(SEEDS)("finds no fault in it as it is, seed %i", async (seed) => {
    expect([...(await new Play(seed).run())]).toEqual([]);
  });

  it.each(MUTANTS)("sees by $check that $name", async ({ check, plant }) => {
    plant();
    for (const seed of SEEDS) if ((await new Play(seed).run()).has(check)) return;
    expect.fail("no seed shows it");
  });
});
