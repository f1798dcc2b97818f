/**
 * The gateway as a process of its own, compiled for the test, so that a test can kill it. The venues live in the test's
 * process and outlast it.
 *
 * Invariant: no gateway outlives `dispose`, nor does a process that it starts: a storage sidecar ends with its parent.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import type { LocalPair } from "./local-pair.js";
import { environmentFor } from "./system.js";

const SIDECAR_MAIN = "gateway/children/storage.child";
const STATE_CHECK_MAIN = "gateway/children/state-check.child";
/** A ceiling: a shared machine may take its cores away for a while. */
const START_MS = 120_000;
const KEPT_LOG_CHARS = 20_000;

/**
 * Request budgets for tests that judge the fate of each close, not the pace that a venue allows: looking up hundreds of
 * orders takes more requests than the venues' own limits of a minute.
 */
export const AMPLE_BUDGETS: Readonly<Record<string, string>> = {
  VENUEONE_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUETWO_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUETWO_SPOT_WEIGHT_PER_MINUTE: "1000000",
  VENUETWO_WEB_CALLS_PER_MINUTE: "1000000",
  VENUETWO_ORDERS_PER_MINUTE: "1000000",
  VENUETWO_ORDERS_PER_10_SECONDS: "1000000",
};

export interface GatewayProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Resolves with the exit code when the process is gone; null when a signal ended it. */
  readonly gone: Promise<number | null>;
  /** The last lines of its log. */
  log(): string;
}

export class GatewayBench {
  readonly #directory = mkdtempSync(join(tmpdir(), "unwind-gateway-"));
  readonly #mainPath: string;
  readonly #children = new Set<ChildProcess>();

  constructor() {
    this.#mainPath = compileChild("gateway/main.ts", this.#directory, [`${SIDECAR_MAIN}.ts`, `${STATE_CHECK_MAIN}.ts`]);
  }

  /** Resolves once the service listens. `inside` turns the command into the one to run, such as on another volume. */
  start(
    pair: LocalPair,
    dataDir: string,
    environment: Readonly<Record<string, string>> = {},
    inside: (command: readonly string[]) => readonly string[] = (command) => command,
  ): Promise<GatewayProcess> {
    const [program = "", ...args] = inside([process.execPath, this.#mainPath]);
    const child = spawn(program, args, {
      env: {
        PATH: process.env["PATH"] ?? "",
        ...environmentFor(pair, dataDir, { LOG_LEVEL: "error", SHUTDOWN_GRACE_MS: "0", ...environment }),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.add(child);
    const gone = new Promise<number | null>((resolve) =>
      child.once("exit", (code) => {
        this.#children.delete(child);
        resolve(code);
      }),
    );
    return new Promise((resolve, reject) => {
      let out = "";
      let log = "";
      const fail = (what: string): void => reject(new Error(`the gateway ${what}: ${log.slice(-2000)}`));
      const timer = setTimeout(() => fail(`said nothing for ${START_MS} ms`), START_MS);
      child.stderr?.on("data", (chunk: Buffer) => {
        log = `${log}${chunk.toString()}`.slice(-KEPT_LOG_CHARS);
      });
      child.stdout?.on("data", (chunk: Buffer) => {
        out = `${out}${chunk.toString()}`.slice(-KEPT_LOG_CHARS);
        const url = /^ready (\S+)/m.exec(out)?.[1];
        if (url === undefined) return;
        clearTimeout(timer);
        resolve({ url, child, gone, log: () => log });
      });
      void gone.then(() => {
        clearTimeout(timer);
        fail("ended");
      });
    });
  }

  /** A test that runs out of time does not reach its own cleanup. */
  dispose(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Returns the pid of this gateway's storage sidecar; null without one. */
export function sidecarPid(gateway: GatewayProcess): number | null {
  return pidOfChild(gateway.child.pid, SIDECAR_MAIN);
}

/** Returns the pid of the child of a process whose command line names `main`; null without one. */
export function pidOfChild(parent: number | undefined, main: string): number | null {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // pid (name) state ppid …; the name may contain any character, parentheses too.
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(ppid) !== parent || state === "Z") continue;
      if (readFileSync(`/proc/${name}/cmdline`, "utf8").includes(main)) return Number(name);
    } catch {
      // The process ended in the meantime.
    }
  }
  return null;
}
