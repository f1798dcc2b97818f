/** One run: asks and faults by the seed over several lives of the service, fair weather until all is settled, the judge. */
import { createSeededRandom } from "../../../../engine/domain/random.js";
import type { Death } from "../../../../engine/storage/test/mortal-life.js";
import type { TransferRow } from "../../../../engine/transfers/transfer-row.js";
import { WORLD_CHAIN_IDS } from "../../../sim/chain/world-plan.js";
import { type AskMix, Asks, type Intent } from "./money-intents.js";
import { evidenceOf, snapshotOf } from "./money-evidence.js";
import type { MoneyFinding } from "./money-findings.js";
import { judgeMoney } from "./money-judge.js";
import { bornMoney, type LifeParts, loadProduct, type MoneyLife, Surroundings } from "./money-life.js";
import { MoneyWatch } from "./money-watch.js";
import { MoneyWeather, type Trouble, TROUBLES } from "./money-weather.js";
import type { MoneyWorld } from "./money-world.js";

export interface MoneyRunOptions extends AskMix {
  readonly seed: number;
  readonly transfers: number;
  /** Default: more for more transfers. */
  readonly wallets?: number;
  readonly troubles?: readonly Trouble[];
  /** Default true. */
  readonly hasKills?: boolean;
  /** How long what is open may still move on; default: as long as anything may be unknown. */
  readonly settleMs?: number;
  readonly onStep?: (text: string) => void;
}

export interface MoneyRun {
  readonly findings: readonly MoneyFinding[];
  readonly intents: readonly Intent[];
  readonly rows: readonly TransferRow[];
  readonly struck: ReadonlyMap<string, number>;
}

const WALLETS = { least: 4, per: 40, most: 24 } as const;
const BLOCK_MS = 3_000;
/** Whatever is paid is found within some looks, five minutes apart at most. */
const FOLLOW_MS = 1_800_000;
/** What a caller waits for at most; every ask is bounded below. */
const ASK_MS_MAX = 400_000;
const ASKS_AT_ONCE = 4;
/** Acts of a life before its end. */
const ACTS_MAX = 60;
/** An act of venuetwo may be unknown for an hour and some minutes, one of venueone for two days. */
const SETTLE_MS_MAX = 49 * 3_600_000;

export async function runMoney(world: MoneyWorld, options: MoneyRunOptions): Promise<MoneyRun> {
  const run = new Run(world, options, await loadProduct());
  return run.whole();
}

class Run {
  readonly #world: MoneyWorld;
  readonly #options: MoneyRunOptions;
  readonly #product: LifeParts["product"];
  readonly #around: Surroundings;
  readonly #random;
  readonly #watch: MoneyWatch;
  #step = 0;

