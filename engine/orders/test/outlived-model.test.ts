/**
 * As after-reply-model.test.ts, by the same judge: what of an order, or of a run, outlives what it was for. The service as
 * it is, which the judge must not blame, and one planted fault for each class; its check sees it, and with the check
 * taken out nothing does. FUZZ_SEED replays one seed of the guards that fill in part.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { createDesk, type DeskHarness } from "../single/test/desk-harness.js";
import { type AfterCheck, judgeAfter, MINUTE_MS } from "./after-reply.js";
import { guardsCloseInParts, OUTLIVED_SCENES, type OutlivedScene } from "./outlived-scenes.js";
import { createRowSink, rowFaults } from "./row-sink.js";
import { ConclusionCommits } from "../conclude/conclusion-commits.js";
import { IdempotencyRecords } from "../durable/idempotency.js";
import { ExecutionRegistry } from "../durable/execution-registry.js";
import { FollowKeys } from "../follow/follow-keys.js";
import { OrderFollows } from "../follow/order-follows.js";
import { WaitingRuns } from "../follow/waiting-runs.js";
import { TradeReplays } from "../request/replays.js";
import { type OrderAttempt, isGuard } from "../run.js";
import { markTakenBack } from "../run-writes.js";

type Fault =
  | "sibling left"
  | "parts close nothing"
  | "rests uncounted"
  | "taken back once"
  | "absence unproven"
  | "round covers all"
  | "taken back is lost"
  | "newest goes first"
  | "another part's goes"
  | null;

const planted = vi.hoisted((): { fault: Fault } => ({ fault: null }));

vi.mock(import("../conclude/protection-parts.js"), async (load) => {
  const parts = await load();
  return {
    ...parts,
    guardsToTakeBack: (run) => {
      const guards = parts.guardsToTakeBack(run);
      if (parts.isToBeAbandoned(run)) return guards;
      const isWhole = run.attempts.some((attempt) => isGuard(attempt) && attempt.order?.status === "FILLED");
      switch (planted.fault) {
        case "sibling left":
          return [];
        case "parts close nothing":
          return isWhole ? guards : [];
        case "rests uncounted":
          return guards.filter(({ order }) => order?.status === "OPEN");
        case "newest goes first": {
          const asked = run.attempts.filter(({ takenBack }) => takenBack === true);
          for (const attempt of asked) markTakenBack(attempt, false);
          const newest = parts.guardsToTakeBack(run);
          for (const attempt of asked) markTakenBack(attempt, true);
          return newest;
        }
        case "another part's goes":
          return guards.map((guard) => {
            const isOther = ({ order, role }: OrderAttempt): boolean => role === guard.role && order?.status === "OPEN";
            return run.attempts.findLast((attempt) => isOther(attempt) && attempt.qtyLots < guard.qtyLots) ?? guard;
          });
        case "taken back once":
          return guards.filter(({ takenBack }) => takenBack !== true);
        default:
          return guards;
      }
    },
  };
});

vi.mock(import("../protect/undo.js"), async (load) => {
  const undo = await load();
  return {
    ...undo,
    takeBackGuards: async (parts, execution, run) => {
      await undo.takeBackGuards(parts, execution, run);
      if (planted.fault === "taken back is lost") for (const attempt of run.attempts) markTakenBack(attempt, false);
    },
  };
});

vi.mock(import("../send/absence-proof.js"), async (load) => {
  const proofs = await load();
  return {
    ...proofs,
    /** By the time its venue answers the resolver has given the order up: the follower alone asks. */
    isProvenAbsent: (bound, began) => planted.fault !== "absence unproven" && proofs.isProvenAbsent(bound, began),
  };
});

vi.mock(import("../attempt-figures.js"), async (load) => {
  const figures = await load();
  return {
    ...figures,
    /** What the watch compares before and after a round of stops is asked of a whole list: it is the same ever after. */
    filledLots: (...asked) =>
      planted.fault === "round covers all" && asked.length > 1 ? 0 : figures.filledLots(...asked),
  };
});

afterEach(() => {
  planted.fault = null;
  vi.restoreAllMocks();
});

interface Mutant {
  readonly name: string;
  readonly scene: OutlivedScene;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [AfterCheck, ...AfterCheck[]];
  readonly plant: () => void;
}

const fault = (name: Fault) => (): void => {
  planted.fault = name;
};

/** What the store refuses is for the next start. */
function storeOnce(): void {
  vi.spyOn(ConclusionCommits.prototype, "orAgain").mockImplementation((storing) => storing);
}

