/**
 * venuefive through the whole service where its chain or the service itself fails: no failure of it hides another venue, and
 * the rows of its histories are those of the chain, through forks, kills and restarts.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Fault, RpcProxy } from "../../../feeds/venuefive/test/rpc-proxy.js";
import type { OpenPositionParameters } from "../../../client/venuefive/open-order.js";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { SPEC_PAIRS } from "../../sim/venuefive/pairs.js";
import { eventsSince, startTrader } from "../../sim/venuefive/test/trader.js";
import { found } from "../support/system.js";
import { FIVE, type Row, startVenuefiveStand, type VenuefiveStand } from "../support/venuefive-stand.js";
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

let stand: VenuefiveStand;
let trader: Stand;
beforeAll(async () => {
  stand = await startVenuefiveStand(52);
  trader = await stand.trader();
  await trader.trading.openPosition(ORDER);
  await stand.world.keeper.round();
}, TEST_MS);
afterEach(() => {
  stand.proxy.fault = null;
});
afterAll(() => stand?.stop());

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

describe("while the chain's endpoint is away, the service", () => {
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
      stand.proxy.fault = fault;
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

      stand.proxy.fault = null;
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

      const folder = mkdtempSync(join(tmpdir(), "unwind-venuefive-kill-"));
      const random = createSeededRandom(SEED);
      const cursors: number[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        // Of the ranges and the last 64 blocks one by one, each is a request.
        let left = 2 + Math.floor(random.next() * 20);
        const due = new Promise<void>((resolve) => {
          stand.proxy.fault = (calls) => {
            if (calls.some(({ method }) => method === "eth_getLogs") && --left === 0) resolve();
            // What would come after the kill is never answered.
            return left <= 0;
          };
        });
        await stand.serve(join(folder, "data"));
        await due;
        cursors.push(Number(((await stand.room())["index"] as Row)["cursorBlock"]));
        await stand.end("SIGKILL");
      }
      stand.proxy.fault = null;
      await stand.serve(join(folder, "data"));
      const after = await stand.indexed();
      // Each went on from where the one before was, and the last of them had not ended.
      expect(cursors).toEqual([...cursors].sort((one, other) => one - other));
      expect(Math.max(...cursors)).toBeLessThan(await stand.tip());
      expect(after).toMatchObject({ events: whole["events"], retracted: 0, problem: null });
      expect(await stand.history("orders", own.address)).toEqual(expected);
      await stand.end();
      rmSync(folder, { recursive: true, force: true });
      await stand.serve();
    },
    TEST_MS,
  );
});

describe("beside an endpoint of another chain, one that grants ranges of ten blocks", () => {
  it(
    "is read and followed alone, to the last event",
    async () => {
      const own = await stand.trader();
      await own.trading.openPosition(LIMIT);
      await stand.world.chain.mine(100);
      const whole = await stand.indexed();
      const expected = await stand.history("orders", own.address);
      await stand.end();
      const stranger = await new RpcProxy(stand.world.rpcUrl).listen();
      stranger.twist = ({ method }) => (method === "eth_chainId" ? "0x1" : undefined);
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
      const folder = mkdtempSync(join(tmpdir(), "unwind-venuefive-ranges-"));
      try {
        await stand.serve(join(folder, "data"), { VENUEFIVE_RPC_URLS: `${stranger.url},${stand.proxy.url}` });
        expect(await stand.indexed()).toMatchObject({ events: whole["events"], problem: null });
        expect(await stand.history("orders", own.address)).toEqual(expected);
        expect((await stand.room())["endpoints"]).toMatchObject([{ state: "wrong-chain" }, { state: "up" }]);
        expect(await shown()).toMatchObject({ rows: 1, others: 2 });
        expect(refusals).toBeGreaterThan(0);
        await stand.end();
      } finally {
        stranger.stop();
        stand.proxy.fault = null;
        rmSync(folder, { recursive: true, force: true });
      }
      await stand.serve();
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
