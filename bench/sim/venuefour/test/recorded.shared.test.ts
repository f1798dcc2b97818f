/** Every recorded market-side payload of the reference material has its counterpart on the local venue. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { shapeProblems } from "../../core/test/shape.js";
import { shownShapes } from "./shapes.js";

const repoRoot = fileURLToPath(new URL("../../../..", import.meta.url));
const folder = join(repoRoot, "..", "shared", "fixtures", "venuefour");

/** File, entry of a list or null, and the name of the shape here. */
const PAIRS: readonly (readonly [file: string, index: number | null, shape: string])[] = [
  ["ws-book-sequence.json", 0, "book"],
  ["ws-bbo-sequence.json", 0, "bbo"],
  ["ws-trades.json", 0, "trades"],
  ["ws-pong.json", 0, "pong"],
  ["doc-ws-bbo-book-trades.json", 0, "bbo"],
  ["doc-ws-bbo-book-trades.json", 1, "book"],
  ["doc-ws-bbo-book-trades.json", 2, "trades"],
  ["doc-ws-candles.json", 0, "candle"],
  ["doc-ws-candles.json", 1, "markPriceCandle"],
  ["rest-book.json", null, "restBook"],
  ["rest-info-all-markets.json", null, "info"],
  ["doc-rest-trades.json", null, "restTrades"],
  ["doc-rest-funding.json", 0, "restFunding"],
];

describe.skipIf(!existsSync(folder))("recorded market payloads of venuefour (needs ../shared)", () => {
  let shown: Readonly<Record<string, unknown>>;
  beforeAll(async () => {
    shown = await shownShapes();
  });

  it.each(PAIRS)("%s %s looks like %s", (file, index, shape) => {
    const whole = JSON.parse(readFileSync(join(folder, file), "utf8")) as unknown;
    const entry = (index === null ? whole : (whole as unknown[])[index]) as { body?: unknown };
    const recorded = entry.body ?? entry;
    expect(shapeProblems(recorded, shown[shape])).toEqual([]);
  });
});
