/** The client-signed venue on the topic `positions`, on virtual time: every frame is judged and folded as a client does. */
import { beforeEach, describe, expect, it } from "vitest";
import {
  aChainPosition,
  blockMs,
  FakeClientSignedRoom,
  FIRST_BLOCK,
} from "../../../engine/portfolio/test/fake-client-signed-room.js";
import type { Frame } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const LOWER = WALLET.toLowerCase();
const BASE58 = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU";
const OPENED_S = Math.floor(aChainPosition().openedAtMs / 1_000);
const KEY = `venuefive|BTC|LONG|1:0:${OPENED_S}`;

let room: FakeClientSignedRoom;
let stream: VirtualStream;
let client: VirtualClient;

beforeEach(() => {
  room = new FakeClientSignedRoom();
  stream = new VirtualStream({}, null, room);
  client = stream.connect();
});

const wishOf = (changes: Record<string, unknown> = {}) => ({
  ...{ op: "subscribe", id: "p", topic: "positions", walletAddress: WALLET, exchanges: ["venuefive"] },
  ...changes,
});

async function subscribe(by: VirtualClient, wish: Record<string, unknown> = wishOf()): Promise<string> {
  by.op(wish);
  await stream.advanceAsync(100);
  const answer = by.frames.find((frame) => frame.id === wish["id"]);
  if (answer?.type !== "subscribed") throw new Error(JSON.stringify(answer));
  return answer.subs[0]?.sub ?? "";
}

async function block(): Promise<void> {
  room.mine();
  await stream.advanceAsync(100);
}

const lastOf = (by: VirtualClient, sub: string): Frame =>
  by.frames.filter((frame) => frame.sub === sub).at(-1) as Frame;

