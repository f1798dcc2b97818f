/**
 * The page in a real headless Chromium against the real service: what it shows, what it does when a venue or the service
 * goes away, and that nothing in it breaks its own policy. `DASHBOARD_SHOTS=<folder>` keeps pictures for a look.
 */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { groupDigits, tickText } from "../../client/view/format.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { chromiumPath, launchBrowser, type OpenPage, openPage } from "./browser.js";
import { type BuiltClient, buildClient } from "./dashboard-build.js";
import { HOSTILE_SYMBOL, type Stage, startStage } from "./dashboard-stage.js";

const chromium = chromiumPath();
/** A machine of ours without a browser is a broken one. */
const isRequired = process.env.CI === "true";
const SHOTS = process.env.DASHBOARD_SHOTS;
/** Two heartbeats of the stream; a busy machine adds its own. */
const HEARTBEATS_MS = 15_000;
const WAIT_MS = 45_000;
const POLLING = { timeout: WAIT_MS, interval: 50 };

const badge = (venue: RoutableVenue) => `tr[data-venue="${venue}"] .badge`;
const value = (venue: RoutableVenue, cell: string) => `tr[data-venue="${venue}"] [data-cell="${cell}"] .value`;

describe.skipIf(chromium === null && !isRequired)(
  "dashboard (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    let built: BuiltClient;
    let stage: Stage;
    let browser: Browser;

    beforeAll(async () => {
      if (chromium === null) throw new Error("no chromium on this machine: set CHROMIUM_PATH");
      built = buildClient();
      stage = await startStage(built.folder);
      browser = await launchBrowser(chromium);
    }, 240_000);
    afterAll(async () => {
      await browser?.close();
      await stage?.stop();
      built?.remove();
    });

    function open(path = "/", options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage> {
      return openPage(browser, stage.url + path, join(built.folder, "test", "page", "probe.js"), options);
    }
    async function text(page: Page, selector: string): Promise<string> {
      return (await page.textContent(selector)) ?? "";
    }
    function becomes(page: Page, selector: string, wanted: string, timeout = WAIT_MS): Promise<void> {
      return expect.poll(() => text(page, selector), { ...POLLING, timeout }).toBe(wanted);
    }
    /** Top and height of every panel and table. */
    function boxes(page: Page): Promise<Record<string, readonly [top: number, height: number]>> {
      return page.$$eval(".top, .panel, table, .chart, .winner, footer", (nodes) =>
        Object.fromEntries(
          nodes.map((node, index) => {
            const { top, height } = node.getBoundingClientRect();
            return [`${index} ${node.getAttribute("class") ?? ""} ${node.id}`, [Math.round(top), Math.round(height)]];
          }),
        ),
      );
    }
    async function shot(page: Page, name: string): Promise<void> {
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
    }
    async function live(page: Page): Promise<void> {
      await becomes(page, "#link-text", "Live");
      for (const venue of ROUTABLE_VENUES) {
        stage.setMark(venue, `9741${ROUTABLE_VENUES.indexOf(venue)}.5`);
        await becomes(page, badge(venue), "LIVE");
      }
    }

    it("shows each venue's ticker as REST tells it, and follows the stream", async () => {
      const { page, problems, close } = await open();
      await live(page);
      const rest = (await (await fetch(`${stage.url}/api/trading/ticker/BTC`)).json()) as {
        data: Record<RoutableVenue, Record<string, string>>;
      };
      for (const venue of ROUTABLE_VENUES) {
        // In the market's steps: venues compute marks finer than any price there is.
        const shown = (price: string | undefined) => groupDigits(tickText(price ?? null, "0.1"));
        await becomes(page, value(venue, "last"), shown(rest.data[venue].lastPrice));
        // On venuethree the interface calls the last trade price the mark price.
        await becomes(page, value(venue, "mark"), shown(rest.data[venue].markPrice));
      }
      // The same yearly rate from 8 hours and from 1 hour: what a comparison of raw rates would get wrong.
      expect(await text(page, value("venueone", "funding"))).toBe("+0.00125 %");
      expect(await text(page, value("venuetwo", "funding"))).toBe("+0.00125 %");
      expect(await text(page, `tr[data-venue="venuetwo"] [data-cell="funding"] .note`)).toBe(
        "+10.95 % APR · every 8 h",
      );
      stage.setMark("venuetwo", "97500.28594");
      await becomes(page, value("venuetwo", "mark"), "97,500.3");
      await shot(page, "wide");
      expect(problems).toEqual([]);
      await close();
    });

    it("shows one ladder and a curve per venue of the books that REST shows", async () => {
      const { page, close } = await open();
      await live(page);
      await page.waitForSelector("#chart-lines .line");
      const rest = (await (await fetch(`${stage.url}/api/book/BTC?depth=12`)).json()) as {
        data: Record<"bids" | "asks", { price: string; size: string }[]>;
      };
      const column = (side: string, name: string) =>
        page.$$eval(`#${side} .${name}`, (cells) =>
          cells.map((cell) => Number((cell.textContent ?? "").replaceAll(",", ""))),
        );
      expect(await column("bids", "price")).toEqual(rest.data.bids.map((level) => Number(level.price)));
      expect(await column("bids", "size")).toEqual(rest.data.bids.map((level) => Number(level.size)));
      expect((await column("asks", "price")).reverse()).toEqual(rest.data.asks.map((level) => Number(level.price)));
      const venues = await page.$$eval("#chart-lines .line", (lines) =>
        lines.map((line) => line.getAttribute("data-venue")),
      );
      for (const venue of ROUTABLE_VENUES) expect(venues.filter((one) => one === venue)).toHaveLength(2);
      await page.focus("#plot");
      for (let press = 0; press < 5; press++) await page.keyboard.press("ArrowRight");
      await expect
        .poll(() => text(page, "#chart-readout"), POLLING)
        .toMatch(/^Buy up to 97,4\d\d\.\d+: venueone .* · venuefour /);
      await close();
    });

    it("answers another size and side with another best exit, and says why the others lost", async () => {
      const { page, problems, close } = await open();
      await live(page);
      await page.waitForSelector("#winner[data-kind=won]");
      await becomes(page, "#winner-name", "venueone");
      expect(await text(page, "#exit-rows tr:nth-child(1) .why")).toBe("Best all-in price");
      expect(await text(page, "#exit-rows tr:nth-child(2) .why")).toMatch(/^\d+\.\d\d bps worse$/);
      // Deeper than every book but the deepest.
      await page.fill("#size", "330");
      await becomes(page, "#winner-name", "venuetwo");
      const routing = (await (await fetch(`${stage.url}/api/trade/routing/BTC?side=SELL&size=330`)).json()) as {
        data: { routing: { recommended: string; candidates: { exchange: string; allInPrice?: string }[] } };
      };
      expect(routing.data.routing.recommended).toBe("venuetwo");
      const best = routing.data.routing.candidates.find((one) => one.exchange === "venuetwo");
      await becomes(page, "#winner-all-in", groupDigits(best?.allInPrice ?? null));
      expect(await page.$$eval("#exit-rows .why", (cells) => cells.map((cell) => cell.textContent))).toContain(
        "Not enough depth",
      );
      await page.fill("#size", "1e9");
      await becomes(page, "#size-problem", "A size is a number such as 0.25.");
      expect(await page.getAttribute("#size", "aria-invalid")).toBe("true");
      await page.fill("#size", "999999");
      await becomes(page, "#winner-name", "No venue can take this size");
      expect(await text(page, "#winner-all-in")).toBe("–");
      await page.click('.presets button[data-size="1"]');
      await page.waitForSelector("#winner[data-kind=won]");
      const whenSold = Number((await text(page, "#winner-all-in")).replaceAll(",", ""));
      await page.check('input[name="side"][value="BUY"]', { force: true });
      await expect
        .poll(async () => Number((await text(page, "#winner-all-in")).replaceAll(",", "")), POLLING)
        .toBeGreaterThan(whenSold);
      // A size that nobody takes is an answer, no error of the page.
      expect(problems).toEqual([]);
      await close();
    });

    it("shows a venue that goes down within a heartbeat, and its return", async () => {
      const { page, problems, close } = await open();
      await live(page);
      stage.setState("venuetwo", "DOWN");
      await becomes(page, badge("venuetwo"), "DOWN", HEARTBEATS_MS);
      await becomes(page, "#event-list li:first-child .to", "DOWN");
      expect(await text(page, "#event-list li:first-child")).toMatch(/venuetwo LIVE → DOWN$/);
      await expect.poll(() => text(page, "#announcer"), POLLING).toMatch(/venuetwo DOWN|Best exit/);
      await expect
        .poll(() => page.$$eval('#chart-lines [data-venue="venuetwo"]', (lines) => lines.length), POLLING)
        .toBe(0);
      await shot(page, "down");
      stage.setState("venuetwo", "LIVE");
      await becomes(page, badge("venuetwo"), "LIVE", HEARTBEATS_MS);
      expect(problems).toEqual([]);
      await close();
    });

    it("says that it lost the service, keeps the figures apart from live ones, and comes back by itself", async () => {
      const { page, problems, close } = await open();
      await live(page);
      const shown = await text(page, value("venueone", "mark"));
      await stage.stopServer();
      await becomes(page, badge("venueone"), "UNKNOWN");
      await page.waitForSelector("#banner:not([hidden])");
      expect(await text(page, "#banner")).toMatch(
        /^No connection to the service\..* Figures are from \d\d:\d\d:\d\d\.$/,
      );
      expect(await text(page, value("venueone", "mark"))).toBe(shown);
      await shot(page, "lost");
      await stage.startServer();
      stage.setMark("venueone", "97399.8");
      await becomes(page, "#link-text", "Live", 40_000);
      await becomes(page, value("venueone", "mark"), "97,399.8");
      await becomes(page, badge("venueone"), "LIVE");
      expect(await page.isHidden("#banner")).toBe(true);
      // A browser logs every connection that fails; the page itself adds nothing to that.
      expect(problems.filter((one) => !/ERR_CONNECTION_REFUSED|WebSocket connection/.test(one))).toEqual([]);
      await close();
    });

    it("takes every text as text, also a symbol that looks like markup", async () => {
      const { page, problems, close } = await open(`/#${encodeURIComponent(HOSTILE_SYMBOL)}`);
      await becomes(page, "#link-text", "Live");
      await expect.poll(() => page.inputValue("#symbol"), POLLING).toBe(HOSTILE_SYMBOL);
      expect(await text(page, "#size-unit")).toBe(HOSTILE_SYMBOL);
      expect(await page.$$("img")).toEqual([]);
      // No symbol may be called so: the service refuses the question, and the browser logs that by itself.
      expect(problems.filter((one) => !/status of 400/.test(one))).toEqual([]);
      await close();
    });

    it("says whether nobody lists it, nobody is ready, or it is too much", async () => {
      const { page, problems, close } = await open("/#symbol=ETH&size=1");
      await becomes(page, "#link-text", "Live");
      await page.waitForSelector("#winner[data-kind=won]");
      expect(await page.$$eval("#exit-rows .why", (cells) => cells.map((cell) => cell.textContent))).toContain(
        "Not listed here",
      );
      for (const venue of ROUTABLE_VENUES) stage.setState(venue, "SYNCING");
      await becomes(page, "#winner-name", "No venue is ready: books are starting");
      for (const venue of ROUTABLE_VENUES) stage.setState(venue, "LIVE");
      await page.waitForSelector("#winner[data-kind=won]");
      await page.fill("#size", "9999999");
      await becomes(page, "#winner-name", "No venue can take this size");
      expect(problems).toEqual([]);
      await close();
    });

    it("is where its link says, and says in its link where it is", async () => {
      const { page, problems, close } = await open("/#symbol=eth&side=BUY&size=1,500.5");
      await becomes(page, "#link-text", "Live");
      await expect.poll(() => page.inputValue("#symbol"), POLLING).toBe("ETH");
      expect(await page.inputValue("#size")).toBe("1500.5");
      expect(await page.isChecked('input[name="side"][value="BUY"]')).toBe(true);
      const hash = () => page.evaluate("location.hash");
      await expect.poll(hash, POLLING).toBe("#symbol=ETH&side=BUY&size=1500.5");
      await page.fill("#size", "2.5");
      await expect.poll(hash, POLLING).toBe("#symbol=ETH&side=BUY&size=2.5");
      await page.evaluate("location.hash = '#symbol=BTC&side=SELL&size=0.3'");
      await expect.poll(() => page.inputValue("#symbol"), POLLING).toBe("BTC");
      expect(await page.inputValue("#size")).toBe("0.3");
      // Of what it costs: about a thousand, ten thousand and so on.
      const offered = () => page.$$eval(".presets button", (buttons) => buttons.map(({ textContent }) => textContent));
      await expect.poll(offered, POLLING).toEqual(["0.01", "0.1", "1", "10"]);
      expect(problems).toEqual([]);
      await close();
    });

    it("shows the best exit and both sides of the ladder on a low screen without scrolling", async () => {
      const viewport = { width: 1280, height: 800 };
      const { page, close } = await open("/", { viewport });
      await live(page);
      await page.waitForSelector("#winner[data-kind=won]");
      for (const selector of ["#exit", "#asks tr:last-child", "#exit-rows tr:last-child", "#depth"]) {
        const box = await page.locator(selector).boundingBox();
        expect((box?.y ?? 0) + (box?.height ?? 9_999), selector).toBeLessThanOrEqual(viewport.height);
      }
      const shown = await page.$$eval("#asks tr, #bids tr", (rows) => rows.map(({ clientHeight }) => clientHeight > 0));
      expect(shown.slice(0, 12).filter(Boolean)).toHaveLength(9);
      expect(shown.slice(12).filter(Boolean)).toHaveLength(9);
      await shot(page, "low");
      await close();
    });

    it("changes the symbol with the keyboard and leaves nothing of the old one", async () => {
      const { page, close } = await open();
      await live(page);
      await page.waitForSelector("#symbol:not([disabled])");
      await page.focus("#symbol");
      await page.keyboard.type("ETH");
      await expect.poll(() => page.inputValue("#symbol"), POLLING).toBe("ETH");
      await expect.poll(() => page.title(), POLLING).toBe("ETH · unwind");
      await expect
        .poll(async () => Number((await text(page, "#best-bid")).replaceAll(",", "")), POLLING)
        .toBeLessThan(4_000);
      await expect.poll(() => text(page, value("venueone", "mark")), POLLING).toBe("–");
      expect(await text(page, `tr[data-venue="venuefour"] [data-cell="age"] .note`)).toBe("not listed here");
      await close();
    });

    it.each([380, 768, 1024, 1440])("fits a width of %i px and does not move when figures come", async (width) => {
      const colorScheme = width === 1024 ? "light" : "dark";
      const options = { viewport: { width, height: 900 }, colorScheme } as const;
      // As delivered, before its scripts have done anything.
      const bare = await open("/", { ...options, javaScriptEnabled: false });
      const before = await boxes(bare.page);
      await bare.close();
      const { page, close } = await open("/", options);
      await live(page);
      await page.waitForSelector("#chart-lines .line");
      await page.waitForSelector("#winner[data-kind=won]");
      await page.waitForSelector("#event-list li");
      expect(await boxes(page)).toEqual(before);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      await shot(page, `width-${width}-${colorScheme}`);
      await close();
    });

    it.each(["dark", "light"] as const)("keeps every text readable in the %s theme", async (colorScheme) => {
      const { page, close } = await open("/", { colorScheme });
      await live(page);
      await page.waitForSelector("#winner[data-kind=won]");
      await shot(page, `theme-${colorScheme}`);
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      await page.evaluate("pageProbe.pretendLost()");
      expect(await page.evaluate("pageProbe.lowContrast()")).toEqual([]);
      await close();
    });

    it("is a page that assistive technology can name", async () => {
      const { page, close } = await open();
      await live(page);
      expect(await page.evaluate("pageProbe.unnamed()")).toEqual([]);
      await page.keyboard.press("Tab");
      expect(await page.evaluate("pageProbe.focused()")).toBe("Skip to the figures");
      expect(await page.$$eval("[aria-live]", (regions) => regions.length)).toBe(2);
      await close();
    });
  },
);
