/**
 * Dead-man's switches in seeded storms: keys of an account arm over each other while its venue is slow, refuses, or leaves
 * them without an answer, and requests name several venues of which one fails. The judge knows what the venue has in
 * force, and which sessions are open. The old faults are planted, and each is seen by the checks that it names alone.
 * `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { delay } from "../../domain/clock.js";
import { silentLogger } from "../../domain/logger.js";
import { Owners } from "../../domain/owner.js";
import type { ScheduleOutcome } from "../../domain/order.js";
import { createSeededRandom, type Random } from "../../domain/random.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { Background } from "../background.js";
import { FakeSession } from "../test/fake-session.js";
import { seededIds } from "../test/harness.js";
import { roomDouble } from "../test/room-double.js";
import { DeadManSwitches } from "./dead-man.js";
import { KeptSession } from "./kept-session.js";
import type { ArmRequest } from "./switch-desk.js";
import { createDesk, SECRET, type DeskHarness } from "./test/desk-harness.js";
import { VenueTimers, type TimedAccount } from "./venue-timers.js";

const SEEDS =
  process.env["FUZZ_SEED"] === undefined
    ? Array.from({ length: 8 }, (_, run) => 73_000 + run)
    : [Number(process.env["FUZZ_SEED"])];
const STEP_MS = 500;
const STEADY_MS = 120_000;
const EPISODES = 4;
/** Longer than the longest switch, and the margin of its venue's. */
const WATCHED_MS = 65_000;
const REQUESTS = 30;

/**
 * IN_TIME: no venue fires on a caller in time. KNOWN: what is armed at its venue is known here. OVER: what is over is
 * known nowhere, and holds no session. SESSIONS: each armed switch holds one session, and nothing else does. PLACES: a
 * switch that was not armed takes no place.
 */
type StormCheck = "IN_TIME" | "KNOWN" | "OVER" | "SESSIONS" | "PLACES";

type Fate = "taken" | "refused" | "unheard" | "lost";

const REFUSED: ScheduleOutcome = {
  outcome: "rejected",
  reason: "VENUE_STATE",
  venueCode: "X",
  venueText: "",
  sent: true,
};

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random.next() * values.length)] as T;
}

