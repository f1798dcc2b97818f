/**
 * venuefive through the whole service where its chain or the service itself fails: no failure of it hides another venue, and
 * the rows of its histories are those of the chain, through forks, kills and restarts.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { laggingTwist } from "../../../feeds/venuefive/test/lagging-endpoint.js";
import type { Fault } from "../../../feeds/venuefive/test/rpc-proxy.js";
import type { OpenPositionParameters } from "../../../client/venuefive/open-order.js";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { SPEC_PAIRS } from "../../sim/venuefive/pairs.js";
import { eventsSince, startTrader } from "../../sim/venuefive/test/trader.js";
import { found } from "../support/system.js";
import {
  dataOf,
  FIVE,
  type Row,
  SAFE_LAG_BLOCKS,
  startVenuefiveStand,
  type VenuefiveStand,
} from "../support/venuefive-stand.js";
import type { Stand } from "../venuefive-client/stand.js";

const TEST_MS = 300_000;
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_129);
const KILLS = Number(process.env.KILLS ?? 3);
const [BTC, PEPE] = [1, 21];
const ORDER = {
  ...{ symbol: "BTC", direction: "LONG", positionSizeUsd: "100", leverage: 10 },
  ...{ openPrice: "92400", orderType: "MARKET" },
} as const satisfies OpenPositionParameters;
const LIMIT = { ...ORDER, orderType: "LIMIT", openPrice: "80000" } as const;

/** Of the store that outlives its services. */
const folder = mkdtempSync(join(tmpdir(), "unwind-venuefive-kill-"));
let stand: VenuefiveStand;
let trader: Stand;
beforeAll(async () => {
  stand = await startVenuefiveStand(52, both);
  trader = await stand.trader();
  await trader.trading.openPosition(ORDER);
  await stand.world.keeper.round();
}, TEST_MS);
afterEach(() => {
  for (const proxy of [stand.proxy, stand.second]) [proxy.fault, proxy.twist] = [null, null];
});
afterAll(async () => {
  await stand?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Of one service for all of them: the two endpoints of the chain. */
const both = ({ proxy, second }: VenuefiveStand) => ({ VENUEFIVE_RPC_URLS: `${proxy.url},${second.url}` });
/** Both endpoints, as one. */
function failing(fault: Fault | null): void {
  for (const proxy of [stand.proxy, stand.second]) proxy.fault = fault;
}

interface Coverage {
  readonly state: string;
  readonly error?: { readonly code: string; readonly message: string };
}
async function shown(): Promise<{ readonly rows: number; readonly others: number; readonly coverage: Coverage }> {
  const { status, body } = await stand.all(trader.address);
  expect(status).toBe(200);
  const { totalPositions, data, coverage } = body as unknown as {
    readonly totalPositions: number;
    readonly data: { readonly positions: { readonly venuefive: { readonly count: number } } };
    readonly coverage: { readonly venuefive: Coverage };
  };
  return { rows: data.positions.venuefive.count, others: totalPositions, coverage: coverage.venuefive };
}

const JSON_TYPE = { "content-type": "application/json" };
const AWAY: readonly (readonly [what: string, fault: Fault])[] = [
  ["down", (_, response) => response.destroy() !== undefined],
  ["silent", () => true],
  ["limiting", (_, response) => response.writeHead(429, { ...JSON_TYPE, "retry-after": "1" }).end("{}") !== undefined],
  ["answering nonsense", (_, response) => response.writeHead(200, JSON_TYPE).end("<html>") !== undefined],
];

describe("while the chain's endpoints are away, the service", () => {
  it.each(AWAY)(
    "shows the other venues and an error for venuefive alone, and goes on after it: %s",
    async (_, fault) => {
      await stand.positions(trader.address);
      const stream = await StreamClient.open(stand.port);
      const { subs } = await stream.subscribe({
        ...{ topic: "positions", walletAddress: trader.address, exchanges: ["venuefive"] },
      });
      const fold = await stream.fold(subs[0]?.sub ?? "");
      const stateIs = (state: string) => stream.until(() => fold.fields["venuefive"]?.["state"] === state, state);
      await stateIs("LIVE");
      failing(fault);
      // A read of the block before may be shown until the first look has failed: what is shown is never an empty list.
      const failed = await found("an error of venuefive", async () => {
        const now = await shown();
        expect(now.others).toBe(2);
        if (now.coverage.state !== "ERROR") expect(now.rows).toBe(1);
        return now.coverage.state === "ERROR" ? now : null;
      });
      expect(failed).toMatchObject({ rows: 0, coverage: { error: { code: expect.stringMatching(/^[A-Z_]+$/) } } });
      const reply = await stand.client.get(`${FIVE}/positions/${trader.address}`);
      expect(reply.status, reply.text).toBeGreaterThanOrEqual(429);
      expect((reply.body as Row)["code"]).toEqual(expect.stringMatching(/^[A-Z_]+$/));
      await stream.until(() => fold.fields["venuefive"]?.["state"] !== "LIVE", "not LIVE");
      // What was shown last stays, with its coverage; nothing was closed.
      expect([fold.rows.size, fold.events]).toEqual([1, []]);

      failing(null);
      await stand.world.chain.mine();
      await found("venuefive again", async () => ((await shown()).coverage.state === "SNAPSHOT" ? true : null));
      expect(await shown()).toMatchObject({ rows: 1, others: 2 });
      await stateIs("LIVE");
      expect([fold.rows.size, fold.events]).toEqual([1, []]);
      await stand.indexed();
      await stream.stop();
    },
    TEST_MS,
  );
});

const LAG_BLOCKS = 12;
/** More than the endpoints take turns. */
const LOOKS = 12;

describe("beside an endpoint that lags", () => {
  it(
    "nothing goes back in time, in whatever order they are asked, and the one that lags is named",
    async () => {
      const own = await stand.trader();
      stand.proxy.twist = laggingTwist(stand.world.chain.rpc, LAG_BLOCKS, SAFE_LAG_BLOCKS);
      await stand.world.chain.mine(LAG_BLOCKS);
      await found("the one that lags named", async () => {
        const endpoints = (await stand.room())["endpoints"] as readonly Row[];
        return endpoints.map(({ state }) => state).join() === "lagging,up" ? true : null;
      });
      const metrics = (await stand.client.get("/metrics")).text;
      expect(metrics).toMatch(/^unwind_venuefive_endpoint_up\{place="1",.*\} 0$/m);
      expect(metrics).toMatch(/^unwind_venuefive_endpoint_up\{place="2",.*\} 1$/m);
      expect((await stand.client.get("/ready")).status).toBe(200);
      const stream = await StreamClient.open(stand.port);
      const wish = { topic: "positions", walletAddress: own.address, exchanges: ["venuefive"] };
      const fold = await stream.fold((await stream.subscribe(wish)).subs[0]?.sub ?? "");
      const tops = { positions: 0, trades: 0 };
      const looks = async (rows: number, trades: number, txHash: string): Promise<void> => {
        for (let look = 0; look < LOOKS; look++) {
          const held = await stand.get(`${FIVE}/positions/${own.address}`);
          expect(held["totalPositions"]).toBe(rows);
          expect(Number(held["block"])).toBeGreaterThanOrEqual(tops.positions);
          tops.positions = Number(held["block"]);
          const past = dataOf(await stand.get(`${FIVE}/history/trades?walletAddress=${own.address}`));
          expect(past["trades"]).toHaveLength(trades);
          expect(Number(past["toBlock"])).toBeGreaterThanOrEqual(tops.trades);
          tops.trades = Number(past["toBlock"]);
          expect(await stand.status(txHash, null)).toMatchObject({ status: "FILLED" });
        }
      };
      const { txHash } = await own.trading.openPosition(ORDER);
      await stand.world.keeper.round();
      expect(await stand.positions(own.address)).toHaveLength(1);
      await looks(1, 0, txHash);
      await stream.until(() => fold.rows.size === 1, "opened");
      const closing = await own.trading.closePosition({ pairIndex: BTC, tradeIndex: 0 });
      await stand.world.keeper.round();
      expect(await stand.positions(own.address)).toEqual([]);
      expect(await stand.history("trades", own.address)).toHaveLength(1);
      await looks(0, 1, closing);
      await stream.until(() => fold.rows.size === 0, "closed");

      // Alone it has the position still: that is an error, and never a row.
      stand.second.fault = (_, response) => response.destroy() !== undefined;
      for (let failures = 0; failures < LOOKS; ) {
        const { status, body } = await stand.client.get(`${FIVE}/positions/${own.address}`);
        if (status === 200) expect(body).toMatchObject({ totalPositions: 0 });
        else failures++;
      }
      stand.proxy.twist = null;
      stand.second.fault = null;
      await stand.world.chain.mine();
      await found("both again", async () => {
        const endpoints = (await stand.room())["endpoints"] as readonly Row[];
        return endpoints.every(({ state }) => state === "up") ? true : null;
      });
      await stand.indexed();
      await looks(0, 1, txHash);
      expect(fold.events.map(([event]) => event)).toEqual(["opened", "closed"]);
      await stream.stop();
    },
    TEST_MS,
  );
});

/** Orders that were placed, by the chain's own log. */
async function placedOnChain(address: string): Promise<number> {
  const events = await eventsSince(stand.world, 0n);
  return events.filter(
    ({ name, args }) => name === "OpenLimitPlaced" && String(args["trader"]).toLowerCase() === address.toLowerCase(),
  ).length;
}

describe("a reorganisation across the cursor of venuefive's index", () => {
  it(
    "takes exactly the rows whose blocks vanished out of the histories, and what came instead is in them",
    async () => {
      const own = await stand.trader();
      for (let order = 0; order < 3; order++) await own.trading.openPosition(LIMIT);
      const kept = await stand.history("orders", own.address);
      const before = (await stand.indexed())["events"];
      expect([kept.length, await placedOnChain(own.address)]).toEqual([3, 3]);

      const from = await stand.tip();
      const { txHash } = await own.trading.openPosition({ ...LIMIT, openPrice: "81000" });
      await own.trading.openPosition({ ...LIMIT, openPrice: "82000" });
      expect(await stand.history("orders", own.address)).toHaveLength(5);
      expect(await stand.indexed()).toMatchObject({ events: Number(before) + 2 });
      expect(await stand.status(txHash, null)).toMatchObject({ status: "OPEN" });

      await stand.world.chain.reorg((await stand.tip()) - from);
      const retracted = await found("rows taken back", async () => {
        const index = await stand.indexed();
        return Number(index["events"]) === Number(before) ? index : null;
      });
      expect(retracted).toMatchObject({ retracted: 2, problem: null });
      expect(await stand.history("orders", own.address)).toEqual(kept);
      expect(await stand.orders(own.address)).toHaveLength(3);
      expect((await stand.client.get(`${FIVE}/orders/${txHash}/status`)).status).toBe(404);

      await own.trading.openPosition({ ...LIMIT, openPrice: "83000" });
      const rows = await stand.history("orders", own.address);
      expect(rows.map((row) => row["price"])).toEqual(["83000", "80000", "80000", "80000"]);
      expect(await placedOnChain(own.address)).toBe(4);
    },
    TEST_MS,
  );
});

describe("kill -9 in the middle of indexing venuefive", () => {
  it(
    "loses no event and doubles none, at whatever request of it, several times",
    async () => {
      const own = await stand.trader();
      for (let order = 0; order < 4; order++) {
        await own.trading.openPosition({ ...LIMIT, openPrice: String(80_000 + order) });
        await stand.world.chain.mine(20);
      }
      const whole = await stand.indexed();
      const expected = await stand.history("orders", own.address);
      expect(expected).toHaveLength(await placedOnChain(own.address));
      await stand.end();

      const random = createSeededRandom(SEED);
      const cursors: number[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        // Of the ranges and the last 64 blocks one by one, each is a request.
        let left = 2 + Math.floor(random.next() * 20);
        const due = new Promise<void>((resolve) => {
          failing((calls) => {
            if (calls.some(({ method }) => method === "eth_getLogs") && --left === 0) resolve();
            // What would come after the kill is never answered.
            return left <= 0;
          });
        });
        await stand.serve(join(folder, "data"), both(stand));
        await due;
        cursors.push(Number(((await stand.room())["index"] as Row)["cursorBlock"]));
        await stand.end("SIGKILL");
      }
      failing(null);
      await stand.serve(join(folder, "data"), both(stand));
      const after = await stand.indexed();
      // Each went on from where the one before was, and the last of them had not ended.
      expect(cursors).toEqual([...cursors].sort((one, other) => one - other));
      expect(Math.max(...cursors)).toBeLessThan(await stand.tip());
      expect(after).toMatchObject({ events: whole["events"], retracted: 0, problem: null });
      expect(await stand.history("orders", own.address)).toEqual(expected);
    },
    TEST_MS,
  );
});

describe("beside an endpoint that becomes one of another chain, one that grants ranges of ten blocks", () => {
  it(
    "is read and followed alone, to the last event",
    async () => {
      const own = await stand.trader();
      const before = Number((await stand.indexed())["events"]);
      stand.second.twist = ({ method }) => (method === "eth_chainId" ? "0x1" : undefined);
      await found("the other chain named", async () => {
        const [, { state } = {}] = (await stand.room())["endpoints"] as readonly Row[];
        return state === "wrong-chain" ? true : null;
      });
      // What is to be read comes to more than one range.
      stand.proxy.fault = (calls, response) =>
        calls.some(({ method }) => method === "eth_getLogs") && response.destroy() !== undefined;
      await own.trading.openPosition(LIMIT);
      await stand.world.chain.mine(100);
      let refusals = 0;
      stand.proxy.fault = (calls, response) => {
        const [call] = calls;
        if (call?.method !== "eth_getLogs") return false;
        const { fromBlock, toBlock } = call.params[0] as { readonly fromBlock?: string; readonly toBlock?: string };
        if (fromBlock === undefined || Number(toBlock) - Number(fromBlock) < 10) return false;
        refusals++;
        const error = { code: -32_600, message: "query exceeds max block range 10" };
        response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: "2.0", id: call.id, error }));
        return true;
      };
      expect(await stand.history("orders", own.address)).toMatchObject([{ price: "80000", status: "OPEN" }]);
      expect(await stand.indexed()).toMatchObject({ events: before + 1, problem: null });
      expect((await stand.room())["endpoints"]).toMatchObject([{ state: "up" }, { state: "wrong-chain" }]);
      expect(await shown()).toMatchObject({ rows: 1, others: 2 });
      expect(refusals).toBeGreaterThan(0);
    },
    TEST_MS,
  );
});

