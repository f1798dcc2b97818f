/**
 * Switches of several owners, and of callers without a key, for one account whose venue has a switch of its own; one owner
 * adopts what was made without a key, and the service stops. A judge that knows the venue's switch: while anybody's is
 * armed it is in force there by the earliest of their times; it is over when all are; nothing is canceled before the time
 * of a switch that was not ended; what a shutdown leaves to the venue stays there. Faults are planted, and each is seen.
 * `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Owners } from "../../domain/owner.js";
import { createSeededRandom, type Random } from "../../domain/random.js";
import { createDesk, CREDENTIALS, type DeskHarness } from "./test/desk-harness.js";
import { VenueTimers } from "./venue-timers.js";

const ALICE = "ow_alice";
const CALLERS = [ALICE, "ow_bob", null] as const;
const SEEDS =
  process.env["FUZZ_SEED"] === undefined
    ? Array.from({ length: 25 }, (_, run) => 93_000 + run)
    : [Number(process.env["FUZZ_SEED"])];
const STEPS = 30;
const MIN_MS = 5_000;
const MAX_MS = 60_000;
const LOOK_MS = 100;
/** The venue fires a second later than we, and is told of heartbeats at most once a second. */
const SLACK_MS = 2_200;
const STOP_MS = 5_000;

type Caller = (typeof CALLERS)[number];

interface Held {
  readonly switchId: string;
  endsMs: number;
}

