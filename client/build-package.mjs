/**
 * What the packed client consists of: modules and types of its two entries, with the schemas they take, and the licence.
 * `npm pack` runs it (prepack). Types are checked too, since nobody checks them after.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const client = dirname(fileURLToPath(import.meta.url));
const dist = join(client, "dist");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

// What an earlier build left would be packed too.
rmSync(dist, { recursive: true, force: true });
// The packer's own output is its caller's: what the compiler prints goes to stderr.
const { status, error } = spawnSync(process.execPath, [tsc, "-p", join(client, "tsconfig.package.json")], {
  stdio: ["ignore", 2, 2],
});
if (error !== undefined) throw error;
if (status !== 0) process.exit(status ?? 1);
copyFileSync(join(client, "..", "LICENSE"), join(dist, "LICENSE"));
