/** The page in a real headless Chromium, over a pair of local venues with one trader, whose account it shows. */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "../../../gateway/test/browser.js";
import { type BuiltClient, buildClient } from "../../../gateway/test/dashboard-build.js";
import type { TestAuth } from "../../../gateway/test/test-keys.js";
import { accountOf, credentialsOf, type LocalPair, type PairVenue, startLocalPair, type Trader } from "./local-pair.js";
import { nativeName } from "./local-venues.js";
import { startSystem, type System } from "./system.js";

const SHOTS = process.env["DASHBOARD_SHOTS"];
export const POLLING = { timeout: 60_000, interval: 50 };

/** Without a browser such tests are skipped; on CI a missing one is a failure. */
export const LACKS_BROWSER = chromiumPath() === null && process.env["CI"] !== "true";

interface PageOptions {
  readonly seed: number;
  /** Of the trader, by symbol. */
  readonly positions: Readonly<Record<string, string>>;
  readonly auth?: TestAuth;
}

export class LocalPage {
  readonly pair: LocalPair;
  readonly trader: Trader;
  readonly system: System;
  readonly #browser: Browser;
  readonly #built: BuiltClient;

  private constructor(pair: LocalPair, trader: Trader, system: System, browser: Browser, built: BuiltClient) {
    this.pair = pair;
    this.trader = trader;
    this.system = system;
    this.#browser = browser;
    this.#built = built;
  }

  static async start({ seed, positions, auth }: PageOptions): Promise<LocalPage> {
    const chromium = chromiumPath();
    if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
    const built = buildClient();
    const pair = await startLocalPair({ seed, symbols: ["BTC", "ETH"] });
    const trader = pair.addTrader("holder", { positions });
    const account = { walletAddress: trader.venueone.address, credentials: credentialsOf(trader) };
    const shown = { page: { folder: built.folder, account }, ...(auth === undefined ? {} : { auth }) };
    const system = await startSystem(pair, shown);
    return new LocalPage(pair, trader, system, await launchBrowser(chromium), built);
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.system.stop();
    await this.pair.stop();
    this.system.cleanUp();
    this.#built.remove();
  }

  open(options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage> {
    const probe = join(this.#built.folder, "test", "page", "probe.js");
    return openPage(this.#browser, this.system.service.url, probe, options);
  }

  /** Lots of BTC that the trader holds at a venue. */
  held(venue: PairVenue): number {
    const { accounts } = this.pair[venue].exchange;
    return accounts.position(accountOf(venue, this.trader), nativeName(venue, "BTC"), "BOTH")?.qtyLots ?? 0;
  }
}

export const textOf = async (page: Page, selector: string): Promise<string> => (await page.textContent(selector)) ?? "";

/** The row of a position, by what its button says: `BTC LONG of venuetwo`. */
export const rowOf = (name: string): string => `#positions tr:has(button[aria-label="Close ${name}"])`;

export async function shot(page: Page, name: string): Promise<void> {
  if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

/** Gets a quote that is still valid when it is sent, also on a machine that pauses: repeats until one is. */
export async function sendQuoted(page: Page, isSent: (said: string) => boolean): Promise<void> {
  await expect
    .poll(async () => {
      if (isSent(await textOf(page, "#close-said"))) return "sent";
      const isQuoted = (await page.getAttribute("#ticket", "data-kind")) === "won";
      if (isQuoted && !(await page.isDisabled("#close-send"))) await page.click("#close-send");
      return "waiting";
    }, POLLING)
    .toBe("sent");
}
