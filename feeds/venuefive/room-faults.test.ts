/** The room against endpoints that are down, slow, behind, limited, of another chain, wrong, or at odds, and a chain that forks. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTrader, type VenuefiveTrader } from "../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import type { ChainRead } from "../../engine/client-signed-room.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { connectRpc } from "../shared/chain/rpc-connection.js";
import type { RpcPool } from "../shared/chain/rpc-pool.js";
import type { VenuefiveRoomParts } from "./room.js";
import { noHistory } from "./test/no-history.js";
import { READ, type RoomStand, type RoomStandOptions, startRoomStand } from "./test/room-stand.js";
import { anotherHash, type Fault, type ProxiedCall, type RpcProxy, type Twist } from "./test/rpc-proxy.js";

const BTC = 1;
/** What the connections are given to end. */
const CLOSE_MS = 1_000;
const ROUNDS_OF_IO = 20_000;
const ORDER = { pairIndex: BTC, collateral: "100", leverage: "10", price: "92400" };

let world: VenuefiveWorld;
let one: VenuefiveTrader;
beforeAll(async () => {
  world = await startVenuefive();
  one = await startTrader(world, 1);
  await one.opened(ORDER);
});
afterAll(() => world.stop());

async function started(count: number, options: RoomStandOptions = {}): Promise<RoomStand> {
  const stand = await startRoomStand(world, { targets: Array.from({ length: count }, () => world.rpcUrl), ...options });
  await stand.settled(stand.room.start());
  return stand;
}

const states = ({ room }: RoomStand): readonly string[] => room.status().endpoints.map(({ state }) => state);
const positions = ({ room, settled }: RoomStand) => settled(room.readPositions(one.address, READ));

const cut: Fault = (_, response) => {
  response.destroy();
  return true;
};
const hang: Fault = () => true;
const body =
  (status: number, text: string, headers: Record<string, string> = {}): Fault =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(text);
    return true;
  };
const onlyReads =
  (fault: Fault): Fault =>
  (calls, response) =>
    calls.some(({ method }) => method === "eth_call") && fault(calls, response);
const refusing =
  (code: number, message: string): Fault =>
  (calls, response) =>
    body(200, JSON.stringify(calls.map(({ id }) => ({ jsonrpc: "2.0", id, error: { code, message } }))))(
      calls,
      response,
    );

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new Error(`there is no ${index}`);
  return value;
}

/** What the chain says of a block now, for an endpoint that does not go past it. */
async function stuckAt(height: number): Promise<Twist> {
  const block = await world.chain.rpc("eth_getBlockByNumber", [`0x${height.toString(16)}`, false]);
  return ({ method, params }) => {
    if (method === "eth_blockNumber") return `0x${height.toString(16)}`;
    if (method !== "eth_getBlockByNumber") return undefined;
    return params[0] === "latest" ? block : Number(params[0]) > height ? null : undefined;
  };
}

function breakAll(proxies: readonly RpcProxy[]): void {
  for (const proxy of proxies) proxy.fault = cut;
}

/** Of the first endpoint, before the room starts. */
const first =
  (twist: Twist) =>
  ([proxy]: readonly RpcProxy[]): void => {
    if (proxy !== undefined) proxy.twist = twist;
  };

const tip = async (): Promise<number> => Number(await world.chain.rpc("eth_blockNumber"));

/** Of every block from that height on: another branch. */
const forkedFrom =
  (height: number): Twist =>
  ({ method }, result) => {
    const block = result as { number: string; hash: string } | null;
    if (method !== "eth_getBlockByNumber" || block === null || Number(block.number) < height) return undefined;
    return { ...block, hash: anotherHash(block.hash) };
  };

