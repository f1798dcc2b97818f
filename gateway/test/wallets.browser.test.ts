/**
 * The wallets of the page in a real headless Chromium against the real service, over a provider that really signs
 * (test-wallets.ts): made, listed, signed with, and what a frozen one looks like.
 */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { recoverMessageAddress } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "./browser.js";
import { type BuiltClient, buildClient } from "./dashboard-build.js";
import { type Stage, startStage } from "./dashboard-stage.js";
import { TestActs, TestWallets } from "./test-wallets.js";

const chromium = chromiumPath();
/** A machine of ours without a browser is a broken one. */
const isRequired = process.env.CI === "true";
const SHOTS = process.env.DASHBOARD_SHOTS;
const POLLING = { timeout: 45_000, interval: 50 };
const HOSTILE_USER = "<img src=x onerror=alert(1)>";

describe.skipIf(chromium === null && !isRequired)(
  "wallets on the page (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    const provider = new TestWallets();
    let built: BuiltClient;
    let stage: Stage;
    let browser: Browser;

    beforeAll(async () => {
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      built = buildClient();
      stage = await startStage(built.folder, { provider, appendAct: new TestActs().append });
      browser = await launchBrowser(chromium);
    }, 240_000);
    afterAll(async () => {
      await browser?.close();
      await stage?.stop();
      built?.remove();
    });

    async function open(options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage> {
      const opened = await openPage(browser, stage.url, join(built.folder, "test", "page", "probe.js"), options);
      await opened.page.waitForSelector("#wallets:not([hidden])");
      return opened;
    }
    const text = async (page: Page, selector: string) => (await page.textContent(selector)) ?? "";
    const becomes = (page: Page, selector: string, wanted: string | RegExp) =>
      expect.poll(() => text(page, selector), POLLING).toMatch(wanted);

    async function make(page: Page, userId: string): Promise<void> {
      await page.getByLabel("User id of the new wallet").fill(userId);
      await page.getByRole("button", { name: "Create a wallet" }).click();
      await becomes(page, "#wallet-said", / has the wallet 0x[0-9a-fA-F]{40}\.$/);
    }

    it("makes one for a user, lists it, and signs a message that recovers to its address", async () => {
      const { page, problems, close } = await open();
      await becomes(page, "#wallets-empty", "No wallets yet.");
      await make(page, "user-42");
      const row = page.getByRole("row", { name: /user-42/ });
      const address = provider.find("user-42", null)?.address ?? "";
      await expect.poll(() => row.textContent(), POLLING).toContain(address);
      await page.getByRole("button", { name: "Sign a message as user-42" }).click();
      await page.getByRole("textbox", { name: "Message (EIP-191)" }).fill("Grüße");
      await page.getByRole("button", { name: "Sign", exact: true }).click();
      await becomes(page, "#sign-said", "Signed.");
      const signature = (await text(page, "#signed-signature")) as "0x";
      expect(await recoverMessageAddress({ message: "Grüße", signature })).toBe(address);
      await page.getByRole("button", { name: "Leave" }).click();
      expect(await text(page, "#signed-signature")).toBe("");
      expect(problems).toEqual([]);
      await close();
    });

    it("says that a user has one already, and takes every text as text", async () => {
      const { page, problems, close } = await open();
      await make(page, HOSTILE_USER);
      await page.getByLabel("User id of the new wallet").fill(HOSTILE_USER);
      await page.getByRole("button", { name: "Create a wallet" }).click();
      await becomes(page, "#wallet-said", "Wallet already exists.");
      expect(await page.$$("img")).toEqual([]);
      // The service refuses it, and the browser logs that by itself.
      expect(problems.filter((one) => !/status of 409/.test(one))).toEqual([]);
      await close();
    });

    it("shows a frozen wallet as such: nothing can be signed with it", async () => {
      const wallet = await provider.create("frozen", null);
      provider.setState(wallet.walletId, "FROZEN");
      const { page, close } = await open();
      const button = page.getByRole("button", { name: "Sign a message as frozen. Frozen: an operator must act" });
      await expect.poll(() => button.isDisabled(), POLLING).toBe(true);
      const row = page.getByRole("row", { name: /^frozen/ });
      expect(await row.locator(".badge").textContent()).toBe("FROZEN");
      await close();
    });

    it("says what the co-signer refuses, and that no signer is there", async () => {
      await provider.create("refused", null);
      const { page, close } = await open();
      await page.getByRole("button", { name: "Sign a message as refused" }).click();
      for (const [code, said] of [
        ["POLICY_REFUSED", "The signer's policy refuses this."],
        ["RESTORED_STORE", "A store was restored from a backup; an operator must act first."],
      ] as const) {
        provider.refusal = new ServiceError(code);
        await page.getByRole("button", { name: "Sign", exact: true }).click();
        await becomes(page, "#sign-said", said);
      }
      provider.refusal = null;
      await close();
    });

    it.each([
      [380, "light"],
      [1440, "dark"],
    ] as const)("fits a width of %i px, can be read in the %s theme, and can be named", async (width, colorScheme) => {
      const { page, close } = await open({ viewport: { width, height: 900 }, colorScheme });
      await make(page, `user ${width}`);
      await page.getByRole("button", { name: `Sign a message as user ${width}` }).click();
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `wallets-${width}.png`), fullPage: true });
      expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
      await page.getByRole("button", { name: "Leave" }).click();
      if (SHOTS !== undefined) await page.locator("#wallets").screenshot({ path: join(SHOTS, `panel-${width}.png`) });
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      await close();
    });
  },
);
