/**
 * A model of a venue that stops some of a socket's forty streams, a few or most of them, and of one whose connection
 * carries nothing at all, under a judge that reads what reaches the venue alone. Virtual time; seeds decide which streams
 * and when. The socket as it is, which the judge must not blame, and one planted fault for each check: the check sees it,
 * and with the check taken out nothing does. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import { PersistentSocket } from "./socket.js";
import { Subscription } from "./subscriptions.js";
import { type FakeConnection, FakeNetwork } from "../test/fake-connector.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3] : [Number(process.env.FUZZ_SEED)];
const STEP_MS = 100;
const MINUTE_MS = 60_000;
const WATCHED_MS = 10 * MINUTE_MS;
const LIVENESS_MS = 1_000;
const NAMES = Array.from({ length: 40 }, (_, index) => `s${index}`);
/** Of the looks at a healthy stream, in ten minutes of which the first deaths are a part. */
const LIVE_SHARE_MIN = 0.98;
/** Connections made in ten minutes in which streams die at two moments: each death costs one, or two with most. */
const REPLACED_MAX = 4;
/** Times that one dead stream is asked for in ten minutes: twice as often as spacing doubled from 5 s to 300 s comes to. */
const ASKED_MAX = 16;
/** The longest spacing, and the time of the answer. */
const BACK_MS = 310_000;
/** A connection that carries nothing is left by then. */
const MUTE_MS = 10_000;

/**
 * LIVE: healthy streams speak nearly all the time. REPLACED: their connection is replaced a few times only. ASKED: a dead
 * stream is asked for ever more rarely. BACK: one that lives again speaks. MUTE: a connection without any is replaced.
 */
type Check = "LIVE" | "REPLACED" | "ASKED" | "BACK" | "MUTE";

afterEach(() => {
  vi.restoreAllMocks();
});

class Venue {
  readonly #clock = new VirtualClock();
  readonly #network = new FakeNetwork();
  readonly #without: readonly Check[];
  readonly #found = new Set<Check>();
  readonly #asked = new Map<FakeConnection, Set<string>>();
  readonly #heardCount = new Map<FakeConnection, number>();
  readonly #askedCount = new Map<string, number>();
  readonly #spokeMs = new Map<string, number>();
  readonly #liveLooks = new Map<string, number>();
  readonly #dead = new Set<string>();
  #lookCount = 0;
  readonly socket: PersistentSocket;

