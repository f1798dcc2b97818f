/**
 * Ten thousand trades from one seed: who sends what, what goes out at once, and what fails meanwhile. Pure: the same
 * seed gives the same workload, and its digest shows that.
 *
 * Rushes produce states that separate callers seldom meet. Four closes of 70 % of one position: the second gets what is
 * left, the others find nothing. Three entries of 60 % of one margin: the venue refuses two.
 */
import { createHash } from "node:crypto";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues } from "./four-venues.js";
import { SCENES, type SceneKind } from "./scenes/scenes.js";
import { MARKET_TERMS, type TradeTrial } from "./trade-trial.js";

export interface PlannedTrader {
  readonly label: string;
  readonly positions: Readonly<Record<string, string>>;
  readonly deposit?: string;
  readonly viaAgent: boolean;
}

export interface PlannedTrade {
  readonly key: string;
  readonly trader: string;
  readonly kind: TradeTrial["kind"];
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  /** Base units, ALL, or (entries) percent of what the margin carries. */
  readonly size: string | { readonly marginPercent: number };
  readonly preferred: FourVenue | null;
  readonly besides: FourVenue | null;
  readonly routingOptions: Readonly<Record<string, unknown>>;
}

/** Trades that go out at once. */
interface PlannedJob {
  readonly trades: readonly PlannedTrade[];
  /** Its caller sends twice at once with one key. */
  readonly twice: boolean;
}

/** Requests in a fixed order, of a trader that plays nothing else. */
export interface PlannedScene {
  readonly name: string;
  readonly kind: SceneKind;
  readonly trader: string;
  /** Seed of its own dice. */
  readonly seed: number;
}

export interface PlannedPhase {
  readonly name: string;
  readonly venues: readonly FourVenue[];
  readonly faults: readonly FaultSpec[];
  /** The venue that is down. */
  readonly down: FourVenue | null;
  readonly jobs: readonly PlannedJob[];
  readonly scenes: readonly PlannedScene[];
  /** Offset, in ms, of the service's wall clock from halfway to the end of the phase; 0: none. */
  readonly clockOffMs: number;
  /** The service restarts first. */
  readonly restarts: boolean;
}

export interface Workload {
  readonly traders: readonly PlannedTrader[];
  readonly phases: readonly PlannedPhase[];
  readonly tradeCount: number;
  readonly digest: string;
}

/** Routes that carry orders; reads pass. */
const ORDER_ROUTES: readonly string[] = ["POST /exchange", "POST /fapi", "sendTx", "POST /api/v1/orders"];
export const onOrders = (spec: FaultSpec): FaultSpec[] => ORDER_ROUTES.map((match) => ({ ...spec, match }));

/** One venue answers nothing: requests are lost, connections cut and refused. */
const OUTAGE: readonly FaultSpec[] = [
  { kind: "loss", scope: ["rest"] },
  { kind: "disconnect" },
  { kind: "refuseHandshake" },
];

export interface Weather {
  readonly name: string;
  readonly faults: readonly FaultSpec[];
  readonly down?: FourVenue;
  readonly clockOffMs?: number;
  readonly restarts?: boolean;
}

/** Losses come early: their proof takes longest, and the next phases go on meanwhile. */
export const WEATHERS: readonly Weather[] = [
  { name: "calm", faults: [] },
  { name: "requests lost", faults: onOrders({ kind: "loss", probability: 0.25 }) },
  { name: "5xx before execution", faults: onOrders({ kind: "errorBefore", probability: 0.35 }) },
  { name: "no venueone", faults: OUTAGE, down: "venueone" },
  { name: "replies lost", faults: onOrders({ kind: "replyLost", probability: 0.35 }) },
  { name: "no venuetwo", faults: OUTAGE, down: "venuetwo" },
  { name: "late replies", faults: onOrders({ kind: "latency", probability: 0.35, delayMs: 900, jitterMs: 400 }) },
  { name: "no venuethree", faults: OUTAGE, down: "venuethree" },
  { name: "5xx after execution", faults: onOrders({ kind: "errorAfter", probability: 0.35 }) },
  { name: "no venuefour", faults: OUTAGE, down: "venuefour" },
  { name: "429", faults: onOrders({ kind: "rate429", probability: 0.2, retryAfterS: 1 }) },
  {
    name: "sockets cut",
    faults: [{ kind: "disconnect", probability: 0.01 }, ...onOrders({ kind: "errorAfter", probability: 0.2 })],
  },
];

const HELD_REQUESTS = onOrders({ kind: "heldRequest", probability: 0.3, delayMs: 900, jitterMs: 900 });

