/**
 * A random model. Accounts whose positions and orders move, whose streams are lost and taken away and whose venues
 * fail; clients of several callers that are cut, resumed, slowed and that change their subscriptions. Every frame is
 * next in line by `prevSeq` and fits the state before it (the fold throws otherwise). No order event is merged, or lost
 * without a resync. In the end what each client folded equals a read of its account. FUZZ_SEED replays one seed.
 */
import { describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { Market } from "../../../engine/market/market.js";
import type { FakeAccount, AccountVenue } from "../../../engine/portfolio/test/fake-accounts.js";
import { aggregatedPosition } from "../../accounts/position-views.js";
import type { Fold } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3] : [Number(process.env.FUZZ_SEED)];
const MINUTES = 4;
/** Tens of thousands of turns, on a machine that may be busy. */
const TIMEOUT_MS = 400_000;
const KIB = 1024;
const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

interface Wish {
  readonly account: FakeAccount;
  readonly frame: Record<string, unknown>;
}

class Run {
  readonly stream = new VirtualStream({ softBufferBytes: 8 * KIB, framesPerSecond: 10_000, stalledMs: 600_000 });
  readonly clients: VirtualClient[] = [];
  readonly venues: readonly AccountVenue[] = [this.stream.accounts.one, this.stream.accounts.two];
  readonly accounts: readonly { readonly venue: AccountVenue; readonly account: FakeAccount }[];
  /** The request of each key. */
  readonly wishes = new Map<string, Wish>();
  readonly #random: Random;
  lagCount = 0;
  resumedCount = 0;
  missedCount = 0;
  resyncCount = 0;
  /** Number of resyncs of order keys that had no subscriber meanwhile. */
  unwatchedCount = 0;
  /** Order updates that were not the next one of their key. */
  mergedOrders = 0;

  constructor(seed: number) {
    this.#random = createSeededRandom(seed);
    const [one, two] = this.venues as [AccountVenue, AccountVenue];
    // Three accounts for two streams: one is polled, and not always the same.
    this.accounts = [
      ...["alice", "bob", "carol"].map((name) => ({ venue: one, account: one.addAccount(name) })),
      { venue: two, account: two.addAccount("dave") },
    ];
    for (let index = 0; index < 5; index++) this.clients.push(this.connect());
  }

  below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  async step(): Promise<void> {
    for (let count = this.below(5); count >= 0; count--) this.moveAccount();
    if (this.below(5) === 0) this.moveVenue();
    if (this.below(4) === 0) await this.moveClient(this.below(this.clients.length));
    await this.stream.advanceAsync(10 + this.below(15) * 10);
    for (const client of this.clients) {
      if (!client.isReading) client.read(this.below(2 * KIB));
      this.stream.turn();
    }
  }

  moveAccount(): void {
    const { venue, account } = this.pick(this.accounts);
    const symbol = this.pick([...venue.markets.keys()]);
    const open = [...account.open.keys()];
    const move = this.below(12);
    if (move < 3) account.hold(symbol, this.below(9) - 4, { entryPrice: String(90 + this.below(3)) });
    else if (move < 5) account.hold(symbol, 3, { unrealizedPnl: String(this.below(3)), leverage: 2 + this.below(2) });
    else if (move < 8) account.rest(symbol, 1 + this.below(20));
    else if (open.length > 0 && move < 11) account.fill(this.pick(open), 1 + this.below(8), this.below(9) === 0);
    else if (open.length > 0) account.cancel(this.pick(open));
    // Lists stay short, so that the size of a snapshot does not matter.
    if (account.open.size > 12) for (const id of [...account.open.keys()].slice(0, 6)) account.cancel(id);
  }

  moveVenue(): void {
    const { venue, account } = this.pick(this.accounts);
    const market = this.pick([...venue.markets.values()]);
    const move = this.below(10);
    if (move === 0) account.drop();
    else if (move < 4) account.restore();
    else if (move === 4) account.end();
    else if (move === 5) venue.failure = this.below(2) === 0 ? null : { code: "TIMEOUT", retryAfterMs: null };
    else if (move === 6) venue.failure = null;
    else this.stream.tick(market, `${90 + this.below(20)}.${1 + this.below(8)}`);
  }

  async moveClient(index: number): Promise<void> {
    const client = this.clients[index] as VirtualClient;
    const move = client.end === null && client.connection.isOpen ? this.below(10) : 0;
    const subs = [...client.folds.keys()];
    if (move < 2) this.reconnect(index);
    else if (move < 4) {
      client.isReading = false;
      client.pathBytesMax = 2 * KIB;
    } else if (move < 6) {
      client.isReading = true;
      client.read(Number.POSITIVE_INFINITY);
      this.stream.turn();
    } else if (move === 6 && subs.length > 0) client.op({ op: "unsubscribe", subs: [this.pick(subs)] });
    else if (move === 7 && subs.length > 0) client.op({ op: "resume", subs: [this.placeOf(client, this.pick(subs))] });
    else await this.subscribe(client);
  }

  async subscribe(client: VirtualClient): Promise<void> {
    const { venue, account } = this.pick(this.accounts);
    const frame = {
      topic: this.pick(["positions", "orders"]),
      walletAddress: WALLET,
      exchanges: [venue.venue],
      credentials: { [venue.venue]: { privateKey: account.id, apiKey: account.id, apiSecret: account.secret } },
    };
    client.onFrame = (answer) => {
      this.note(answer);
      if (answer.type === "subscribed") for (const { sub } of answer.subs) this.wishes.set(sub, { account, frame });
    };
    client.op({ op: "subscribe", ...frame });
    // The reply may wait in the path of a slow reader, but the key is still read from it.
    await this.stream.advanceAsync(20);
  }

