/**
 * A random model. The stream client with the hub for ten virtual minutes in which one of its venues stops answering and
 * answers again, and its connection is lost. Positions of the healthy venue are current nearly all the time, and
 * nothing is requested twice on one connection. A client and a server that disagree about waiting are planted; both
 * checks must find that. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { StreamClient, type SubscriptionView } from "../../../client/stream/stream-client.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { FakeAccount } from "../../../engine/portfolio/test/fake-accounts.js";
import { ANSWER_MS } from "../../../client/stream/state.js";
import type { Fold, Frame } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

/** How long the client waits for a snapshot; null: its own time. */
const planted = vi.hoisted((): { waitMs: number | null } => ({ waitMs: null }));
vi.mock(import("../../../client/stream/state.js"), async (original) => {
  const state = await original();
  return {
    ...state,
    get WAITING_ANSWER_MS() {
      return planted.waitMs ?? state.WAITING_ANSWER_MS;
    },
  } as typeof state;
});

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];
const LOOKS = 2_400;
const LOOK_MS = 250;
/** For a machine that may be busy. */
const TIMEOUT_MS = 400_000;
/** A first snapshot waits five seconds for a silent venue, after each loss of the connection. */
const CURRENT_SHARE_MIN = 0.85;
const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const EXCHANGES = ["venueone", "venuetwo"] as const;

type Check = "positions are current" | "asked for once";
type Hear = (frame: Frame) => Frame;

class Run {
  readonly stream = new VirtualStream();
  readonly #random: Random;
  readonly #wayMs: number;
  readonly #links: VirtualClient[] = [];
  readonly #folds = new Map<string, Fold>();
  readonly #hear: Hear;
  /** If false, the venue is silent throughout, and no connection is lost. */
  readonly #changes: boolean;
  readonly #client: StreamClient;
  #view: SubscriptionView | null = null;
  #subscribeCount = 0;
  #lookCount = 0;
  #currentCount = 0;
  #isMute = false;
  muteCount = 0;

  constructor(seed: number, hear: Hear, changes = true) {
    this.#changes = changes;
    this.#random = createSeededRandom(seed);
    this.#wayMs = 20 + Math.floor(this.#random.next() * 200);
    this.#hear = hear;
    const { accounts, clock } = this.stream;
    const [alice, bob] = [accounts.one.addAccount("alice"), accounts.two.addAccount("bob")];
    alice.hold("BTC", 400);
    bob.hold("BTC", 3);
    accounts.two.admit = () => (this.#isMute ? new Promise(() => {}) : Promise.resolve(true));
    this.#client = new StreamClient({
      url: "ws://test/ws",
      random: () => this.#random.next(),
      clock: { nowMs: () => clock.monoNs() / 1e6, every: (ms, run) => this.#every(ms, run) },
      openSocket: (_, events) => {
        const link = this.stream.connect(this.#folds);
        link.keepsFrames = false;
        this.#links.push(link);
        link.onFrame = (frame) => this.#later(() => events.said(JSON.stringify(this.#hear(frame))));
        this.#later(() => events.opened());
        return {
          send: (text) => this.#sent(link, text),
          close: () => link.cut(),
        };
      },
    });
    const block = (account: FakeAccount) => ({ privateKey: account.id, apiKey: account.id, apiSecret: account.secret });
    const credentials = { venueone: block(alice), venuetwo: block(bob) };
    const wish = { topic: "positions", walletAddress: WALLET, exchanges: EXCHANGES, credentials };
    this.#client.subscribe(wish as unknown as Parameters<StreamClient["subscribe"]>[0], {
      changed: (view) => {
        this.#view = view;
      },
    });
    this.#client.start();
  }

  async play(): Promise<Check[]> {
    for (let look = 0; look < LOOKS; look++) {
      // Once the client has given up a connection, it can do nothing more wrong.
      if (!this.#changes && this.#links.length > 1) break;
      this.#lookCount++;
      // Spells of about a minute, from the start on, and a loss of the connection in every second one.
      if (look === 0 || (this.#changes && this.#random.next() < 0.004)) this.#isMute = !this.#isMute;
      if (this.#changes && this.#random.next() < 0.002) this.#links.at(-1)?.connection.end(1012, "RESTART");
      await this.stream.advanceAsync(LOOK_MS);
      this.stream.prove();
      if (this.#isMute) this.muteCount++;
      if (this.#view?.current === true) this.#currentCount++;
    }
    this.#client.stop();
    const failed: Check[] = [];
    if (this.currentShare < CURRENT_SHARE_MIN) failed.push("positions are current");
    if (this.#subscribeCount > this.#links.length) failed.push("asked for once");
    return failed;
  }

  get currentShare(): number {
    return this.#currentCount / this.#lookCount;
  }

  get counts(): string {
    return `current ${this.currentShare}, ${this.#subscribeCount} subscribes on ${this.#links.length} connections`;
  }

  #sent(link: VirtualClient, text: string): void {
    const frame = JSON.parse(text) as { readonly op: string };
    if (frame.op === "subscribe") this.#subscribeCount++;
    this.#later(() => link.op(frame));
  }

  /** Each direction takes a while; nothing is answered within a call. */
  #later(run: () => void): void {
    this.stream.clock.setTimer(run, this.#wayMs);
  }

  #every(intervalMs: number, run: () => void): () => void {
    let isEnded = false;
    const again = (): void => {
      this.stream.clock.setTimer(() => {
        if (isEnded) return;
        run();
        again();
      }, intervalMs);
    };
    again();
    return () => {
      isEnded = true;
    };
  }
}

/** A server whose heartbeats leave out keys whose snapshot waits. */
function withoutWaitingKeys(frame: Frame): Frame {
  if (frame.type !== "heartbeat") return frame;
  return { ...frame, heads: Object.fromEntries(Object.entries(frame.heads).filter(([, head]) => head > 0)) };
}

afterEach(() => {
  planted.waitMs = null;
});

describe("ten minutes with a venue that stops answering", () => {
  it.each(SEEDS)("hardly affect the healthy one (seed %i)", { timeout: TIMEOUT_MS }, async (seed) => {
    const run = new Run(seed, (frame) => frame);
    expect(await run.play(), `FUZZ_SEED=${seed}: ${run.counts}`).toEqual([]);
    expect(run.muteCount).toBeGreaterThan(LOOKS / 10);
    expect(run.muteCount).toBeLessThan(LOOKS);
  });

  // Either half alone is repaired by the other: the client is patient, or the heads make it so.
  it("fail both checks where an impatient client and wrong heads are planted", { timeout: TIMEOUT_MS }, async () => {
    planted.waitMs = ANSWER_MS;
    const run = new Run(1, withoutWaitingKeys, false);
    const failed = await run.play();
    expect(failed, run.counts).toEqual(["positions are current", "asked for once"]);
  });
});
