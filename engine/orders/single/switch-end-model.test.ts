/**
 * A dead-man's switch beside a venue that has one of its own, under a judge that knows the venue's: as long as it is
 * armed there the switch is known here, and not much longer; a shutdown that leaves orders to nobody leaves a line. The
 * service as it is, which the judge must not blame, and one planted fault for each check: the check sees it, and with
 * the check taken out nothing does.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ScheduleOutcome } from "../../domain/order.js";
import { createDesk, CREDENTIALS, type DeskHarness } from "./test/desk-harness.js";
import { DeadManSwitches } from "./dead-man.js";
import { mayVenueFire, VenueTimers } from "./venue-timers.js";

const OTHER_KEY = { ...CREDENTIALS, account: "another-key" };

const TIMEOUT_MS = 10_000;
/** The shortest there is, and one that outlasts what is watched. */
const SHORT_MS = 5_000;
const LONG_MS = 60_000;
const LOOK_MS = 100;
/** A word on its way to the venue, and what a switch stays known for beyond the venue's. */
const GRACE_MS = 2_000;
const WATCHED_MS = 30_000;
const DRAIN_MS = 1_500;
/** Of a shutdown that has time for some tries. */
const STOP_MS = 5_000;
/** The venue fires so much later than we. */
const VENUE_LATER_MS = 1_000;
const AWAY_MS = 240_000;
const GIVEN_UP_MS = 60_000;
/** Longer than a firing tries, and more than it sends. */
const HOPELESS_MS = 900_000;
const MANY = 100;
const BEAT_MS = 1_500;
/** Between the tries of a shutdown. */
const STOP_PAUSES_MS: readonly number[] = [500, 1_000, 2_000, 4_000];

/** The venue's switch: what it took, whatever it answered. */
class VenueSwitch {
  /** Monotonic ms; null: not armed. */
  firesAtMs: number | null = null;
  coversSymbols = false;
  /** What we make of a word that does not reach it. */
  lostAnswer: ScheduleOutcome = { outcome: "unknown", cause: "TIMEOUT" };
  #isLost = false;

  /** From here on no word reaches it. */
  lose(): void {
    this.#isLost = true;
  }

  take(firesAtMs: number | null): ScheduleOutcome {
    if (this.#isLost) return this.lostAnswer;
    this.firesAtMs = firesAtMs;
    return { outcome: "accepted", ...(this.coversSymbols ? { symbols: ["BTC"] } : {}) };
  }
}

/**
 * KNOWN: what is armed at its venue is known here. FORGOTTEN: what is over there is so here. LINE: a shutdown that
 * leaves orders to nobody says so. EARLY: no order is canceled before the moment of its account's switch. LEFT: none works
 * two minutes after a venue that was away is back, or after a shutdown that saw it come back.
 */
type SwitchCheck = "KNOWN" | "FORGOTTEN" | "LINE" | "EARLY" | "LEFT";

interface Bench {
  readonly harness: DeskHarness;
  readonly venue: VenueSwitch;
  /** Each key is of an account of its own; else all are of one. */
  readonly keys: { areAccounts: boolean };
  readonly problems: ReadonlyMap<SwitchCheck, readonly string[]>;
  say(check: SwitchCheck, text: string): void;
  /** Passes time, and looks. */
  pass(ms: number): Promise<void>;
}

async function start(without: readonly SwitchCheck[]): Promise<Bench> {
  const venue = new VenueSwitch();
  const keys = { areAccounts: false };
  const harness: DeskHarness = await createDesk({
    prepareVenue: (one) => {
      one.behind = (account) => (keys.areAccounts ? account : "one");
    },
    mutateRoom: (room) => ({
      ...room,
      orders: {
        ...room.orders,
        scheduleCancel: async (_session, atMs) => venue.take(atMs === null ? null : atMs + monoMs() - wallMs()),
      },
    }),
  });
  const monoMs = (): number => harness.clock.monoNs() / 1e6;
  const wallMs = (): number => harness.clock.wallMs();
  const problems = new Map<SwitchCheck, string[]>();
  const say = (check: SwitchCheck, text: string): void => {
    if (!without.includes(check)) problems.set(check, [...(problems.get(check) ?? []), text]);
  };
  let overSinceMs: number | null = null;
  const look = (): void => {
    const { armedSwitchCount } = harness.desk.status();
    const mayFire = venue.firesAtMs !== null && venue.firesAtMs > monoMs();
    if (mayFire && armedSwitchCount === 0) say("KNOWN", "armed at its venue, and known nowhere");
    overSinceMs = mayFire ? null : (overSinceMs ?? monoMs());
    if (overSinceMs !== null && monoMs() - overSinceMs >= GRACE_MS && armedSwitchCount > 0)
      say("FORGOTTEN", "known here, and over at its venue");
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += LOOK_MS) {
      await harness.clock.advanceAsync(LOOK_MS);
      look();
    }
  };
  return { harness, venue, keys, problems, say, pass };
}

