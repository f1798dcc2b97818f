/** Plays the recordings that have a golden book through the compiled replay command and compares the last line with it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repoRoot } from "./prepare.mjs";

const folder = process.argv[2] ?? join(repoRoot, "..", "shared", "data");
const index = JSON.parse(readFileSync(join(folder, "index.json"), "utf8"));
let passed = 0;
let failed = 0;

for (const entry of index.files) {
  if (entry.golden_replay === undefined) continue;
  const wanted = entry.golden_replay;
  const result = spawnSync(
    process.execPath,
    [join(repoRoot, "dist/gateway/cli/replay.js"), join(folder, entry.file), "--speed", "max"],
    {
      encoding: "utf8",
      maxBuffer: 1 << 26,
    },
  );
  const last = result.stdout.trim().split("\n").at(-1) ?? "";
  const problems =
    result.status === 0
      ? differences(JSON.parse(last), entry.symbol, wanted)
      : [`exit ${result.status}: ${result.stderr.trim()}`];
  if (problems.length === 0) passed++;
  else failed++;
  process.stdout.write(`${problems.length === 0 ? "ok  " : "FAIL"} ${entry.file} ${problems.join("; ")}\n`);
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

function differences(report, symbol, wanted) {
  const book = report.symbols[symbol];
  if (book === undefined) return [`no symbol ${symbol}; has ${Object.keys(report.symbols).join(", ")}`];
  const pairs = [
    ["gaps", report.gaps, wanted.sequence_gaps],
    ["crossings", report.crossings, 0],
    ["lastU", book.lastU, wanted.final.lastU],
    ["bidLevels", book.bidLevels, wanted.final.bid_levels],
    ["askLevels", book.askLevels, wanted.final.ask_levels],
    ["bestBid price", Number(book.bestBid[0]), Number(wanted.final.best_bid[0])],
    ["bestBid size", Number(book.bestBid[1]), Number(wanted.final.best_bid[1])],
    ["bestAsk price", Number(book.bestAsk[0]), Number(wanted.final.best_ask[0])],
    ["bestAsk size", Number(book.bestAsk[1]), Number(wanted.final.best_ask[1])],
  ];
  return pairs
    .filter(([, is, should]) => is !== should)
    .map(([name, is, should]) => `${name} is ${is}, should be ${should}`);
}
