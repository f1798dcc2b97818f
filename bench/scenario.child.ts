/** Runs one scenario in this process and writes its rows: `scenario.child.js <name> <outFile> [--smoke]`. */
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { verdict } from "./lib/types.js";
import { SCENARIOS } from "./scenarios/index.js";

const [name, outFile, mode] = process.argv.slice(2);
const scenario = SCENARIOS.find((entry) => entry.name === name);
if (scenario === undefined || outFile === undefined) throw new Error(`no scenario ${name}`);

const repoRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const dataFolder = process.env.BENCH_DATA ?? join(repoRoot, "..", "shared", "data");
const result = await scenario.run({
  smoke: mode === "--smoke",
  dataFolder: existsSync(dataFolder) ? dataFolder : null,
  log: (line) => process.stdout.write(`${line}\n`),
});
for (const row of result.rows) {
  const peer = row.peer === null ? "" : ` against ${row.peer.toFixed(1)} (${row.peerName})`;
  process.stdout.write(
    `${verdict(row).padEnd(6)} ${row.ratio.toFixed(3)} ${row.what}: ${row.ours.toFixed(1)} ${row.unit}${peer} ${row.detail}\n`,
  );
}
for (const line of result.profile) process.stdout.write(`       ${line}\n`);
writeFileSync(outFile, JSON.stringify(result, null, 2));
process.exit(0);