async function arm(bench: Bench): Promise<string> {
  await bench.harness.order({ type: "LIMIT", price: "95000" });
  return armBy(bench, CREDENTIALS, TIMEOUT_MS);
}

async function armBy({ harness }: Bench, credentials: typeof CREDENTIALS, timeoutMs: number): Promise<string> {
  const request = { venue: "venueone", credentials, payer: null, timeoutMs } as const;
  const answer = await harness.run(harness.desk.armSwitch(request, null));
  if (!answer.ok) throw new Error(answer.code);
  return answer.armed.switchId;
}

/** One whose time comes while its venue answers nothing. */
async function firesAway(bench: Bench): Promise<void> {
  const { calls, clock } = bench.harness;
  await arm(bench);
  for (let awayMs = 0; awayMs < AWAY_MS; awayMs += LOOK_MS) {
    calls.cancelAllFates.splice(0, calls.cancelAllFates.length, "unknown");
    await clock.advanceAsync(LOOK_MS);
  }
  calls.cancelAllFates.length = 0;
}

const SCENES = {
  /** Its caller leaves and ends it; the venue is not reached any more, and its own switch runs to its end. */
  async endedLost(bench) {
    const switchId = await arm(bench);
    bench.venue.lose();
    bench.harness.desk.expireSwitch(switchId, 2_000, null);
    await bench.pass(500);
    await bench.harness.desk.disarmSwitch(switchId, null);
    await bench.pass(WATCHED_MS);
  },
  /** Another key of the account replaces it, and ends its own; the venue is not reached any more, and has the first one's time. */
  async replacedLost(bench) {
    await arm(bench);
    bench.venue.lose();
    const switchId = await armBy(bench, OTHER_KEY, SHORT_MS);
    await bench.pass(500);
    await bench.harness.desk.disarmSwitch(switchId, null);
    await bench.pass(WATCHED_MS);
  },
  /** Another key of the account replaces it by one that lasts. */
  async replaced(bench) {
    await arm(bench);
    await bench.pass(SHORT_MS);
    await armBy(bench, OTHER_KEY, LONG_MS);
    await bench.pass(2 * TIMEOUT_MS);
    const isOpen = bench.harness.venue.log.every(({ order }) => order?.status === "OPEN");
    if (!isOpen) bench.say("EARLY", "canceled, and its account's switch is not over");
  },
  /** Its time comes while the venue answers nothing, for minutes. */
  async away(bench) {
    const { clock, venue } = bench.harness;
    await firesAway(bench);
    await clock.advanceAsync(2 * 60_000);
    if (venue.log.some(({ order }) => order?.status === "OPEN"))
      bench.say("LEFT", "an order works, and its caller is gone");
  },
  /** Its caller leaves, and cancels are not answered any more; the venue's own switch runs to its end. */
  async givenUp(bench) {
    const { calls } = bench.harness;
    await bench.harness.order({ type: "LIMIT", price: "95000" });
    const switchId = await armBy(bench, CREDENTIALS, HOPELESS_MS);
    calls.cancelAllFates.push(...Array.from({ length: MANY }, () => "unknown" as const));
    bench.harness.desk.expireSwitch(switchId, 0, null);
    await bench.pass(HOPELESS_MS + VENUE_LATER_MS + 2 * GRACE_MS);
  },
  /** As givenUp, beside the switch of another owner, which beats on. */
  async givenUpBeside(bench) {
    const { calls, desk, run, venue } = bench.harness;
    const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs: HOPELESS_MS } as const;
    const other = await run(desk.armSwitch(request, "ow_other"));
    if (!other.ok) throw new Error(other.code);
    const switchId = await armBy(bench, CREDENTIALS, LONG_MS);
    calls.cancelAllFates.push(...Array.from({ length: MANY }, () => "unknown" as const));
    desk.expireSwitch(switchId, 0, null);
    for (let passedMs = 0; passedMs < HOPELESS_MS; passedMs += BEAT_MS) {
      await bench.pass(BEAT_MS);
      await desk.heartbeat(other.armed.switchId, "ow_other");
    }
    const openCount = venue.sessions.filter(({ closed }) => !closed).length;
    if (openCount > 1) bench.say("FORGOTTEN", "its credentials are kept, and its time is over");
  },
  /** As away; the venue comes back after the first try of a shutdown. */
  async awayToStop(bench) {
    const { harness } = bench;
    await firesAway(bench);
    harness.calls.cancelAllFates.push("unknown");
    await harness.run(harness.desk.drain(STOP_MS));
    if (harness.venue.log.some(({ order }) => order?.status === "OPEN"))
      bench.say("LEFT", "an order works, and the service is gone");
  },
  /** A call hangs for all of a shutdown, and the first cancel is not answered. */
  async stopBesideHang(bench) {
    const { harness } = bench;
    bench.venue.coversSymbols = true;
    await arm(bench);
    harness.venue.fate = () => ({ kind: "fill", latencyMs: LONG_MS });
    void harness.place({ type: "MARKET" });
    await bench.pass(1_000);
    harness.calls.cancelAllFates.push("unknown");
    await harness.run(harness.desk.drain(STOP_MS));
    if (harness.venue.log[0]?.order?.status === "OPEN") bench.say("LEFT", "an order works, and the service is gone");
  },
  /** As away; then its caller is back, arms again and calls on. */
  async backAgain(bench) {
    const { venue } = bench.harness;
    await firesAway(bench);
    const switchId = await armBy(bench, CREDENTIALS, LONG_MS);
    await bench.pass(1_000);
    await bench.harness.order({ type: "LIMIT", price: "95000" });
    for (let beats = 0; beats < 6; beats++) {
      await bench.pass(LONG_MS / 3);
      await bench.harness.desk.heartbeat(switchId, null);
    }
    if (venue.log.at(-1)?.order?.status !== "OPEN")
      bench.say("EARLY", "canceled, and its account's switch is not over");
  },
  /** The shutdown is over before the venue has canceled anything. */
  async cutShort(bench) {
    const { harness } = bench;
    bench.venue.coversSymbols = true;
    await arm(bench);
    harness.calls.cancelAllFates.push(...Array.from({ length: 20 }, () => "unknown" as const));
    await harness.run(harness.desk.drain(DRAIN_MS));
    const isOpen = harness.venue.log.some(({ order }) => order?.status === "OPEN");
    const isLogged = harness.logLines.some((line) => line.includes("dead_man_unfinished"));
    if (isOpen && !isLogged) bench.say("LINE", "orders are left, and no line says so");
  },
} as const satisfies Readonly<Record<string, (bench: Bench) => Promise<void>>>;

