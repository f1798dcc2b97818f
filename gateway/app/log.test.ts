import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ALLOWED_FIELDS, createLogger, type LogLevel, MAX_FIELD_CHARS } from "./log.js";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const KEY = `0x${"ab12".repeat(16)}`;

function capture(level: LogLevel = "debug") {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger(level, {
    write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  return { logger, lines };
}

describe("the log of the service", () => {
  it("writes event, time and allowed fields", () => {
    const { logger, lines } = capture();
    logger.info("venue.live", { venue: "venueone", count: 3, wasLive: null });
    expect(lines).toEqual([
      {
        level: 30,
        time: expect.any(String) as string,
        event: "venue.live",
        venue: "venueone",
        count: 3,
        wasLive: null,
      },
    ]);
  });

  it("drops fields that are not on the list and counts them", () => {
    const { logger, lines } = capture();
    logger.warn("close.refused", { privateKey: "k", body: "{}", venue: "venuetwo" });
    expect(lines[0]).toMatchObject({ venue: "venuetwo", dropped: 2 });
    expect(JSON.stringify(lines)).not.toContain("privateKey");
    expect(logger.redactedCount).toBe(2);
  });

  it("replaces what looks like a key, in fields and in the event itself", () => {
    const { logger, lines } = capture();
    logger.error(`oops ${KEY}`, { problem: `bad signature ${KEY.slice(2)} for x` });
    expect(lines[0]).toMatchObject({ event: "oops [redacted]", problem: "bad signature [redacted] for x" });
  });

  it("cuts long text and the query of a URL", () => {
    const { logger, lines } = capture();
    logger.info("x", { problem: "a b ".repeat(1000), url: "https://venue.test/path?apiSecret=abc#frag" });
    expect(String(lines[0]?.problem)).toHaveLength(MAX_FIELD_CHARS + 1);
    expect(lines[0]?.url).toBe("https://venue.test/path");
  });

  it("shows no part of a key that is cut, and no query of a URL inside a text", () => {
    const { logger, lines } = capture();
    for (let at = MAX_FIELD_CHARS - 70; at <= MAX_FIELD_CHARS; at += 7)
      logger.info("x", { problem: `${"a ".repeat(at).slice(0, at)}${KEY}` });
    logger.info("x", { problem: "no answer of https://venue.test/path?apiSecret=abc, wss://venue.test#frag" });
    expect(lines.filter(({ problem }) => String(problem).includes("ab12ab12"))).toEqual([]);
    expect(lines.at(-1)?.problem).toBe("no answer of https://venue.test/path wss://venue.test");
  });

  it("writes nothing below its level", () => {
    const { logger, lines } = capture("warn");
    logger.info("quiet", { count: 1 });
    logger.warn("loud");
    expect(lines).toHaveLength(1);
  });

  it("has no debug to call but at that level, so that nothing is built for it", () => {
    const { logger, lines } = capture("debug");
    logger.debug?.("send_refused", { venueClientOrderId: "c-1", code: "QUEUE_FULL" });
    expect(lines).toMatchObject([{ level: 20, event: "send_refused", venueClientOrderId: "c-1", code: "QUEUE_FULL" }]);
    for (const level of ["info", "warn", "error", "silent"] as const) expect(capture(level).logger.debug).toBeNull();
  });
});

describe("the allow-list of log fields", () => {
  /** Dropped on purpose: keys of the store do not belong in a log. */
  const DROPPED = new Set(["key"]);

  it("has every field that the code logs, so that none is lost unnoticed", () => {
    const missing = new Set<string>();
    let callCount = 0;
    for (const path of sources("engine").concat(sources("feeds"), sources("gateway"))) {
      const text = readFileSync(path, "utf8");
      for (const match of text.matchAll(/logger\.(?:debug(?:\?\.)?|info|warn|error)\(\s*[^,)]+,\s*\{([^{}]*)\}/g)) {
        callCount++;
        for (const name of fieldNames(match[1] ?? ""))
          if (!ALLOWED_FIELDS.has(name) && !DROPPED.has(name)) missing.add(`${name} in ${path.slice(ROOT.length)}`);
      }
    }
    expect(callCount).toBeGreaterThan(20);
    expect([...missing]).toEqual([]);
  });
});

describe("the debug lines", () => {
  it("are each explained in CONTRIBUTING.md", () => {
    const events = new Set<string>();
    for (const path of sources("engine").concat(sources("feeds"), sources("gateway")))
      for (const match of readFileSync(path, "utf8").matchAll(/logger\.debug(?:\?\.)?\(\s*"([^"]+)"/g))
        events.add(match[1] ?? "");
    const [, section = ""] = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8").split("## Read a log");
    const rows = [...(section.split("\n## ")[0] ?? "").matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? "");
    expect(rows.sort()).toEqual([...events].sort());
  });
});

/** Names of an object literal's own fields; commas inside calls do not end a field. */
function fieldNames(literal: string): string[] {
  let depth = 0;
  let field = "";
  const fields: string[] = [];
  for (const char of `${literal},`) {
    if ("([".includes(char)) depth++;
    if (")]".includes(char)) depth--;
    if (char === "," && depth === 0) {
      const name = /^\s*(\w+)/.exec(field)?.[1];
      if (name !== undefined) fields.push(name);
      field = "";
    } else field += char;
  }
  return fields;
}

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.includes("test/"))
    .map((path) => join(ROOT, folder, path));
}
