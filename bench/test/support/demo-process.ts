/**
 * The demo as a person starts it: launcher, service, local venues and storage sidecar. As under a terminal they have a
 * process group of their own, so that a Ctrl-C can go to all of them at once.
 *
 * Invariant: no process that it starts outlives `dispose`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { buildClient } from "../../../gateway/test/dashboard-build.js";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { waitUntil } from "./system.js";

const LAUNCHER = pathToFileURL(resolve("gateway/launch/run-main.mjs")).href;
const VENUES_MAIN = "bench/sim/venues.child";
const SIDECAR_MAIN = "gateway/children/storage.child";
/** A ceiling: a shared machine may take its cores away for a while. */
const START_MS = 120_000;
const WARN_LEVEL = 40;

export interface Ended {
  /** Exit code of the launcher; null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class DemoBench {
  readonly #directory = mkdtempSync(join(tmpdir(), "unwind-demo-"));
  readonly #mainPath: string;
  readonly #demos: DemoProcess[] = [];

  /** `hasPage`: the service has its page too, as a build would give it. */
  constructor({ hasPage = false } = {}) {
    this.#mainPath = compileChild("gateway/demo/main.ts", this.#directory, [
      `${VENUES_MAIN}.ts`,
      `${SIDECAR_MAIN}.ts`,
      "gateway/children/custody.worker.ts",
      "gateway/cosigner/cosigner.child.ts",
    ]);
    if (!hasPage) return;
    const built = buildClient();
    cpSync(built.folder, this.pageFolder, { recursive: true });
    built.remove();
  }

  get pageFolder(): string {
    return join(dirname(this.#mainPath), "..", "..", "client");
  }

  start(): DemoProcess {
    const demo = new DemoProcess(this.#mainPath, mkdtempSync(join(this.#directory, "data-")));
    this.#demos.push(demo);
    return demo;
  }

  dispose(): void {
    for (const demo of this.#demos) demo.dispose();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export class DemoProcess {
  readonly #launcher: ChildProcess;
  readonly #mainPath: string;
  /** All processes ever seen, by pid, with their command. */
  readonly #seen = new Map<number, string>();
  #out = "";
  #err = "";
  #ended: Ended | null = null;

  constructor(mainPath: string, dataDir: string) {
    this.#mainPath = mainPath;
    const script = `import(${JSON.stringify(LAUNCHER)}).then(({ runMain }) => runMain(${JSON.stringify(mainPath)}))`;
    this.#launcher = spawn(process.execPath, ["-e", script], {
      env: { PATH: process.env["PATH"] ?? "", PORT: "0", DATA_DIR: dataDir, LOG_LEVEL: "info" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.#launcher.stdout?.on("data", (chunk: Buffer) => (this.#out += chunk.toString()));
    this.#launcher.stderr?.on("data", (chunk: Buffer) => (this.#err += chunk.toString()));
    this.#launcher.once("exit", (code, signal) => (this.#ended = { code, signal }));
  }

  /** Resolves once the log or the terminal shows the text. */
  async shows(text: string): Promise<void> {
    await waitUntil(`the demo shows ${text}`, START_MS, () => {
      if (this.#ended !== null) throw new Error(`the demo ended: ${this.#err.slice(-2_000)}`);
      return `${this.#out}\n${this.#err}`.includes(text);
    });
  }

  /** What it has printed for a person. */
  get output(): string {
    return this.#out;
  }

  /** Resolves with the pid once there is one. */
  async pidOf(what: "main" | "venues" | "sidecar"): Promise<number> {
    const name = { main: this.#mainPath, venues: `${VENUES_MAIN}.js`, sidecar: `${SIDECAR_MAIN}.js` }[what];
    let found: number | null = null;
    await waitUntil(`the demo has its ${what}`, START_MS, () => {
      if (this.#ended !== null) throw new Error(`the demo ended: ${this.#err.slice(-2_000)}`);
      for (const [pid, command] of this.#look()) if (command.includes(name)) found = pid;
      return found !== null;
    });
    return found ?? 0;
  }

  /** Signals the whole group, as a terminal does. */
  signalGroup(signal: NodeJS.Signals): void {
    this.#look();
    process.kill(-(this.#launcher.pid ?? 0), signal);
  }

  signalLauncher(signal: NodeJS.Signals): void {
    this.#look();
    this.#launcher.kill(signal);
  }

  /** `complaints` counts from this call on. */
  forgetOutput(): void {
    this.#out = "";
    this.#err = "";
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** Resolves when the launcher and all its processes are gone. */
  async gone(withinMs: number): Promise<Ended> {
    await waitUntil("the demo is gone", withinMs, () => {
      this.#look();
      return this.#ended !== null && this.left().length === 0;
    });
    return this.#ended ?? { code: null, signal: null };
  }

  /** Returns the started processes that still live. */
  left(): string[] {
    return [...this.#seen].filter(([pid, command]) => commandOf(pid) === command).map(([, command]) => command);
  }

  /** Returns the lines that no orderly end writes: warnings and errors of the log, and text that is no log line. */
  complaints(): string[] {
    return `${this.#err}\n${this.#out}`.split("\n").filter((line) => line !== "" && !isCalm(line));
  }

  dispose(): void {
    this.#look();
    for (const [pid, command] of this.#seen) {
      if (commandOf(pid) !== command) continue;
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process ended in the meantime.
      }
    }
  }

  /** Returns the live descendants of the launcher. A process that lost its parent is known from an earlier call. */
  #look(): [pid: number, command: string][] {
    const own = new Set([...this.#seen.keys(), this.#launcher.pid ?? 0]);
    for (let before = 0; before !== own.size; ) {
      before = own.size;
      for (const { pid, parent } of processes()) if (own.has(parent)) own.add(pid);
    }
    const alive: [number, string][] = [];
    for (const pid of own) {
      const command = commandOf(pid);
      // Between fork and exec a process still has its parent's command.
      if (command === null) continue;
      this.#seen.set(pid, command);
      alive.push([pid, command]);
    }
    return alive;
  }
}

function isCalm(line: string): boolean {
  try {
    const entry = JSON.parse(line) as { readonly level?: unknown };
    return typeof entry.level === "number" && entry.level < WARN_LEVEL;
  } catch {
    return false;
  }
}

function processes(): { pid: number; parent: number }[] {
  const found: { pid: number; parent: number }[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(Number(name));
    if (fields !== null) found.push({ pid: Number(name), parent: Number(fields[1]) });
  }
  return found;
}

/** Returns null when the process is gone, or dead and not yet reaped by its parent. */
function commandOf(pid: number): string | null {
  const fields = statOf(pid);
  if (fields === null || fields[0] === "Z") return null;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return null;
  }
}

/** Returns state, parent, group …; null when the process is gone. */
function statOf(pid: number): string[] | null {
  try {
    // pid (name) state ppid …; the name may contain any character, parentheses too.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}