type Scene = keyof typeof SCENES;
const asItIs = (): void => {};

async function played(
  scene: Scene,
  plant: (bench: Bench) => void = asItIs,
  without: readonly SwitchCheck[] = [],
): Promise<readonly SwitchCheck[]> {
  const bench = await start(without);
  plant(bench);
  await SCENES[scene](bench);
  return [...bench.problems.keys()];
}

/** What `disarm` sets its timer to, which it does in the turn of its call. */
function endingAfter(change: (delayMs: number) => number, { clock }: DeskHarness): void {
  const { disarm } = DeadManSwitches.prototype;
  vi.spyOn(DeadManSwitches.prototype, "disarm").mockImplementation(function (this: DeadManSwitches, switchId) {
    const setTimer = clock.setTimer.bind(clock);
    const changed = vi.spyOn(clock, "setTimer").mockImplementation((run, delayMs) => setTimer(run, change(delayMs)));
    const ending = disarm.call(this, switchId, null);
    changed.mockRestore();
    return ending;
  });
}

/** A switch whose time has long been over is done, also where its orders are still open. */
function givingUp({ harness: { clock } }: Bench): void {
  const setTimer = clock.setTimer.bind(clock);
  const begunNs = clock.monoNs();
  vi.spyOn(clock, "setTimer").mockImplementation((run, delayMs) => {
    const isLate = (clock.monoNs() - begunNs) / 1e6 > GIVEN_UP_MS;
    return setTimer(isLate ? () => {} : run, delayMs);
  });
}

/** From a shutdown on, no pause between tries ends. */
function tryingOnce({ harness: { clock } }: Bench): void {
  const { stop } = DeadManSwitches.prototype;
  vi.spyOn(DeadManSwitches.prototype, "stop").mockImplementation(function (this: DeadManSwitches) {
    const setTimer = clock.setTimer.bind(clock);
    vi.spyOn(clock, "setTimer").mockImplementation((run, delayMs) =>
      setTimer(STOP_PAUSES_MS.includes(delayMs) ? () => {} : run, delayMs),
    );
    return stop.call(this);
  });
}

/** What a shutdown gives to calls under way is all of it. */
function waitingForCalls({ harness: { clock } }: Bench): void {
  const setTimer = clock.setTimer.bind(clock);
  vi.spyOn(clock, "setTimer").mockImplementation((run, delayMs) =>
    setTimer(run, delayMs === STOP_MS / 2 ? STOP_MS : delayMs),
  );
}