describe("positions of venuefive on the stream", () => {
  it("begin with a snapshot without any credentials: the rows of the interface, their id, their time", async () => {
    room.positions.set(LOWER, [aChainPosition()]);
    const sub = await subscribe(client);
    const { type, data } = lastOf(client, sub);
    expect([type, data]).toEqual([
      "snapshot",
      {
        positions: [
          {
            symbol: "BTC",
            exchange: "venuefive",
            direction: "LONG",
            size: "0.0153846153",
            entryPrice: "65000",
            markPrice: "65000",
            liquidationPrice: "59475",
            unrealizedPnl: "-0.25",
            unrealizedPnlPercent: "-0.25",
            leverage: 10,
            collateral: "100",
            margin: "100",
            timestamp: OPENED_S * 1_000,
            isZfp: false,
            walletAddress: LOWER,
            positionId: `1:0:${OPENED_S}`,
            asOf: blockMs(FIRST_BLOCK),
            source: "venue",
            ageMs: expect.any(Number),
          },
        ],
        coverage: {
          venuefive: { state: "LIVE", mode: "poll", asOf: blockMs(FIRST_BLOCK), source: "venue", intervalMs: 2_000 },
        },
      },
    ]);
  });

  it("change with the blocks: opened, changed, closed with size 0 and no value", async () => {
    const sub = await subscribe(client);
    room.positions.set(LOWER, [aChainPosition()]);
    await block();
    room.positions.set(LOWER, [aChainPosition({ collateral: "40", size: "0.006" })]);
    await block();
    room.positions.set(LOWER, []);
    await block();
    expect(client.folds.get(sub)?.events).toEqual([
      ["opened", KEY],
      ["changed", KEY],
      ["closed", KEY],
    ]);
    const { data } = lastOf(client, sub);
    expect(data["positions"]).toMatchObject([{ symbol: "BTC", size: "0", positionId: `1:0:${OPENED_S}` }]);
    expect(JSON.stringify(data["positions"])).not.toMatch(/unrealizedPnl|collateral|margin/);
  });

  it("end as liquidated where the venue took them, and as closed where its events cannot be read", async () => {
    const slots = [0, 1, 2].map((index) => aChainPosition({ index }));
    const keyOf = (index: number): string => `venuefive|BTC|LONG|1:${index}:${OPENED_S}`;
    room.positions.set(LOWER, slots);
    const sub = await subscribe(client);
    room.liquidated.add(1);
    room.positions.set(LOWER, slots.slice(2));
    await block();
    expect(client.folds.get(sub)?.events).toEqual([
      ["closed", keyOf(0)],
      ["liquidated", keyOf(1)],
    ]);
    room.liquidated.add(2);
    room.failingReads.add("liquidated");
    room.positions.set(LOWER, []);
    await block();
    expect(client.folds.get(sub)?.events.at(-1)).toEqual(["closed", keyOf(2)]);
    expect(room.calls.filter(({ name }) => name === "liquidated")).toHaveLength(2);
  });

  it("open and change before it is known how others ended, which end within two seconds", async () => {
    room.positions.set(LOWER, [aChainPosition()]);
    const sub = await subscribe(client);
    room.readLiquidated = () => new Promise(() => {});
    room.positions.set(LOWER, [aChainPosition({ index: 1 })]);
    await block();
    expect(client.folds.get(sub)?.events).toEqual([["opened", `venuefive|BTC|LONG|1:1:${OPENED_S}`]]);
    await stream.advanceAsync(2_000);
    expect(client.folds.get(sub)?.events.slice(1)).toEqual([["closed", KEY]]);
  });

  it("end as closed where the chain undid a liquidation and they were closed afterwards", async () => {
    room.positions.set(LOWER, [aChainPosition()]);
    const sub = await subscribe(client);
    room.liquidated.add(0);
    room.positions.set(LOWER, []);
    await block();
    room.liquidated.clear();
    room.positions.set(LOWER, [aChainPosition()]);
    await block();
    room.positions.set(LOWER, []);
    await block();
    expect(client.folds.get(sub)?.events).toEqual([
      ["liquidated", KEY],
      ["opened", KEY],
      ["closed", KEY],
    ]);
    room.positions.set(LOWER, [aChainPosition()]);
    await block();
    room.liquidated.add(0);
    room.positions.set(LOWER, []);
    await block();
    expect(client.folds.get(sub)?.events.at(-1)).toEqual(["liquidated", KEY]);
  });

  it("send nothing for a block that changes nothing but the time", async () => {
    room.positions.set(LOWER, [aChainPosition()]);
    const sub = await subscribe(client);
    const before = client.frames.filter((frame) => frame.sub === sub).length;
    await block();
    await block();
    expect(client.frames.filter((frame) => frame.sub === sub)).toHaveLength(before);
    await stream.advanceAsync(6_000);
    expect(lastOf(client, sub).data["coverage"]).toMatchObject({ venuefive: { asOf: blockMs(FIRST_BLOCK + 2) } });
  });

  it("tell several of one symbol and direction apart, and one that took the slot of another", async () => {
    room.positions.set(LOWER, [aChainPosition(), aChainPosition({ index: 1 })]);
    const sub = await subscribe(client);
    expect([...(client.folds.get(sub)?.rows.keys() ?? [])]).toEqual([KEY, `venuefive|BTC|LONG|1:1:${OPENED_S}`]);
    room.positions.set(LOWER, [
      aChainPosition({ openedAtMs: OPENED_S * 1_000 + 60_000 }),
      aChainPosition({ index: 1 }),
    ]);
    await block();
    expect(client.folds.get(sub)?.events).toEqual([
      ["opened", `venuefive|BTC|LONG|1:0:${OPENED_S + 60}`],
      ["closed", KEY],
    ]);
  });

  it("stay shown while the chain cannot be read, and the coverage says why", async () => {
    room.positions.set(LOWER, [aChainPosition()]);
    const sub = await subscribe(client);
    room.fail("PAIRS_DIFFER", "pairs differ");
    room.differingPairs = [{ index: 21, here: "PEPE", chain: "XAU" }];
    await block();
    const fold = client.folds.get(sub);
    expect(fold?.fields["venuefive"]).toMatchObject({
      state: "ERROR",
      asOf: blockMs(FIRST_BLOCK),
      error: { code: "PAIRS_DIFFER", message: "pair 21 is XAU on the chain and PEPE here" },
    });
    expect([...(fold?.rows.keys() ?? [])]).toEqual([KEY]);
    room.mend();
    await block();
    expect(fold?.fields["venuefive"]).toMatchObject({ state: "LIVE", asOf: blockMs(FIRST_BLOCK + 2) });
    room.state = "STALE";
    await stream.advanceAsync(6_000);
    expect(fold?.fields["venuefive"]).toMatchObject({ state: "SNAPSHOT" });
  });

  it("hold up a first snapshot no longer than other venues may, and are then not known, never flat", async () => {
    room.gate = new Promise(() => {});
    const alice = stream.accounts.one.addAccount(LOWER);
    alice.hold("BTC", 400);
    const sub = await subscribe(client, wishOf({ exchanges: ["venueone", "venuefive"] }));
    expect(client.folds.has(sub)).toBe(false);
    await stream.advanceAsync(5_000);
    const fold = client.folds.get(sub);
    expect([...(fold?.rows.keys() ?? [])]).toEqual(["venueone|BTC|LONG"]);
    expect(fold?.fields).toMatchObject({
      venueone: { state: "LIVE" },
      venuefive: { state: "ERROR", error: { code: "NO_ANSWER_YET" } },
    });
  });

  it("are read once for all who watch an address, and not at all once nobody does", async () => {
    const other = stream.connect();
    await subscribe(client);
    await subscribe(other, wishOf({ id: "q", exchanges: ["venueone", "venuefive"] }));
    expect(room.calls).toHaveLength(1);
    await block();
    expect(room.calls).toHaveLength(2);
    client.cut();
    other.cut();
    await stream.advanceAsync(600_000);
    const { length } = room.calls;
    expect(room.listenerCount).toBe(0);
    await block();
    expect(room.calls).toHaveLength(length);
  });

  it("of an address in another chain's form, and its orders, are not applicable", async () => {
    const sub = await subscribe(client, wishOf({ walletAddress: BASE58 }));
    expect(client.folds.get(sub)?.fields["venuefive"]).toMatchObject({
      state: "ERROR",
      error: { code: "NOT_APPLICABLE" },
    });
    const orders = await subscribe(client, wishOf({ id: "o", topic: "orders" }));
    expect(client.folds.get(orders)?.fields["venuefive"]).toMatchObject({
      error: {
        code: "NOT_APPLICABLE",
        message: "its orders are not streamed: GET /api/trading/venuefive/orders",
      },
    });
  });
});
