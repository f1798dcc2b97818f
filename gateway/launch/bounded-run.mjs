/** A command in a process group of its own, which ends whole, with all that it started, where it takes too long. */
import { spawn } from "node:child_process";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
/** For what a test started: to stop its own children and to remove its folders. */
const GRACE_MS = 5_000;

/** Resolves with the exit code, and whether the time was over. */
export function runBounded(command, args, { cwd, env = process.env, limitMs, graceMs = GRACE_MS }) {
  const child = spawn(command, args, { cwd, env, stdio: "inherit", detached: true });
  return new Promise((resolve) => {
    let isOver = false;
    let asked = null;
    let last;
    const end = (signal) => {
      signalGroup(child.pid, signal);
      last ??= setTimeout(() => signalGroup(child.pid, "SIGKILL"), graceMs);
    };
    const timer = setTimeout(() => {
      isOver = true;
      end("SIGTERM");
    }, limitMs);
    // A terminal signals the group of this process alone.
    const askedToEnd = (signal) => {
      asked = signal;
      end(signal);
    };
    for (const signal of SIGNALS) process.on(signal, askedToEnd);
    const done = (status) => {
      clearTimeout(timer);
      clearTimeout(last);
      for (const signal of SIGNALS) process.off(signal, askedToEnd);
      if (isOver || asked !== null) signalGroup(child.pid, "SIGKILL");
      if (asked !== null) process.kill(process.pid, asked);
      resolve({ status, isOver });
    };
    child.on("error", () => done(1));
    child.on("exit", (code) => done(code ?? 1));
  });
}

function signalGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended.
  }
}
