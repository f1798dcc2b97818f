/**
 * A dead-man's switch beside a venue that has one of its own, under a judge that knows the venue's: as long as it is
 * armed there the switch is known here, and not much longer; a shutdown that leaves orders to nobody leaves a line. The
 * service as it is, which the judge must not blame, and one planted fault for each check: the check sees it, and with
 * the check taken out nothing does.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ScheduleOutcome } from "../domain/order.js";
import { createDesk, CREDENTIALS, type DeskHarness } from "../orders/single/test/desk-harness.js";
import { DeadManSwitches } from "./dead-man.js";

const TIMEOUT_MS = 10_000;
const LOOK_MS = 100;
/** A word on its way to the venue, and what a switch stays known for beyond the venue's. */
const GRACE_MS = 2_000;
const WATCHED_MS = 30_000;
const DRAIN_MS = 1_500;
/** The venue fires so much later than we. */
const VENUE_LATER_MS = 1_000;

/** The venue's switch: what it took, whatever it answered. */
class VenueSwitch {
  /** Monotonic ms; null: not armed. */
  firesAtMs: number | null = null;
  coversSymbols = false;
  /** What we make of a word that does not reach it. */
  unheard: ScheduleOutcome = { outcome: "unknown", cause: "TIMEOUT" };
  #isLost = false;

  /** From here on no word reaches it. */
  lose(): void {
    this.#isLost = true;
  }

  take(firesAtMs: number | null): ScheduleOutcome {
    if (this.#isLost) return this.unheard;
    this.firesAtMs = firesAtMs;
    return { outcome: "accepted", ...(this.coversSymbols ? { symbols: ["BTC"] } : {}) };
  }
}

/**
 * KNOWN: what is armed at its venue is known here. FORGOTTEN: what is over there is so here. LINE: a shutdown that
 * leaves orders to nobody says so.
 */
type SwitchCheck = "KNOWN" | "FORGOTTEN" | "LINE";

interface Bench {
  readonly harness: DeskHarness;
  readonly venue: VenueSwitch;
  readonly problems: ReadonlyMap<SwitchCheck, readonly string[]>;
  say(check: SwitchCheck, text: string): void;
  /** Passes time, and looks. */
  pass(ms: number): Promise<void>;
}

async function start(without: readonly SwitchCheck[]): Promise<Bench> {
  const venue = new VenueSwitch();
  const harness: DeskHarness = await createDesk({
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
  return { harness, venue, problems, say, pass };
}

async function arm({ harness }: Bench): Promise<string> {
  await harness.order({ type: "LIMIT", price: "95000" });
  const request = { venue: "venueone", credentials: CREDENTIALS, timeoutMs: TIMEOUT_MS } as const;
  const answer = await harness.run(harness.desk.armSwitch(request));
  if (!answer.ok) throw new Error(answer.code);
  return answer.armed.switchId;
}

const SCENES = {
  /** Its caller leaves and ends it; the venue is not reached any more, and its own switch stands to its end. */
  async endedUnheard(bench) {
    const switchId = await arm(bench);
    bench.venue.lose();
    bench.harness.desk.expireSwitch(switchId, 2_000);
    await bench.pass(500);
    await bench.harness.desk.disarmSwitch(switchId);
    await bench.pass(WATCHED_MS);
  },
  /** The shutdown is over before the venue has canceled anything. */
  async cutShort(bench) {
    const { harness } = bench;
    bench.venue.coversSymbols = true;
    await arm(bench);
    harness.calls.cancelAllFates.push(...Array.from({ length: 20 }, () => "unknown" as const));
    await harness.run(harness.desk.drain(DRAIN_MS));
    const isOpen = harness.venue.log.some(({ order }) => order?.status === "OPEN");
    const isSaid = harness.logLines.some((line) => line.includes("dead_man_unfinished"));
    if (isOpen && !isSaid) bench.say("LINE", "orders are left, and no line says so");
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
    const ending = disarm.call(this, switchId);
    changed.mockRestore();
    return ending;
  });
}

/** No more is remembered of the venue's time than follows from our own end, which `expireIn` brings forward. */
function forgettingVenueEnds({ harness }: Bench): void {
  const { expireIn } = DeadManSwitches.prototype;
  const nowMs = (): number => harness.clock.monoNs() / 1e6;
  let endsMs = Number.POSITIVE_INFINITY;
  vi.spyOn(DeadManSwitches.prototype, "expireIn").mockImplementation(function (this: DeadManSwitches, switchId, ms) {
    endsMs = nowMs() + ms;
    return expireIn.call(this, switchId, ms);
  });
  endingAfter((delayMs) => Math.min(delayMs, endsMs + VENUE_LATER_MS - nowMs()), harness);
}

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  readonly check: SwitchCheck;
  readonly plant: (bench: Bench) => void;
}

const MUTANTS: readonly Mutant[] = [
  { name: "the venue's own time is forgotten", scene: "endedUnheard", check: "KNOWN", plant: forgettingVenueEnds },
  {
    name: "an end that nobody heard is believed",
    scene: "endedUnheard",
    check: "KNOWN",
    plant: ({ venue }) => {
      venue.unheard = { outcome: "accepted" };
    },
  },
  {
    name: "an end that is never confirmed is never over",
    scene: "endedUnheard",
    check: "FORGOTTEN",
    plant: ({ harness }) => endingAfter(() => WATCHED_MS * 10, harness),
  },
  {
    name: "a switch that is cut short leaves no line",
    scene: "cutShort",
    check: "LINE",
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

  it.each(MUTANTS)("sees by $check alone that $name", async ({ check, plant, scene }) => {
    expect(await played(scene, plant)).toEqual([check]);
    vi.restoreAllMocks();
    expect(await played(scene, plant, [check])).toEqual([]);
  });
});
