/**
 * Watched accounts while connections are cut, frames and acknowledgements are lost and reads are slow, fail or hang, under
 * a judge that holds what is LIVE against what the venue held. Virtual time; a seed decides what happens. One planted fault
 * for each check. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { AccountStream } from "../../../engine/ports.js";
import { Resync } from "../book/resync.js";
import { PersistentSocket } from "../net/socket.js";
import { TestSource, WatchBench } from "../test/watched-venue.js";
import { PositionRefresh } from "./position-refresh.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3, 4, 5, 6] : [Number(process.env.FUZZ_SEED)];
const KEYS = ["alice", "bob"];
const STEP_MS = 250;
const WILD_STEPS = 1_200;
/** Without a fault for so long: asked for again, read, and compared by the regular read. */
const CALM_STEPS = 720;
/** What no frame reports is found by the regular read, which takes no longer than its time. */
const FOUND_WITHIN_MS = 60_000 + 5_000 + 2 * 1_000;
/** Connections hold and no frame comes: only the regular read finds what changed. */
const MUTE_STEPS = 720;
/** In that time reads fail for so long, and then are answered for longer than any wait for a repeat. */
const FAIL_STEPS = 48;
const ANSWER_STEPS = 140;
/** A regular read that failed at its turn is repeated after the failures with one wait more. */
const REPEATED_WITHIN_MS = FOUND_WITHIN_MS + FAIL_STEPS * STEP_MS + 20_000;

/**
 * ACKED: who becomes LIVE shows what the venue held since the last channel was acknowledged. HELD: what is LIVE was held
 * within the time of a regular read. BACK: after a calm it is LIVE, and what is held. NOTHING: nothing runs on after the end.
 */
type Check = "ACKED" | "HELD" | "BACK" | "NOTHING";

class Play {
  readonly #bench: WatchBench;
  readonly #random: Random;
  readonly #streams = new Map<string, AccountStream>();
  /** By account, what the venue held, and until when: the last one is held now. */
  readonly #history = new Map<string, { readonly lots: number; untilMs: number }[]>();
  readonly #acknowledgedMs = new Map<string, number>();
  readonly #wasLive = new Set<string>();
  readonly #answered = new Map<object, number>();
  /** Acknowledgements that are lost for certain. */
  #toLoseCount = 0;
  readonly found = new Set<Check>();

  constructor(seed: number) {
    this.#random = createSeededRandom(seed);
    this.#bench = new WatchBench({ seed });
  }