/** One that fires is no switch of its account any more. */
function forgettingFirings(): void {
  const { prepare } = DeadManSwitches.prototype;
  let count = 0;
  vi.spyOn(DeadManSwitches.prototype, "prepare").mockImplementation(function (this: DeadManSwitches, ...asked) {
    const [room, session, holder, timeoutMs] = asked;
    const accountHash = `${holder.accountHash} ${count++}`;
    return prepare.call(this, room, session, { ...holder, accountHash }, timeoutMs);
  });
}

/** No more is remembered of the venue's time than follows from our own end, which `expireIn` brings forward. */
function forgettingVenueEnds({ harness }: Bench): void {
  const { expireIn } = DeadManSwitches.prototype;
  const nowMs = (): number => harness.clock.monoNs() / 1e6;
  let endsMs = Number.POSITIVE_INFINITY;
  vi.spyOn(DeadManSwitches.prototype, "expireIn").mockImplementation(function (this: DeadManSwitches, switchId, ms) {
    endsMs = nowMs() + ms;
    return expireIn.call(this, switchId, ms, null);
  });
  endingAfter((delayMs) => Math.min(delayMs, endsMs + VENUE_LATER_MS - nowMs()), harness);
}

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [SwitchCheck, ...SwitchCheck[]];
  readonly plant: (bench: Bench) => void;
}

const MUTANTS: readonly Mutant[] = [
  { name: "the venue's own time is forgotten", scene: "endedLost", checks: ["KNOWN"], plant: forgettingVenueEnds },
  {
    name: "an end that reached nobody is taken as confirmed",
    scene: "endedLost",
    checks: ["KNOWN"],
    plant: ({ venue }) => {
      venue.lostAnswer = { outcome: "accepted" };
    },
  },
  {
    name: "an end that is never confirmed is never over",
    scene: "endedLost",
    checks: ["FORGOTTEN"],
    plant: ({ harness }) => endingAfter(() => WATCHED_MS * 10, harness),
  },
  {
    name: "the venue's time of the switch before is forgotten",
    scene: "replacedLost",
    checks: ["KNOWN"],
    plant: ({ harness }) => endingAfter((delayMs) => Math.min(delayMs, SHORT_MS), harness),
  },
  {
    name: "each key of an account has a switch of its own",
    scene: "replaced",
    checks: ["EARLY", "FORGOTTEN"],
    plant: ({ keys }) => {
      keys.areAccounts = true;
    },
  },
  { name: "a firing gives up within a minute", scene: "away", checks: ["LEFT"], plant: givingUp },
  {
    name: "a switch that gave up is forgotten",
    scene: "givenUp",
    checks: ["KNOWN"],
    plant: () => void vi.spyOn(VenueTimers.prototype, "leftMs").mockReturnValue(0),
  },
  {
    name: "a switch that gave up waits for another owner's time",
    scene: "givenUpBeside",
    checks: ["FORGOTTEN"],
    plant: ({ harness: { clock } }) =>
      void vi
        .spyOn(VenueTimers.prototype, "leftMs")
        .mockImplementation(({ atVenue }) =>
          mayVenueFire(atVenue) ? Math.max(0, atVenue.account.time.endsMs - clock.monoNs() / 1e6) : 0,
        ),
  },
  { name: "a shutdown leaves a firing one try", scene: "awayToStop", checks: ["LEFT"], plant: tryingOnce },
  {
    name: "a call that hangs takes a shutdown from the switches",
    scene: "stopBesideHang",
    checks: ["LEFT"],
    plant: waitingForCalls,
  },
  {
    name: "a firing does not learn that its caller is back",
    scene: "backAgain",
    checks: ["EARLY", "FORGOTTEN"],
    plant: forgettingFirings,
  },
  {
    name: "a switch that is cut short leaves no line",
    scene: "cutShort",
    checks: ["LINE"],
    plant: () => void vi.spyOn(DeadManSwitches.prototype, "reportUnfinished").mockReturnValue(),
  },
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the judge of switches and their ends", () => {
  it.each(Object.keys(SCENES) as Scene[])("has nothing to say of what is right: %s", async (scene) => {
    expect(await played(scene)).toEqual([]);
  });

  it.each(MUTANTS)("sees by $checks alone that $name", async ({ checks, plant, scene }) => {
    expect([...(await played(scene, plant))].sort()).toEqual([...checks].sort());
    vi.restoreAllMocks();
    expect(await played(scene, plant, checks)).toEqual([]);
  });
});
