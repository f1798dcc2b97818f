/** The room against one endpoint that names a block far above the chain: for a moment, for good, alone or beside another. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTrader, type VenuefiveTrader } from "../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import { laggingTwist } from "./test/lagging-endpoint.js";
import { READ, type RoomStand, startRoomStand } from "./test/room-stand.js";
import { anotherHash, type RpcProxy, type Twist } from "./test/rpc-proxy.js";

const FAR = 1_000_000;
/** Longer than a height is held that everybody contradicts. */
const CONTRADICTED_MS = 40_000;
/** Less than what a block's time may be ahead of this machine's. */
const LATER_S = 50;

let world: VenuefiveWorld;
let one: VenuefiveTrader;
beforeAll(async () => {
  world = await startVenuefive();
  one = await startTrader(world, 1);
  await one.opened({ pairIndex: 1, collateral: "100", leverage: "10", price: "92400" });
});
afterAll(() => world.stop());

const tip = async (): Promise<number> => Number(await world.chain.rpc("eth_blockNumber"));
const states = ({ room }: RoomStand): readonly string[] => room.status().endpoints.map(({ state }) => state);
const positions = ({ room, settled }: RoomStand) => settled(room.readPositions(one.address, READ));

/** Its newest block, that much higher. */
const above =
  (blocks: number, fields: object = {}): Twist =>
  ({ method, params }, result) => {
    if (method !== "eth_getBlockByNumber" || params[0] !== "latest") return undefined;
    const block = result as { readonly number: string; readonly hash: string };
    const number = `0x${(Number(block.number) + blocks).toString(16)}`;
    return { ...block, number, hash: anotherHash(block.hash), ...fields };
  };

async function started(count: number, twist: Twist | null = null): Promise<RoomStand> {
  const prepare = ([proxy]: readonly RpcProxy[]): void => {
    if (proxy !== undefined) proxy.twist = twist;
  };
  const targets = Array.from({ length: count }, () => world.rpcUrl);
  const stand = await startRoomStand(world, { targets, prepare });
  await stand.settled(stand.room.start());
  return stand;
}

/** The chain goes on, and time passes. */
async function goesOn(stand: RoomStand, ms: number): Promise<void> {
  await world.chain.mine();
  const untilMs = stand.clock.wallMs() + ms;
  await stand.holds(() => stand.clock.wallMs() >= untilMs);
}

describe("a block far above the chain", () => {
  it.each([1, 3, FAR])("that one of two endpoints names from the start, by %d, is not shown", async (blocks) => {
    const stand = await started(2, above(blocks));
    const height = await tip();
    expect(stand.room.status()).toMatchObject({ state: "LIVE", block: height });
    expect(states(stand)).toEqual(["disagrees", "up"]);
    expect(await positions(stand)).toMatchObject({ ok: true, block: height });
    await world.chain.mine();
    await stand.atTip();
    expect(stand.room.status()).toMatchObject({ block: height + 1 });
  });

  it.each([1, 2])("that one of %d endpoints names once is forgotten after a bounded time", async (count) => {
    const stand = await started(count);
    const [proxy] = stand.proxies;
    if (proxy === undefined) throw new Error("there is no endpoint");
    const height = await tip();
    const blocks: number[] = [];
    stand.room.onBlock((block) => void blocks.push(block));
    // Alone at that moment, where there is another.
    const [, other] = stand.proxies;
    if (other !== undefined) other.fault = (_, response) => response.destroy() !== undefined;
    await stand.holds(() => states(stand)[1] !== "up");
    proxy.twist = above(FAR);
    await stand.holds(() => stand.room.status().block === height + FAR);
    proxy.twist = null;
    if (other !== undefined) other.fault = null;
    await goesOn(stand, CONTRADICTED_MS);
    expect(await positions(stand)).toMatchObject({ ok: true, block: height + 1 });
    expect(states(stand)).toEqual(Array.from({ length: count }, () => "up"));
    expect(blocks).toEqual([height + FAR, height + 1]);
  });

  it("that an endpoint named before it went down is forgotten where the other goes on", async () => {
    const stand = await started(2);
    const [proxy, other] = stand.proxies;
    if (proxy === undefined || other === undefined) throw new Error("there are no two endpoints");
    other.fault = (_, response) => response.destroy() !== undefined;
    await stand.holds(() => states(stand)[1] === "down");
    proxy.twist = above(FAR);
    await stand.holds(() => (stand.room.status().block ?? 0) > FAR);
    proxy.fault = other.fault;
    other.fault = null;
    await goesOn(stand, CONTRADICTED_MS);
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
    expect(states(stand)).toEqual(["down", "up"]);
  });

  it("is not what one names whose other lags, however long that is", async () => {
    const stand = await started(2);
    const [, other] = stand.proxies;
    if (other === undefined) throw new Error("there are no two endpoints");
    const height = await tip();
    const block = await world.chain.rpc("eth_getBlockByNumber", ["latest", false]);
    other.twist = ({ method, params }) => {
      if (method !== "eth_getBlockByNumber") return undefined;
      return params[0] === "latest" ? block : Number(params[0]) > height ? null : undefined;
    };
    for (let count = 0; count < 20; count++) {
      await world.chain.mine();
      await stand.atTip();
    }
    await goesOn(stand, CONTRADICTED_MS);
    expect(states(stand)).toEqual(["up", "lagging"]);
    const [first] = stand.proxies;
    if (first !== undefined) first.fault = (_, response) => response.destroy() !== undefined;
    // A look that was under way may be answered yet, with what is mined meanwhile.
    await stand.holds(() => states(stand)[0] === "down");
    await goesOn(stand, CONTRADICTED_MS);
    expect(await positions(stand)).toMatchObject({ ok: false });
    expect(stand.room.status()).toMatchObject({ state: "STALE", block: height + 21 });
  });

  it("of a time to come, that one of two endpoints names for good, holds the room for a bounded time", async () => {
    const stand = await started(2, above(FAR, { timestamp: "0xffffffff" }));
    // As fast as time passes, beyond what counts of a time to come.
    for (let block = 0; block < 40; block++) await goesOn(stand, 2_000);
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
    expect(states(stand)).toEqual(["disagrees", "up"]);
  });

  it("of a little later than now, that one of two endpoints names for good, holds the room for a bounded time", async () => {
    const farAbove = above(FAR);
    const stand = await started(2, async (call, result) => {
      const far = (await farAbove(call, result)) as { readonly timestamp: string } | undefined;
      return far && { ...far, timestamp: `0x${(Number(far.timestamp) + LATER_S).toString(16)}` };
    });
    // Until its first block is outdone, then until the last that was shown is; then what was shown is held for a while.
    for (let ms = 0; ms < 2 * LATER_S * 1_000 + CONTRADICTED_MS; ms += 2_000) await goesOn(stand, 2_000);
    expect(states(stand)).toEqual(["disagrees", "up"]);
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
  });
});