const FORWARD_MS = 150_000;
const BACK_MS = -90_000;
/** Offsets of the service's clock from the venues'. */
export const CLOCK_STEPS_MS = [0, FORWARD_MS, BACK_MS];

/** Phases for scenes alone: frames of accounts that are lost, late or silent, late requests, clocks, restarts. */
export const SCENE_WEATHERS: readonly Weather[] = [
  { name: "requests held", faults: HELD_REQUESTS },
  { name: "clock set forward", faults: HELD_REQUESTS, clockOffMs: FORWARD_MS },
  { name: "account frames lost", faults: [{ kind: "loss", scope: ["user"], probability: 0.6 }] },
  { name: "after a restart", faults: [], restarts: true },
  { name: "account frames late", faults: [{ kind: "latency", scope: ["user"], delayMs: 8_000 }] },
  { name: "clock set back", faults: HELD_REQUESTS, clockOffMs: BACK_MS },
  { name: "accounts silent", faults: [{ kind: "silent", scope: ["user"] }] },
  { name: "after another restart", faults: [], restarts: true },
];

/** Scenes of each kind for each hundred trades, and never fewer than one. */
const SCENES_PER_HUNDRED = 0.6;

const TRADERS = 24;
/** Traders among them whose whole positions are closed again and again. */
const EMPTIED_TRADERS = 3;
const FLAT_TRADERS = 2;
const HELD = { BTC: "3", ETH: "-60" };
const CLOSES_AT_ONCE = 3;
const ENTRIES_AT_ONCE = 3;
const RUSH_HELD = { BTC: "0.5", ETH: "-8" };
const RUSH_PART: Readonly<Record<string, string>> = { BTC: "0.35", ETH: "5.6" };
const RUSH_DEADLINE_MS = 4_000;
const POOR_DEPOSIT = "2000";
const POOR_PERCENT = 60;
/** Share of the jobs. */
const CLOSE_RUSHES = 0.32;
const ENTRY_RUSHES = 0.08;
/** Fewest trades, in an outage, of each kind that does not need the venue that is down. */
const UNTOUCHED_MIN = 2;
const UNTOUCHED_SHARE = 0.02;
const UNTOUCHED_OPTIONS = { deadlineMs: 8_000, maxQuoteAgeMs: 30_000 };

const LONG_BTC = { symbol: "BTC", direction: "LONG" } as const;
const SHORT_ETH = { symbol: "ETH", direction: "SHORT" } as const;

class Planner {
  readonly traders: PlannedTrader[] = [];
  readonly #seed: number;
  readonly #random: Random;
  /** Venue and symbol of positions, and of margins, without a rush yet. */
  readonly #fullSlots: { readonly trader: string; readonly venue: FourVenue; readonly symbol: string }[] = [];
  readonly #poorSlots: { readonly trader: string; readonly venue: FourVenue }[] = [];
  readonly #agents: boolean;
  #keys = 0;

  /** `agents`: half of the traders sign with nonces on venuetwo, where the proof of a lost order takes a minute. */
  constructor(seed: number, agents: boolean) {
    this.#seed = seed;
    this.#agents = agents;
    this.#random = createSeededRandom(seed);
    for (let index = 0; index < TRADERS; index++) this.#addTrader(`trade-${index}`, HELD);
    for (let index = 0; index < FLAT_TRADERS; index++) this.#addTrader(`flat-${index}`, {});
  }

