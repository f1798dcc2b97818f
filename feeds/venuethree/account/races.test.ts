/**
 * Watched accounts while reads are under way: what the stream reported since is not undone by an answer that is older.
 */
import { describe, expect, it } from "vitest";
import type { AccountEvent, AccountSession, AccountStream } from "../../../engine/ports.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { ConnectionLife } from "../../shared/account/connection-life.js";
import { StreamedReads } from "../../shared/account/streamed-reads.js";
import { VerifiedReads } from "../../shared/account/verified-reads.js";
import { AccountState } from "./state.js";
import type { VenuethreeAccountStreams } from "./streams.js";
import { decodeOrder, decodeTx } from "./wire.js";
import { watchedOrders } from "../orders/watched-orders.js";
import { account, mine, order, position } from "../test/account-rows.js";
import { accountStreamsOf } from "../test/account-streams.js";
import {
  ACCOUNT,
  API_KEY,
  BTC,
  CLIENT_INDEX,
  CLOSE_LONG,
  createHarness,
  type Harness,
  OPTIONS,
  PUBLIC_KEY,
  sentTx,
} from "../test/trading-harness.js";

const LOTS_BEFORE = 2_500;

/** A venue whose answers are given by hand: calls by name, in the order in which they came. */
class HandVenue {
  readonly harness: Harness;
  readonly #waiting: { readonly name: string; readonly settle: (result: HttpResult) => void }[] = [];

  constructor() {
    this.harness = createHarness();
    const { http } = this.harness;
    const step = (request: HttpRequest): Promise<HttpResult> => {
      http.step(step);
      const name = /v1\/(\w+)/.exec(request.path)?.[1] ?? "";
      return new Promise((settle) => {
        this.#waiting.push({ name, settle });
      });
    };
    http.step(step);
  }

  get waiting(): readonly string[] {
    return this.#waiting.map(({ name }) => name);
  }

  /** Answers the oldest call of this name. */
  async answer(name: string, body: Record<string, unknown>): Promise<void> {
    await this.settle(name, this.harness.http.response(200, { code: 200, ...body }));
  }

