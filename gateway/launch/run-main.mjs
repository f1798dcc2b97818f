/** Runs a compiled main as a child that gets our terminal, our signals and gives us its exit code. */
import { spawn } from "node:child_process";

/** Ends this process when the main ends. `profile`: more of its environment. */
export function runMain(entry, { args = [], nodeOptions = [], profile = {} } = {}) {
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