  constructor(seed: number, isProbed: boolean, without: readonly Check[]) {
    this.#without = without;
    const clock = this.#clock;
    this.socket = new PersistentSocket({
      name: "model",
      url: "ws://venue",
      clock,
      random: createSeededRandom(seed),
      logger: silentLogger,
      connector: this.#network.connector,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.socket.subscription(data.toString())?.alive(tsRecvNs, linkId),
      },
      heartbeat: { pingText: null, everyMs: 0, idleMs: 1e12 },
      protocol: {
        subscribe: (names) => `sub ${names.join(",")}`,
        unsubscribe: (names) => `unsub ${names.join(",")}`,
        maxNamesPerFrame: 50,
      },
      budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 30 }),
      pacers: () => [new MessagePacer(clock, 100, 1_000)],
      maxSubscriptions: NAMES.length,
    });
    for (const name of NAMES) {
      const probe = (): Promise<"dead" | "quiet"> => Promise.resolve(this.#isSent(name) ? "quiet" : "dead");
      this.socket.subscribe({ name, livenessMs: LIVENESS_MS, probe: isProbed ? probe : null });
    }
    this.socket.start();
  }

  get found(): readonly Check[] {
    return [...this.#found].sort();
  }

  get connectionCount(): number {
    return this.#network.connections.length;
  }

  blame(check: Check): void {
    if (!this.#without.includes(check)) this.#found.add(check);
  }

  /** What was asked for is forgotten with them: only what is asked for afterwards speaks when it lives again. */
  die(names: readonly string[]): void {
    for (const name of names) {
      this.#dead.add(name);
      for (const asked of this.#asked.values()) asked.delete(name);
    }
  }

  revive(): void {
    this.#dead.clear();
  }

  async pass(ms: number, isLooked = false): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      await this.#clock.advanceAsync(STEP_MS);
      this.#serve(this.#network.last);
      if (isLooked) this.#look();
    }
  }

  judgeStorm(connectionsBefore: number): void {
    for (const name of NAMES) {
      if (this.#dead.has(name)) {
        if ((this.#askedCount.get(name) ?? 0) > ASKED_MAX + this.connectionCount - connectionsBefore)
          this.blame("ASKED");
      } else if ((this.#liveLooks.get(name) ?? 0) < LIVE_SHARE_MIN * this.#lookCount) this.blame("LIVE");
    }
    if (this.connectionCount - connectionsBefore > REPLACED_MAX) this.blame("REPLACED");
  }

  judgeBack(): void {
    if (!NAMES.every((name) => this.#speaks(name))) this.blame("BACK");
  }

  #isSent(name: string): boolean {
    return this.#asked.get(this.#network.last)?.has(name) === true;
  }

  #speaks(name: string): boolean {
    return this.#clock.wallMs() - (this.#spokeMs.get(name) ?? 0) <= LIVENESS_MS;
  }

  #look(): void {
    this.#lookCount++;
    for (const name of NAMES) if (this.#speaks(name)) this.#liveLooks.set(name, (this.#liveLooks.get(name) ?? 0) + 1);
  }

  #serve(link: FakeConnection): void {
    if (link.isEnded) return;
    let asked = this.#asked.get(link);
    if (asked === undefined) {
      asked = new Set();
      this.#asked.set(link, asked);
      link.open();
    }
    for (const text of link.sent.slice(this.#heardCount.get(link) ?? 0)) {
      const [verb, list = ""] = text.split(" ");
      for (const name of list.split(",")) {
        if (verb === "unsub") asked.delete(name);
        else if (!this.#dead.has(name)) asked.add(name);
        else this.#askedCount.set(name, (this.#askedCount.get(name) ?? 0) + 1);
      }
    }
    this.#heardCount.set(link, link.sent.length);
    for (const name of asked) {
      if (this.#dead.has(name)) continue;
      link.receive(name);
      this.#spokeMs.set(name, this.#clock.wallMs());
    }
  }
}

function drawn(seed: number): readonly string[] {
  const random = createSeededRandom(seed);
  const order = new Map(NAMES.map((name) => [name, random.next()]));
  return [...NAMES].sort((left, right) => (order.get(left) ?? 0) - (order.get(right) ?? 0));
}

/** `counts`: how many die at the beginning, and how many more three minutes later. */
async function storm(venue: Venue, seed: number, counts: readonly [number, number]): Promise<void> {
  const names = drawn(seed);
  await venue.pass(10_000 + 700 * seed);
  const before = venue.connectionCount;
  venue.die(names.slice(0, counts[0]));
  await venue.pass(3 * MINUTE_MS, true);
  venue.die(names.slice(0, counts[0] + counts[1]));
  await venue.pass(WATCHED_MS - 3 * MINUTE_MS, true);
  venue.judgeStorm(before);
  venue.revive();
  await venue.pass(BACK_MS);
  venue.judgeBack();
}

const SCENES = {
  /** Delisted among those that are not. */
  few: (venue: Venue, seed: number) => storm(venue, seed, [1 + seed, 1]),
  /** Most of what the socket carries. */
  most: (venue: Venue, seed: number) => storm(venue, seed, [24 + seed, 2]),
  /** The connection itself: it stays open and carries nothing. */
  mute: async (venue: Venue, seed: number) => {
    await venue.pass(10_000 + 700 * seed);
    const before = venue.connectionCount;
    venue.die(NAMES);
    await venue.pass(MUTE_MS);
    if (venue.connectionCount === before) venue.blame("MUTE");
    venue.revive();
    await venue.pass(BACK_MS);
    venue.judgeBack();
  },
} as const;

type Scene = keyof typeof SCENES;

async function played(
  scene: Scene,
  seed: number,
  isProbed: boolean,
  without: readonly Check[] = [],
): Promise<readonly Check[]> {
  const venue = new Venue(seed, isProbed, without);
  await SCENES[scene](venue, seed);
  venue.socket.stop();
  return venue.found;
}

/** At each look at a stream. */
function atEachLook(change: (subscription: Subscription) => void): void {
  const { judge } = Subscription.prototype;
  vi.spyOn(Subscription.prototype, "judge").mockImplementation(function (this: Subscription, nowNs) {
    change(this);
    return judge.call(this, nowNs);
  });
}

const forgetDeath = (): void =>
  atEachLook((subscription) => {
    subscription.revived();
    subscription.diedWithMost = false;
  });

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  /** All that see it. */
  readonly checks: readonly Check[];
  readonly plant: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "each death of a stream replaces the connection again, of a few",
    scene: "few",
    checks: ["ASKED", "LIVE", "REPLACED"],
    plant: forgetDeath,
  },
  {
    name: "each death of a stream replaces the connection again, of most",
    scene: "most",
    checks: ["LIVE", "REPLACED"],
    plant: forgetDeath,
  },
  {
    name: "a dead stream is asked for at the same short spacing for ever",
    scene: "few",
    checks: ["ASKED"],
    plant: () =>
      atEachLook((subscription) => {
        subscription.aloneCount = 0;
      }),
  },
  {
    name: "a dead stream is never asked for again",
    scene: "few",
    checks: ["BACK"],
    plant: () =>
      atEachLook((subscription) => {
        if (subscription.wasReplacedFor) subscription.restsUntilNs = Number.POSITIVE_INFINITY;
      }),
  },
  {
    name: "streams that are silent together are taken for quiet",
    scene: "mute",
    checks: ["BACK", "MUTE"],
    plant: () => void vi.spyOn(Subscription.prototype, "judge").mockReturnValue("fine"),
  },
];

describe("the judge of a socket whose streams die", () => {
  const cases = SEEDS.flatMap((seed) => (Object.keys(SCENES) as Scene[]).map((scene) => [scene, seed] as const));

  it.each(cases)("has nothing to say of the socket as it is: %s, seed %i", async (scene, seed) => {
    expect(await played(scene, seed, true)).toEqual([]);
    expect(await played(scene, seed, false)).toEqual([]);
  });

  it.each(MUTANTS)("sees by $checks alone: $name", async ({ checks, plant, scene }) => {
    plant();
    for (const seed of SEEDS.slice(0, 2)) {
      expect(await played(scene, seed, false)).toEqual([...checks].sort());
      expect(await played(scene, seed, false, checks)).toEqual([]);
    }
  });
});
