/**
 * As after-reply-model.test.ts, by the same judge: a store that refuses for minutes, and orders at two venues that a crash
 * leaves. The service as it is, which the judge must not blame, and one planted fault for each class; its check sees it,
 * and with the check taken out nothing does.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { type AfterCheck, judgeAfter } from "./after-reply.js";
import { STORE_SCENES, type StoreScene } from "./store-scenes.js";
import { ConclusionCommits } from "../conclude/conclusion-commits.js";
import { TradeConclusion } from "../conclude/trade-conclusion.js";
import { OrderFollows } from "../follow/order-follows.js";
import { ProtectionRounds } from "../protect/protection-rounds.js";
import { giveUpProtection } from "../run-writes.js";
import { OrderCore } from "../send/order-core.js";

afterEach(() => {
  vi.restoreAllMocks();
});

/** What the store refuses of a reply is for the next start. */
function storeReplyOnce(): void {
  vi.spyOn(ConclusionCommits.prototype, "untilStored").mockImplementation((store) => store());
}

/** What the store refuses ends a watch as a bug of ours does. */
function endWatch(): void {
  const { publishProgress } = TradeConclusion.prototype;
  vi.spyOn(TradeConclusion.prototype, "publishProgress").mockImplementation(function (
    this: TradeConclusion,
    ...published
  ) {
    return publishProgress.apply(this, published).catch((error: unknown) => {
      throw new Error("a bug", { cause: error });
    });
  });
}

/** Rounds that the store refused count as those that a venue refused. */
function countRefusedRounds(): void {
  const { protectWhatIsDue } = ProtectionRounds.prototype;
  vi.spyOn(ProtectionRounds.prototype, "protectWhatIsDue").mockImplementation(async function (
    this: ProtectionRounds,
    entry,
    isLast,
  ) {
    const isProtected = await protectWhatIsDue.call(this, entry, isLast);
    if (entry.storeRefusals > 3 && entry.run.protection !== undefined) giveUpProtection(entry.run.protection);
    return isProtected;
  });
}

/** Orders of another venue than the one that is asked are nobody's. */
function forgetOwners(): void {
  const { consider } = OrderFollows.prototype;
  vi.spyOn(OrderFollows.prototype, "consider").mockImplementation(function (
    this: OrderFollows<never>,
    run,
    recordKey,
    accountOf,
  ) {
    consider.call(this, run, recordKey, accountOf);
  });
}

/** An intent holds the run as it is, whatever of it is on its way to the store. */
function waitForNoRows(): void {
  const { makeDurable } = OrderCore.prototype;
  vi.spyOn(OrderCore.prototype, "makeDurable").mockImplementation(function (
    this: OrderCore<never, never>,
    run,
    ...rest
  ) {
    return makeDurable.call(this, { ...run, attempts: [...run.attempts] }, ...rest);
  });
}

interface Mutant {
  readonly name: string;
  readonly scene: StoreScene;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [AfterCheck, ...AfterCheck[]];
  readonly plant: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "a reply whose conclusion the store refuses is never stored",
    scene: "refusesReply",
    checks: ["STORED"],
    plant: storeReplyOnce,
  },
  {
    name: "a reply to a key whose conclusion the store refuses is never stored",
    scene: "refusesReplyOfKey",
    checks: ["STORED"],
    plant: storeReplyOnce,
  },
  {
    name: "a watch ends with what the store refuses",
    scene: "refusesWatchOfPart",
    checks: ["TIMELY"],
    plant: endWatch,
  },
  {
    name: "protection is given up for a store that refuses",
    scene: "refusesWatch",
    checks: ["BARE"],
    plant: countRefusedRounds,
  },
  {
    name: "a fill is marked as recorded beside rows that are refused",
    scene: "refusesRowsOfFill",
    checks: ["RECORDED"],
    plant: waitForNoRows,
  },
  {
    name: "a stop beside what closes another part is not followed after a crash",
    scene: "stopBesideUndo",
    checks: ["RECORDED", "TOLD"],
    plant: forgetOwners,
  },
];

describe("the judge of a store that refuses, and of a crash at two venues,", () => {
  it.each(Object.keys(STORE_SCENES) as StoreScene[])("has nothing to say of what is right: %s", async (scene) => {
    expect(Object.fromEntries(await judgeAfter(await STORE_SCENES[scene]()))).toEqual({});
  });

  it.each(MUTANTS)("sees that $name", async ({ checks, plant, scene }) => {
    plant();
    const played = await STORE_SCENES[scene]();
    expect([...(await judgeAfter(played)).keys()].sort()).toEqual([...checks].sort());
    expect((await judgeAfter(played, checks)).size).toBe(0);
  });
});