/** Of a run that is at work every reader has a copy of its own. */
function readCopies(): void {
  const { unsettledRun } = ExecutionRegistry.prototype;
  vi.spyOn(ExecutionRegistry.prototype, "unsettledRun").mockImplementation(async function (
    this: ExecutionRegistry,
    routeId,
  ) {
    return structuredClone(await unsettledRun.call(this, routeId));
  });
}

/** Whatever has the key of a run by now tells of its orders. */
function trustAnyRecord(): void {
  const { readForUpdate } = IdempotencyRecords.prototype;
  vi.spyOn(IdempotencyRecords.prototype, "readForUpdate").mockImplementation(async function (
    this: IdempotencyRecords,
    ...read
  ) {
    const update = await readForUpdate.apply(this, read);
    return update.kind === "gone" ? { kind: "newer" } : update;
  });
}

/** Of what is beyond the bound of those that are followed, what this process had is left, or what the one before left. */
function leaveWaiting(isOfThisProcess: boolean): void {
  const { put } = WaitingRuns.prototype;
  vi.spyOn(WaitingRuns.prototype, "put").mockImplementation(function (this: WaitingRuns<never>, row, isAtWork) {
    if (isAtWork !== isOfThisProcess) put.call(this, row, isAtWork);
  });
}

/** What rests by a reply that comes after the drain is nobody's. */
function leaveLateReplies(): void {
  const { consider, stop } = OrderFollows.prototype;
  let isStopped = false;
  vi.spyOn(OrderFollows.prototype, "stop").mockImplementation(function (this: OrderFollows<never>) {
    isStopped = true;
    return stop.call(this);
  });
  vi.spyOn(OrderFollows.prototype, "consider").mockImplementation(function (this: OrderFollows<never>, ...considered) {
    if (!isStopped) consider.apply(this, considered);
  });
}

/** A stored reply is the last word, whatever was sent since. */
function replayFirstWord(): void {
  vi.spyOn(TradeReplays.prototype, "replay").mockImplementation(async (_execution, _context, stored) => ({
    ...stored,
    replayed: true,
  }));
}

/** Credentials go with the orders of the copy before. */
function forgetWithCopies(): void {
  const { adopt } = OrderFollows.prototype;
  const { get } = FollowKeys.prototype;
  let isAdopting = false;
  vi.spyOn(OrderFollows.prototype, "adopt").mockImplementation(function (this: OrderFollows<never>, run) {
    isAdopting = true;
    try {
      adopt.call(this, run);
    } finally {
      isAdopting = false;
    }
  });
  vi.spyOn(FollowKeys.prototype, "get").mockImplementation(function (this: FollowKeys, account) {
    if (isAdopting) this.forget(account);
    return get.call(this, account);
  });
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "a stop outlives the position that its take-profit closed",
    scene: "takeProfitCloses",
    checks: ["GUARDS"],
    plant: fault("sibling left"),
  },
  {
    name: "a take-profit outlives the position that its stop closed",
    scene: "stopCloses",
    checks: ["GUARDS"],
    plant: fault("sibling left"),
  },
  {
    name: "a guard that was taken back is one that failed",
    scene: "guardClosesPart",
    checks: ["PLACED"],
    plant: fault("taken back is lost"),
  },
  {
    name: "a guard whose cancel is out counts as taken back",
    scene: "takenBackLost",
    checks: ["BARE"],
    plant: fault("newest goes first"),
  },
  {
    name: "the guard of another part is taken back than of the one that is closed",
    scene: "takenBackLost",
    checks: ["GUARDS"],
    plant: fault("another part's goes"),
  },
  {
    name: "a stop that never arrived is not sent again",
    scene: "stopNeverArrives",
    checks: ["BARE", "KNOWN"],
    plant: fault("absence unproven"),
  },
  {
    name: "a stop that never arrived stays of unknown outcome after a crash",
    scene: "stopNeverArrivesCrash",
    checks: ["KNOWN"],
    plant: fault("absence unproven"),
  },
  {
    name: "an end that the store refuses is never stored",
    scene: "storeRefuses",
    checks: ["STORED"],
    plant: storeOnce,
  },
  {
    name: "what fills after its key was used for another trade is not recorded",
    scene: "keyUsedForAnother",
    checks: ["RECORDED"],
    plant: trustAnyRecord,
  },
  {
    name: "an order beyond those that are followed at once is never looked for",
    scene: "waitsForItsTurn",
    checks: ["RECORDED", "TOLD"],
    plant: () => leaveWaiting(true),
  },
  {
    name: "an order beyond those that are followed at once is left by the next start",
    scene: "waitsOverRestart",
    checks: ["RECORDED", "TOLD"],
    plant: () => leaveWaiting(false),
  },
  {
    name: "an order whose reply came after the drain is left by the next start",
    scene: "restsAfterDrain",
    checks: ["RECORDED", "TOLD"],
    plant: leaveLateReplies,
  },
  {
    name: "a key used again works on a copy of the run that is at work",
    scene: "usedAgainAtStop",
    checks: ["RECORDED"],
    plant: readCopies,
  },
  {
    name: "a copy that takes its run's place has no credentials",
    scene: "copyTakesPlace",
    checks: ["RECORDED", "TOLD"],
    plant: forgetWithCopies,
  },
  {
    name: "a key whose reply was final is answered without the orders since",
    scene: "usedAgainAfterAsk",
    checks: ["REPLAYED"],
    plant: replayFirstWord,
  },
  {
    name: "an order that a crash left is not looked up with its key where the reply was final",
    scene: "usedAgainAfterCrash",
    checks: ["KNOWN", "PLACED", "REPLAYED", "TOLD"],
    plant: replayFirstWord,
  },
  {
    name: "what fills while a stop is on its way gets none",
    scene: "fillsDuringStop",
    checks: ["BARE"],
    plant: fault("round covers all"),
  },
];

