/**
 * The page of a service in signed mode, in a real headless Chromium over local venues: it signs in, closes, loses its
 * key and signs out, judged by the venues' own order logs and by what the browser sent. `DASHBOARD_SHOTS=<folder>` keeps
 * screenshots.
 */
import { join } from "node:path";
import type { Browser, Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "../../../gateway/test/browser.js";
import { type BuiltClient, buildClient } from "../../../gateway/test/dashboard-build.js";
import {
  ADMIN,
  ALICE,
  BOB,
  createTestAuth,
  REVOKED,
  type TestAuth,
  type TestKey,
} from "../../../gateway/test/test-keys.js";
import {
  accountOf,
  credentialsOf,
  type LocalPair,
  type PairVenue,
  startLocalPair,
  type Trader,
} from "../support/local-pair.js";
import { nativeName } from "../support/local-venues.js";
import { startSystem, type System } from "../support/system.js";

const chromium = chromiumPath();
/** On CI a missing browser is a failure. */
const isRequired = process.env.CI === "true";
const SHOTS = process.env.DASHBOARD_SHOTS;
const POLLING = { timeout: 60_000, interval: 50 };

describe.skipIf(chromium === null && !isRequired)(
  "the page of a service that wants keys (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    let built: BuiltClient;
    let pair: LocalPair;
    let trader: Trader;
    let auth: TestAuth;
    let system: System;
    let browser: Browser;

    beforeAll(async () => {
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      built = buildClient();
      pair = await startLocalPair({ seed: 14, symbols: ["BTC", "ETH"] });
      trader = pair.addTrader("holder", { positions: { BTC: "0.5" } });
      auth = createTestAuth();
      const account = { walletAddress: trader.venueone.address, credentials: credentialsOf(trader) };
      system = await startSystem(pair, { auth, page: { folder: built.folder, account } });
      browser = await launchBrowser(chromium);
    }, 240_000);
    afterAll(async () => {
      await browser?.close();
      await system?.stop();
      await pair?.stop();
      system?.cleanUp();
      built?.remove();
    });

    const open = (): Promise<OpenPage> =>
      openPage(browser, system.service.url, join(built.folder, "test", "page", "probe.js"));
    const held = (venue: PairVenue) =>
      pair[venue].exchange.accounts.position(accountOf(venue, trader), nativeName(venue, "BTC"), "BOTH")?.qtyLots ?? 0;
    const text = async (page: Page, selector: string) => (await page.textContent(selector)) ?? "";
    const becomes = (page: Page, selector: string, wanted: string | RegExp) =>
      expect.poll(() => text(page, selector), POLLING).toMatch(wanted);
    const row = (name: string) => `#positions tr:has(button[aria-label="Close ${name}"])`;
    async function shot(page: Page, name: string): Promise<void> {
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
    }
    async function enter(page: Page, { keyId, secret }: Pick<TestKey, "keyId" | "secret">): Promise<void> {
      await page.fill("#key-id", keyId);
      await page.fill("#key-secret", secret);
      await page.keyboard.press("Enter");
    }
    async function signIn(page: Page, key: TestKey): Promise<void> {
      await page.waitForSelector("#key-dialog[open]");
      await enter(page, key);
      await becomes(page, "#key-open", /^Sign out pk_/);
      await becomes(page, "#link-text", /^Live/);
    }
    /** Everything that the page keeps or shows where a script, an extension or the next person could read it. */
    const visible = async (page: Page) =>
      String(
        await page.evaluate(
          "document.documentElement.outerHTML + location.href + JSON.stringify([{...localStorage}, {...sessionStorage}, history.state]) + document.cookie + [...document.querySelectorAll('input')].map((one) => one.value)",
        ),
      );
    /** Enters the account by hand, in place of the one that is shown. */
    async function showAccount(page: Page): Promise<void> {
      if ((await text(page, "#account-open")) === "Forget it") await page.click("#account-open");
      await page.click("#account-open");
      await page.fill('input[name="walletAddress"]', trader.venueone.address);
      for (const [name, value] of [
        ["venueone.privateKey", trader.venueone.agentKey],
        ["venuetwo.apiKey", trader.venuetwo.apiKey],
        ["venuetwo.apiSecret", trader.venuetwo.apiSecret],
      ] as const)
        await page.fill(`input[name="${name}"]`, value);
      await page.keyboard.press("Enter");
      await page.waitForSelector(row("BTC LONG of venuetwo"));
    }
    async function signedIn(key: TestKey): Promise<OpenPage & { readonly requests: Request[] }> {
      const opened = await open();
      const requests: Request[] = [];
      opened.page.on("request", (request) => requests.push(request));
      await signIn(opened.page, key);
      return { ...opened, requests };
    }

    it("offers to sign in, and shows what is open to everyone without", async () => {
      const { page, close } = await open();
      await page.waitForSelector("#key-dialog[open]");
      expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      await shot(page, "sign-in");
      await page.click("#key-leave");
      await page.waitForSelector("#winner[data-kind=won]");
      await becomes(page, "#key-open", "Sign in…");
      await close();
    });

    it.each([
      ["an unknown key", { keyId: "pk_nobody", secret: "sk_x" }],
      ["a wrong secret", { keyId: ALICE.keyId, secret: "sk_wrong" }],
      ["a revoked key", REVOKED],
    ])("says why it does not take %s, and forgets it", async (_, key) => {
      const { page, close } = await open();
      await page.waitForSelector("#key-dialog[open]");
      await enter(page, key);
      await becomes(page, "#key-said", /./);
      expect(await page.inputValue("#key-secret")).toBe("");
      await becomes(page, "#key-open", "Sign in…");
      expect(await visible(page)).not.toContain(key.secret);
      await close();
    });

    it("signs in and closes by the quote on screen, and the secret is nowhere to be read or sent", async () => {
      const { page, requests, close } = await signedIn(ALICE);
      // The page's own account, which was refused before there was a key.
      await page.waitForSelector(row("BTC LONG of venuetwo"));
      const before = held("venuetwo");
      await page.click(`${row("BTC LONG of venuetwo")} button`);
      await page.check('input[name="where"][value="here"]');
      await page.fill("#close-size", "0.2");
      await expect
        .poll(async () => {
          if ((await text(page, "#close-said")) !== "") return "sent";
          const isQuoted = (await page.getAttribute("#ticket", "data-kind")) === "won";
          if (isQuoted && !(await page.isDisabled("#close-send"))) await page.click("#close-send");
          return "waiting";
        }, POLLING)
        .toBe("sent");
      await becomes(page, "#close-said", /^Closed 0\.2 at [\d,.]+ on venuetwo\.$/);
      expect(held("venuetwo")).toBeLessThan(before);
      await shot(page, "signed-close");
      expect(await visible(page)).not.toContain(ALICE.secret);
      const signed = requests.filter((request) => new URL(request.url()).pathname === "/api/trade/position/close");
      expect(signed.length).toBeGreaterThan(1);
      for (const request of requests) {
        const sent = `${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ""}`;
        expect(sent).not.toContain(ALICE.secret);
      }
      for (const request of signed)
        expect(request.headers()).toMatchObject({
          "x-api-key": ALICE.keyId,
          "x-api-signature": expect.stringMatching(/^[0-9a-f]{64}$/),
        });
      await close();
    });

    it("forgets the key and the account when a person signs out, or leaves the page and comes back", async () => {
      const { page, close } = await signedIn(ALICE);
      await showAccount(page);
      await page.click("#key-open");
      await becomes(page, "#key-open", "Sign in…");
      await becomes(page, "#account-name", "No account is shown");
      await page.click("#key-open");
      await signIn(page, ALICE);
      await page.goto("about:blank");
      await page.goBack();
      await becomes(page, "#key-open", "Sign in…");
      await close();
    });

    it("asks for another key within seconds when its own is revoked", async () => {
      const { page, close } = await signedIn(BOB);
      auth.revoke(BOB.keyId);
      await page.waitForSelector("#key-dialog[open]");
      await becomes(page, "#key-said", /./);
      await enter(page, ADMIN);
      await becomes(page, "#key-open", /^Sign out pk_admin/);
      await becomes(page, "#link-text", /^Live/);
      await close();
    });
  },
);