  async settle(name: string, result: HttpResult): Promise<void> {
    const index = this.#waiting.findIndex((call) => call.name === name);
    const [call] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (call === undefined) throw new Error(`${name} was not asked, but ${this.waiting.join(" ")}`);
    call.settle(result);
    await turns();
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}

const KEYS = { api_keys: [{ account_index: ACCOUNT, api_key_index: API_KEY, nonce: 1, public_key: PUBLIC_KEY }] };
const held = (size: string) => ({ accounts: [account({ positions: [position({ position: size })] })] });

function frameText(name: "orders" | "trades" | "positions", rows: unknown, type = "update"): string {
  const channel = `account_all_${name}`;
  return JSON.stringify({ type: `${type}/${channel}`, channel: `${channel}:${ACCOUNT}`, [name]: rows });
}

const positionFrame = (size: string) => frameText("positions", { 1: position({ position: size }) });
const orderFrame = (row: Record<string, unknown>) => frameText("orders", { 1: [row] });

interface Scene {
  readonly venue: HandVenue;
  readonly network: FakeNetwork;
  readonly streams: VenuethreeAccountStreams;
  readonly events: AccountEvent[];
  readonly session: AccountSession;
  readonly stream: AccountStream;
  receive(text: string): void;
  advance(ms: number): Promise<void>;
  lots(): readonly number[];
}

/** An account whose channels are acknowledged, and whose first reads are under way. */
async function acknowledged(): Promise<Scene> {
  const venue = new HandVenue();
  const { clock } = venue.harness;
  const network = new FakeNetwork();
  const streams = accountStreamsOf(venue.harness, network, { seed: 3 });
  const session = venue.harness.open();
  const events: AccountEvent[] = [];
  const opened = streams.openAccountStream(session, (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  await venue.answer("apikeys", KEYS);
  network.last.open();
  const scene: Scene = {
    venue,
    network,
    streams,
    events,
    session,
    stream: opened.stream,
    receive: (text) => network.last.receive(text),
    advance: async (ms) => {
      for (let left = ms; left > 0; left -= 100) {
        clock.advance(Math.min(100, left));
        await turns();
      }
    },
    lots: () => {
      const read = opened.stream.positions();
      return read.ok ? read.value.map(({ qtyLots }) => qtyLots) : [];
    },
  };
  await scene.advance(100);
  for (const name of ["orders", "trades"] as const) scene.receive(frameText(name, {}, "subscribed"));
  scene.receive(frameText("positions", { 1: position() }, "subscribed"));
  await turns();
  expect(venue.waiting).toEqual(["account", "accountActiveOrders", "trades"]);
  return scene;
}

async function live(): Promise<Scene> {
  const scene = await acknowledged();
  await scene.venue.answer("account", held("0.02500"));
  await scene.venue.answer("accountActiveOrders", { orders: [] });
  await scene.venue.answer("trades", { trades: [] });
  await scene.venue.answer("accountInactiveOrders", { orders: [] });
  expect([scene.events.at(-1), scene.lots()]).toEqual([{ kind: "state", state: "LIVE" }, [LOTS_BEFORE]]);
  return scene;
}

describe("a reconciliation", () => {
  it("does not undo a picture of positions that was pushed while it read", async () => {
    const scene = await acknowledged();
    const { venue } = scene;
    await venue.answer("account", held("0.02500"));
    await venue.answer("accountActiveOrders", { orders: [] });
    scene.receive(positionFrame("0.01000"));
    await venue.answer("trades", { trades: [] });
    await venue.answer("accountInactiveOrders", { orders: [] });
    expect([scene.events.at(-1), scene.lots()]).toEqual([{ kind: "state", state: "LIVE" }, [1_000]]);
  });

  it("takes the venue's positions where nothing was pushed since it began", async () => {
    const scene = await acknowledged();
    const { venue } = scene;
    await venue.answer("account", held("0.00700"));
    await venue.answer("accountActiveOrders", { orders: [] });
    await venue.answer("trades", { trades: [] });
    await venue.answer("accountInactiveOrders", { orders: [] });
    expect(scene.lots()).toEqual([700]);
  });

  it("reports nothing of an order that opened after its list of orders was read, and ends one that was open before", async () => {
    const scene = await acknowledged();
    const { venue, events } = scene;
    scene.network.last.end(1006);
    await scene.advance(20_000);
    scene.network.last.open();
    await scene.advance(100);
    const old = { ...order({}), order_id: "844424914280099", order_index: undefined };
    scene.receive(frameText("orders", { 1: [old] }, "subscribed"));
    scene.receive(frameText("trades", {}, "subscribed"));
    scene.receive(frameText("positions", {}, "subscribed"));
    await turns();
    // Those of the connection that was lost.
    await venue.answer("account", held("0.02500"));
    await venue.answer("accountActiveOrders", { orders: [] });
    await venue.answer("trades", { trades: [] });
    await venue.answer("accountInactiveOrders", { orders: [] });
    await venue.answer("account", held("0.02500"));
    await venue.answer("accountActiveOrders", { orders: [] });
    scene.receive(orderFrame(order(mine)));
    await venue.answer("trades", { trades: [] });
    await venue.answer("accountInactiveOrders", { orders: [] });
    const orders = events.flatMap((event) => (event.kind === "order" ? [event.order] : []));
    expect(orders.map(({ venueOrderId, status }) => `${venueOrderId} ${status}`)).toEqual([
      "844424914280099 OPEN",
      `${String(order(mine)["order_id"])} OPEN`,
      "844424914280099 UNKNOWN",
    ]);
    expect(events.at(-1)).toEqual({ kind: "state", state: "LIVE" });
  });
});

describe("a look at the positions", () => {
  it("does not undo a picture that was pushed while it was under way, and is repeated while orders are in doubt", async () => {
    const scene = await live();
    const { venue, streams } = scene;
    const watched = streams.watched(ACCOUNT);
    watched?.reads.doubt();
    watched?.refreshSoon();
    await scene.advance(1_500);
    expect(venue.waiting).toEqual(["account"]);
    scene.receive(positionFrame("0.01000"));
    await venue.answer("account", held("0.02500"));
    expect(scene.lots()).toEqual([1_000]);
    // It reported another state than the one held, so nothing is believed for it.
    expect(streams.livePositions(ACCOUNT)).toBeNull();
    await scene.advance(1_500);
    expect(venue.waiting).toEqual(["account"]);
    scene.receive(positionFrame("0.01000"));
    await venue.answer("account", held("0.01000"));
    expect(streams.livePositions(ACCOUNT)).toMatchObject({ ok: true, value: [{ qtyLots: 1_000 }] });
  });

  it("that fails makes nothing newer than it is", async () => {
    const scene = await live();
    const { venue, streams, network } = scene;
    const asOfMs = () => {
      const read = streams.livePositions(ACCOUNT);
      return read?.ok === true ? read.asOfMs : null;
    };
    const provenMs = asOfMs();
    for (let part = 0; part < 31; part++) {
      network.last.receive('{"type":"pong"}');
      await scene.advance(4_000);
    }
    expect(venue.waiting).toEqual(["account"]);
    await venue.settle("account", { kind: "noResponse", reason: "TIMEOUT" });
    network.last.receive('{"type":"pong"}');
    expect(asOfMs()).toBe(provenMs);
  });
});

describe("an account stream closed after its account was dropped", () => {
  it("takes nothing from those who watch the account since", async () => {
    const { streams, session, events, stream, advance, venue } = await live();
    session.close();
    // Nobody can read it any more.
    await advance(1_100);
    expect([events.at(-1), streams.stats().accountCount]).toEqual([{ kind: "state", state: "DOWN" }, 0]);
    const second = streams.openAccountStream(venue.harness.open(), () => {});
    if (!second.ok) throw new Error(second.problem);
    await turns();
    expect(streams.stats().accountCount).toBe(1);
    stream.close();
    expect(streams.stats().accountCount).toBe(1);
    second.stream.close();
    expect(streams.stats().accountCount).toBe(0);
  });
});

describe("those who watch one account", () => {
  it("learn of it despite the others' bugs are", async () => {
    const scene = await live();
    const seen: string[] = [];
    const { streams, session } = scene;
    const watching = (onEvent: (event: AccountEvent) => void) => streams.openAccountStream(session, onEvent);
    watching(() => {
      throw new Error("bug");
    });
    watching((event) => seen.push(event.kind === "state" ? event.state : event.kind));
    await turns();
    scene.receive(positionFrame("0.01000"));
    scene.network.last.end(1006);
    expect(seen).toEqual(["LIVE", "positions", "STALE"]);
  });
});

describe("an order that went out before its account was watched", () => {
  it("puts in doubt what is streamed of the account when its answer comes", async () => {
    const harness = createHarness();
    const { trading, clock, http } = harness;
    harness.confirmKey();
    const session = harness.open();
    const life = new ConnectionLife(clock);
    life.noteFrame();
    const watched = { source: { noteSending: () => {} }, reads: new StreamedReads(clock, life), refreshSoon: () => {} };
    const areTrusted = (): boolean => watched.reads.isTrusted([], null);
    let isWatched = false;
    const streams = { watched: () => (isWatched ? watched : null) } as unknown as VenuethreeAccountStreams;
    const readTx = async () => ({ ok: true, value: null, asOfMs: 0, source: "venue" }) as const;
    const confirmation = { clock, cancelDelayMs: 0, readTx };
    const orders = watchedOrders(trading, streams, confirmation, new VerifiedReads(clock));
    http.step((request) => {
      isWatched = true;
      return http.response(200, { code: 200, message: "{}", tx_hash: sentTx(request).hash });
    });
    expect((await orders.place(session, CLOSE_LONG, OPTIONS)).outcome).toBe("accepted");
    expect(areTrusted()).toBe(false);
    clock.advance(5_000);
    life.noteFrame();
    watched.reads.agreed(watched.reads.begin());
    expect(areTrusted()).toBe(true);
  });
});

describe("a cancel of all that the API takes as its time is over", () => {
  it("is unknown: nobody has learnt whether the sequencer executed it", async () => {
    const harness = createHarness();
    const { trading, clock, http } = harness;
    harness.confirmKey();
    const session = harness.open();
    const streams = { watched: () => null } as unknown as VenuethreeAccountStreams;
    const readTx = async () => ({ ok: true, value: null, asOfMs: 0, source: "venue" }) as const;
    const orders = watchedOrders(trading, streams, { clock, cancelDelayMs: 0, readTx }, new VerifiedReads(clock));
    http.step((request) => {
      clock.advance(OPTIONS.timeoutMs);
      return http.response(200, { code: 200, message: "{}", tx_hash: sentTx(request).hash });
    });
    expect(await orders.cancelAll?.(session, null, OPTIONS)).toMatchObject({ outcome: "unknown" });
  });
});

describe("an order whose status is a word we do not know", () => {
  it("has not ended: it is looked up, and may be canceled", () => {
    const slot = new AccountState({
      accountIndex: ACCOUNT,
      instrumentOf: () => BTC,
      emit: () => {},
    });
    const row = decodeOrder(order({ ...mine, status: "resting" }));
    expect(slot.applyOrders([row])).toEqual({ ok: true });
    expect(slot.endedOrder("order_id", row.order_id)).toBeNull();
    expect(slot.endedOrder("client_order_id", String(CLIENT_INDEX))).toBeNull();
    slot.applyOrders([{ ...row, status: "canceled", transaction_time: row.transaction_time + 1 }]);
    expect(slot.endedOrder("order_id", row.order_id)).toMatchObject({ status: "CANCELED" });
  });
});

describe("the orders that were open when all were canceled", () => {
  it("are not counted where the end of one of them is not known", async () => {
    const scene = await live();
    const [first, second] = [order(mine), order({ order_id: "844424914280099", order_index: undefined })];
    for (const row of [first, second]) scene.receive(orderFrame(row));
    const open = scene.streams.watched(ACCOUNT)?.source.trackOpenOrders(null);
    expect([open?.size, open?.canceledCount()]).toEqual([2, null]);
    const later = (row: Record<string, unknown>, status: string) => ({
      ...row,
      status,
      transaction_time: Number(row["transaction_time"]) + 1,
    });
    scene.receive(orderFrame(later(first, "canceled")));
    scene.receive(orderFrame(later(second, "gone")));
    expect(open?.canceledCount()).toBeNull();
    scene.receive(
      orderFrame({ ...later(second, "canceled"), transaction_time: Number(second["transaction_time"]) + 2 }),
    );
    expect(open?.canceledCount()).toBe(2);
  });
});

describe("what a transaction says of itself", () => {
  const decided = (eventInfo: string) => {
    const { isDecided, refusal } = decodeTx({ status: 2, event_info: eventInfo });
    return [isDecided, refusal?.code ?? null];
  };

  it("counts only where it can be read: an error in whatever form is a refusal, and a garbled text no yes", () => {
    expect(decided('{"ae":""}')).toEqual([true, null]);
    expect(decided('{"ae":"{\\"code\\":21600,\\"message\\":\\"x\\"}"}')).toEqual([true, 21600]);
    expect(decided('{"ae":{"code":21600,"message":"x"}}')).toEqual([true, 21600]);
    expect(decided('{"ae":"no"}')).toEqual([true, 0]);
    for (const garbled of ["{", "[]", "7", '{"ae":[1]}']) expect(decided(garbled)).toEqual([false, null]);
  });
});

describe("a key looked up for two callers at once", () => {
  it("is asked for again by the one who has time left, and waited for no longer than each has", async () => {
    const venue = new HandVenue();
    const { clock, trading } = venue.harness;
    const outcomes: string[] = [];
    const resolve = (name: string, timeoutMs: number): void => {
      const read = trading.resolveKey(venue.harness.open(), { timeoutMs, lane: "exit" });
      void read.then((key) => outcomes.push(`${name} ${key.ok ? "ok" : key.code}`));
    };
    resolve("hurried", 100);
    resolve("patient", 4_000);
    await turns();
    expect(venue.waiting).toEqual(["apikeys"]);
    clock.advance(100);
    await venue.settle("apikeys", { kind: "noResponse", reason: "TIMEOUT" });
    expect([outcomes, venue.waiting]).toEqual([["hurried TIMEOUT"], ["apikeys"]]);
    resolve("late", 50);
    clock.advance(50);
    await turns();
    expect(outcomes).toEqual(["hurried TIMEOUT", "late TIMEOUT"]);
    await venue.answer("apikeys", KEYS);
    expect(outcomes.at(-1)).toBe("patient ok");
  });

  it("is confirmed for the one who names its address too, while the other's look-up is under way", async () => {
    const venue = new HandVenue();
    const { trading } = venue.harness;
    const address = String(account()["l1_address"]);
    const [plain, named] = [venue.harness.open(), venue.harness.open({ walletAddress: address })];
    const reads = [plain, named].map((session) => trading.resolveKey(session, OPTIONS));
    await turns();
    while (venue.waiting.includes("apikeys")) await venue.answer("apikeys", KEYS);
    while (venue.waiting.includes("account")) await venue.answer("account", held("0.02500"));
    expect((await Promise.all(reads)).map(({ ok }) => ok)).toEqual([true, true]);
  });
});