describe("an endpoint of venuefive", () => {
  it.each<[string, Fault]>([
    ["is down", cut],
    ["answers HTML", body(200, "<html>busy</html>")],
    ["answers another call", body(200, '{"jsonrpc":"2.0","id":0,"result":"0x1"}')],
    ["answers some of the calls", body(200, "[]")],
    ["is broken", body(502, "bad gateway")],
    ["is over its limit", body(429, "", { "retry-after": "30" })],
    ["says so in its answers", refusing(-32005, "limit exceeded")],
    ["refuses the whole", body(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}')],
  ])("that %s is passed over, and another answers", async (_, fault) => {
    const stand = await started(2);
    at(stand.proxies, 0).fault = onlyReads(fault);
    const read = await positions(stand);
    expect(read.ok && read.value.length).toBe(1);
    // It was asked first, or this would show nothing.
    expect(at(stand.proxies, 0).walletReads().length).toBeGreaterThan(0);
  });

  it("that hangs leaves time for the next", async () => {
    const stand = await started(2);
    const [proxy] = stand.proxies;
    if (proxy === undefined) throw new Error("there is no endpoint");
    // Its later requests are answered: time passes for the first alone.
    proxy.fault = onlyReads((calls, response) => {
      proxy.fault = null;
      return hang(calls, response);
    });
    const read = stand.room.readPositions(one.address, READ);
    await arrived(stand, 0);
    await stand.clock.advanceAsync(READ.timeoutMs / 2);
    const answer = await settledBeside(stand, read);
    expect(answer.ok && answer.value.length).toBe(1);
  });

  it("that hangs holds back neither the start nor the blocks of the others", async () => {
    const stand = await startRoomStand(world, {
      targets: [world.rpcUrl, world.rpcUrl],
      prepare: ([proxy]) => {
        if (proxy !== undefined) proxy.fault = hang;
      },
    });
    const startedRoom = stand.room.start();
    // Only what hangs is still under way when time passes.
    const hasArrived = (): boolean => at(stand.proxies, 0).requests.length > 0;
    while (!hasArrived() || stand.room.status().endpoints[1]?.block === null)
      await new Promise((resolve) => setImmediate(resolve));
    await stand.clock.advanceAsync(3_000);
    await settledBeside(stand, startedRoom);
    expect(states(stand)).toEqual(["down", "up"]);
    expect(stand.room.status().state).toBe("LIVE");
    const before = stand.room.status().block ?? 0;
    await world.chain.mine();
    await stand.clock.advanceAsync(1_000);
    while (stand.room.status().block === before) {
      await stand.clock.advanceAsync(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(stand.room.status().block).toBe(before + 1);
    expect((await settledBeside(stand, stand.room.readPositions(one.address, READ))).ok).toBe(true);
  });

  it("that is limited, where all are, says when to come again", async () => {
    const stand = await started(2);
    at(stand.proxies, 0).fault = onlyReads(body(429, "", { "retry-after": "30" }));
    at(stand.proxies, 1).fault = onlyReads(body(429, "", { "retry-after": "7" }));
    const read = await positions(stand);
    expect(read).toMatchObject({ ok: false, code: "RATE_LIMITED" });
    const waitMs = read.ok ? null : read.retryAfterMs;
    expect(waitMs).toBeGreaterThanOrEqual(7_000);
    expect(waitMs).toBeLessThan(9_000);
  });

  it("that is behind is not asked, and a read is never of a block before one that was shown", async () => {
    await world.chain.mine(12);
    const height = await tip();
    const behind = await stuckAt(height - 10);
    const stand = await started(2, { prepare: first(behind) });
    expect(stand.room.status().block).toBe(height);
    expect(states(stand)).toEqual(["lagging", "up"]);
    const read = await positions(stand);
    expect(read).toMatchObject({ ok: true, block: height });
    expect(at(stand.proxies, 0).walletReads()).toEqual([]);
    // Alone it would have an older block to show.
    at(stand.proxies, 1).fault = cut;
    await stand.holds(() => states(stand)[1] === "down");
    expect(await positions(stand)).toMatchObject({ ok: false });
    expect(stand.room.status()).toMatchObject({ block: height });
    at(stand.proxies, 0).twist = null;
    await stand.holds(() => states(stand)[0] === "up");
    expect(await positions(stand)).toMatchObject({ ok: true, block: height });
  });

  it("that says it has the block and does not is passed over", async () => {
    const stand = await started(2);
    at(stand.proxies, 0).twist = ({ method, params }) =>
      method === "eth_getBlockByNumber" && params[0] !== "latest" ? null : undefined;
    expect(await positions(stand)).toMatchObject({ ok: true });
    expect([0, 1].map((place) => at(stand.proxies, place).walletReads().length)).toEqual([2, 2]);
  });

  const otherChain: Twist = ({ method }) => (method === "eth_chainId" ? "0x1" : undefined);
  it("of another chain is set aside from the start, and named", async () => {
    const stand = await started(2, { prepare: first(otherChain) });
    expect(states(stand)).toEqual(["wrong-chain", "up"]);
    expect(await positions(stand)).toMatchObject({ ok: true });
    expect(stand.lines.map(({ event }) => event)).toContain("chain.other_id");
    expect(at(stand.proxies, 0).walletReads()).toEqual([]);
  });

  it("that becomes one of another chain is set aside then; alone it is the end of reading", async () => {
    const stand = await started(1);
    expect(stand.room.status().state).toBe("LIVE");
    at(stand.proxies, 0).twist = otherChain;
    await stand.holds(() => states(stand)[0] === "wrong-chain");
    expect(stand.room.status()).toMatchObject({ state: "DOWN", problem: "every endpoint is of another chain" });
    expect(await positions(stand)).toMatchObject({ ok: false, code: "WRONG_CHAIN" });
  });

  const pageSelector = "0xe06e2675";
  const isPage = ({ params }: ProxiedCall): boolean => JSON.stringify(params).includes(pageSelector);
  const isHeld = ({ params }: ProxiedCall): boolean => JSON.stringify(params).includes('"data":"0x82ad56cb');
  it.each<[string, Twist]>([
    ["nothing", (call) => (isPage(call) ? "0x" : undefined)],
    ["no hex", (call) => (isPage(call) ? "0xzz" : undefined)],
    ["half an answer", (call, result) => (isPage(call) ? String(result).slice(0, 2 + 64 * 40) : undefined)],
    ["no counts", (call) => (isHeld(call) ? "0x" : undefined)],
    ["fewer counts than pairs", (call) => (isHeld(call) ? NO_COUNTS : undefined)],
    ["empty pages of a pair that has some", (call) => (isPage(call) ? EMPTY_PAGES : undefined)],
    ["the slots of another wallet", (call, result) => (isPage(call) ? othersSlots(String(result)) : undefined)],
    ["a number of pairs beyond belief", ({ params }) => (pairsCounted(params) ? `0x${"f".repeat(64)}` : undefined)],
  ])("that says %s has no positions to show: an error, never an empty list", async (_, twist) => {
    const stand = await started(1);
    at(stand.proxies, 0).twist = twist;
    expect(await positions(stand)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    at(stand.proxies, 0).twist = null;
    expect(await positions(stand)).toMatchObject({ ok: true });
  });
});

describe("the room of venuefive without endpoints that answer", () => {
  it("starts all the same, is DOWN, and comes up by itself", async () => {
    const stand = await started(2, { prepare: breakAll });
    expect(stand.room.status()).toMatchObject({ state: "DOWN", block: null, blockAgeMs: null });
    expect(states(stand)).toEqual(["down", "down"]);
    expect(await positions(stand)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    for (const proxy of stand.proxies) proxy.fault = null;
    await stand.holds(() => stand.room.status().state === "LIVE");
    expect(await positions(stand)).toMatchObject({ ok: true });
  });

  it("is STALE after they were there, with the age of its block, and its reads fail", async () => {
    const stand = await started(1);
    const { block } = stand.room.status();
    at(stand.proxies, 0).fault = cut;
    await stand.holds(() => states(stand)[0] === "down");
    expect(stand.room.status()).toMatchObject({ state: "STALE", problem: "no endpoint answers", block });
    expect(await positions(stand)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
  });

  it("is STALE while they answer with the same block for long", async () => {
    const stand = await started(1);
    await stand.holds(() => stand.room.status().state === "STALE");
    const status = stand.room.status();
    expect(status.blockAgeMs).toBeGreaterThan(30_000);
    expect(status.problem).toMatch(/^no endpoint has had a new block for \d+ s$/);
    await world.chain.mine();
    await stand.atTip();
    expect(stand.room.status().state).toBe("LIVE");
  });
});

describe("endpoints of venuefive with different blocks at one height", () => {
  it("of two nobody is believed: it is named, nothing is shown, and it is over when they agree", async () => {
    const height = await tip();
    const stand = await started(2);
    at(stand.proxies, 1).twist = forkedFrom(height);
    await stand.holds(() => stand.room.status().state === "DOWN");
    const hosts = stand.room.status().endpoints.map(({ host }) => host);
    expect(stand.room.status().problem).toBe(
      `endpoints 1 (${at(hosts, 0)}) and 2 (${at(hosts, 1)}) have different blocks ${height}`,
    );
    expect(await positions(stand)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    at(stand.proxies, 1).twist = null;
    await stand.holds(() => stand.room.status().state === "LIVE");
    expect(await positions(stand)).toMatchObject({ ok: true });
  });

  it("are found before the first read, also where they are at different heights", async () => {
    await world.chain.mine();
    const height = await tip();
    const [behind, forked] = [await stuckAt(height - 1), forkedFrom(height - 1)];
    const twist: Twist = (call, result) => {
      const stuck = behind(call, result);
      return forked(call, stuck === undefined ? result : stuck) ?? stuck;
    };
    const stand = await started(2, { prepare: first(twist) });
    expect(stand.room.status().state).toBe("DOWN");
    expect(stand.room.status().problem).toMatch(new RegExp(`have different blocks ${height - 1}$`));
    expect(await positions(stand)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    expect(stand.proxies.flatMap((proxy) => proxy.walletReads())).toEqual([]);
  });

  it("far apart: of two nobody is believed where the lower has another block at its height", async () => {
    await world.chain.mine(20);
    const height = (await tip()) - 15;
    const [behind, forked] = [await stuckAt(height), forkedFrom(height)];
    const twist: Twist = (call, result) => {
      const stuck = behind(call, result);
      return forked(call, stuck === undefined ? result : stuck) ?? stuck;
    };
    const stand = await started(2, { prepare: first(twist) });
    expect(stand.room.status().state).toBe("DOWN");
    expect(stand.room.status().problem).toMatch(new RegExp(`have different blocks ${height}$`));
    expect(await positions(stand)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    at(stand.proxies, 0).twist = behind;
    await stand.holds(() => stand.room.status().state === "LIVE");
    expect(states(stand)).toEqual(["lagging", "up"]);
    expect(await positions(stand)).toMatchObject({ ok: true, block: await tip() });
  });

  it.each(["looked for an order", "read a wallet"])(
    "are believed soon after they agree again, however many %s",
    async (what) => {
      const POLL_MS = 5_000;
      let believed: Parameters<VenuefiveRoomParts["createHistory"]>[2] = async () => [];
      const createHistory: VenuefiveRoomParts["createHistory"] = (_pool, _isDollarBased, given) => {
        believed = given;
        return noHistory();
      };
      const clock = new VirtualClock(Date.now());
      const common = { callsPerMinute: 300, clock, random: createSeededRandom(1), logger: silentLogger };
      const connect: VenuefiveRoomParts["connect"] = (url, place) =>
        connectRpc(url, { ...common, name: `chain.${place}`, connectTimeoutMs: 60_000 });
      const stand = await started(2, {
        ...{ clock, prepare: first(forkedFrom(1)), parts: { pollMs: POLL_MS, createHistory, connect } },
      });
      const options = { timeoutMs: 100, lane: "read" } as const;
      const read = () => stand.room.readPositions(one.address, options);
      const ask = (): Promise<unknown> => stand.settled<unknown>(what === "read a wallet" ? read() : believed(options));
      for (let asked = 0; asked < 60; asked++) await ask();
      expect(await stand.settled(believed(options))).toEqual([]);
      at(stand.proxies, 0).twist = null;
      const sinceMs = clock.wallMs();
      await stand.holds(() => states(stand).every((state) => state === "up") && stand.room.status().block !== null);
      expect(clock.wallMs() - sinceMs).toBeLessThanOrEqual(2 * POLL_MS);
      expect((await stand.settled(believed(options))).length).toBe(2);
    },
  );

  it("of three the one that is alone is named, and not read", async () => {
    const stand = await started(3, {
      prepare: first(forkedFrom(1)),
    });
    await stand.holds(() => stand.room.status().state === "LIVE" && states(stand)[0] !== "up");
    expect(states(stand)).toEqual(["disagrees", "up", "up"]);
    expect(await positions(stand)).toMatchObject({ ok: true });
    expect(at(stand.proxies, 0).walletReads()).toEqual([]);
  });

  it("of which one is far ahead of all others by its own word: the others are read", async () => {
    const height = await tip();
    const ahead: Twist = ({ method, params }, result) =>
      method === "eth_getBlockByNumber" && params[0] === "latest"
        ? { ...(result as object), number: `0x${(height + 1_000).toString(16)}` }
        : undefined;
    const stand = await started(3, { prepare: first(ahead) });
    expect(stand.room.status().block).toBe(height);
    expect(await positions(stand)).toMatchObject({ ok: true, block: height });
  });
});

describe("a fork between two reads", () => {
  it("takes back what was undone, and the head keeps its height", async () => {
    const other = await startTrader(world, 2);
    const stand = await started(1);
    const undo = await world.snapshot();
    await other.opened(ORDER);
    await stand.atTip();
    const blocks: number[] = [];
    stand.room.onBlock((block) => void blocks.push(block));
    const read = (): Promise<ChainRead<readonly unknown[]>> =>
      stand.settled(stand.room.readPositions(other.address, READ));
    const before = await read();
    expect(before.ok && before.value.length).toBe(1);
    const height = await tip();
    await undo();
    // Two blocks of it are undone; as long as the new branch is shorter, it has nothing to show.
    expect(await tip()).toBe(height - 2);
    // A look that is under way may still be of the branch that was undone.
    await stand.holds(() => stand.room.status().state === "STALE");
    expect(stand.room.status().block).toBe(height);
    expect(await read()).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    await world.chain.mine(2);
    const after = await read();
    expect(after).toMatchObject({ ok: true, value: [], block: height });
    expect(blocks).toEqual([height]);
  });

  it("that replaces the newest block is seen by the next read that asks, at the same height", async () => {
    const other = await startTrader(world, 3);
    await other.open({ ...ORDER, type: "LIMIT", price: "90000" });
    const stand = await started(1);
    const orders = (): Promise<ChainRead<readonly unknown[]>> =>
      stand.settled(stand.room.readOpenOrders(other.address, READ));
    const before = await orders();
    expect(before.ok && before.value.length).toBe(1);
    const height = await tip();
    await world.chain.reorg(1);
    expect(await tip()).toBe(height);
    // What is kept of a wallet goes with its block: any read that asks, or the next look, finds the other one.
    expect(await stand.settled(stand.room.readBalances(other.address, READ))).toMatchObject({
      ok: true,
      block: height,
    });
    expect(await orders()).toMatchObject({ ok: true, value: [], block: height });
  });
});

describe("endpoints of venuefive that hang while the room ends", () => {
  it("hold it up no longer than their connections take to close, however many there are", async () => {
    let steps = Promise.resolve();
    const createHistory = (pool: RpcPool) => ({
      ...noHistory(),
      async start() {
        steps = (async () => {
          for (const endpoint of pool.endpoints)
            await endpoint.call("eth_blockNumber", [], String, { timeoutMs: 10_000, lane: "background" });
        })();
      },
      stop: () => steps,
    });
    const stand = await started(3, {
      parts: { createHistory },
      prepare(proxies) {
        for (const proxy of proxies) proxy.fault = (calls) => calls.some(({ method }) => method === "eth_blockNumber");
      },
    });
    const { clock, room, proxies } = stand;
    while (!proxies[0]?.requests.flat().some(({ method }) => method === "eth_blockNumber"))
      await new Promise((resolve) => setImmediate(resolve));
    const stopped = room.stop();
    await clock.advanceAsync(CLOSE_MS);
    const fromMs = clock.wallMs();
    await settledSoon(clock, stopped);
    expect(clock.wallMs() - fromMs).toBeLessThan(CLOSE_MS);
  });
});

function othersSlots(result: string): string {
  return result.replaceAll(one.address.slice(2).toLowerCase(), "ab".repeat(20));
}

/** `pairsCount()`. */
function pairsCounted(params: readonly unknown[]): boolean {
  return JSON.stringify(params).includes('"data":"0xb81b2b71"');
}

/** A read has arrived at that endpoint. */
async function arrived({ proxies }: RoomStand, place: number): Promise<void> {
  while (at(proxies as readonly RpcProxy[], place).walletReads().length === 0)
    await new Promise((resolve) => setImmediate(resolve));
}

/** Where a request of before still hangs. */
async function settledBeside<T>({ clock }: RoomStand, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  promise.then(settled, settled);
  while (!isSettled) {
    await clock.advanceAsync(0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return promise;
}

/** Real time passes first, then the clock's; so what waits for the clock shows in it. */
async function settledSoon(clock: VirtualClock, promise: Promise<unknown>): Promise<void> {
  let isSettled = false;
  void promise.then(() => (isSettled = true));
  for (let round = 0; !isSettled; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (round > 0 && round % ROUNDS_OF_IO === 0) await clock.advanceAsync(100);
  }
}

const word = (value: number): string => value.toString(16).padStart(64, "0");
/** An array without entries, and two of them. */
const NO_COUNTS = `0x${word(32)}${word(0)}`;
const EMPTY_PAGES = `0x${word(64)}${word(96)}${word(0)}${word(0)}`;
