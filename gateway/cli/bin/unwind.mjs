#!/usr/bin/env node
/**
 * The command `unwind`: installs and builds what is missing, as the npm scripts do, then runs the compiled command line
 * in the folder of the service, so that both read the same settings and the same DATA_DIR.
 *
 * Nothing but the command itself writes to stdout.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureBuilt, ensureInstalled, repoRoot } from "../../launch/prepare.mjs";

ensureInstalled();
await ensureBuilt();
process.chdir(repoRoot);
const { main } = await import(pathToFileURL(join(repoRoot, "dist", "gateway", "cli", "unwind.js")).href);
await main(process.argv.slice(2));