class World {
  readonly problems: string[] = [];
  /** The venue's own, wall ms. */
  #inForceMs: number | null = null;
  readonly #random: Random;
  #adopted: string | null = null;
  readonly #held = new Map<Caller, Held>();
  /** Of all that were armed, when not ended before. */
  readonly #dueMs: number[] = [];
  #cancelCount = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  async play(): Promise<void> {
    const harness = await createDesk({
      desk: { owners: new Owners({ adoptedBy: () => this.#adopted }) },
      mutateRoom: (room) => ({
        ...room,
        orders: {
          ...room.orders,
          scheduleCancel: async (_session, atMs) => {
            this.#inForceMs = atMs;
            return { outcome: "accepted" };
          },
        },
      }),
    });
    for (let step = 0; step < STEPS; step++) {
      await this.#act(harness, this.#pick(CALLERS));
      if (this.#adopted === null && this.#random.next() < 0.05) this.#adopted = ALICE;
      await this.#pass(harness, this.#random.next() < 0.5 ? LOOK_MS : this.#random.next() * 15_000);
      this.#judge(harness);
    }
    await this.#stop(harness);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random.next() * from.length)] as T;
  }

  async #act(harness: DeskHarness, caller: Caller): Promise<void> {
    const held = this.#held.get(caller);
    const draw = this.#random.next();
    if (held === undefined || draw < 0.3) await this.#arm(harness, caller);
    else if (draw < 0.8) {
      const answer = await harness.run(harness.desk.heartbeat(held.switchId, caller));
      if (answer.ok) held.endsMs = answer.armed.expiresAtMs;
      else this.problems.push(`LOST: a switch of ${caller} is not found before its time`);
    } else {
      await harness.run(harness.desk.disarmSwitch(held.switchId, caller));
      this.#held.delete(caller);
    }
  }

  async #arm(harness: DeskHarness, caller: Caller): Promise<void> {
    const timeoutMs = MIN_MS + Math.floor(this.#random.next() * (MAX_MS - MIN_MS));
    const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs } as const;
    const answer = await harness.run(harness.desk.armSwitch(request, caller));
    if (!answer.ok) throw new Error(answer.code);
    // It takes the place of the caller's own, and of the one that it adopted.
    if (caller !== null && caller === this.#adopted) this.#held.delete(null);
    this.#held.set(caller, { switchId: answer.armed.switchId, endsMs: answer.armed.expiresAtMs });
  }

  /** Passes time; each cancel of all is at the time of a switch. */
  async #pass(harness: DeskHarness, ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += LOOK_MS) {
      await harness.clock.advanceAsync(LOOK_MS);
      const nowMs = harness.clock.wallMs();
      for (const [caller, { endsMs }] of this.#held)
        if (endsMs <= nowMs) {
          this.#dueMs.push(endsMs);
          this.#held.delete(caller);
        }
      const isDue = this.#dueMs.some((dueMs) => nowMs - dueMs <= SLACK_MS);
      const isFired = this.#inForceMs !== null && this.#inForceMs <= nowMs;
      if (isFired) this.#inForceMs = null;
      if ((isFired || harness.calls.cancelAll > this.#cancelCount) && !isDue)
        this.problems.push("EARLY: canceled, and no switch is over");
      this.#cancelCount = harness.calls.cancelAll;
    }
  }

  #judge(harness: DeskHarness): void {
    const ends = [...this.#held.values()].map(({ endsMs }) => endsMs);
    const inForceMs = this.#inForceMs;
    if (ends.length === 0) {
      if (inForceMs !== null && harness.desk.status().armedSwitchCount === 0)
        this.problems.push("KNOWN: armed at the venue, and known nowhere");
      return;
    }
    if (inForceMs === null || inForceMs > Math.min(...ends) + SLACK_MS)
      this.problems.push("OPEN: the venue does not fire by the earliest time");
  }

  /** One of them fires at the shutdown, as its caller is gone. */
  async #stop(harness: DeskHarness): Promise<void> {
    for (const caller of CALLERS) await this.#arm(harness, caller);
    const [first, ...others] = [...this.#held];
    if (first === undefined) return;
    const [caller, { switchId, endsMs }] = first;
    harness.desk.expireSwitch(switchId, endsMs - harness.clock.wallMs() - 1, caller);
    await harness.run(harness.desk.drain(STOP_MS));
    const leftMs = Math.min(...others.map(([, one]) => one.endsMs));
    if (this.#inForceMs === null || this.#inForceMs > leftMs + SLACK_MS)
      this.problems.push("LEFT: the shutdown leaves a switch to the venue, which has it no more");
  }
}

async function playAll(): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const seed of SEEDS) {
    const world = new World(createSeededRandom(seed));
    await world.play();
    problems.push(...world.problems.map((problem) => `${problem}, seed ${seed}`));
  }
  return problems;
}

afterEach(() => vi.restoreAllMocks());

it("switches of all owners of an account are in force by the earliest, and end with their own alone", async () => {
  expect(await playAll()).toEqual([]);
}, 120_000);

const PLANTS: readonly (readonly [name: string, seen: string, plant: () => void])[] = [
  [
    "the end of one ends the others at the venue",
    "OPEN",
    () => {
      const { end } = VenueTimers.prototype;
      vi.spyOn(VenueTimers.prototype, "end").mockImplementation(function (this: VenueTimers, account) {
        account.atVenue.account.wishes.clear();
        return end.call(this, account);
      });
    },
  ],
  [
    "one that is left to its venue at a shutdown counts no more",
    "LEFT",
    () => {
      const { end } = VenueTimers.prototype;
      vi.spyOn(VenueTimers.prototype, "end").mockImplementation(function (this: VenueTimers, account) {
        const { userCount, wishes } = account.atVenue.account;
        // Those that the shutdown ended have wishes still.
        if (wishes.size === CALLERS.length && userCount === CALLERS.length) wishes.clear();
        return end.call(this, account);
      });
    },
  ],
  [
    "an adopted switch stays beside the one that its owner arms",
    "EARLY",
    () => {
      vi.spyOn(Owners.prototype, "reachedBy").mockImplementation((ownerId) => [ownerId]);
    },
  ],
];

describe("the judge", () => {
  it.each(PLANTS)(
    "sees that %s",
    async (_, seen, plant) => {
      plant();
      expect((await playAll()).filter((problem) => problem.startsWith(seen))).not.toEqual([]);
    },
    120_000,
  );
});
