/**
 * A model of a venue that refuses us, under a judge that reads what reaches the venue alone: it refuses upgrades and names
 * a time, and it ends every connection on which certain names are asked for, until it mends. Virtual time; seeds decide
 * when. The socket as it is, which the judge must not blame, and one planted fault for each check: the check sees it, and
 * with the check taken out nothing does. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import { PersistentSocket } from "./socket.js";
import { SubscriptionHealth } from "./subscription-health.js";
import { Subscription } from "./subscriptions.js";
import { type FakeConnection, FakeNetwork } from "../test/fake-connector.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];
const STEP_MS = 100;
const MINUTE_MS = 60_000;
const HEALTHY = ["h0", "h1", "h2", "h3", "h4", "h5"];
const KILLERS = ["k0", "k1"];
const NAMES = [...HEALTHY, ...KILLERS];
const STORM_MS = 30 * MINUTE_MS;
/** Twice the longest pause between two trials of a name, and more. */
const MENDED_MS = 25 * MINUTE_MS;
/** From here on the storm has shown who it is; before, everybody is suspected. */
const SETTLED_MS = 10 * MINUTE_MS;
/** Of a healthy stream, once it is settled: two killers are tried ever more rarely. */
const SPOKEN_SHARE_MIN = 0.98;
const TOLD_S = 40;
/** Connections made in a settled minute, on the average: each trial of a killer costs one. */
const RENEWED_MAX = 1;

/**
 * EARLY: no connect comes before the time that a refusal named. SPOKEN: healthy streams deliver nearly all the time. BACK: a
 * name that is well again is asked for again. ALONE: a name that was given up is asked for with no other. RENEWED: killers
 * that are known cost few connections.
 */
type Check = "EARLY" | "SPOKEN" | "BACK" | "ALONE" | "RENEWED";

afterEach(() => {
  vi.restoreAllMocks();
});

class Venue {
  readonly clock = new VirtualClock();
  readonly #network = new FakeNetwork();
  readonly #without: readonly Check[];
  readonly #found = new Map<Check, string>();
  readonly #begun = new Set<FakeConnection>();
  readonly #givenUp = new Set<string>();
  readonly #startedMs = this.clock.wallMs();
  readonly #sentCount = new Map<FakeConnection, number>();
  readonly #asked = new Map<FakeConnection, Set<string>>();
  readonly #killAt = new Map<FakeConnection, number>();
  readonly #spokenMs = new Map<string, number>(HEALTHY.map((name) => [name, 0]));
  #judgedMs = 0;
  #settledLinkCount = 0;
  #toldUntilMs = 0;
  /** Upgrades that are refused from here on. */
  refusalsLeft = 0;
  isMended = false;
  readonly socket: PersistentSocket;

