/**
 * Requests, deaths, lost and late calls, lagging endpoints, reorgs, nonces that others use, dear gas and a signer that
 * comes and goes, in any order; then fair weather. One seed is one run.
 */
import { ServiceError } from "../../domain/errors.js";
import { createSeededRandom } from "../../domain/random.js";
import { OLD_TOKEN, VAULT } from "./fake-contracts.js";
import { ACCOUNT } from "./fake-signer.js";
import { type Intent, judged } from "./transfer-judge.js";
import { type Life, TransferWorld } from "./transfer-world.js";

const STEPS = 10;
const DAY_MS = 86_400_000;
const UNREAD_MS = 20_000;

export interface ModelRun {
  /** What the judge says. */
  readonly wrongs: readonly string[];
  readonly counts: Readonly<Record<"deposits" | "payouts" | "moves" | "deaths" | "refused" | "failed", number>>;
}

/** Nobody looks, and the venues do not answer at once after it. */
async function pausedForDays({ clock, named, listed }: TransferWorld, life: Life): Promise<void> {
  await life.keeper.stop();
  await clock.advanceAsync(2 * DAY_MS);
  const answersMs = clock.wallMs() + UNREAD_MS;
  for (const money of [named, listed]) money.weather = () => (clock.wallMs() < answersMs ? "lost" : "fine");
}

export async function runModel(seed: number): Promise<ModelRun> {
  const random = createSeededRandom(seed);
  const chance = (part: number): boolean => random.next() < part;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const world = new TransferWorld();
  const monies = [world.named, world.listed];
  if (chance(0.5)) world.chain.allow(OLD_TOKEN, ACCOUNT, VAULT, 5n);
  for (const money of monies) money.repeats = pick(["refused", "again"]);
  world.named.extraFee = chance(0.3) ? 3n : 0n;
  world.named.paysOnChain = chance(0.5);
  world.named.hidesPayments = world.named.paysOnChain;
  world.listed.listsOwnIds = chance(0.5);
  // Of numbers of its own: runs of before stay as they were.
  const ends = createSeededRandom(seed + 1_000_000);
  world.listed.listsDebits = ends.next() < 0.5;
  const intents: Intent[] = [];
  let serial = 0;
  let deaths = 0;
  const born = async (): Promise<Life> => {
    const life = await world.live(
      chance(0.5) ? { at: 1 + Math.floor(random.next() * 40), isAfter: chance(0.5) } : null,
    );
    life.keeper.start();
    return life;
  };
  let life = await born();
  /** Now and then like another one: a venue that takes a name once alone tells them apart. */
  const movedAmount = (own: bigint): bigint => {
    const earlier = intents.findLast(({ kind }) => kind === "internal");
    const isLike = chance(0.8) && world.listed.repeats === "refused";
    return isLike && earlier !== undefined ? earlier.amount : own;
  };
  const asked = async (): Promise<void> => {
    const of = life;
    const small = BigInt(++serial);
    const money = pick(monies);
    const kind = pick(["deposit", "deposit", "withdrawal", "internal"] as const);
    const amount = kind === "internal" ? movedAmount(small) : 7_000_000n + small;
    if (kind === "withdrawal" && money === world.listed && chance(0.3)) money.returnOwn(amount);
    const call =
      kind === "deposit"
        ? of.transfers.deposit(world.deposit(money, amount, money === world.listed && chance(0.3) ? "OLD" : "USDC"))
        : kind === "withdrawal"
          ? of.transfers.withdraw(world.withdrawal(money, amount))
          : of.transfers.move(world.internal(amount.toString(), `name-${serial}`));
    intents.push({ kind, amount, outcome: await world.outcome(of, call, 240_000) });
  };
  let hasLagged = false;
  /** While requests wait. */
  const troubles = [
    () => world.chain.reorg(pick([1, 2]), chance(0.3)),
    () => world.chain.forgetPool(),
    () => world.chain.outside(ACCOUNT),
    () => {
      // As many as must agree lag at once, and once: what they show twice within the patience for it is believed.
      if (hasLagged) return;
      hasLagged = true;
      world.chain.hidesReceipts = true;
      world.clock.setTimer(() => {
        world.chain.hidesReceipts = false;
      }, 20_000);
    },
    () => {
      world.chain.baseFee = pick([10n, 100n]);
    },
  ];
  for (let step = 0; step < STEPS; step++) {
    const chainWeather = pick(["fine", "fine", "lost", "unheard", "lagging"] as const);
    const venueWeather = pick(["fine", "fine", "lost", "unheard", "late", "down"] as const);
    world.chain.weather = () => (chance(0.6) ? "fine" : chainWeather);
    for (const money of monies) money.weather = () => (chance(0.6) ? "fine" : venueWeather);
    world.chain.baseFee = pick([10n, 10n, 12n, 60n]);
    const signerCode = pick(["SIGNER_UNAVAILABLE", "APPROVAL_PENDING", "POLICY_REFUSED"] as const);
    world.signerError = chance(0.15) ? new ServiceError(signerCode) : null;
    // A venue that shows no payment does not show that there is none.
    for (const money of monies) money.failsPayouts = chance(0.1) && !money.hidesPayments;
    for (const trouble of troubles) if (chance(0.15)) world.clock.setTimer(trouble, Math.floor(random.next() * 20_000));
    await Promise.all(chance(0.4) ? [asked(), asked()] : [asked()]);
    if (chance(0.35)) world.chain.reorg(pick([1, 2]), chance(0.3));
    if (chance(0.15)) world.chain.forgetPool();
    if (chance(0.15)) world.chain.outside(ACCOUNT);
    await world.clock.advanceAsync(pick([0, 500, 5_000, 60_000]));
    if (chance(0.2)) world.chain.reorg(2, chance(0.3));
    if (!life.isDead()) continue;
    deaths++;
    life = await born();
  }
  for (const money of monies) money.weather = () => "fine";
  world.chain.weather = () => "fine";
  world.chain.baseFee = 10n;
  world.signerError = null;
  if (ends.next() < 0.5) await pausedForDays(world, life);
  life = await world.live();
  await world.untilQuiet(life);
  const rows = await world.rows(life);
  return {
    // A death takes at most the signatures that were asked for at once: one of each lane.
    wrongs: judged(world, rows, intents, { deaths: (deaths + 1) * 3, fails: true }),
    counts: {
      ...{ deposits: world.chain.deposits().length, moves: world.listed.moves.length, deaths },
      payouts: world.named.payouts.length + world.listed.payouts.length,
      refused: intents.filter(({ outcome }) => outcome !== "done" && outcome !== "dead").length,
      failed: rows.filter(({ state }) => state === "failed").length,
    },
  };
}
