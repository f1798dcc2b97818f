/**
 * The page's funds in a real headless Chromium through the demo as a person starts it: real parties, venues and chains.
 * `DASHBOARD_SHOTS=<folder>` keeps screenshots.
 */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "../../../gateway/test/browser.js";
import { anvilBinary } from "../../sim/chain/anvil-binary.js";
import { DemoBench } from "../support/demo-process.js";
import { LACKS_BROWSER, textOf as text } from "../support/local-page.js";
import { found } from "../support/system.js";

/** A ceiling: a shared machine may take its cores away for a while. */
const PATIENCE_MS = 900_000;
const POLLING = { timeout: 120_000, interval: 100 };
const SHOTS = process.env["DASHBOARD_SHOTS"];

describe.skipIf(LACKS_BROWSER || anvilBinary() === null)(
  "the page's funds (needs chromium and the local chains' program)",
  { timeout: PATIENCE_MS },
  () => {
    let bench: DemoBench;
    let browser: Browser;
    let url: string;
    let walletId: string;

    beforeAll(async () => {
      const chromium = chromiumPath();
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      bench = new DemoBench({ hasPage: true });
      const demo = bench.start();
      await demo.shows("curl -s");
      [, url = ""] = /ready (\S+)/.exec(demo.output) ?? [];
      browser = await launchBrowser(chromium);
    }, PATIENCE_MS);
    afterAll(async () => {
      await browser?.close();
      bench?.dispose();
    });

    async function post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
      const headers = { "content-type": "application/json", "idempotency-key": crypto.randomUUID() };
      return found("the signer is there", async () => {
        const reply = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
        const fields = (await reply.json()) as Readonly<Record<string, unknown>>;
        return fields["code"] === "SIGNER_UNAVAILABLE" ? null : fields;
      });
    }
    const transfers = async (): Promise<readonly Readonly<Record<string, unknown>>[]> => {
      const reply = (await (await fetch(`${url}/api/wallets/${walletId}/transfers`)).json()) as {
        data: { transfers: Readonly<Record<string, unknown>>[] };
      };
      return reply.data.transfers;
    };
    async function open(options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage> {
      const opened = await openPage(browser, url, join(bench.pageFolder, "test", "page", "probe.js"), options);
      await opened.page.waitForSelector("#funds:not([hidden])");
      await expect.poll(() => opened.page.inputValue("#funds-wallet"), POLLING).toBe(walletId);
      await opened.page.waitForSelector("#funds-held tr");
      return opened;
    }
    const held = (page: Page, place: string, asset: string) =>
      page
        .locator("#funds-held tr", { hasText: place })
        .filter({ has: page.locator("td", { hasText: new RegExp(`^${asset}$`) }) })
        .locator("td")
        .last()
        .textContent();
    const badge = (page: Page, row = 0) => page.locator("#funds-transfers .badge").nth(row).textContent();
    async function checked(page: Page, act: string, way: string, amount: string): Promise<void> {
      await page.getByRole("button", { name: `${act}…`, exact: true }).click();
      await page.getByLabel("Way").selectOption({ label: way });
      await page.getByLabel("Amount").fill(amount);
      await page.waitForSelector("#funds-check:not([hidden]), #funds-dialog-said[data-kind=bad]");
      // What was refused instead is in the failure.
      expect(await text(page, "#funds-dialog-said")).toMatch(/^Checked/);
      await expect.poll(() => page.isDisabled("#funds-go"), POLLING).toBe(false);
    }
    async function shot(page: Page, name: string): Promise<void> {
      if (SHOTS !== undefined) await page.locator("#funds").screenshot({ path: join(SHOTS, `${name}.png`) });
    }

    it("pay in what was checked, once for two presses and once for a lost reply, and take it out again", async () => {
      walletId = String((await post("/api/wallets", { userId: "ada" }))["walletId"]);
      const key = await post("/api/trading/venuetwo/apikey", { walletIdOrAddress: walletId });
      expect(key["success"]).toBe(true);
      const { page, problems, close } = await open();
      expect(await held(page, "network_56", "USDT")).toBe("1,000");

      await checked(page, "Deposit", "USDT on network_56 to venuetwo", "250.5");
      expect(await text(page, "#funds-check")).toMatch(
        /^Gas, at most0\.\d+ coins of 1Transactionsapprove, depositMinimum1 USDTAvailable1000 USDT$/,
      );
      expect(await transfers()).toEqual([]);
      // The deposit arrives; its answer does not.
      await page.route("**/api/trading/venuetwo/deposit", async (route) => {
        await route.fetch();
        await route.abort("connectionreset");
      });
      await page.locator("#funds-go").dblclick();
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toMatch(/^No answer: it may have been done/);
      await page.unroute("**/api/trading/venuetwo/deposit");
      await page.getByRole("button", { name: "Send it again" }).click();
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toMatch(/^Deposit of 250\.5 USDT: \w+\.$/);
      expect(await text(page, "#funds-dialog-said")).not.toMatch(/unknown/);
      await page.getByRole("button", { name: "Leave" }).click();
      expect(await transfers()).toHaveLength(1);
      await expect.poll(() => badge(page), POLLING).toBe("CONFIRMED");
      await expect.poll(() => held(page, "network_56", "USDT"), POLLING).toBe("749.5");
      await expect.poll(() => held(page, "venuetwo spot", "USDT"), POLLING).toBe("250.50000000");

      await checked(page, "Transfer", "venuetwo USDT from spot to perp", "100.25");
      await page.getByRole("button", { name: "Transfer", exact: true }).click();
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toBe("Transfer of 100.25 USDT: success.");
      await page.getByRole("button", { name: "Leave" }).click();
      await expect.poll(() => held(page, "venuetwo perp", "USDT"), POLLING).toBe("100.25000000");

      await checked(page, "Withdraw", "USDT from venuetwo perp to network_56", "50.5");
      expect(await text(page, "#funds-check")).toMatch(/^Venue's fee0\.\d+ USDT, on topMinimum/);
      await page.getByRole("button", { name: "Withdraw", exact: true }).click();
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toMatch(/^Withdrawal of 50\.5 USDT: \w+\.$/);
      await page.getByRole("button", { name: "Leave" }).click();
      await expect.poll(() => badge(page), POLLING).toBe("CONFIRMED");
      await expect.poll(() => held(page, "network_56", "USDT"), POLLING).toBe("800");
      expect((await transfers()).map(({ kind, amount }) => [kind, amount])).toEqual([
        ["withdrawal", "50.5"],
        ["internal", "100.25"],
        ["deposit", "250.5"],
      ]);
      await shot(page, "funds-1440");
      // The browser logs the reply that was cut off by itself.
      expect(problems.filter((one) => !/ERR_CONNECTION_RESET/.test(one))).toEqual([]);
      await close();
    });

    it("say what the service refuses before anything is sent", async () => {
      const before = await transfers();
      const { page, close } = await open();
      await page.getByRole("button", { name: "Withdraw…", exact: true }).click();
      await page.getByLabel("Way").selectOption({ label: "USDT from venuetwo spot to network_56" });
      await page.getByLabel("Amount").fill("5000");
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toBe("Insufficient balance for withdrawal.");
      expect(await text(page, "#funds-go")).toBe("Check again");
      await page.getByLabel("Amount").fill("1e3");
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toBe("An amount is a number such as 25.5.");
      expect(await transfers()).toEqual(before);
      await close();
    });

    it.each([
      [380, "light"],
      [1440, "dark"],
    ] as const)("fit a width of %i px, can be read in the %s theme, and can be named", async (width, colorScheme) => {
      const { page, close } = await open({ viewport: { width, height: 900 }, colorScheme });
      await page.waitForSelector("#funds-transfers tr");
      await shot(page, `funds-${width}`);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      const box = await page.locator("#funds").boundingBox();
      for (const button of await page.locator("#funds button:visible").all()) {
        const at = await button.boundingBox();
        expect((at?.x ?? 0) + (at?.width ?? 0)).toBeLessThanOrEqual((box?.x ?? 0) + (box?.width ?? 0));
      }
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      await page.getByRole("button", { name: "Deposit…", exact: true }).click();
      expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
      await close();
    });
  },
);
