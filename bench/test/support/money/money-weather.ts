/** Faults around a life, by the seed: of endpoints, chains, venues, the signer and the store. */
import type { Random } from "../../../../engine/domain/random.js";
import { WORLD_CHAIN_IDS, type WorldChainId } from "../../../sim/chain/world-plan.js";
import type { FaultSpec } from "../../../sim/core/server/fault-types.js";
import type { EndpointMood } from "./endpoint-faults.js";
import type { Judge } from "./faulty-door.js";
import { ENDPOINTS, type Surroundings } from "./money-life.js";
import { type MoneyWallet, type MoneyWorld, REORG_MAX } from "./money-world.js";

export const TROUBLES = ["endpoints", "chains", "venues", "payouts", "signer", "store"] as const;
/** `late`: every other act arrives late; `behind`: all endpoints show an old chain. Both are among the others, more rarely. */
export type Trouble = (typeof TROUBLES)[number] | "late" | "behind";

/** One endpoint alone may lie: as many as must agree do not. */
const OF_ONE: readonly EndpointMood[] = ["lagging", "liesOfBalances", "liesOfReceipts", "otherChain"];
const OF_ANY: readonly EndpointMood[] = ["unheard", "lost", "slow", "behind"];
const VENUE_FAULTS: readonly FaultSpec[] = [
  { kind: "replyLost", match: "user-withdraw", probability: 0.4 },
  { kind: "errorAfter", match: "user-withdraw", probability: 0.4 },
  { kind: "errorBefore", match: "user-withdraw", probability: 0.4 },
  { kind: "loss", match: "user-withdraw", probability: 0.4 },
  { kind: "replyLost", match: "wallet/transfer", probability: 0.5 },
  { kind: "errorAfter", match: "wallet/transfer", probability: 0.5 },
  { kind: "errorBefore", match: "wallet/transfer", probability: 0.5 },
  { kind: "replyLost", match: "/exchange", probability: 0.5 },
  { kind: "errorAfter", match: "/exchange", probability: 0.5 },
  { kind: "errorBefore", match: "/exchange", probability: 0.5 },
  { kind: "rate429", match: "/exchange", count: 1, retryAfterS: 2 },
  { kind: "rate429", match: "user-withdraw", count: 1, retryAfterS: 2 },
  { kind: "rate429", match: "wallet/transfer", count: 1, retryAfterS: 2 },
  { kind: "ban418", match: "deposit-withdraw-history", count: 1, retryAfterS: 20 },
  { kind: "loss", match: "/info", probability: 0.3 },
  { kind: "loss", match: "deposit-withdraw-history", probability: 0.5 },
];
/** What moves money there. */
const ACTS = /\/exchange$|\/user-withdraw(?:\?|$)|\/wallet\/transfer/;
const LATE_MS = 8_000;
type DelayedAct =
  | { readonly kind: "hang"; readonly isDelivered: boolean }
  | { readonly kind: "late"; readonly delayMs: number };
const FAULTS_AT_ONCE = 4;
const WEI = 1_000_000_000n;

export class MoneyWeather {
  readonly #world: MoneyWorld;
  readonly #around: Surroundings;
  readonly #random: Random;
  readonly #wallets: readonly MoneyWallet[];
  readonly #troubles: ReadonlySet<Trouble>;

  constructor(
    world: MoneyWorld,
    around: Surroundings,
    random: Random,
    wallets: readonly MoneyWallet[],
    troubles: readonly Trouble[],
  ) {
    this.#world = world;
    this.#around = around;
    this.#random = random;
    this.#wallets = wallets;
    this.#troubles = new Set(troubles);
  }

