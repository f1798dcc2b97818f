/** `unwind`: the command line of an installation. bin/unwind.mjs starts it once everything is installed and built. */
import { readFileSync } from "node:fs";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { readAdminConfig } from "../app/admin-config.js";
import { openAdministration } from "../app/administration.js";
import { takeEnvironment } from "../app/process-environment.js";
import { exitCodeOf, onStopSignals } from "../app/stop-signals.js";
import { VERSION } from "../app/version.js";
import { checkStateFile } from "../children/state-check.js";
import type { AdminPlace } from "./cli-call.js";
import { CliFailure, EXIT_USAGE } from "./exit-codes.js";
import { reachAdmin } from "./reach-admin.js";
import { reachCosigner } from "./reach-cosigner.js";
import { runCli } from "./run-cli.js";

/** Sets the exit code. */
export async function main(args: readonly string[]): Promise<void> {
  // The clock's timers do not keep a process alive, nor does a store that commits.
  const keepAlive = setInterval(() => {}, 60_000);
  // `out` reports a reader that has gone.
  process.stdout.on("error", () => {});
  try {
    const code = await runCli(args, {
      version: VERSION,
      out: (text) =>
        new Promise((resolve, reject) => process.stdout.write(text, (lost) => (lost ? reject(lost) : resolve()))),
      error: (text) => void process.stderr.write(text),
      reach,
      untilStopped,
    });
    process.exitCode = code;
    // A co-signer whose store failed has it open still.
    if (args[0] === "cosigner") process.exit(code);
  } finally {
    clearInterval(keepAlive);
  }
}

/** A second signal ends the process at once. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    onStopSignals((signal, force) => {
      if (force) process.exit(exitCodeOf(signal));
      resolve();
    });
  });
}

async function reach({ creates, cosigner }: AdminPlace) {
  if (cosigner !== null) return await reachCosigner(cosigner, createSystemClock());
  const result = readAdminConfig(takeEnvironment(process.env), (path) => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      // The problem names the path where one was asked for.
      return null;
    }
  });
  if (!result.ok) throw new CliFailure(EXIT_USAGE, "CONFIGURATION", result.problems.join("; "));
  const { config, keyProblems } = result;
  return await reachAdmin(
    {
      config,
      keyProblems,
      clock: createSystemClock(),
      openAdministration,
      checkStateFile: (directory) => checkStateFile(directory, silentLogger),
    },
    creates,
  );
}
