/** Starts a compiled child of bench and waits for the line that says it listens; ends it by pid. */
import { type ChildProcess, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const benchFolder = join(dirname(fileURLToPath(import.meta.url)), "..");

export interface BenchChild {
  /** First line that it printed on stdout. */
  readonly firstLine: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** `script` is relative to the compiled bench folder. Rejects if the child ends or stays silent for `timeoutMs`. */
export function startChild(
  script: string,
  env: Record<string, string> = {},
  args: string[] = [],
  timeoutMs = 30_000,
  nodeOptions: string[] = [],
): Promise<BenchChild> {
  const child = spawn(process.execPath, ["--enable-source-maps", ...nodeOptions, join(benchFolder, script), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${script} said nothing for ${timeoutMs} ms`));
    }, timeoutMs);
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf("\n");
      if (end < 0) return;
      clearTimeout(timer);
      child.stdout.removeAllListeners("data");
      child.stdout.resume();
      resolve({ firstLine: text.slice(0, end), process: child, stop: () => stop(child) });
    });
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`${script} ended with ${code}`));
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}
