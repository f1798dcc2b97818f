/** /docs: both documents as a page, from files of this service alone; in a real browser where there is one. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, launchBrowser, openPage } from "./browser.js";
import { type BuiltClient, buildClient } from "./dashboard-build.js";
import { type Harness, startHarness } from "./harness.js";

const chromium = chromiumPath();
const WAIT_MS = 45_000;
const SHOTS = process.env.DASHBOARD_SHOTS;

let built: BuiltClient;
let harness: Harness;
beforeAll(async () => {
  built = buildClient();
  harness = await startHarness({ server: { dashboardFolder: built.folder } });
});
afterAll(async () => {
  await harness?.stop();
  built?.remove();
});
const fetched = (path: string) => fetch(harness.server.url + path);

describe("/docs", () => {
  it("is a page under the policy of the other one, made of files that are served here", async () => {
    const page = await fetched("/docs");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toBe(
      (await fetched("/")).headers.get("content-security-policy"),
    );
    const html = await page.text();
    expect(html).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]* src=)|(?:src|href)="(?!\/|#)/i);
    const open = [...html.matchAll(/(?:src|href)="(\/[^"#]+)"/g)].map(([, path = ""]) => path);
    expect(open).toContain("/assets/dashboard/docs.js");
    const seen = new Set<string>();
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      const reply = await fetched(path);
      expect(reply.status, path).toBe(200);
      const text = await reply.text();
      if (!path.endsWith(".js")) continue;
      expect(text).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/);
      for (const [, target = ""] of text.matchAll(/from "([^"]+)"/g))
        open.push(new URL(target, `http://x${path}`).pathname);
    }
  });

  it("is linked from the page", async () => {
    expect(await (await fetched("/")).text()).toContain('href="/docs"');
  });
});

describe.skipIf(chromium === null && process.env.CI !== "true")(
  "/docs in a browser (needs chromium: CHROMIUM_PATH or on the path)",
  { timeout: 240_000 },
  () => {
    it.each([
      ["wide and dark", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" as const }],
      ["narrow and light", { viewport: { width: 390, height: 844 }, colorScheme: "light" as const }],
    ])("shows every operation and every frame, opens one, and finds one by a word: %s", async (name, options) => {
      const browser = await launchBrowser(chromium ?? "");
      const probe = join(built.folder, "test", "page", "probe.js");
      const { page, problems } = await openPage(browser, `${harness.server.url}/docs`, probe, options);
      try {
        const { paths } = (await (await fetched("/openapi.json")).json()) as { paths: Record<string, object> };
        const operationCount = Object.values(paths).flatMap((methods) => Object.keys(methods)).length;
        const { components } = (await (await fetched("/asyncapi.json")).json()) as {
          components: { messages: object };
        };
        const count = (selector: string) => page.locator(selector).count();
        await expect.poll(() => count("details.operation"), { timeout: WAIT_MS }).toBe(operationCount);
        await expect
          .poll(() => count("details.frame"), { timeout: WAIT_MS })
          .toBe(Object.keys(components.messages).length);
        await page.locator("#positionClose > summary").click();
        await expect.poll(() => count("#positionClose .field"), { timeout: WAIT_MS }).toBeGreaterThan(10);
        expect(await page.locator("#positionClose").textContent()).toContain("SLIPPAGE_CAP");
        const width = await page.evaluate("document.documentElement.scrollWidth <= innerWidth");
        expect(width).toBe(true);
        if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `docs ${name}.png`) });
        await page.fill("#find", "GUESS dead-man");
        await expect.poll(() => count("details.operation:visible"), { timeout: WAIT_MS }).toBe(1);
        expect(problems).toEqual([]);
      } finally {
        await browser.close();
      }
    });
  },
);
