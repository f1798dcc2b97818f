/**
 * The page's funds where every request is signed with an API key, in a real headless Chromium: the service as
 * `npm run serve` starts it, its co-signer, venues and chains. `DASHBOARD_SHOTS=<folder>` keeps screenshots.
 */
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Browser, Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "../../../gateway/test/browser.js";
import { buildClient } from "../../../gateway/test/dashboard-build.js";
import { anvilBinary } from "../../sim/chain/anvil-binary.js";
import type { WalletFields } from "../support/custody-bench.js";
import { LACKS_BROWSER, shot, textOf as text } from "../support/local-page.js";
import { depositsOnChain } from "../support/money-books.js";
import { type CosignedService, MoneyStand } from "../support/money-stand.js";

/** A ceiling: a shared machine may take its cores away for a while. */
const PATIENCE_MS = 900_000;
const POLLING = { timeout: 120_000, interval: 100 };
const DEPOSIT = "/api/trading/venuetwo/deposit";

describe.skipIf(LACKS_BROWSER || anvilBinary() === null)(
  "the page's funds where requests are signed (needs chromium and the local chains' program)",
  { timeout: PATIENCE_MS },
  () => {
    let stand: MoneyStand;
    let service: CosignedService;
    let browser: Browser;
    let wallet: WalletFields;
    let folder: string;
    let beginning: Promise<void> | null = null;

    beforeAll(async () => {
      const chromium = chromiumPath();
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      stand = await MoneyStand.start(23);
      folder = join(dirname(stand.bench.serve.main), "..", "client");
      const built = buildClient();
      cpSync(built.folder, folder, { recursive: true });
      built.remove();
      browser = await launchBrowser(chromium);
    }, PATIENCE_MS);
    afterAll(async () => {
      await browser?.close();
      await stand?.stop();
    });

    /** Its helpers wait as tests do, so it begins within the first one. */
    async function begun(): Promise<void> {
      service = await stand.begin("page");
      wallet = await service.wallet("ada");
      const address = wallet.address.toLowerCase() as `0x${string}`;
      stand.pair.venuetwo.addAccount({ accountId: address, wallet: address, deposit: "100", spotDeposit: "100" });
      await service.register("venuetwo", wallet);
      await stand.world.mint({ chainId: 56, token: "USDT", to: address, amount: "1000" });
    }
    async function signedIn(options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage & { requests: Request[] }> {
      beginning ??= begun();
      await beginning;
      const { url, key } = service.door;
      const opened = await openPage(browser, url, join(folder, "test", "page", "probe.js"), options);
      const { page } = opened;
      const requests: Request[] = [];
      page.on("request", (request) => requests.push(request));
      await page.waitForSelector("#key-dialog[open]");
      expect(await page.isVisible("#funds-held tr")).toBe(false);
      await page.fill("#key-id", key.keyId);
      await page.fill("#key-secret", key.secret);
      await page.keyboard.press("Enter");
      await expect.poll(() => text(page, "#key-open"), POLLING).toMatch(/^Sign out pk_/);
      await page.waitForSelector("#funds:not([hidden])");
      await expect.poll(() => page.inputValue("#funds-wallet"), POLLING).toBe(wallet.walletId);
      await page.waitForSelector("#funds-held tr");
      return { ...opened, requests };
    }
    const badge = (page: Page) => page.locator("#funds-transfers .badge").first().textContent();
    const onChain = () => depositsOnChain(stand, { chainId: 56, venue: "venuetwo", address: wallet.address });

    it("are shown to who signed in, checked dry and paid in once, each request with a signature of its own", async () => {
      const { page, problems, requests, close } = await signedIn();
      const { key } = service.door;
      await page.getByRole("button", { name: "Deposit…", exact: true }).click();
      await page.getByLabel("Way").selectOption({ label: "USDT on network_56 to venuetwo" });
      await page.getByLabel("Amount").fill("250.5");
      await page.waitForSelector("#funds-check:not([hidden]), #funds-dialog-said[data-kind=bad]");
      expect(await text(page, "#funds-dialog-said")).toMatch(/^Checked/);
      expect(await onChain()).toEqual([]);
      await shot(page, "funds-signed-checked-1440");
      await page.locator("#funds-go").dblclick();
      await expect.poll(() => text(page, "#funds-dialog-said"), POLLING).toMatch(/^Deposit of 250\.5 USDT: \w+\.$/);
      await page.getByRole("button", { name: "Leave" }).click();
      await expect.poll(() => badge(page), POLLING).toBe("CONFIRMED");
      expect(await onChain()).toEqual([250_500_000_000_000_000_000n]);
      await shot(page, "funds-signed-1440");

      const sent = requests.filter((request) => new URL(request.url()).pathname === DEPOSIT);
      const bodies = sent.map((request) => request.postDataJSON() as { readonly dryRun?: boolean });
      expect(bodies.filter(({ dryRun }) => dryRun !== true)).toHaveLength(1);
      for (const request of sent)
        expect(request.headers()).toMatchObject({
          "x-api-key": key.keyId,
          "x-api-signature": expect.stringMatching(/^[0-9a-f]{64}$/),
        });
      const proofs = sent.map((request) => request.headers()["x-api-signature"]);
      expect(new Set(proofs).size).toBe(proofs.length);
      for (const request of requests)
        expect(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ""}`).not.toContain(
          key.secret,
        );
      // Before the key was entered, what wants one was refused.
      expect(problems.filter((one) => !/status of 401/.test(one))).toEqual([]);
      await close();
    });

    it("are gone when the person signs out", async () => {
      const { page, close } = await signedIn();
      await page.waitForSelector("#funds-transfers tr");
      await page.click("#key-open");
      await expect.poll(() => text(page, "#key-open"), POLLING).toBe("Sign in…");
      await expect.poll(() => page.locator("#funds-held tr, #funds-transfers tr").count(), POLLING).toBe(0);
      expect(await page.content()).not.toContain(wallet.walletId);
      await close();
    });

    it.each([
      [380, "dark"],
      [1440, "light"],
    ] as const)("fit a width of %i px, and can be read in the %s theme", async (width, colorScheme) => {
      const { page, close } = await signedIn({ viewport: { width, height: 900 }, colorScheme });
      await page.waitForSelector("#funds-transfers tr");
      await page.locator("#funds").scrollIntoViewIfNeeded();
      await shot(page, `funds-signed-${width}-${colorScheme}`);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      await page.getByRole("button", { name: "Deposit…", exact: true }).click();
      await shot(page, `funds-signed-form-${width}-${colorScheme}`);
      expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
      await close();
    });
  },
);