  constructor(world: MoneyWorld, options: MoneyRunOptions, product: LifeParts["product"]) {
    this.#world = world;
    this.#options = options;
    this.#product = product;
    this.#around = new Surroundings(options.seed);
    this.#random = createSeededRandom(options.seed);
    this.#watch = new MoneyWatch(
      (chainId) => world.heights.get(chainId) ?? 0,
      () => this.#step,
    );
  }

  async whole(): Promise<MoneyRun> {
    const { seed, transfers, troubles = TROUBLES, onStep = () => {} } = this.#options;
    const world = this.#world;
    const count =
      this.#options.wallets ?? Math.min(WALLETS.most, Math.max(WALLETS.least, Math.ceil(transfers / WALLETS.per)));
    const wallets = await world.wallets(`${seed}/${Math.floor(world.time.clock.wallMs())}`, count);
    const before = await snapshotOf(world, wallets);
    const hitsBefore = this.#venueHits();
    const parts: LifeParts = {
      ...{ world, product: this.#product, around: this.#around, store: this.#store() },
      ...{ wallets: new Map(wallets.map((one) => [one.walletId, one])), heard: (row) => this.#watch.heard(row) },
    };
    const weather = new MoneyWeather(world, this.#around, this.#random, wallets, troubles);
    const asks = new Asks(seed, wallets, this.#options);
    let life = await bornMoney(parts, this.#death());
    while (asks.made.length < transfers) {
      this.#step++;
      await weather.change();
      await this.#asked(life, asks, weather);
      if (life.isDead()) life = await bornMoney(parts, this.#death());
      if (this.#step % 50 === 0)
        onStep(`step ${this.#step}: ${asks.made.length} transfers, ${this.#watch.openCount()} open`);
    }
    this.#step++;
    weather.fair();
    life.end();
    life = await bornMoney(parts, null);
    await this.#settled();
    const rows = await this.#rows(
      life,
      wallets.map(({ walletId }) => walletId),
    );
    life.end();
    const evidence = await evidenceOf(world, wallets, before);
    const { signed, lostCommits, struck } = this.#around;
    for (const [kind, hits] of this.#venueHits())
      if (hits > (hitsBefore.get(kind) ?? 0)) struck.set(kind, hits - (hitsBefore.get(kind) ?? 0));
    const findings = judgeMoney({
      ...{ evidence, rows, signed, wallets, intents: asks.made, world, heard: this.#watch.findings },
      spareSignatures: ((struck.get("kill") ?? 0) + 1) * ASKS_AT_ONCE + lostCommits,
    });
    return { findings, intents: asks.made, rows, struck };
  }

  #store(): LifeParts["store"] {
    const store = this.#product.createMemoryStore();
    store.gate = async () => {
      if (this.#around.random.next() >= this.#around.refusedCommits) return;
      this.#around.lostCommits++;
      this.#around.strike("commit refused");
      throw this.#product.storeUnavailable("COMMIT_FAILED");
    };
    return store;
  }

  #death(): Death | null {
    const isMortal = this.#options.hasKills !== false && (this.#step === 0 || this.#random.next() < 0.8);
    return isMortal ? { at: 1 + Math.floor(this.#random.next() * ACTS_MAX), isAfter: this.#random.next() < 0.5 } : null;
  }

  /** Some asks at once, until each is answered or the life is over. */
  async #asked(life: MoneyLife, asks: Asks, weather: MoneyWeather): Promise<void> {
    const count = 1 + Math.floor(this.#random.next() * ASKS_AT_ONCE);
    let open = count;
    for (let ask = 0; ask < count; ask++) {
      const intent = asks.next(this.#step);
      const place = intent.outcomes.push("dead") - 1;
      void outcomeOf(call(life, intent)).then((outcome) => {
        // What a dead life says by its timers, nobody hears.
        if (!life.isDead()) intent.outcomes[place] = outcome;
        open--;
      });
    }
    for (let passedMs = 0; open > 0 && !life.isDead(); passedMs += BLOCK_MS) {
      if (passedMs > ASK_MS_MAX) {
        this.#watch.hangs();
        return;
      }
      await this.#pass(BLOCK_MS);
      await weather.disturb();
    }
    await this.#pass(BLOCK_MS);
  }

  async #pass(ms: number): Promise<void> {
    const { time } = this.#world;
    await time.advance(ms);
    for (const chainId of WORLD_CHAIN_IDS) await this.#world.mine(chainId);
    await this.#world.look();
    await time.quiet();
  }

  async #settled(): Promise<void> {
    const { settleMs = SETTLE_MS_MAX } = this.#options;
    const { venueone, venuetwo } = this.#world;
    const payouts = () => [venueone.room.bridge, venuetwo.room.money].flatMap((desk) => desk?.treasury?.open ?? []);
    let quietMs = 0;
    for (
      let passedMs = 0;
      passedMs < settleMs && quietMs < FOLLOW_MS && this.#watch.openCount() + payouts().length > 0;
    ) {
      const ms = passedMs < 120_000 ? BLOCK_MS : passedMs < 2 * 3_600_000 ? 60_000 : 600_000;
      await this.#pass(ms);
      passedMs += ms;
      // What venueone gave back without a word is searched for on its chain for ever.
      quietMs = this.#watch.movingCount() + payouts().length > 0 ? 0 : quietMs + ms;
    }
  }

  async #rows(life: MoneyLife, walletIds: readonly string[]): Promise<TransferRow[]> {
    const rows: TransferRow[] = [];
    for (const walletId of walletIds) {
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof life.money.transfers.list>> = await life.money.transfers.list(
          walletId,
          after,
          50,
        );
        rows.push(...page.rows);
        after = page.next;
      } while (after !== null);
    }
    return rows;
  }

  #venueHits(): Map<string, number> {
    const hits = new Map<string, number>();
    for (const name of ["venueone", "venuetwo"] as const)
      for (const [kind, count] of Object.entries(this.#world[name].faults.hits())) hits.set(`${name} ${kind}`, count);
    return hits;
  }
}

/** `done`, the code of a refusal, or what is a bug. */
function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "done",
    (error: unknown) => (error as { readonly code?: string }).code ?? `BUG ${String(error)}`,
  );
}

function call({ money: { transfers } }: MoneyLife, intent: Intent): Promise<unknown> {
  const { wallet, venue, transferId } = intent;
  const asker = {
    ...{ transferId, ownerId: "owner-1", walletId: wallet.walletId, account: wallet.address, venue, requestId: "r-1" },
    alongside: () => [],
  };
  if (intent.kind === "internal") {
    const { amount, kindType, clientTranId, symbol: asset } = intent;
    return transfers.move({ ...asker, asset, amount, kindType, clientTranId });
  }
  const { chainId, symbol, units: amount } = intent;
  const common = { ...asker, chainId, network: String(chainId), symbol, amount };
  if (intent.kind === "deposit") return transfers.deposit({ ...common, broker: null });
  const { receiver, accountType } = intent;
  return transfers.withdraw({ ...common, amountToCheck: 0n, receiver, accountType });
}
