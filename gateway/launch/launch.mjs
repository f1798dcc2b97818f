#!/usr/bin/env node
/**
 * The one entry of every npm script: makes a fresh clone ready (install, build) when it is not, leaves
 * a ready one alone, then runs the command. Plain JavaScript on Node's own modules, because nothing is
 * installed yet when it starts.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, repoRoot } from "./prepare.mjs";
import { runMain } from "./run-main.mjs";
import { answerAtOnce } from "./usage.mjs";

/** command → compiled main it runs after install and build. */
const MAINS = {
  start: "dist/gateway/demo/main.js",
  serve: "dist/gateway/main.js",
  bench: "dist/bench/main.js",
  conformance: "dist/gateway/cli/conformance.js",
  replay: "dist/gateway/cli/replay.js",
  soak: "dist/bench/soak/main.js",
  circle: "dist/bench/circle/main.js",
  example: "dist/bench/example/main.js",
};

const [command = "start", ...args] = process.argv.slice(2);
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail(`Node 20.19 or newer is needed; this is ${process.versions.node}.`);
const answer = answerAtOnce(command, args, repoRoot);
if (answer !== null) {
  process.stdout.write(answer);
  process.exit(0);
}

ensureInstalled();
if (command === "check") {
  const { runCheck } = await import("./check.mjs");
  process.exit(await runCheck(args));
}
await ensureBuilt();
if (command === "test") {
  const { runTests } = await import("./test.mjs");
  process.exit(await runTests(args));
}
const main = MAINS[command];
if (main === undefined)
  fail(`Unknown command ${command}. Known: ${[...Object.keys(MAINS), "test", "check"].join(", ")}.`);
const path = join(repoRoot, main);
if (!existsSync(path)) fail(`${main} is missing although the build succeeded.`);
runMain(path, {
  args,
  nodeOptions: command === "bench" || command === "soak" ? ["--expose-gc"] : [],
  profile: command === "serve" ? { UNWIND_PROFILE: "serve" } : {},
});

function fail(message) {
  process.stderr.write(`unwind: ${message}\n`);
  process.exit(2);
}
