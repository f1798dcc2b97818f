/** The local venues as they are started together. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { formatUnits } from "viem";
import { describe, expect, it, onTestFinished } from "vitest";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { publicKeyOf } from "../../feeds/venuethree/sign/schnorr.js";
import { DEMO_ADDRESS } from "./core/local-venue.js";
import { scaled } from "./venuefive/pairs.js";
import { startTrader } from "./venuefive/test/trader.js";
import type { VenuefiveWorld } from "./venuefive/world.js";
import { DEMO_SYMBOLS, LOCAL_VENUES, localVenuesOptions, startLocalVenues } from "./venues.js";

const BASIS_BPS_MAX = 20;
/** Indexes of pairs. */
const ETH = 0;
const BTC = 1;

describe("local venues", () => {
  it("run four markets on one price model, each with a small basis of its own", async () => {
    const venues = await startLocalVenues({ seed: 3, flow: { levelCount: 20 }, unlimited: true });
    try {
      const { venueone, venuetwo, venuethree, venuefour } = venues;
      const sims = [venueone, venuetwo, venuethree, venuefour];
      expect(new Set(sims.map((sim) => sim.port)).size).toBe(4);
      for (const symbol of DEMO_SYMBOLS) {
        const mids = sims.map(({ exchange }) => {
          const native = exchange.venue === "venuetwo" ? `${symbol}USDT` : symbol;
          const scale = 10 ** (exchange.instruments.get(native)?.priceDecimals ?? 0);
          const [bid, ask] = [exchange.market.bestBid(native), exchange.market.bestAsk(native)];
          return ((bid?.priceTicks ?? 0) + (ask?.priceTicks ?? 0)) / 2 / scale;
        });
        const [lowest, highest] = [Math.min(...mids), Math.max(...mids)];
        expect(((highest - lowest) / lowest) * 10_000).toBeLessThan(BASIS_BPS_MAX);
        expect(highest).toBeGreaterThan(lowest);
      }
      for (const sim of [venuethree, venuefour]) {
        const path = sim === venuethree ? "/api/v1/orderBooks" : "/api/v1/info";
        expect((await fetch(`${sim.restUrl}${path}`)).status).toBe(200);
        const state = (await (await fetch(`${sim.restUrl}/_sim/state`)).json()) as { venue: string };
        expect(state.venue).toBe(sim.exchange.venue);
      }
    } finally {
      await venues.stop();
    }
  });

  it("know the demo trader by the key it signs with, and hold its long of BTC on each", async () => {
    const { accountIndex, apiKeyIndex, apiKeyPrivateKey, publicKey } = LOCAL_VENUES.venuethree.trader;
    expect(Buffer.from(publicKeyOf(Buffer.from(apiKeyPrivateKey, "hex"))).toString("hex")).toBe(publicKey);
    const venues = await startLocalVenues({ seed: 4, flow: { levelCount: 20 }, unlimited: true, btcSize: "1.5" });
    try {
      const base = `${venues.venuethree.restUrl}/api/v1`;
      const keys = (await (await fetch(`${base}/apikeys?account_index=${accountIndex}&api_key_index=255`)).json()) as {
        api_keys: unknown[];
      };
      expect(keys.api_keys).toMatchObject([{ api_key_index: apiKeyIndex, public_key: publicKey }]);
      for (const { exchange } of [venues.venueone, venues.venuetwo, venues.venuethree, venues.venuefour]) {
        const symbol = exchange.venue === "venuetwo" ? "BTCUSDT" : "BTC";
        const { qtyDecimals = 0 } = exchange.instruments.get(symbol) ?? {};
        const [account] = exchange.accounts.all();
        const lots = exchange.accounts.position(account?.accountId ?? "", symbol, "BOTH")?.qtyLots ?? 0;
        expect(lots / 10 ** qtyDecimals).toBe(1.5);
      }
    } finally {
      await venues.stop();
    }
  });

  it("run chains beside them in a process of their own, make money there, and take all with them when they are killed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "unwind-venues-"));
    const program = compileChild("bench/sim/venues.child.ts", folder);
    const env = { ...process.env, SIM_SEED: "6", SIM_CHAINS: "1" };
    const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    rmSync(folder, { recursive: true });
    const { venueone, venuetwo, chains } = JSON.parse(line) as Record<"venueone" | "venuetwo", { restUrl: string }> & {
      chains: Record<string, string>;
    };
    expect(Object.keys(chains)).toEqual(["1", "56", "42161"]);
    const to = `0x${"5".repeat(40)}`;
    const mint = async (venue: { restUrl: string }, body: object) =>
      (await fetch(`${venue.restUrl}/_sim/mint`, { method: "POST", body: JSON.stringify({ to, ...body }) })).json();
    expect(await mint(venuetwo, { chainId: 56, token: "USDT", amount: "7.5", coins: "1" })).toMatchObject({
      balance: "7.5",
    });
    expect(await mint(venueone, { chainId: 42161, token: "USDC", amount: "2" })).toMatchObject({ balance: "2" });
    expect(await mint(venuetwo, { chainId: 10, token: "USDT", amount: "1" })).toHaveProperty("error");
    child.kill("SIGKILL");
    await once(child, "exit");
    const answers = () =>
      Promise.all(Object.values(chains).map((url) => fetch(url, { method: "POST" }).then(Boolean, () => false)));
    await expect.poll(answers).toEqual([false, false, false]);
  });

  it("run venuefive beside them where it is asked for, with prices that follow the model and a keeper at work", async () => {
    const options = { ...localVenuesOptions({ SIM_SEED: "8", SIM_VENUEFIVE: "1" }), flow: { levelCount: 20 } };
    const venues = await startLocalVenues(options);
    try {
      const { venuefive, venuefiveProblem } = venues;
      expect([venuefiveProblem, venuefive?.description.chainId]).toEqual([null, 8453]);
      const world = venuefive?.world as VenuefiveWorld;
      const trader = await startTrader(world, 1);
      const price = formatUnits(await world.read<bigint>("PriceAggregator", "price", [BTC]), 10);
      await trader.open({ pairIndex: BTC, collateral: "100", leverage: "10", price, slippagePercent: "50" });
      const count = () => world.read("TradingStorage", "openTradesCount", [trader.address, BTC]);
      await expect.poll(count).toBe(1n);
      await expect.poll(() => world.read("PriceAggregator", "price", [BTC])).not.toBe(scaled(price));
      // The demo trader holds a position there, and an order of its own rests.
      await expect.poll(() => world.read("TradingStorage", "openTradesCount", [DEMO_ADDRESS, BTC])).toBe(1n);
      expect(await world.read("TradingStorage", "openLimitOrdersCount", [DEMO_ADDRESS, ETH])).toBe(1n);
      // Histories end at the safe head: a person who has just traded looks there.
      const numberOf = async (tag: string) =>
        Number(((await world.chain.rpc("eth_getBlockByNumber", [tag, false])) as { number: string }).number);
      const newest = await numberOf("latest");
      expect(await numberOf("safe")).toBeGreaterThanOrEqual(newest - 1);
    } finally {
      await venues.stop();
    }
    expect(localVenuesOptions({}).hasVenuefive).toBe(false);
  });

  it("start without the chains where these cannot run, and say why", async () => {
    const options = { seed: 7, flow: { levelCount: 20 }, hasChains: true };
    const venues = await startLocalVenues(options, () => Promise.reject(new Error("no such program")));
    try {
      expect([venues.chainUrls, venues.chainProblem]).toEqual([{}, "Error: no such program"]);
      const answer = await fetch(`${venues.venuetwo.restUrl}/_sim/mint`, { method: "POST", body: "{}" });
      expect(await answer.json()).toEqual({ error: "the venue has no chains" });
    } finally {
      await venues.stop();
    }
  });

  it("list, as the demo starts them, nothing but what has a live book", async () => {
    const venues = await startLocalVenues({ ...localVenuesOptions({ SIM_SEED: "5" }), flow: { levelCount: 20 } });
    try {
      const { venuetwo, venuethree } = venues;
      const read = async (url: string) => (await (await fetch(url)).json()) as Record<string, unknown>;
      const three = (await read(`${venuethree.restUrl}/api/v1/orderBooks`))["order_books"] as {
        symbol: string;
        status: string;
        market_type: string;
      }[];
      const perps = three.filter((row) => row.market_type === "perp");
      expect(perps.map(({ symbol, status }) => `${symbol} ${status}`).sort()).toEqual(
        DEMO_SYMBOLS.map((symbol) => `${symbol} active`),
      );
      const two = (await read(`${venuetwo.restUrl}/fapi/v3/exchangeInfo`))["symbols"] as {
        symbol: string;
        status: string;
      }[];
      expect(two.map(({ symbol, status }) => `${symbol} ${status}`).sort()).toEqual(
        DEMO_SYMBOLS.map((symbol) => `${symbol}USDT TRADING`),
      );
      for (const { exchange } of [venues.venueone, venuetwo, venuethree, venues.venuefour])
        expect([...exchange.instruments.keys()].map((name) => name.replace("USDT", "")).sort()).toEqual(DEMO_SYMBOLS);
    } finally {
      await venues.stop();
    }
  });
});