  phase(weather: Weather, index: number, tradeCount: number, scenes: readonly PlannedScene[]): PlannedPhase {
    const jobs: PlannedJob[] = [];
    let left = tradeCount;
    const add = (job: PlannedJob): void => {
      jobs.push(job);
      left -= job.trades.length;
    };
    for (const job of weather.down === undefined ? [] : this.#untouched(weather.down, index, tradeCount)) add(job);
    while (left > 0) {
      const dice = this.#random.next();
      if (dice < CLOSE_RUSHES) add(this.#closeRush());
      else if (dice < CLOSE_RUSHES + ENTRY_RUSHES) add(this.#entryRush());
      else add({ trades: [this.#single()], twice: this.#random.next() < 0.1 });
    }
    const venues = weather.down === undefined ? FOUR_VENUES : [weather.down];
    const { name, faults, down = null, clockOffMs = 0, restarts = false } = weather;
    return { name, venues, faults, down, jobs: shuffled(jobs, this.#random), scenes, clockOffMs, restarts };
  }

  /** Deals so many of each kind to the phases: no two neighbours of a kind in one. */
  *scenes(kinds: readonly SceneKind[], count: number): Generator<PlannedScene> {
    for (let round = 0; round < count; round++) {
      for (const kind of shuffled(kinds, this.#random)) {
        const name = `scene-${this.#seed}-${kind}-${round}`;
        const trader = this.#addTrader(`${kind}-${round}`, SCENES[kind].positions, { viaAgent: false });
        yield { name, kind, trader, seed: Math.floor(this.#random.next() * 2 ** 31) };
      }
    }
  }

  #single(): PlannedTrade {
    const market = this.#random.next() < 0.5 ? LONG_BTC : SHORT_ETH;
    const routingOptions = {
      deadlineMs: this.#random.next() < 0.5 ? 300 : 1_000,
      allowSplit: this.#random.next() < 0.2,
    };
    const preferred = this.#random.next() < 0.5 ? this.#pick(FOUR_VENUES) : null;
    const trader = `trade-${Math.floor(this.#random.next() * TRADERS)}`;
    const base = { ...market, size: this.#small(market.symbol), preferred, routingOptions };
    const dice = this.#random.next();
    // The account holds nothing there.
    if (dice < 0.06) return this.#trade(`flat-${Math.floor(this.#random.next() * FLAT_TRADERS)}`, "CLOSE", base);
    if (dice < 0.5) return this.#trade(trader, "OPEN", base);
    if (dice < 0.6) {
      const emptied = `trade-${Math.floor(this.#random.next() * EMPTIED_TRADERS)}`;
      return this.#trade(emptied, "CLOSE", { ...base, size: "ALL", preferred: preferred ?? this.#pick(FOUR_VENUES) });
    }
    return this.#trade(trader, "CLOSE", base);
  }

  #closeRush(): PlannedJob {
    if (this.#fullSlots.length === 0) {
      const trader = this.#addTrader(`rush-${this.traders.length}`, RUSH_HELD);
      for (const venue of FOUR_VENUES)
        for (const symbol of Object.keys(RUSH_HELD)) this.#fullSlots.push({ trader, venue, symbol });
    }
    const { trader, venue, symbol } = this.#take(this.#fullSlots);
    const trades = Array.from({ length: CLOSES_AT_ONCE }, () =>
      this.#trade(trader, "CLOSE", {
        ...(symbol === "BTC" ? LONG_BTC : SHORT_ETH),
        size: RUSH_PART[symbol] ?? "ALL",
        preferred: venue,
        routingOptions: { deadlineMs: RUSH_DEADLINE_MS },
      }),
    );
    return { trades, twice: false };
  }

  #entryRush(): PlannedJob {
    if (this.#poorSlots.length === 0) {
      const trader = this.#addTrader(`poor-${this.traders.length}`, {}, { deposit: POOR_DEPOSIT });
      for (const venue of FOUR_VENUES) this.#poorSlots.push({ trader, venue });
    }
    const { trader, venue } = this.#take(this.#poorSlots);
    const market = this.#random.next() < 0.5 ? LONG_BTC : SHORT_ETH;
    const trades = Array.from({ length: ENTRIES_AT_ONCE }, () =>
      this.#trade(trader, "OPEN", {
        ...market,
        size: { marginPercent: POOR_PERCENT },
        preferred: venue,
        routingOptions: { deadlineMs: RUSH_DEADLINE_MS },
      }),
    );
    return { trades, twice: false };
  }

  /** Trades of a separate trader with the other venues, and with the best of them. */
  *#untouched(down: FourVenue, phase: number, tradeCount: number): Generator<PlannedJob> {
    const trader = this.#addTrader(`untouched-${phase}`, HELD);
    const count = Math.max(UNTOUCHED_MIN, Math.ceil(tradeCount * UNTOUCHED_SHARE));
    for (const preferred of [...FOUR_VENUES.filter((venue) => venue !== down), null]) {
      for (let index = 0; index < count; index++) {
        const market = this.#random.next() < 0.5 ? LONG_BTC : SHORT_ETH;
        const base = { ...market, size: this.#small(market.symbol), preferred, routingOptions: UNTOUCHED_OPTIONS };
        const kind = this.#random.next() < 0.5 ? "OPEN" : "CLOSE";
        yield { trades: [{ ...this.#trade(trader, kind, base), besides: down }], twice: false };
      }
    }
  }

  #trade(
    trader: string,
    kind: PlannedTrade["kind"],
    fields: Pick<PlannedTrade, "symbol" | "direction" | "size" | "preferred" | "routingOptions">,
  ): PlannedTrade {
    return { key: `trade-${this.#seed}-${this.#keys++}`, trader, kind, besides: null, ...fields };
  }

  #addTrader(
    label: string,
    positions: PlannedTrader["positions"],
    options: { readonly deposit?: string; readonly viaAgent?: boolean } = {},
  ): string {
    const viaAgent = this.#agents && this.traders.length % 2 === 1;
    this.traders.push({ label, positions, viaAgent, ...options });
    return label;
  }

  #small(symbol: string): string {
    const digit = 1 + Math.floor(this.#random.next() * 9);
    return symbol === "BTC" ? `0.0${digit}` : `0.${digit}`;
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)] as T;
  }

  #take<T>(items: T[]): T {
    return items.splice(Math.floor(this.#random.next() * items.length), 1)[0] as T;
  }
}

interface WorkloadOptions {
  readonly weathers?: readonly Weather[];
  readonly scenes?: readonly SceneKind[];
  /** Scenes of each kind, over all phases; absent: by the count of trades. */
  readonly scenesEach?: number | undefined;
}

/** Spreads the second list over the first. */
function interleaved<T>(first: readonly T[], second: readonly T[]): T[] {
  const every = Math.max(1, Math.floor(first.length / second.length));
  const merged = first.flatMap((one, index) => {
    const extra = (index + 1) % every === 0 ? second[(index + 1) / every - 1] : undefined;
    return extra === undefined ? [one] : [one, extra];
  });
  return [...merged, ...second.filter((one) => !merged.includes(one))];
}

/** From this size on a run takes minutes, and long proofs have time. */
export const MANY_TRADES = 2_000;

export function planWorkload(
  seed: number,
  tradeCount: number,
  { weathers: kinds, scenes: sceneKinds = [], scenesEach }: WorkloadOptions = {},
): Workload {
  const planner = new Planner(seed, tradeCount >= MANY_TRADES);
  const rounds = Math.max(1, Math.round(tradeCount / 6_000));
  const each = kinds ?? (sceneKinds.length === 0 ? WEATHERS : interleaved(WEATHERS, SCENE_WEATHERS));
  const weathers = Array.from({ length: rounds }, () => each).flat();
  const sceneCount = scenesEach ?? Math.max(1, Math.floor((tradeCount * SCENES_PER_HUNDRED) / 100));
  const scenes = [...planner.scenes(sceneKinds, sceneCount)];
  const phases = weathers.map((weather, index) =>
    planner.phase(
      weather,
      index,
      Math.ceil(tradeCount / weathers.length),
      scenes.filter((_, turn) => turn % weathers.length === index),
    ),
  );
  const { traders } = planner;
  const digest = createHash("sha256").update(JSON.stringify({ traders, phases })).digest("hex").slice(0, 16);
  const counts = phases.map(({ jobs }) => jobs.reduce((sum, { trades }) => sum + trades.length, 0));
  return { traders, phases, tradeCount: counts.reduce((sum, count) => sum + count, 0), digest };
}

/**
 * Makes the accounts on all venues and returns them by label. `suffix` separates those of several services on the same
 * venues.
 */
export function addTraders(
  four: FourVenues,
  planned: readonly PlannedTrader[],
  suffix: string,
): ReadonlyMap<string, FourTrader> {
  return new Map(
    planned.map(({ label, positions, ...options }) => [
      label,
      four.addTrader(`${label}-${suffix}`, positions, options),
    ]),
  );
}

/** Returns the trade's request: its trader's credentials, and the size of entries by what their margin carries. */
export function trialOf(
  four: FourVenues,
  traders: ReadonlyMap<string, FourTrader>,
  { trader: label, size, routingOptions, key, ...planned }: PlannedTrade,
): TradeTrial {
  const trader = traders.get(label);
  if (trader === undefined) throw new RangeError(`no trader ${label}`);
  const { symbol, direction, preferred } = planned;
  const amount =
    typeof size === "string"
      ? { size }
      : { notionalUsd: notionalOf(four, trader, symbol, preferred ?? "venueone", size.marginPercent) };
  const fields = { symbol, direction, ...amount, preferredExchange: preferred, routingOptions };
  const body = JSON.stringify({ credentials: trader.credentials, ...fields });
  const asked = typeof size === "string" && size !== "ALL" ? size : null;
  const terms = { ...MARKET_TERMS, allowSplit: routingOptions["allowSplit"] === true };
  return { ...planned, trader, size: asked, terms, key, body, answers: [] };
}

function notionalOf(four: FourVenues, trader: FourTrader, symbol: string, venue: FourVenue, percent: number): string {
  return String(Math.floor((four.buyingPower(venue, trader, symbol) * percent) / 100));
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(random.next() * left.length), 1)[0] as T);
}
