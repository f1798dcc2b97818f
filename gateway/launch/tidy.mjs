/**
 * House rules that no linter knows (STYLE: neutral names, injected time and randomness, owned TODOs).
 * Each rule names what to use instead.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listSources, repoRoot } from "./prepare.mjs";

const BRANDS = /hyperliquid|\baster(?!Symbol\b)\b|asterdex|zklighter|\blighter\b|pacifica|avantis/i;

const RULES = [
  {
    name: "venue brand outside a room's README or a wire fact; use the neutral venue name",
    applies: (path) => !/\.test\.ts$/.test(path) && !/^bench\/(peers|sim)\//.test(path),
    finds: (line) => BRANDS.test(line) && !isWireFact(line),
  },
  {
    name: "ambient time; take a Clock",
    applies: (path) =>
      /^(engine|feeds)\//.test(path) &&
      !/domain\/clock\.ts$/.test(path) &&
      !/\.test\.ts$/.test(path) &&
      !/\/test\//.test(path),
    finds: (line) =>
      /\bDate\.now\(|\bperformance\.now\(|\bnew Date\(\)|\bsetTimeout\(|\bsetInterval\(|process\.hrtime/.test(line),
  },
  {
    name: "ambient randomness; take a Random",
    applies: (path) => /^(engine|feeds)\//.test(path) && !/domain\/random\.ts$/.test(path),
    finds: (line) => /\bMath\.random\(/.test(line),
  },
  {
    name: "TODO without an owner; write TODO(name or issue)",
    applies: (path) => path !== "gateway/launch/tidy.mjs",
    finds: (line) => /\b(TODO|FIXME|XXX)\b/.test(line) && !/TODO\([a-z#0-9-]+\)/.test(line),
  },
  {
    name: "escape from the type system",
    applies: () => true,
    finds: (line) =>
      (/\bas any\b|: any\b/.test(line) && !isComment(line)) || /@ts-(ignore|expect-error|nocheck)/.test(line),
  },
  {
    name: "focused or silently skipped test; use skipIf with a reason",
    applies: (path) => /\.test\.ts$/.test(path),
    finds: (line) => /\b(it|test|describe)\.(skip|only|todo)\(/.test(line),
  },
];

/** Default URLs, names that the venue's own protocol hashes or returns, file names of recordings. */
function isWireFact(line) {
  return (
    /https?:\/\/|wss?:\/\//.test(line) ||
    /HyperliquidTransaction|HyperliquidSignTransaction|hyperliquidChain|AsterSignTransaction|asterChain|aster chain|name: "Aster"|\/aster\/|Register Lighter Account|_RECORDING = "|const SIGNED_(?:NAMES?|TYPES|TEXTS) = /.test(
      line,
    ) ||
    /ccxt|tardis/.test(line)
  );
}

function isComment(line) {
  return /^\s*(\*|\/\*|\/\/)/.test(line);
}

export function tidyProblems() {
  const problems = [];
  for (const path of listSources([".ts", ".mjs"])) {
    if (path === "gateway/launch/tidy.mjs") continue;
    const lines = readFileSync(join(repoRoot, path), "utf8").split("\n");
    lines.forEach((line, index) => {
      for (const rule of RULES) {
        if (rule.applies(path) && rule.finds(line)) problems.push(`${path}:${index + 1}: ${rule.name}`);
      }
    });
  }
  return problems;
}
