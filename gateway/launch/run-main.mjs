/** Runs a compiled main as a child that gets our terminal, our signals and gives us its exit code. */
import { spawn } from "node:child_process";

/** Ends this process when the main ends. `profile`: more of its environment. */
export function runMain(entry, { args = [], nodeOptions = [], profile = {} } = {}) {
  const child = spawn(process.execPath, ["--enable-source-maps", ...nodeOptions, entry, ...args], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, ...profile },
  });
  let hearsSignals = false;
  child.on("message", (message) => {
    if (message?.kind === "hears-signals") hearsSignals = true;
  });
  // A terminal sends the signal to the whole group already; a supervisor sends it to this process alone. A main that can
  // hear which is which gets no second signal.
  const passOn = (signal) => {
    if (hearsSignals && child.connected && signal !== "SIGHUP") child.send({ signal }, () => {});
    else child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => passOn(signal));
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