  /** The position that the client reports, mostly the true one, with the credentials of the key. */
  placeOf(client: VirtualClient, sub: string): Record<string, unknown> {
    const { epoch, seq } = client.folds.get(sub) as Fold;
    const { exchanges, credentials } = this.wishes.get(sub)?.frame ?? {};
    // Sometimes from a start long gone.
    return { sub, epoch: this.below(4) === 0 ? "gone" : epoch, seq, exchanges, credentials };
  }

  reconnect(index: number): void {
    const old = this.clients[index] as VirtualClient;
    old.cut();
    this.stream.forget(old);
    const client = this.connect(old.folds);
    this.clients[index] = client;
    const subs = [...old.folds.keys()].map((sub) => this.placeOf(client, sub));
    if (subs.length > 0) client.op({ op: "resume", subs });
  }

  connect(folds?: Map<string, Fold>): VirtualClient {
    const client = this.stream.connect(folds);
    client.keepsFrames = false;
    client.onFrame = (frame) => this.note(frame);
    return client;
  }

  note(frame: Parameters<VirtualClient["onFrame"]>[0]): void {
    if (frame.type === "lagging") this.lagCount++;
    if (frame.type === "resync") this.resyncCount++;
    if (frame.type === "resync" && frame["reason"] === "UNWATCHED") this.unwatchedCount++;
    if (frame.type === "error") throw new Error(JSON.stringify(frame));
    if (frame.type === "update" && frame.sub.startsWith("orders:") && frame.seq !== frame.prevSeq + 1)
      this.mergedOrders++;
    if (frame.type !== "resumed") return;
    for (const { missed } of frame.subs) {
      if (missed === true) this.missedCount++;
      else this.resumedCount++;
    }
  }

  /** Everyone is connected and reading, every venue answers, every stream is back; then nothing moves any more. */
  async settle(): Promise<void> {
    for (const venue of this.venues) venue.failure = null;
    for (const { account } of this.accounts) account.restore();
    for (const [index, client] of this.clients.entries()) {
      client.isReading = true;
      client.read(Number.POSITIVE_INFINITY);
      this.stream.turn();
      if (client.end !== null || !client.connection.isOpen) this.reconnect(index);
    }
    // A polled account's open orders have their turn once a minute where three share a pace of three.
    for (let second = 0; second < 70; second++) {
      this.stream.prove();
      await this.stream.advanceAsync(1_000);
    }
  }

  expectSameAsVenue(fold: Fold): void {
    const { account, frame } = this.wishes.get(fold.sub) as Wish;
    const venue = this.accounts.find((one) => one.account === account)?.venue as AccountVenue;
    if (frame["topic"] === "orders") {
      const expected = [...account.open.values()].map((order) => `${order.venueOrderId} ${order.filledLots}`).sort();
      const shown = [...fold.rows.values()].map((row) => `${row["orderId"]} ${Number(row["filledQuantity"]) * 1_000}`);
      expect(shown.sort(), fold.sub).toEqual(expected);
      return;
    }
    const { clock } = this.stream;
    const now = { wallMs: clock.wallMs(), monoNs: clock.monoNs() };
    const facts = (row: Readonly<Record<string, unknown>>) => {
      const { asOf: _asOf, source: _source, ageMs: _ageMs, ...rest } = row;
      return rest;
    };
    const expected = [...account.positions.values()].map((position) => {
      const market = venue.markets.get(position.symbol) as Market;
      const contract = { instrument: market.instrument, market };
      return facts(aggregatedPosition(position, contract, WALLET, { asOfMs: now.wallMs, source: "stream" }, now));
    });
    const byKey = (left: Readonly<Record<string, unknown>>, right: Readonly<Record<string, unknown>>) =>
      `${left["symbol"]}${left["direction"]}` < `${right["symbol"]}${right["direction"]}` ? -1 : 1;
    expect([...fold.rows.values()].map(facts).sort(byKey), fold.sub).toEqual(expected.sort(byKey));
    expect(["LIVE", "SNAPSHOT"], fold.sub).toContain(fold.fields[venue.venue]?.["state"]);
  }
}

describe("four minutes of random account changes, cuts, resumes and slow readers", () => {
  it.each(SEEDS)("end in the venues' own state (seed %i)", { timeout: TIMEOUT_MS }, async (seed) => {
    const run = new Run(seed);
    const untilMs = run.stream.clock.wallMs() + MINUTES * 60_000;
    try {
      while (run.stream.clock.wallMs() < untilMs) await run.step();
      await run.settle();
      let compared = 0;
      for (const client of run.clients) {
        expect(client.connection.isOpen && !client.connection.isLagging).toBe(true);
        expect(client.connection.subscriptionCount).toBe(client.folds.size);
        for (const fold of client.folds.values()) {
          run.expectSameAsVenue(fold);
          compared++;
        }
      }
      expect(run.mergedOrders).toBe(0);
      // The run reached the cases it is about.
      expect(compared).toBeGreaterThan(5);
      expect(Math.min(run.lagCount, run.resumedCount, run.missedCount)).toBeGreaterThan(5);
      expect(run.unwatchedCount).toBeGreaterThan(0);
      for (const client of run.clients) client.cut();
      expect(run.stream.hub.counts).toMatchObject({ connections: 0, subscriptions: 0, keys: 0, lagging: 0 });
      expect(run.stream.portfolio.counts()).toEqual({ accounts: 0, polled: 0 });
      expect(run.venues.map((venue) => venue.sessionsOpen)).toEqual([0, 0]);
      expect(run.stream.hub.taps.count).toBe(0);
    } catch (error) {
      throw new Error(`FUZZ_SEED=${seed}: ${(error as Error).message}`, { cause: error });
    }
  });
});
