/**
 * The page's account in a real headless Chromium over local venues: what it shows, closes, cancels and stops, judged by
 * the venues' own order logs and positions. `DASHBOARD_SHOTS=<folder>` keeps screenshots.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SimOrder } from "../../sim/core/model/types.js";
import {
  accountOf,
  credentialsOf,
  type LocalPair,
  PAIR_VENUES,
  type PairVenue,
  type Trader,
} from "../support/local-pair.js";
import {
  LACKS_BROWSER,
  LocalPage,
  POLLING,
  rowOf as row,
  sendQuoted,
  shot,
  textOf as text,
} from "../support/local-page.js";
import { nativeName } from "../support/local-venues.js";

const LOTS: Readonly<Record<PairVenue, number>> = { venueone: 50_000, venuetwo: 500 };

describe.skipIf(LACKS_BROWSER)(
  "the page's account (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    let local: LocalPage;
    let pair: LocalPair;
    let trader: Trader;

    beforeAll(async () => {
      local = await LocalPage.start({ seed: 12, positions: { BTC: "0.5", ETH: "-5" } });
      ({ pair, trader } = local);
    }, 240_000);
    afterAll(() => local?.stop());

    const open: LocalPage["open"] = (options) => local.open(options);
    const held: LocalPage["held"] = (venue) => local.held(venue);
    const orders = (venue: PairVenue): readonly SimOrder[] =>
      pair[venue].exchange.orders.all(accountOf(venue, trader), nativeName(venue, "BTC"));
    async function sendClose(page: Page): Promise<void> {
      await sendQuoted(page, (said) => said !== "");
      await expect.poll(() => text(page, "#close-send"), POLLING).toBe("Done");
    }

    it("shows what is held and what is known of it, by the stream", async () => {
      const { page, problems, close } = await open();
      await page.waitForSelector(row("BTC LONG of venueone"));
      await expect.poll(() => page.$$eval("#positions tr", (rows) => rows.length), POLLING).toBe(4);
      expect(await text(page, `${row("BTC LONG of venuetwo")} td[data-label="Size"] span`)).toBe("0.5");
      expect(await text(page, `${row("ETH SHORT of venueone")} .way`)).toBe("SHORT");
      await expect
        .poll(() => text(page, "#coverage"), POLLING)
        .toMatch(/venueone (streamed and checked|as last read)venuetwo (streamed and checked|as last read)/);
      expect(await text(page, "#account-name")).toContain("4 positions · no open orders");
      expect(await text(page, "#account-pnl")).toMatch(/^[+−]?[\d,]+\.\d\d$/);
      // Keys are only in the page's memory.
      const secrets = [trader.venueone.agentKey, trader.venuetwo.apiSecret];
      const shown = await page.evaluate(
        "document.documentElement.outerHTML + location.href + JSON.stringify([{...localStorage}, {...sessionStorage}]) + document.cookie",
      );
      for (const secret of secrets) expect(String(shown)).not.toContain(secret);
      await shot(page, "account");
      expect(problems).toEqual([]);
      await close();
    });

    it("closes a part after its dry run, with that quote, and the venue's log shows one reduce-only order", async () => {
      const { page, problems, close } = await open();
      await page.click(`${row("BTC LONG of venuetwo")} button`);
      expect(await page.inputValue("#close-size")).toBe("0.5");
      await page.check('input[name="where"][value="here"]');
      await page.fill("#close-size", "0.2");
      await page.waitForSelector("#ticket[data-kind=won]");
      expect(await text(page, "#ticket-venue")).toBe("venuetwo");
      for (const name of ["all-in", "worst"]) expect(await text(page, `#ticket-${name}`)).toMatch(/^[\d,]+(\.\d+)?$/);
      expect(await text(page, "#ticket-cost")).toMatch(/^−?[\d.]+ bps$/);
      await expect.poll(() => text(page, "#ticket-life"), POLLING).toMatch(/^(\d+ s|ended)$/);
      expect(orders("venuetwo")).toEqual([]);
      await shot(page, "close");
      await sendClose(page);
      expect(await text(page, "#close-said")).toMatch(/^Closed 0\.2 at [\d,.]+ on venuetwo\.$/);
      const sent = orders("venuetwo");
      expect(
        sent.map(({ side, reduceOnly, requestedLots, filledLots }) => [side, reduceOnly, requestedLots, filledLots]),
      ).toEqual([["SELL", true, 200, 200]]);
      expect([held("venueone"), held("venuetwo")]).toEqual([LOTS.venueone, 300]);
      await page.click("#close-send");
      await expect
        .poll(() => text(page, `${row("BTC LONG of venuetwo")} td[data-label="Size"] span`), POLLING)
        .toBe("0.3");
      expect(problems).toEqual([]);
      await close();
    });

    it("sends nothing for a size that is more than is held, and says why", async () => {
      const { page, close } = await open();
      const before = PAIR_VENUES.map((venue) => orders(venue).length);
      await page.click(`${row("BTC LONG of venueone")} button`);
      await page.fill("#close-size", "7");
      await page.waitForSelector("#ticket[data-kind=none]");
      expect(await text(page, "#ticket-venue")).toMatch(/size|position/i);
      expect(await page.isDisabled("#close-send")).toBe(true);
      await page.fill("#close-size", "1e3");
      await expect.poll(() => text(page, "#ticket-venue"), POLLING).toBe("A size is a number such as 0.25.");
      expect(PAIR_VENUES.map((venue) => orders(venue).length)).toEqual(before);
      await close();
    });

    it("sends the same close again where no answer came: it is one order", async () => {
      const { page, close } = await open();
      const before = orders("venueone").length;
      await page.click(`${row("BTC LONG of venueone")} button`);
      await page.check('input[name="where"][value="here"]');
      await page.fill("#close-size", "0.1");
      // The close arrives; its answer does not.
      await page.route("**/api/trade/position/close", async (route) => {
        if (route.request().postData()?.includes('"dryRun":true')) {
          await route.continue();
          return;
        }
        await route.fetch();
        await route.abort("connectionreset");
      });
      await sendQuoted(page, (said) => said.startsWith("No answer"));
      await page.unroute("**/api/trade/position/close");
      await page.click("#close-send");
      await expect.poll(() => text(page, "#close-send"), POLLING).toBe("Done");
      expect(await text(page, "#close-said")).toMatch(/^Closed 0\.1 at [\d,.]+ on venueone\.$/);
      expect(orders("venueone").length).toBe(before + 1);
      expect(held("venueone")).toBe(LOTS.venueone - 10_000);
      await close();
    });

    it("cancels an open order", async () => {
      const price = Math.floor((pair.venuetwo.exchange.market.mark("BTCUSDT").markE8 / 1e8) * 0.97);
      const placed = await local.system.client.send("/api/trade/position/open", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          symbol: "BTC",
          direction: "LONG",
          size: "0.01",
          limitPrice: String(price),
          preferredExchange: "venuetwo",
          credentials: credentialsOf(trader),
        }),
      });
      expect([placed.status, placed.status === 200 ? "" : placed.text]).toEqual([200, ""]);
      const { page, problems, close } = await open();
      await page.waitForSelector("#orders tr");
      expect(await text(page, "#orders tr")).toContain("BUY");
      await page.click("#orders button");
      await expect.poll(() => page.$$eval("#orders tr", (rows) => rows.length), POLLING).toBe(0);
      expect(orders("venuetwo").at(-1)?.status).toBe("CANCELED");
      expect(problems).toEqual([]);
      await close();
    });

    it("stops openings, and lets them go on, each after its word", async () => {
      const { page, problems, close } = await open();
      const halted = async () => {
        const reply = await local.system.client.send("/api/trade/kill-switch");
        return (reply.body as { data: { active: boolean } }).data.active;
      };
      await page.click("#kill-switch");
      await expect.poll(() => text(page, "#typed-lines"), POLLING).toContain("Exits and cancels go on");
      expect(await page.isDisabled("#typed-go")).toBe(true);
      await page.fill("#typed-text", "stop");
      expect(await page.isDisabled("#typed-go")).toBe(true);
      await page.fill("#typed-text", "STOP");
      await page.click("#typed-go");
      await expect.poll(() => text(page, "#typed-said"), POLLING).toBe("Openings are stopped.");
      expect(await halted()).toBe(true);
      await page.click("#typed-leave");
      await page.click("#kill-switch");
      await expect.poll(() => text(page, "#typed-word"), POLLING).toBe("RESUME");
      await page.fill("#typed-text", "RESUME");
      await page.click("#typed-go");
      await expect.poll(() => text(page, "#typed-said"), POLLING).toBe("Openings go on.");
      expect(await halted()).toBe(false);
      expect(problems).toEqual([]);
      await close();
    });

    it("closes everything after its word, and not before", async () => {
      const { page, problems, close } = await open({ viewport: { width: 390, height: 844 }, colorScheme: "light" });
      await page.waitForSelector(row("BTC LONG of venueone"));
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
      await shot(page, "account-narrow");
      await page.click("#close-all");
      await expect
        .poll(() => text(page, "#typed-lines"), POLLING)
        .toMatch(/venueone: 2 positionsvenuetwo: 2 positions/);
      await shot(page, "close-all");
      await page.fill("#typed-text", "CLOSE AL");
      await page.keyboard.press("Enter");
      expect(held("venueone")).toBe(LOTS.venueone - 10_000);
      await page.fill("#typed-text", "CLOSE ALL");
      await page.keyboard.press("Enter");
      await expect
        .poll(() => text(page, "#typed-said"), POLLING)
        .toBe("venueone closed (2 of 2), venuetwo closed (2 of 2).");
      expect([held("venueone"), held("venuetwo")]).toEqual([0, 0]);
      await page.click("#typed-leave");
      await expect.poll(() => text(page, "#positions-empty"), POLLING).toBe("No positions.");
      expect(problems).toEqual([]);
      await close();
    });

    it("forgets the account, and shows another one that a person enters", async () => {
      const { page, problems, close } = await open();
      await page.waitForSelector("#coverage li");
      await page.click("#account-open");
      await expect.poll(() => text(page, "#account-name"), POLLING).toBe("No account is shown");
      expect(await page.isDisabled("#close-all")).toBe(true);
      await page.click("#account-open");
      await page.fill('input[name="walletAddress"]', "0x12");
      await page.keyboard.press("Enter");
      expect(await text(page, "#account-said")).toBe("The wallet address is 0x and 40 hex digits.");
      await page.fill('input[name="walletAddress"]', trader.venueone.address);
      await page.fill('input[name="venuetwo.apiKey"]', trader.venuetwo.apiKey);
      await page.keyboard.press("Enter");
      expect(await text(page, "#account-said")).toBe("venuetwo needs its key and its secret.");
      await page.fill('input[name="venuetwo.apiSecret"]', trader.venuetwo.apiSecret);
      await page.keyboard.press("Enter");
      await expect.poll(() => text(page, "#coverage"), POLLING).toMatch(/venueone .*venuetwo (streamed|as last)/);
      // No field contains the entered text any more.
      expect(await page.inputValue('input[name="venuetwo.apiSecret"]')).toBe("");
      expect(problems).toEqual([]);
      await close();
    });

    it.each(["dark", "light"] as const)(
      "has a name for everything and stays readable in the %s theme",
      async (colorScheme) => {
        const { page, close } = await open({ colorScheme });
        await page.waitForSelector("#coverage li");
        expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
        expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
        for (const opener of ["#close-all", "#kill-switch"]) {
          await page.click(opener);
          await page.waitForSelector("#typed-dialog[open]");
          expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
          await page.click("#typed-leave");
        }
        await close();
      },
    );
  },
);
