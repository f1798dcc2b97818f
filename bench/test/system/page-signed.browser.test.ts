/**
 * The page of a service in signed mode, in a real headless Chromium over local venues: it signs in, closes, loses its
 * key and signs out, judged by the venues' own order logs and by what the browser sent. `DASHBOARD_SHOTS=<folder>` keeps
 * screenshots.
 */
import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenPage } from "../../../gateway/test/browser.js";
import {
  ADMIN,
  ALICE,
  BOB,
  createTestAuth,
  REVOKED,
  type TestAuth,
  type TestKey,
} from "../../../gateway/test/test-keys.js";
import type { Trader } from "../support/local-pair.js";
import {
  LACKS_BROWSER,
  LocalPage,
  POLLING,
  rowOf as row,
  sendQuoted,
  shot,
  textOf as text,
} from "../support/local-page.js";

describe.skipIf(LACKS_BROWSER)(
  "the page of a service that wants keys (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    let local: LocalPage;
    let trader: Trader;
    let auth: TestAuth;

    beforeAll(async () => {
      auth = createTestAuth();
      local = await LocalPage.start({ seed: 14, positions: { BTC: "0.5" }, auth });
      ({ trader } = local);
    }, 240_000);
    afterAll(() => local?.stop());

    const open = (): Promise<OpenPage> => local.open();
    const held: LocalPage["held"] = (venue) => local.held(venue);
    const becomes = (page: Page, selector: string, wanted: string | RegExp) =>
      expect.poll(() => text(page, selector), POLLING).toMatch(wanted);
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
      await sendQuoted(page, (said) => said !== "");
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