/** The end of a single order is found while the store refuses, for minutes; then it is back. */
async function refusedSingle(): Promise<DeskHarness> {
  const harness = await createDesk({ desk: { records: createRowSink() } });
  const { clock, store, venue } = harness;
  venue.fate = () => ({ kind: "loseReply" });
  venue.orderReadFailure = () => "TIMEOUT";
  await harness.order({ deadlineMs: 1_000 });
  await clock.advanceAsync(5_000);
  store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
  venue.orderReadFailure = () => null;
  await clock.advanceAsync(5 * MINUTE_MS);
  store.gate = async () => {};
  await clock.advanceAsync(5 * MINUTE_MS);
  return harness;
}

describe("the judge of what outlives what it was for, of single orders,", () => {
  /** No decision is made for a single order. */
  const recordFaults = async ({ store, two, venue }: DeskHarness): Promise<string[]> =>
    (await rowFaults(store, [venue, two])).filter((problem) => !problem.startsWith("a fill without its decision"));

  it("has nothing to say of a desk that is right", async () => {
    expect(await recordFaults(await refusedSingle())).toEqual([]);
  });

  it("sees by the record that an end that the store refuses is never stored", async () => {
    storeOnce();
    expect(await recordFaults(await refusedSingle())).toEqual([expect.stringContaining("lost: ")]);
  });
});

describe("the judge of what outlives what it was for, of guards that fill in part,", () => {
  const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3, 4] : [Number(process.env.FUZZ_SEED)];

  it.each(SEEDS)("has nothing to say of a service that is right, seed %i", async (seed) => {
    expect([...(await judgeAfter(await guardsCloseInParts(seed)))]).toEqual([]);
  });

  it.each(
    (
      [
        ["what filled in part closed nothing", "parts close nothing"],
        ["the rest of one that filled in part counts for nothing", "rests uncounted"],
        ["one is taken back once, whatever comes of it", "taken back once"],
      ] as const
    ).flatMap(([name, kind]) => SEEDS.map((seed) => [name, seed, kind] as const)),
  )("sees by GUARDS alone that %s, seed %i", async (_, seed, kind) => {
    planted.fault = kind;
    const left = await guardsCloseInParts(seed);
    expect([...(await judgeAfter(left)).keys()]).toEqual(["GUARDS"]);
    expect([...(await judgeAfter(left, ["GUARDS"]))]).toEqual([]);
  });
});

describe("the judge of what outlives what it was for", () => {
  it.each(Object.keys(OUTLIVED_SCENES) as OutlivedScene[])(
    "has nothing to say of a service that is right: %s",
    async (scene) => {
      expect([...(await judgeAfter(await OUTLIVED_SCENES[scene]()))]).toEqual([]);
    },
  );

  it.each(MUTANTS)("sees by $checks alone that $name", async ({ checks, plant, scene }) => {
    plant();
    const left = await OUTLIVED_SCENES[scene]();
    const found = await judgeAfter(left);
    expect([...found.keys()].sort()).toEqual([...checks].sort());
    expect([...(await judgeAfter(left, checks))]).toEqual([]);
  });
});