  async run(): Promise<Set<Check>> {
    for (const key of KEYS) {
      this.#change(key);
      this.#streams.set(key, this.#bench.open(key));
    }
    for (let step = 0; step < WILD_STEPS; step++) await this.#step(true);
    await this.#calm();
    await this.#mute();
    await this.#calm();
    this.#bench.watcher.stop();
    await this.#bench.clock.advanceAsync(30_000);
    if (this.#bench.clock.pendingTimerCount > 0) this.found.add("NOTHING");
    return this.found;
  }

  async #step(isWild: boolean): Promise<void> {
    const { clock, venue } = this.#bench;
    if (this.#happens(0.05)) {
      venue.readMs = isWild ? Math.floor(this.#random.next() * 4_000) : 20;
      const faults = ["truly", "truly", "truly", "fails", "hangs", "refuses"] as const;
      venue.answers = isWild ? (faults[Math.floor(this.#random.next() * faults.length)] ?? "truly") : "truly";
      venue.refusedMs = 2_000;
    }
    for (const key of KEYS) this.#news(key, isWild);
    await clock.advanceAsync(STEP_MS);
    this.#connect(isWild);
    await clock.advanceAsync(0);
    this.#judge();
  }

  /** Begins with the loss of the connection, and of one acknowledgement on the next. */
  async #calm(): Promise<void> {
    if (!this.#bench.network.last.isEnded) this.#bench.network.last.end(1006);
    this.#toLoseCount = 1;
    for (let step = 0; step < CALM_STEPS; step++) await this.#step(false);
    for (const key of KEYS) if (this.#shown(key) !== this.#bench.venue.lots.get(key)) this.found.add("BACK");
  }

  async #mute(): Promise<void> {
    const { clock, venue } = this.#bench;
    let turnStep = Math.floor(this.#random.next() * ANSWER_STEPS);
    for (let step = 0; step < MUTE_STEPS; step++) {
      if (step === turnStep) {
        venue.answers = venue.answers === "truly" ? "fails" : "truly";
        turnStep += venue.answers === "truly" ? ANSWER_STEPS : FAIL_STEPS;
      }
      for (const key of KEYS) if (this.#happens(0.05)) this.#change(key);
      await clock.advanceAsync(STEP_MS);
      this.#judge(REPEATED_WITHIN_MS);
    }
    venue.answers = "truly";
  }

  /** In the calm nothing happens but what was lost before. */
  #news(key: string, isWild: boolean): void {
    if (!isWild) return;
    if (this.#happens(0.05)) {
      this.#change(key);
      if (this.#happens(0.7) && this.#isOpen()) this.#bench.tell(key);
    }
    if (this.#happens(0.01) && this.#isOpen()) this.#bench.receive({ key });
  }

  /** The venue's end of the connection. */
  #connect(isWild: boolean): void {
    const { network } = this.#bench;
    const connection = network.last;
    if (connection.isEnded) return;
    if (connection.sent.length === 0) connection.open();
    if (isWild && this.#happens(0.02)) {
      connection.end(1006);
      return;
    }
    const fromIndex = this.#answered.get(connection) ?? 0;
    this.#answered.set(connection, connection.sent.length);
    for (const text of connection.sent.slice(fromIndex)) {
      const name = /"subscribe":"([^"]+)"/.exec(text)?.[1];
      if (name === undefined || (isWild && this.#happens(0.15)) || this.#toLoseCount-- > 0) continue;
      this.#acknowledgedMs.set(name.split("/")[1] ?? "", this.#bench.clock.trueMs());
      this.#bench.receive({ ack: name });
    }
  }

  #judge(foundWithinMs = FOUND_WITHIN_MS): void {
    const nowMs = this.#bench.clock.trueMs();
    for (const key of KEYS) {
      const lots = this.#shown(key);
      if (lots === null) {
        this.#wasLive.delete(key);
        continue;
      }
      if (!this.#wasLive.has(key) && !this.#heldSince(key, lots, this.#acknowledgedMs.get(key) ?? nowMs))
        this.found.add("ACKED");
      this.#wasLive.add(key);
      if (!this.#heldSince(key, lots, nowMs - foundWithinMs)) this.found.add("HELD");
    }
  }

  #heldSince(key: string, lots: number, sinceMs: number): boolean {
    return (this.#history.get(key) ?? []).some((held) => held.lots === lots && held.untilMs >= sinceMs);
  }

  #change(key: string): void {
    const history = this.#history.get(key) ?? [];
    const last = history.at(-1);
    if (last !== undefined) last.untilMs = this.#bench.clock.trueMs();
    const lots = 1 + Math.floor(this.#random.next() * 1e9);
    history.push({ lots, untilMs: Number.POSITIVE_INFINITY });
    this.#history.set(key, history);
    this.#bench.venue.lots.set(key, lots);
  }

  #shown(key: string): number | null {
    const stream = this.#streams.get(key);
    return stream === undefined ? null : this.#bench.lots(stream);
  }

  #isOpen(): boolean {
    const { connections } = this.#bench.network;
    const connection = connections.at(-1);
    return connection !== undefined && !connection.isEnded && connection.sent.length > 0;
  }

  #happens(part: number): boolean {
    return this.#random.next() < part;
  }
}

const MUTANTS: readonly { readonly name: string; readonly check: Check; readonly plant: () => void }[] = [
  {
    name: "a read goes on when its connection is lost",
    check: "ACKED",
    plant: () => void vi.spyOn(Resync.prototype, "cancel").mockReturnValue(),
  },
  {
    name: "the venue is not asked while the streams seem to tell all",
    check: "HELD",
    plant: () => void vi.spyOn(PositionRefresh.prototype, "isDue", "get").mockReturnValue(false),
  },
  {
    name: "a read that failed counts as answered",
    check: "HELD",
    plant: () => {
      const { loadPositions } = TestSource.prototype;
      vi.spyOn(TestSource.prototype, "loadPositions").mockImplementation(async function (this: TestSource, call) {
        return (await loadPositions.call(this, call)) ?? (() => ({ ok: true, differences: 0, agrees: false }));
      });
    },
  },
  {
    name: "what is not acknowledged is not asked for again",
    check: "BACK",
    plant: () => void vi.spyOn(PersistentSocket.prototype, "resubscribe").mockReturnValue(),
  },
  {
    name: "the socket is left running at the end",
    check: "NOTHING",
    plant: () => void vi.spyOn(PersistentSocket.prototype, "stop").mockReturnValue(),
  },
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the judge of watched accounts", () => {
  it.each(SEEDS)("finds no fault in them as they are, seed %i", async (seed) => {
    expect([...(await new Play(seed).run())]).toEqual([]);
  });

  it.each(MUTANTS)("sees by $check that $name", async ({ check, plant }) => {
    plant();
    const found = new Set<Check>();
    for (const seed of SEEDS) for (const one of await new Play(seed).run()) found.add(one);
    expect([...found]).toContain(check);
  });
});