describe("pairs of the chain that change while the service runs", () => {
  it(
    "are shown under their index where one is added, with no restart",
    async () => {
      const [first] = SPEC_PAIRS;
      if (first === undefined) throw new Error("the local venue has no pairs");
      await stand.world.addPairs([{ ...first, symbol: "NEW", price: "2", leverageMax: 50 }]);
      const own = await startTrader(stand.world, 51);
      await own.opened({ pairIndex: BTC, collateral: "100", leverage: "10", price: "92400" });
      await own.opened({ pairIndex: SPEC_PAIRS.length, collateral: "50", leverage: "10", price: "2" });
      expect((await stand.positions(own.address)).map((row) => row["symbol"])).toEqual(["BTC", "PAIR_51"]);
      expect(await stand.room()).toMatchObject({ state: "LIVE", differingPairs: [] });
    },
    TEST_MS,
  );

  it(
    "of another name stop its reads by name and no other venue, until they are mended",
    async () => {
      await stand.world.turn("PairStorage", "renamePair", [PEPE, "XAU"]);
      await stand.world.chain.mine();
      const refused = await found("the renamed pair", async () => {
        const reply = await stand.client.get(`${FIVE}/positions/${trader.address}`);
        return reply.status === 200 ? null : reply;
      });
      expect([refused.status, refused.body]).toMatchObject([
        503,
        { details: { reason: "PAIRS_DIFFER", pairs: [{ index: PEPE, here: "PEPE", chain: "XAU" }] } },
      ]);
      const error = { code: "PAIRS_DIFFER", message: "pair 21 is XAU on the chain and PEPE here" };
      expect(await shown()).toEqual({
        rows: 0,
        others: 2,
        coverage: expect.objectContaining({ state: "ERROR", error }),
      });
      expect((await stand.client.get("/ready")).status).toBe(200);
      await stand.world.turn("PairStorage", "renamePair", [PEPE, "PEPE"]);
      await stand.world.chain.mine();
      await found("venuefive again", async () => ((await shown()).coverage.state === "SNAPSHOT" ? true : null));
      expect(await stand.positions(trader.address)).toHaveLength(1);
    },
    TEST_MS,
  );

  it("wrong asks are refused by name, and ask the chain nothing", async () => {
    const bad = await stand.client.get(`${FIVE}/positions/0x12`);
    expect([bad.status, (bad.body as Row)["code"]]).toEqual([400, "INVALID_WALLET_ADDRESS"]);
    const pair = await stand.client.get(`${FIVE}/orders?walletAddress=${trader.address}&symbol=NOSUCH`);
    expect((pair.body as Row)["code"]).toBe("UNKNOWN_SYMBOL");
    expect(pair.status).toBe(404);
  });
});