  constructor(seed: number, without: readonly Check[]) {
    this.#without = without;
    this.socket = new PersistentSocket({
      name: "model",
      url: "ws://venue",
      clock: this.clock,
      random: createSeededRandom(seed),
      logger: silentLogger,
      connector: this.#network.connector,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.socket.subscription(data.toString())?.alive(tsRecvNs, linkId),
        onQuarantined: (name) => this.#givenUp.add(name),
      },
      heartbeat: { pingText: null, everyMs: 0, idleMs: 1e12 },
      protocol: {
        subscribe: (names) => `sub ${names.join(",")}`,
        unsubscribe: (names) => `unsub ${names.join(",")}`,
        maxNamesPerFrame: 10,
      },
      budget: new ConnectionBudget(this.clock, { maxConnections: 4, connectsPerMinute: 60 }),
      pacers: () => [new MessagePacer(this.clock, 100, 1_000)],
      maxSubscriptions: NAMES.length,
      connectTimeoutMs: 1e9,
    });
    for (const name of NAMES) this.socket.subscribe({ name, livenessMs: 0, probe: null });
    this.socket.start();
  }

  get found(): readonly Check[] {
    return [...this.#found.keys()];
  }

  say(check: Check, text: string): void {
    if (!this.#without.includes(check) && !this.#found.has(check)) this.#found.set(check, text);
  }

  nowMs(): number {
    return this.clock.wallMs() - this.#startedMs;
  }

  pass(ms: number): void {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.#serve(this.#network.last);
      this.clock.advance(STEP_MS);
    }
  }

  judgeShares(): void {
    for (const [name, spokenMs] of this.#spokenMs) {
      const share = spokenMs / this.#judgedMs;
      if (share < SPOKEN_SHARE_MIN) this.say("SPOKEN", `${name} spoke ${(100 * share).toFixed(1)} % of the time`);
    }
  }

  judgeRenewals(): void {
    const perMinute = (this.#settledLinkCount * MINUTE_MS) / this.#judgedMs;
    if (perMinute > RENEWED_MAX) this.say("RENEWED", `${perMinute.toFixed(1)} connections a minute`);
  }

  judgeBack(): void {
    const asked = this.#asked.get(this.#network.last);
    const missing = NAMES.filter((name) => asked?.has(name) !== true);
    if (missing.length > 0) this.say("BACK", `${missing.join(" ")} well again, and not asked for`);
  }

  #serve(link: FakeConnection): void {
    if (!this.#begun.has(link)) this.#begin(link);
    const isSettled = this.nowMs() > SETTLED_MS && this.refusalsLeft === 0;
    if (isSettled) this.#judgedMs += STEP_MS;
    if (link.isEnded) return;
    const asked = this.#hear(link);
    const killAtMs = this.#killAt.get(link);
    if (killAtMs !== undefined && this.nowMs() >= killAtMs) {
      link.end(1006);
      return;
    }
    for (const name of asked) {
      if (!this.isMended && KILLERS.includes(name)) continue;
      link.receive(name);
      if (isSettled && HEALTHY.includes(name)) this.#spokenMs.set(name, (this.#spokenMs.get(name) ?? 0) + STEP_MS);
    }
  }

  #begin(link: FakeConnection): void {
    this.#begun.add(link);
    if (this.nowMs() > SETTLED_MS) this.#settledLinkCount++;
    if (this.nowMs() < this.#toldUntilMs) this.say("EARLY", `${this.#toldUntilMs - this.nowMs()} ms before its time`);
    if (this.refusalsLeft === 0) {
      link.open();
      return;
    }
    this.refusalsLeft--;
    this.#toldUntilMs = this.nowMs() + TOLD_S * 1_000;
    link.handlers.onClose(1006, "refused", { status: 429, retryAfter: String(TOLD_S) });
  }

  /** What was asked for on the connection; a killer has its end set, as venues do within 100 ms. */
  #hear(link: FakeConnection): ReadonlySet<string> {
    const asked = this.#asked.get(link) ?? new Set<string>();
    this.#asked.set(link, asked);
    for (const text of link.sent.slice(this.#sentCount.get(link) ?? 0)) {
      const [verb, list = ""] = text.split(" ");
      const names = list.split(",");
      const given = names.filter((name) => this.#givenUp.has(name));
      if (verb === "sub" && given.length > 0 && names.length > 1) this.say("ALONE", `${given.join(" ")} among ${list}`);
      for (const name of names) {
        if (verb === "sub") asked.add(name);
        else asked.delete(name);
        if (!this.isMended && verb === "sub" && KILLERS.includes(name)) this.#killAt.set(link, this.nowMs() + STEP_MS);
      }
    }
    this.#sentCount.set(link, link.sent.length);
    return asked;
  }
}

const SCENES = {
  /** It is limited for a while, and says for how long. */
  refused: (venue: Venue, seed: number) => {
    venue.pass(MINUTE_MS);
    venue.refusalsLeft = 3;
    venue.isMended = true;
    venue.socket.reconnect("a limit");
    venue.pass((5 + seed) * MINUTE_MS);
    venue.judgeBack();
  },
  /** Two names end every connection on which they are asked for, for an hour; then they do not. */
  killers: (venue: Venue, seed: number) => {
    venue.pass(STORM_MS + seed * 10_000);
    venue.judgeShares();
    venue.judgeRenewals();
    venue.isMended = true;
    venue.pass(MENDED_MS);
    venue.judgeBack();
  },
} as const;

type Scene = keyof typeof SCENES;

function played(scene: Scene, seed: number, without: readonly Check[] = []): readonly Check[] {
  const venue = new Venue(seed, without);
  SCENES[scene](venue, seed);
  venue.socket.stop();
  return venue.found;
}

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [Check, ...Check[]];
  readonly plant: () => void;
}

/** After a name was given up. */
function afterGivingUp(change: (subscription: Subscription) => void): void {
  const { suspect } = SubscriptionHealth.prototype;
  const known = new Set<Subscription>();
  vi.spyOn(Subscription.prototype, "requested").mockImplementation(function (this: Subscription, nowNs) {
    known.add(this);
    this.aliveNs = nowNs;
  });
  vi.spyOn(SubscriptionHealth.prototype, "suspect").mockImplementation(function (this: SubscriptionHealth, names) {
    suspect.call(this, names);
    for (const subscription of known) if (subscription.isQuarantined) change(subscription);
  });
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "a name that ends every connection is never given up",
    scene: "killers",
    checks: ["SPOKEN", "RENEWED"],
    plant: () => void vi.spyOn(SubscriptionHealth.prototype, "suspect").mockReturnValue(),
  },
  {
    name: "the time that a refused upgrade names is not waited for",
    scene: "refused",
    checks: ["EARLY"],
    plant: () => void vi.spyOn(ConnectionBudget.prototype, "hold").mockReturnValue(),
  },
  {
    name: "a name that was given up is never asked for again",
    scene: "killers",
    checks: ["BACK"],
    plant: () =>
      afterGivingUp((subscription) => {
        subscription.retryAtNs = Number.POSITIVE_INFINITY;
      }),
  },
  {
    name: "a name that was given up is tried again at once, and again",
    scene: "killers",
    checks: ["SPOKEN", "RENEWED"],
    plant: () =>
      afterGivingUp((subscription) => {
        subscription.retryAtNs = 0;
      }),
  },
  {
    name: "a name that was given up is asked for with the others on the next connection",
    scene: "killers",
    checks: ["ALONE", "SPOKEN", "RENEWED"],
    plant: () =>
      afterGivingUp((subscription) => {
        subscription.isQuarantined = false;
        subscription.cleared();
      }),
  },
];

describe("the judge of a venue that refuses", () => {
  it.each(SEEDS.flatMap((seed) => (Object.keys(SCENES) as Scene[]).map((scene) => [scene, seed] as const)))(
    "has nothing to say of the socket as it is: %s, seed %i",
    (scene, seed) => {
      expect(played(scene, seed)).toEqual([]);
    },
  );

  it.each(MUTANTS)("sees by $checks alone that $name", ({ checks, plant, scene }) => {
    plant();
    const [seed = 1] = SEEDS;
    expect([...played(scene, seed)].sort()).toEqual([...checks].sort());
    expect(played(scene, seed, checks)).toEqual([]);
  });
});
