/**
 * A real headless Chromium for tests of the page: Debian's, or what `CHROMIUM_PATH` names. Everything the page writes to
 * its console, throws, or is refused by its own policy is collected.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** A ceiling, not an expectation: a shared machine may take most of its cores away for a while. */
const CEILING_MS = 120_000;

/** Null means none on this machine. */
export function chromiumPath(): string | null {
  const named = process.env.CHROMIUM_PATH;
  if (named !== undefined && named !== "") return existsSync(named) ? named : null;
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    const found = spawnSync("which", [name], { encoding: "utf8" }).stdout?.trim() ?? "";
    if (found !== "") return found;
  }
  return null;
}

export function launchBrowser(executablePath: string): Promise<Browser> {
  // No sandbox: tests often run as root in a container, where there is none to be had.
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
  return chromium.launch({ executablePath, args, timeout: CEILING_MS });
}

export interface OpenPage {
  readonly page: Page;
  /** Console errors and warnings, uncaught errors, violations of the page's policy, so far. */
  readonly problems: string[];
  close(): Promise<void>;
}

/** `probePath`: a script that runs before the page's own. */
export async function openPage(
  browser: Browser,
  url: string,
  probePath: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(CEILING_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(`uncaught ${error.message}`));
  await page.addInitScript({ path: probePath });
  await page.goto(url);
  return { page, problems, close: () => context.close() };
}
