/**
 * A page of another origin in a real Chromium that knows everything a trader knows: each route that changes something is
 * tried in every way that a page has, and so is the stream. Nothing may come of it; the same bytes from a program trade.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../schemas/operation.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { chromiumPath, launchBrowser } from "./browser.js";
import { type BuiltClient, buildClient } from "./dashboard-build.js";
import { createFakeDesk } from "./fake-desk.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";

const chromium = chromiumPath();
/** A machine of ours without a browser is a broken one. */
const isRequired = process.env.CI === "true";

const KEY = { privateKey: `0x${"1".repeat(64)}` };
const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const BODY = {
  symbol: "BTC",
  direction: "LONG",
  size: "0.01",
  side: "BUY",
  type: "MARKET",
  quantity: "0.01",
  active: true,
  timeoutMs: 60_000,
  credentials: { venueone: KEY },
};
const SAMPLES: Readonly<Record<string, string>> = {
  symbol: "BTC",
  exchange: "venueone",
  walletId: WALLET,
  walletAddress: ADDRESS,
};
const ROUTES = Object.values<Operation>(OPERATIONS).map(({ method, path }) => ({
  method,
  path: path.replace(/\{(\w+)\}/g, (_, name: string) => SAMPLES[name] ?? "1"),
}));

interface Attacker {
  /** client/test/page/attack.ts */
  attack(plan: object): Promise<string[]>;
}

describe.skipIf(chromium === null && !isRequired)(
  "a page of another origin (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    const desk = createFakeDesk();
    let harness: Harness;
    let built: BuiltClient;
    let foreign: Server;
    let browser: Browser;

    beforeAll(async () => {
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      built = buildClient();
      foreign = createServer((_, response) => {
        response.writeHead(200, { "content-type": "text/html" });
        response.end("<!doctype html><title>page</title>");
      });
      await new Promise<void>((resolve) => void foreign.listen(0, "127.0.0.1", resolve));
      harness = await startHarness({
        trading: tradingWith(desk, [
          { ownerId: null, walletId: WALLET, userId: "alice", address: ADDRESS, credentials: { venueone: KEY } },
        ]),
      });
      browser = await launchBrowser(chromium);
    }, 240_000);
    afterAll(async () => {
      await browser?.close();
      await new Promise((resolve) => foreign?.close(resolve));
      await harness?.stop();
      built?.remove();
    });

    /** Requests that were answered with this status, of all routes. */
    async function answered(status: number): Promise<number> {
      const { text } = await harness.client.send("/metrics");
      const lines = text.split("\n").filter((line) => /^unwind_http_requests_total\{.*\}/.test(line));
      return lines
        .filter((line) => line.includes(`"${status}"`))
        .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
    }

    /** A page of another port of this machine, and one under a name of its own that points here. */
    it.each(["127.0.0.1", "localhost"])("from %s sends nothing, opens no stream and reads nothing", async (name) => {
      const { port } = foreign.address() as AddressInfo;
      const page = await (await browser.newContext()).newPage();
      await page.addInitScript({ path: join(built.folder, "test", "page", "attack.js") });
      await page.goto(`http://${name}:${port}/`);
      const before = desk.calls.length;
      const refusedBefore = await answered(403);
      const target = `http://127.0.0.1:${harness.server.port}`;
      const plan = { target, routes: ROUTES, body: BODY, walletId: WALLET };
      // Called by its name: the script has put it into the page.
      const read = await page.evaluate((given) => (globalThis as unknown as Attacker).attack(given), plan);
      // The health of a process is no secret, but without CORS no page reads it either.
      expect(read).toEqual([]);
      expect(desk.calls.slice(before)).toEqual([]);
      expect(harness.one.placed).toEqual([]);
      expect(harness.two.placed).toEqual([]);
      // They did arrive: preflights, simple requests and forms were each refused.
      const changing = ROUTES.filter(({ method }) => method !== "GET").length;
      expect((await answered(403)) - refusedBefore).toBeGreaterThan(3 * changing);
      await page.context().close();
    });

    it("would trade if it were let in: the same bytes from a program do", async () => {
      const reply = await harness.client.close({
        symbol: "BTC",
        direction: "LONG",
        size: "0.01",
        credentials: { venueone: KEY },
      });
      expect(reply.status).toBe(200);
      expect(harness.one.placed).toHaveLength(1);
      const before = desk.calls.length;
      await harness.client.send("/api/trade/close-all", {
        method: "POST",
        headers: { "content-type": "application/json", "x-wallet-id": WALLET },
        body: "{}",
      });
      expect(desk.calls.length).toBe(before + 1);
    });
  },
);
