/** Keys of two accounts and their countdowns, as the dice fall or as a scene says, under a judge of what was promised. */
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { AccountSession } from "../../../engine/ports.js";
import { type AccountName, CountdownVenue, KEYS, type RestingOrder } from "./countdown-venue.js";
import { OPTIONS } from "./trading-harness.js";
import { restingOrder } from "./two-keys.js";

export type Key = (typeof KEYS)["one"][number];

const STEP_MS = 50;
const PLAYED_MS = 300_000;
/** Of a call's way to the venue, which counts from there. */
const LATER_MS = 2_500;
/** What is sent within so long of a switch's moment may be too late to be followed. */
const FOLLOWED_MS = 9_000;
const WALL_STEPS_MS = [-3_600_000, -20_000, 20_000];

/**
 * OUTLIVES: an order stays beyond the moment that its account was given. EARLY: one is canceled before any that was.
 */
export type Check = "OUTLIVES" | "EARLY";

/** What an account's caller was told, in the monotonic ms of moments. */
class Told {
  session: AccountSession | null = null;
  /** Confirmed; null: nothing is promised. */
  promisedMs: number | null = null;
  /** At any of these the venue may cancel. */
  possibleMs: readonly number[] = [];
  /** Calls of these failed since: their next order, or the next arm, covers them. */
  readonly blurred = new Set<string>();
  isBusy = false;
  isEnding = false;
}

export class Play {
  readonly #random: Random;
  readonly venue: CountdownVenue;
  readonly #without: readonly Check[];
  readonly #found = new Map<Check, string>();
  readonly #told: Readonly<Record<AccountName, Told>> = { one: new Told(), two: new Told() };
  #orderCount = 0;

  constructor(seed: number, isHostile: boolean, without: readonly Check[]) {
    this.#without = without;
    this.#random = createSeededRandom(seed);
    this.venue = new CountdownVenue(createSeededRandom(seed + 1_000), isHostile, {
      onCanceled: (account, orders) => this.#judgeCanceled(account, orders),
      onFailed: (account, symbol) => {
        const { blurred } = this.#told[account];
        for (const { nativeSymbol } of this.venue.harness.instruments.values())
          if (symbol === null || symbol === nativeSymbol) blurred.add(nativeSymbol);
      },
    });
  }

  get found(): readonly Check[] {
    return [...this.#found.keys()];
  }

  nowMs(): number {
    return this.venue.nowMs();
  }

  /** Everybody does anything, as the dice fall. */
  async many(): Promise<readonly Check[]> {
    while (this.nowMs() < PLAYED_MS) {
      if (this.#chance(0.06)) this.#order();
      if (this.#chance(0.06)) this.#market();
      if (this.#chance(0.002)) this.venue.harness.clock.stepWall(this.#one(WALL_STEPS_MS));
      for (const account of ["one", "two"] as const) this.#speak(account);
      await this.#step();
    }
    return this.found;
  }

  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) await this.#step();
  }

  async #step(): Promise<void> {
    await this.venue.pass(STEP_MS);
    for (const account of ["one", "two"] as const) this.#judgeStanding(account);
  }

  /** Some of one key at once, by sessions of their own, as every request. */
  #order(): void {
    const key = this.#one(KEYS[this.#chance(0.75) ? "one" : "two"]);
    for (let left = this.#chance(0.3) ? 3 : 1; left > 0; left--) this.place(key);
  }

  place(key: Key, instrument = this.#one([...this.venue.harness.instruments.values()])): void {
    const { harness } = this.venue;
    const clientId = String(++this.#orderCount).padStart(32, "0");
    const session = harness.open(key);
    this.venue.asked(clientId);
    const command = restingOrder(instrument, clientId);
    void harness.trading.orders.place(session, command, OPTIONS).then(() => session.close());
  }

  /** An order is filled, or canceled by its owner. */
  #market(): void {
    const { orders } = this.venue;
    if (orders.size > 0) orders.delete(this.#one([...orders.keys()]));
  }

  /** As the engine does it: one word of an account after the other. */
  #speak(account: AccountName): void {
    const told = this.#told[account];
    if (told.isBusy) return;
    const isOver = told.promisedMs !== null && this.nowMs() > told.promisedMs + 2 * LATER_MS;
    if (told.isEnding || isOver) {
      if (isOver || this.#chance(0.1)) void this.say(account, null);
    } else if (told.session === null) {
      if (this.#chance(0.03)) void this.arm(account);
    } else if (this.#chance(0.003)) void this.say(account, this.#moment());
    else if (this.#chance(0.002)) void this.arm(account);
    else if (this.#chance(0.0025)) void this.say(account, null);
  }

  /** Whose account it is comes first; a switch that stood is replaced, its session closed. */
  async arm(account: AccountName, key = this.#one(KEYS[account]), atMs = this.#moment()): Promise<void> {
    const { harness } = this.venue;
    const told = this.#told[account];
    told.isBusy = true;
    const session = harness.open(key);
    while (harness.trading.accountNames.known(session) === null)
      await harness.trading.accountNames.read(session, OPTIONS);
    told.session?.close();
    told.session = session;
    told.promisedMs = null;
    await this.say(account, atMs);
  }

  async say(account: AccountName, atMs: number | null): Promise<void> {
    const { harness } = this.venue;
    const told = this.#told[account];
    const { possibleMs, session } = told;
    if (session === null) throw new Error("nothing was armed");
    told.isBusy = true;
    told.isEnding = atMs === null;
    if (atMs === null) told.promisedMs = null;
    else told.possibleMs = [...possibleMs, atMs];
    const wallMs = atMs === null ? null : harness.clock.wallMs() + Math.round(atMs - this.nowMs());
    const promisedMs = told.promisedMs;
    told.promisedMs = null;
    const { outcome } = await harness.trading.orders.scheduleCancel(session, wallMs, OPTIONS);
    told.isBusy = false;
    if (outcome === "rejected") {
      told.possibleMs = possibleMs;
      told.promisedMs = promisedMs;
    } else if (outcome === "accepted") {
      told.possibleMs = atMs === null ? [] : [atMs];
      told.promisedMs = atMs;
      told.blurred.clear();
      if (atMs !== null) return;
      session.close();
      told.session = null;
      told.isEnding = false;
    }
  }

  #judgeCanceled(account: AccountName, orders: readonly RestingOrder[]): void {
    const { possibleMs } = this.#told[account];
    const nowMs = this.nowMs();
    if (!possibleMs.some((atMs) => nowMs >= atMs - STEP_MS))
      this.#blame("EARLY", `${account} ${orders[0]?.symbol} at ${nowMs}, told ${possibleMs.join()}`);
  }

  #judgeStanding(account: AccountName): void {
    const { blurred, promisedMs } = this.#told[account];
    if (promisedMs === null || this.nowMs() < promisedMs + LATER_MS) return;
    for (const { askedMs, symbol } of this.venue.openOf(account))
      if (askedMs < promisedMs - FOLLOWED_MS && !blurred.has(symbol))
        this.#blame("OUTLIVES", `${account} ${symbol} of ${askedMs} at ${promisedMs}`);
  }

  #blame(check: Check, text: string): void {
    if (!this.#without.includes(check) && !this.#found.has(check)) this.#found.set(check, text);
  }

  #moment(): number {
    return this.nowMs() + 11_000 + this.#random.next() * 9_000;
  }

  #chance(share: number): boolean {
    return this.#random.next() < share;
  }

  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)] as T;
  }
}
