#!/usr/bin/env node
/**
 * The one entry of every npm script: makes a fresh clone ready (install, build) when it is not, leaves
 * a ready one alone, then runs the command. Plain JavaScript on Node's own modules, because nothing is
 * installed yet when it starts.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, repoRoot } from "./prepare.mjs";

/** command → compiled main it runs after install and build. */
const MAINS = {
  start: "dist/gateway/demo/main.js",
  serve: "dist/gateway/main.js",
  bench: "dist/bench/main.js",
  conformance: "dist/gateway/cli/conformance.js",
  replay: "dist/gateway/cli/replay.js",
  soak: "dist/bench/soak/main.js",
};

const [command = "start", ...args] = process.argv.slice(2);
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail(`Node 20.19 or newer is needed; this is ${process.versions.node}.`);

ensureInstalled();
if (command === "check") {
  const { runCheck } = await import("./check.mjs");
  process.exit(await runCheck(args));
}
ensureBuilt();
if (command === "test") {
  const { runTests } = await import("./test.mjs");
  process.exit(runTests(args));
}
const main = MAINS[command];
if (main === undefined)
  fail(`Unknown command ${command}. Known: ${[...Object.keys(MAINS), "test", "check"].join(", ")}.`);
const path = join(repoRoot, main);
if (!existsSync(path)) fail(`${main} is missing although the build succeeded.`);
runMain(path);

function runMain(entry) {
  const nodeOptions = command === "bench" || command === "soak" ? ["--expose-gc"] : [];
  const profile = command === "serve" ? { UNWIND_PROFILE: "serve" } : {};
  const child = spawn(process.execPath, ["--enable-source-maps", ...nodeOptions, entry, ...args], {
    stdio: "inherit",
    env: { ...process.env, ...profile },
  });
  // A terminal sends the signal to the whole group already; a supervisor sends it to this process alone.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // npm does not pass a signal on that was sent to it alone: when it is gone, so are we asked to be.
  if (process.env.npm_lifecycle_event !== undefined) {
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) child.kill("SIGTERM");
    }, 1000).unref();
  }
  child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 128 + signalNumber(signal)));
}

function signalNumber(signal) {
  return { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[signal] ?? 1;
}

function fail(message) {
  process.stderr.write(`unwind: ${message}\n`);
  process.exit(2);
}