describe("an endpoint that names blocks of a time to come, each below the last", () => {
  it("holds the other one of two for no longer than a look", async () => {
    await world.chain.mine(200);
    let below = 20;
    const stand = await started(2, ({ method, params }, result) => {
      if (method !== "eth_getBlockByNumber" || params[0] !== "latest") return undefined;
      const block = result as { readonly number: string };
      return { ...block, number: `0x${(Number(block.number) - below++).toString(16)}`, timestamp: "0xffffffff" };
    });
    expect(stand.room.status()).toMatchObject({ state: "LIVE", block: await tip() });
    await world.chain.mine();
    await stand.atTip();
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
    expect(states(stand)[1]).toBe("up");
  });
});

describe("an endpoint that names a later time of a block that others have too", () => {
  const later = (block: object): object => {
    const { timestamp } = block as { readonly timestamp: string };
    return { ...block, timestamp: `0x${(Number(timestamp) + LATER_S).toString(16)}` };
  };
  const below: Twist = async ({ method, params }, result) => {
    if (method !== "eth_getBlockByNumber" || result === null) return undefined;
    if (params[0] !== "latest") return later(result as object);
    const number = `0x${((await tip()) - 1).toString(16)}`;
    return later((await world.chain.rpc("eth_getBlockByNumber", [number, false])) as object);
  };

  async function besideTwoOthers() {
    const stand = await started(3);
    const [proxy] = stand.proxies;
    if (proxy === undefined) throw new Error("there is no endpoint");
    proxy.twist = below;
    for (let count = 0; count < 3; count++) await goesOn(stand, 2_000);
    return { stand, proxy };
  }

  it("takes nothing of what the two others say", async () => {
    const { stand } = await besideTwoOthers();
    expect(states(stand).slice(1)).toEqual(["up", "up"]);
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
  });

  it("has no block shown by its word alone", async () => {
    const { stand, proxy } = await besideTwoOthers();
    const farAbove = above(FAR);
    proxy.twist = async (call, result) => {
      const block = await farAbove(call, result);
      return block === undefined ? below(call, result) : later(block as object);
    };
    for (let count = 0; count < 3; count++) await goesOn(stand, 2_000);
    expect(stand.room.status()).toMatchObject({ state: "LIVE", block: await tip() });
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
  });
});

describe("one of two endpoints that names a second time for each block of the other", () => {
  const farAbove = above(FAR);
  const twist: Twist = async (call, result) => {
    const far = await farAbove(call, result);
    if (far !== undefined || call.method !== "eth_getBlockByNumber" || result === null) return far;
    const { timestamp } = result as { readonly timestamp: string };
    return { ...result, timestamp: `0x${(Number(timestamp) + 1).toString(16)}` };
  };

  it("has no block shown by its word alone", async () => {
    const stand = await started(2, twist);
    const [proxy] = stand.proxies;
    for (let count = 0; count < 3; count++) await goesOn(stand, 2_000);
    expect(stand.room.status().block ?? 0).toBeLessThanOrEqual(await tip());
    expect(await positions(stand)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/have different blocks/),
    });
    if (proxy !== undefined) proxy.twist = null;
    await world.chain.mine();
    await stand.atTip();
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
  });
});

describe("an endpoint that is far behind two others", () => {
  const behind = (blocks: number): Twist =>
    laggingTwist((method, params) => world.chain.rpc(method, params), blocks, 0);

  it.each([0, 1, 4])("holds nothing where one of these is always %d blocks ahead of the other", async (apart) => {
    await world.chain.mine(200);
    const prepare = ([, near, far]: readonly RpcProxy[]): void => {
      if (near !== undefined) near.twist = behind(apart);
      if (far !== undefined) far.twist = behind(150);
    };
    const stand = await startRoomStand(world, { targets: Array.from({ length: 3 }, () => world.rpcUrl), prepare });
    await stand.settled(stand.room.start());
    expect(stand.room.status()).toMatchObject({ state: "LIVE", block: await tip() });
    expect(states(stand)).toEqual(["up", "up", "lagging"]);
    for (let count = 0; count < 3; count++) {
      await world.chain.mine();
      await stand.atTip();
    }
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
    expect(states(stand)).toEqual(["up", "up", "lagging"]);
  });
});
