/** The example page in a real headless Chromium, on the local venuefive: what it shows is what the contracts store. */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { formatUnits } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "../../../gateway/test/browser.js";
import { type BuiltClient, buildClient } from "../../../gateway/test/dashboard-build.js";
import { type ExampleStand, startExample } from "../../example/stand.js";
import { ROOT } from "../support/client-package.js";

const chromium = chromiumPath();
/** A machine of ours without a browser is a broken one. */
const isRequired = process.env.CI === "true";
const SHOTS = process.env.DASHBOARD_SHOTS;
const POLLING = { timeout: 90_000, interval: 50 };
const BTC = 1;

describe.skipIf(chromium === null && !isRequired)(
  "the example page of venuefive (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 300_000 },
  () => {
    let built: BuiltClient;
    let stand: ExampleStand;
    let browser: Browser;

    beforeAll(async () => {
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      built = buildClient();
      stand = await startExample({ root: ROOT });
      browser = await launchBrowser(chromium);
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await stand?.stop();
      built?.remove();
    });

    const open = (options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage> =>
      openPage(browser, stand.url, join(built.folder, "test", "page", "probe.js"), options);
    const connect = async (page: Page): Promise<void> => {
      await page.getByRole("button", { name: "Connect the wallet" }).click();
      await expect
        .poll(() => page.textContent(".wallet"), POLLING)
        .toMatch(new RegExp(`^${stand.trader} [0-9.]+ USDC$`));
    };
    const fill = (page: Page, label: string, text: string) => page.getByLabel(label).fill(text);
    const submit = (page: Page) => page.getByRole("button", { name: "Open", exact: true }).click();
    const status = (page: Page) => page.textContent("#status");
    const refusal = (page: Page, wanted: string) =>
      expect.poll(() => page.locator("#refusal").allTextContents(), POLLING).toEqual([expect.stringContaining(wanted)]);
    const stored = () =>
      stand.world.read<{ initialPosToken: bigint; leverage: bigint; openPrice: bigint }>(
        ...(["TradingStorage", "openTrades", [stand.trader, BTC, 0]] as const),
      );

    it("opens a position and shows the size that the contract stores, then closes it", async () => {
      const { page, problems, close } = await open();
      await connect(page);
      await submit(page);
      await expect.poll(() => status(page), POLLING).toBe("openPosition: success");
      const names = (await page.locator(".steps > li").allTextContents()).map((text) => text.split(" ")[0]);
      expect(names).toEqual(["approve", "approve-mined", "sign", "sent", "mined", "executed"]);

      const row = page.getByRole("listitem", { name: "BTC LONG" });
      await row.waitFor();
      const { initialPosToken, leverage, openPrice } = await stored();
      expect(initialPosToken).toBeGreaterThan(0n);
      const sizeE10 = (initialPosToken * leverage * 10_000n) / openPrice;
      expect(await row.locator("[data-field=size]").textContent()).toBe(`${formatUnits(sizeE10, 10)} BTC`);
      expect(await row.locator("[data-field=collateral]").textContent()).toBe(
        `${formatUnits(initialPosToken, 6)} USDC`,
      );
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, "example-open.png"), fullPage: true });

      await page.getByRole("button", { name: "Close BTC LONG" }).click();
      await expect.poll(() => status(page), POLLING).toBe("closePosition: success");
      await row.waitFor({ state: "detached" });
      expect(await stored()).toMatchObject({ initialPosToken: 0n, leverage: 0n });
      expect(problems).toEqual([]);
      await close();
    });

    it("shows why an order is refused, and sends nothing", async () => {
      const { page, problems, close } = await open();
      await submit(page);
      await refusal(page, "WALLET_DISCONNECTED");
      await connect(page);
      const balance = await page.textContent(".wallet");
      await fill(page, "Leverage", "500");
      await submit(page);
      await refusal(page, "LEVERAGE_OUT_OF_RANGE");
      expect(await page.textContent("#refusal")).toMatch(/Nothing was sent\.$/);
      await fill(page, "Leverage", "10");
      await fill(page, "Symbol", "NOPE");
      await submit(page);
      await refusal(page, "UNKNOWN_SYMBOL");
      await fill(page, "Symbol", "ETH");
      await fill(page, "Collateral in USDC", "1000000");
      await submit(page);
      await refusal(page, "INSUFFICIENT_USDC");
      await page.getByRole("button", { name: "Forget it" }).click();
      await expect.poll(() => status(page), POLLING).toBe("None yet.");
      expect(await page.locator("#refusal").count()).toBe(0);
      expect(await page.textContent(".wallet")).toBe(balance);
      expect(problems).toEqual([]);
      await close();
    });

    it.each([
      [380, "light"],
      [1440, "dark"],
    ] as const)("fits a width of %i px, can be read in the %s theme, and can be named", async (width, colorScheme) => {
      const { page, close } = await open({ viewport: { width, height: 900 }, colorScheme });
      await connect(page);
      await fill(page, "Symbol", "ETH");
      expect(await page.getByLabel("Price in USD").inputValue()).toBe("3180");
      await submit(page);
      await page.getByRole("listitem", { name: "ETH LONG" }).waitFor();
      await expect.poll(() => status(page), POLLING).toBe("openPosition: success");
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `example-${width}.png`), fullPage: true });
      expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      await page.getByRole("button", { name: "Close ETH LONG" }).click();
      await page.getByRole("listitem", { name: "ETH LONG" }).waitFor({ state: "detached" });
      await fill(page, "Leverage", "500");
      await submit(page);
      await refusal(page, "LEVERAGE_OUT_OF_RANGE");
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `refusal-${width}.png`), fullPage: true });
      await close();
    });
  },
);