  /** For the next requests. */
  async change(): Promise<void> {
    this.fair();
    for (const chainId of WORLD_CHAIN_IDS) if (this.#has("endpoints", 0.5)) this.#worsenEndpoints(chainId);
    if (this.#has("chains", 0.2)) await this.#raiseGas(this.#pick(WORLD_CHAIN_IDS));
    if (this.#has("venues", 0.7)) this.#worsenVenue();
    if (this.#has("late", 0.8)) this.#delayActs({ kind: "late", delayMs: LATE_MS });
    if (this.#has("behind", 0.5))
      for (const chainId of WORLD_CHAIN_IDS)
        for (let place = 0; place < ENDPOINTS; place++) this.#around.moods.set(`${chainId}/${place}`, "behind");
    if (this.#has("payouts", 0.4)) await this.#worsenPayouts();
    if (this.#has("signer", 0.1))
      this.#around.signerCode = this.#pick(["SIGNER_UNAVAILABLE", "APPROVAL_PENDING", "POLICY_REFUSED"]);
    if (this.#has("store", 0.1)) this.#around.refusedCommits = 0.2;
  }

  fair(): void {
    const { venueone, venuetwo } = this.#world;
    this.#around.moods.clear();
    this.#around.venueJudges.clear();
    this.#around.signerCode = null;
    this.#around.refusedCommits = 0;
    for (const { faults } of [venueone, venuetwo]) faults.clear();
    venueone.room.bridge?.hold(false);
    venuetwo.room.money.change({ hold: false });
    venueone.room.venue.withdrawFeeE12 = 10n ** 12n;
  }

  /** Between two blocks. */
  async disturb(): Promise<void> {
    if (!this.#has("chains", 0.12)) return;
    const chainId = this.#pick(WORLD_CHAIN_IDS);
    const chain = this.#world.chains.chain(chainId);
    switch (this.#pick(["reorg", "reorg", "drop", "outside"] as const)) {
      case "reorg":
        await chain.reorg(1 + Math.floor(this.#random.next() * REORG_MAX));
        await this.#world.seeHeight(chainId);
        this.#around.strike("reorg");
        return;
      case "drop":
        await chain.rpc("anvil_dropAllTransactions");
        this.#around.strike("pool dropped");
        return;
      case "outside":
        await this.#world.sendOutside(this.#pick(this.#wallets), chainId);
        this.#around.strike("outside send");
    }
  }

  #worsenEndpoints(chainId: WorldChainId): void {
    const isLie = this.#chance(0.5);
    const first = Math.floor(this.#random.next() * ENDPOINTS);
    if (isLie) this.#around.moods.set(`${chainId}/${first}`, this.#pick(OF_ONE));
    else {
      const count = 1 + Math.floor(this.#random.next() * ENDPOINTS);
      const mood = this.#pick(OF_ANY);
      for (let place = 0; place < count; place++)
        this.#around.moods.set(`${chainId}/${(first + place) % ENDPOINTS}`, mood);
    }
  }

  async #raiseGas(chainId: WorldChainId): Promise<void> {
    await this.#world.chains.chain(chainId).setNextBaseFee(this.#pick([20n, 60n, 150n]) * WEI);
    this.#around.strike("gas raised");
  }

  #worsenVenue(): void {
    const { venueone, venuetwo } = this.#world;
    if (this.#chance(0.6)) {
      for (let count = 0; count < FAULTS_AT_ONCE; count++)
        for (const { faults } of [venueone, venuetwo]) faults.add(this.#pick(VENUE_FAULTS));
      return;
    }
    this.#delayActs(
      this.#pick<DelayedAct>([
        { kind: "hang", isDelivered: true },
        { kind: "hang", isDelivered: false },
        { kind: "late", delayMs: LATE_MS },
      ]),
    );
  }

  #delayActs(verdict: DelayedAct): void {
    const judge: Judge = async ({ path }) => {
      if (!ACTS.test(path) || !this.#chance(0.5)) return { kind: "pass" };
      this.#around.strike(`act ${verdict.kind === "late" ? "late" : verdict.isDelivered ? "unheard" : "lost"}`);
      return verdict;
    };
    for (const venue of ["venueone", "venuetwo"]) this.#around.venueJudges.set(venue, judge);
  }

  async #worsenPayouts(): Promise<void> {
    const { venueone, venuetwo } = this.#world;
    const trouble = this.#pick(["late", "dearer", "keeps"] as const);
    this.#around.strike(`payouts ${trouble}`);
    switch (trouble) {
      case "late":
        venueone.room.bridge?.hold(true);
        venuetwo.room.money.change({ hold: true });
        break;
      case "dearer":
        venueone.room.venue.withdrawFeeE12 = 1_500_000n * 10n ** 6n;
        break;
      case "keeps":
        await this.#world.keepOfMoves(this.#chance(0.5) ? 10n : 0n);
    }
  }

  #has(trouble: Trouble, part: number): boolean {
    const isStruck = this.#chance(part);
    return isStruck && this.#troubles.has(trouble);
  }

  #chance(part: number): boolean {
    return this.#random.next() < part;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)] as T;
  }
}
