/** Starts a compiled child of bench and waits for the line that says it listens; ends it by pid. */
import { type ChildProcess, spawn } from "node:child_process";
import { on } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MemoryAnswer } from "../soak/service-process.js";

const benchFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const PROBE = ["--expose-gc", "--import", new URL("../soak/memory-probe.js", import.meta.url).href];
const PROBE_ANSWER_MS = 20_000;
const BYTES_PER_MIB = 1_048_576;

export interface BenchChild {
  /** First line that it printed on stdout. */
  readonly firstLine: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

interface ChildOptions {
  readonly nodeOptions?: readonly string[];
  /** With the memory probe in it, for `anonymousMibOf`. */
  readonly isProbed?: boolean;
}

/** `script` is relative to the compiled bench folder. Rejects if the child ends or stays silent for `timeoutMs`. */
export function startChild(
  script: string,
  env: Record<string, string> = {},
  args: string[] = [],
  timeoutMs = 30_000,
  { nodeOptions = [], isProbed = false }: ChildOptions = {},
): Promise<BenchChild> {
  const options = ["--enable-source-maps", ...(isProbed ? PROBE : []), ...nodeOptions];
  const child = spawn(process.execPath, [...options, join(benchFolder, script), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit", ...(isProbed ? ["ipc" as const] : [])],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error("a child without stdout");
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${script} said nothing for ${timeoutMs} ms`));
    }, timeoutMs);
    let text = "";
    stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf("\n");
      if (end < 0) return;
      clearTimeout(timer);
      stdout.removeAllListeners("data");
      stdout.resume();
      resolve({ firstLine: text.slice(0, end), process: child, stop: () => stop(child) });
    });
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`${script} ended with ${code}`));
    });
  });
}

/** Memory of a probed child that is no file's, after forced collections. */
export async function anonymousMibOf({ process: child }: BenchChild): Promise<number> {
  const messages = on(child, "message", { signal: AbortSignal.timeout(PROBE_ANSWER_MS) });
  child.send(0);
  for await (const [message] of messages) {
    // A service has messages of its own for its parent.
    const { resident } = message as Partial<MemoryAnswer>;
    if (resident !== undefined) return resident / BYTES_PER_MIB;
  }
  throw new Error("a child ended while its memory was asked for");
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}