/** One account at a venue with a switch of its own, and its keys. */
class Account {
  readonly clock = new VirtualClock();
  readonly problems = new Set<StormCheck>();
  readonly random: Random;
  readonly #switches: DeadManSwitches;
  readonly #sessions: FakeSession[] = [];
  readonly #room;
  /** Monotonic ms; null: the venue's is not armed. */
  #firesAtMs: number | null = null;
  /** Until then its caller is in time; monotonic ms. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #latestId: string | null = null;
  #timeoutMs = 0;
  #pendingCount = 0;
  firedCount = 0;
  latencyMs = (): number => 0;
  fate = (): Fate => "taken";

  constructor(seed: number) {
    this.random = createSeededRandom(seed);
    const { clock } = this;
    const background = new Background(clock, silentLogger);
    this.#switches = new DeadManSwitches({
      clock,
      logger: silentLogger,
      randomIds: seededIds(seed),
      owners: new Owners(),
      background,
    });
    this.#room = roomDouble("venueone", {
      markets: [],
      openSession: () => ({ ok: false, problem: "not asked" }),
      orders: {
        scheduleCancel: (_session, atMs) => this.#schedule(atMs),
        cancelAll: async () => ({ outcome: "accepted", canceledCount: 0, failed: [] }),
      },
    });
  }

  get isArming(): boolean {
    return this.#pendingCount > 0;
  }

  get #nowMs(): number {
    return this.clock.monoNs() / 1e6;
  }

  /** Its caller knows the switch once the venue has answered. */
  arm(timeoutMs: number): void {
    const session = new FakeSession("venueone", `key ${this.#sessions.length}`);
    this.#sessions.push(session);
    this.#latestId = null;
    this.#timeoutMs = timeoutMs;
    this.#dueMs = this.#nowMs + timeoutMs;
    this.#pendingCount++;
    void this.#switches
      .prepare(
        this.#room,
        new KeptSession(this.#room, session, null),
        { accountHash: "account", ownerId: null },
        timeoutMs,
      )
      ?.arm()
      .then(({ switchId }) => {
        if (--this.#pendingCount === 0) this.#latestId = switchId;
      });
  }

  beat(): void {
    if (this.#latestId === null) return;
    this.#dueMs = this.#nowMs + this.#timeoutMs;
    void this.#switches.heartbeat(this.#latestId, null);
  }

  disarm(): void {
    if (this.#latestId === null) throw new Error("no switch to end");
    this.#dueMs = Number.NEGATIVE_INFINITY;
    void this.#switches.disarm(this.#latestId, null);
  }

  /** No heartbeat will come: it fires after so long. */
  leave(delayMs: number): void {
    if (this.#latestId === null) throw new Error("no switch to leave");
    this.#dueMs = Number.NEGATIVE_INFINITY;
    this.#switches.expireIn(this.#latestId, delayMs, null);
  }

  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      await this.clock.advanceAsync(STEP_MS);
      this.#look();
    }
  }

  /** Nothing is armed any more, at the venue and here. */
  judgeOver(): void {
    if (this.#switches.armedCount > 0 || this.#sessions.some(({ closed }) => !closed)) this.problems.add("OVER");
  }

  #look(): void {
    this.#fire();
    if (this.#firesAtMs !== null && this.#switches.armedCount === 0) this.problems.add("KNOWN");
  }

  #fire(): void {
    if (this.#firesAtMs === null || this.#firesAtMs > this.#nowMs) return;
    this.firedCount++;
    if (this.#firesAtMs < this.#dueMs) this.problems.add("IN_TIME");
    this.#firesAtMs = null;
  }

  async #schedule(atMs: number | null): Promise<ScheduleOutcome> {
    const firesAtMs = atMs === null ? null : atMs - this.clock.wallMs() + this.#nowMs;
    // Whole ms, as the times that are sent.
    await delay(this.clock, Math.round(this.latencyMs()));
    this.#fire();
    const fate = this.fate();
    if (fate === "refused") return REFUSED;
    if (fate !== "lost") this.#firesAtMs = firesAtMs;
    return fate === "taken" ? { outcome: "accepted" } : { outcome: "unknown", cause: "TIMEOUT" };
  }
}

/** Its venue takes everything, and for longer than heartbeats are apart. */
async function slowCalls(seed: number): Promise<ReadonlySet<StormCheck>> {
  const account = new Account(seed);
  const { random } = account;
  account.latencyMs = () => 1_000 + random.next() * 1_500;
  account.arm(10_000);
  for (let passedMs = 0; passedMs < STEADY_MS; passedMs += STEP_MS) {
    if (!account.isArming && random.next() < 0.02) account.arm(pick(random, [10_000, 15_000, 20_000]));
    else account.beat();
    await account.pass(STEP_MS);
  }
  return account.problems;
}

/** Keys arm over each other before the venue has answered; the last of them ends its switch. */
function armedOver(seed: number): Promise<ReadonlySet<StormCheck>> {
  return armsOver(seed, (account) => account.disarm());
}

/** As armedOver; the last of them disconnects, and its switch fires sooner than its venue's. */
function left(seed: number): Promise<ReadonlySet<StormCheck>> {
  return armsOver(seed, (account) => account.leave(pick(account.random, [0, 2_000, 5_000])));
}

async function armsOver(seed: number, end: (account: Account) => void): Promise<ReadonlySet<StormCheck>> {
  const account = new Account(seed);
  const { random } = account;
  account.latencyMs = () => random.next() * 2_000;
  for (let episode = 0; episode < EPISODES; episode++) {
    account.fate = () => pick<Fate>(random, ["taken", "taken", "taken", "refused", "refused", "unheard", "lost"]);
    for (let armCount = Math.floor(random.next() * 3); armCount >= 0; armCount--) {
      account.arm(pick(random, [20_000, 40_000, 60_000]));
      await account.pass(Math.floor(random.next() * 4) * STEP_MS);
    }
    while (account.isArming) await account.pass(STEP_MS);
    for (let beats = Math.floor(random.next() * 8); beats > 0; beats--) {
      account.beat();
      await account.pass(STEP_MS);
    }
    end(account);
    await account.pass(WATCHED_MS);
    account.judgeOver();
  }
  return account.problems;
}

/** Requests for several venues, of which one fails or says nothing of whose key it is. */
async function severalVenues(seed: number): Promise<ReadonlySet<StormCheck>> {
  const random = createSeededRandom(seed);
  const problems = new Set<StormCheck>();
  let isFair = false;
  const harness = await createDesk({
    desk: { maxSwitches: 2 },
    prepareVenue: (venue) => {
      venue.behind = (account) => {
        const dice = isFair ? 1 : random.next();
        if (dice < 0.25) throw new TypeError("a bug of the room");
        return dice < 0.4 ? "TIMEOUT" : account;
      };
    },
  });
  const armedIds = new Set<string>();
  for (let count = 0; count < REQUESTS; count++) {
    const requests = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () => aRequest(random));
    const answer = await harness.run(harness.desk.armSwitches(requests, null));
    if (answer.ok) for (const { switchId } of answer.armed) armedIds.add(switchId);
    if (openSessions(harness) !== harness.desk.status().armedSwitchCount) problems.add("SESSIONS");
    if (random.next() < 0.5) await disarmAll(harness, armedIds);
  }
  await disarmAll(harness, armedIds);
  isFair = true;
  const both = (["venueone", "venuetwo"] as const).map((venue) => ({ ...aRequest(random), venue }));
  if (!(await harness.run(harness.desk.armSwitches(both, null))).ok) problems.add("PLACES");
  return problems;
}

function aRequest(random: Random): ArmRequest {
  const credentials = { account: pick(random, ["alice", "bob", "carol", "dave"]), secret: SECRET };
  return { venue: pick(random, ["venueone", "venuetwo"]), credentials, payer: null, timeoutMs: 60_000 };
}

function openSessions({ venue, two }: DeskHarness): number {
  return [...venue.sessions, ...two.sessions].filter(({ closed }) => !closed).length;
}

async function disarmAll(harness: DeskHarness, switchIds: Set<string>): Promise<void> {
  for (const switchId of switchIds) await harness.run(harness.desk.disarmSwitch(switchId, null));
  switchIds.clear();
}

const STORMS = { slowCalls, armedOver, left, severalVenues } as const;
type Storm = keyof typeof STORMS;

/** The problems of all seeds. */
async function stormed(storm: Storm): Promise<readonly StormCheck[]> {
  const problems = new Set<StormCheck>();
  for (const seed of SEEDS) for (const problem of await STORMS[storm](seed)) problems.add(problem);
  return [...problems].sort();
}

/** Each arm waits for its own turn, and names the time that it was called with. */
function queueingArms(): void {
  const { arm } = VenueTimers.prototype;
  vi.spyOn(VenueTimers.prototype, "arm").mockImplementation(async function (this: VenueTimers, account, endsMs) {
    const own: TimedAccount = { ...account, atVenue: { ...account.atVenue, waiting: null } };
    const armed = arm.call(this, own, endsMs);
    account.atVenue.armedMs = own.atVenue.armedMs;
    await armed;
    account.atVenue.cover = own.atVenue.cover;
  });
}

/** A switch takes over what is known of its venue's when it is armed, and learns nothing after that. */
function copyingTimes(): void {
  const { join } = VenueTimers.prototype;
  vi.spyOn(VenueTimers.prototype, "join").mockImplementation(function (this: VenueTimers, accountHash) {
    const made = join.call(this, accountHash);
    return { ...made, account: { ...made.account, time: { ...made.account.time } } };
  });
}

/** An end that is sent is taken as confirmed, whatever its answer. */
function trustingEnds(): void {
  const { end } = VenueTimers.prototype;
  vi.spyOn(VenueTimers.prototype, "end").mockImplementation(async function (this: VenueTimers, account) {
    await end.call(this, account);
    account.atVenue.account.time.mayFire = false;
  });
}

/** The first rejection is the answer, and what else is prepared is dropped by nobody. */
function answeringAtOnce(): void {
  vi.spyOn(Promise, "allSettled").mockImplementation(async (all: Iterable<unknown>) => {
    const values = await Promise.all(all);
    return values.map((value) => ({ status: "fulfilled" as const, value }));
  });
}

interface Mutant {
  readonly name: string;
  readonly storm: Storm;
  readonly checks: readonly StormCheck[];
  readonly plant: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "an arm over one without an answer learns nothing of that answer",
    storm: "armedOver",
    checks: ["KNOWN"],
    plant: () => {
      copyingTimes();
    },
  },
  { name: "every heartbeat queues a call of its own", storm: "slowCalls", checks: ["IN_TIME"], plant: queueingArms },
  { name: "a switch that fires sends one end and is gone", storm: "left", checks: ["KNOWN"], plant: trustingEnds },
  {
    name: "a room that throws leaves the others of its request prepared",
    storm: "severalVenues",
    checks: ["PLACES", "SESSIONS"],
    plant: answeringAtOnce,
  },
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("storms of switches", () => {
  it.each(Object.keys(STORMS) as Storm[])("break no rule: %s", async (storm) => {
    for (const seed of SEEDS) expect([...(await STORMS[storm](seed))], `FUZZ_SEED=${seed}`).toEqual([]);
  });

  it.each(MUTANTS)("show by $checks alone that $name", async ({ checks, plant, storm }) => {
    plant();
    expect(await stormed(storm)).toEqual(checks);
  });
});
