/**
 * Supervisor of the storage sidecar: starts the child that runs the embedded engine, gives the store its address,
 * restarts it when it ends by itself, and stops it within a time limit.
 *
 * Invariants: the address is known only while a child that reported ready is alive, so no password is ever sent to
 * another program on its port. Restarts are spaced by full jitter and never end, unless the child reports that a
 * restart would not help. A child outlives neither `stop` nor this process.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { RecordsEndpoint } from "../../engine/storage/records/clickhouse-client.js";
import { type BackoffPolicy, fullJitterMs } from "../../feeds/shared/net/backoff.js";
import { isSidecarReport, type SidecarReport, type SidecarStart } from "../children/sidecar-messages.js";

const DEFAULT_SIDECAR_MEMORY_BYTES = 1024 * 1024 * 1024;
const SIDECAR_USER = "unwind";

const RESTART: BackoffPolicy = { baseMs: 200, capMs: 30_000 };
/** A child that lived this long was healthy: the restart delay then begins again. */
const HEALTHY_MS = 60_000;
/** From fork to the ready report: loading the library from a cold disk takes seconds. */
const READY_WAIT_MS = 60_000;
/** The child itself waits 5 s for running inserts. */
const STOP_WAIT_MS = 8_000;

export interface SidecarOptions {
  /** Contains the data of the record; created if missing. */
  readonly directory: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Maximum memory of the embedded engine. */
  readonly memoryBytes?: number;
  /** The compiled main of the child; by default its place in this build. */
  readonly childPath?: string;
}

export interface SidecarState {
  readonly state: "starting" | "ready" | "waiting" | "off" | "stopped";
  /** For people; "" while ready. */
  readonly reason: string;
  /** Number of children started so far. */
  readonly startCount: number;
  /** Process id of the living child; null when there is none. */
  readonly processId: number | null;
}

export interface StorageSidecar {
  /** Where the store can be reached now, or why it cannot. Passed to the ClickHouse store. */
  endpoint(): RecordsEndpoint;
  state(): SidecarState;
  /** Resolves once the first child is ready, off, or failed; never rejects. */
  started(): Promise<SidecarState>;
  /** Resolves as soon as there is an address, or none will come. */
  settled(): Promise<SidecarState>;
  /** Ends within a time limit; kills a child that does not end. Idempotent. */
  stop(): Promise<void>;
}

export function startStorageSidecar(options: SidecarOptions): StorageSidecar {
  return new Supervisor(options);
}

class Supervisor implements StorageSidecar {
  readonly #options: SidecarOptions;
  #child: ChildProcess | null = null;
  #state: SidecarState["state"] = "starting";
  #reason = "the embedded store is starting";
  #address: { readonly url: string; readonly password: string } | null = null;
  #port = 0;
  #startCount = 0;
  #failureCount = 0;
  #startedNs = 0;
  #timer: TimerHandle | null = null;
  #settleStarted: () => void = () => {};
  readonly #started: Promise<void>;
  #stopped: Promise<void> | null = null;
  readonly #waiters: (() => void)[] = [];

  constructor(options: SidecarOptions) {
    this.#options = options;
    this.#started = new Promise((resolve) => {
      this.#settleStarted = resolve;
    });
    this.#start();
  }

  endpoint(): RecordsEndpoint {
    if (this.#address !== null)
      return { url: this.#address.url, username: SIDECAR_USER, password: this.#address.password };
    return { url: null, isFinal: this.#state === "off" || this.#state === "stopped", reason: this.#reason };
  }

  state(): SidecarState {
    return {
      state: this.#state,
      reason: this.#reason,
      startCount: this.#startCount,
      processId: this.#child?.pid ?? null,
    };
  }

  async started(): Promise<SidecarState> {
    await this.#started;
    return this.state();
  }

  async settled(): Promise<SidecarState> {
    if (this.#state === "starting" || this.#state === "waiting")
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    return this.state();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#clearTimer();
    this.#enter("stopped", "the embedded store was stopped");
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill("SIGTERM");
    const kill = this.#options.clock.setTimer(() => child.kill("SIGKILL"), STOP_WAIT_MS);
    await ended;
    this.#options.clock.clearTimer(kill);
  }

  #start(): void {
    const { directory, clock, logger } = this.#options;
    this.#startCount++;
    this.#startedNs = clock.monoNs();
    this.#enter("starting", "the embedded store is starting");
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch {
      logger.warn("sidecar.directory_unwritable");
      this.#retry("the data directory of the record cannot be created");
      return;
    }
    const password = randomBytes(24).toString("hex");
    const child = this.#fork();
    if (child === null) return;
    this.#child = child;
    let refusal: Extract<SidecarReport, { kind: "refused" }> | null = null;
    child.on("message", (report) => {
      if (!isSidecarReport(report) || child !== this.#child) return;
      if (report.kind === "refused") refusal = report;
      else this.#ready(report.port, password, report.version);
    });
    // A failed fork emits no exit event, and without free files it has no channel either.
    child.on("error", () => this.#ended(child, null));
    child.once("exit", () => this.#ended(child, refusal));
    if (child.pid === undefined) return;
    const message: SidecarStart = {
      kind: "start",
      directory,
      password,
      port: this.#port,
      memoryBytes: this.#options.memoryBytes ?? DEFAULT_SIDECAR_MEMORY_BYTES,
    };
    child.send(message, (error) => {
      // It ended before it listened: its exit reports that too.
      if (error !== null) child.kill("SIGKILL");
    });
    this.#timer = clock.setTimer(() => child.kill("SIGKILL"), READY_WAIT_MS);
  }

  /**
   * Returns null when no process can be created now (a lack of memory throws; a lack of files or processes comes as an
   * event); it is tried again.
   */
  #fork(): ChildProcess | null {
    try {
      return fork(this.#options.childPath ?? DEFAULT_CHILD, [], {
        // The child gets nothing of ours: neither secrets of the environment nor flags such as a debugger's port.
        env: childEnvironment(),
        execArgv: [],
        stdio: ["ignore", "ignore", "ignore", "ipc"],
        // A process group of its own: a terminal's Ctrl-C is for this process, which stops the child last. The child
        // ends when its channel does.
        detached: true,
      });
    } catch (error) {
      this.#retry(`the embedded store could not be started (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
      return null;
    }
  }

  #ready(port: number, password: string, version: string): void {
    if (this.#stopped !== null) return;
    this.#clearTimer();
    this.#port = port;
    this.#address = { url: `http://127.0.0.1:${port}`, password };
    this.#enter("ready", "");
    this.#options.logger.info("sidecar.ready", { port, version });
    this.#settleStarted();
  }

  #ended(child: ChildProcess, refusal: Extract<SidecarReport, { kind: "refused" }> | null): void {
    if (child !== this.#child) return;
    this.#child = null;
    this.#address = null;
    this.#clearTimer();
    if (this.#stopped !== null) {
      this.#settleStarted();
      return;
    }
    // Later on the fault may be temporary, and rows wait for the record by then.
    if (refusal?.reason === "missing" && this.#startCount === 1) {
      this.#enter("off", refusal.text);
      this.#options.logger.warn("sidecar.off", { reason: refusal.text });
      this.#settleStarted();
      return;
    }
    const lived = (this.#options.clock.monoNs() - this.#startedNs) / 1e6;
    if (lived >= HEALTHY_MS) this.#failureCount = 0;
    this.#retry(refusal?.text ?? `the embedded store ended (${child.signalCode ?? child.exitCode ?? "not started"})`);
  }

  #retry(reason: string): void {
    const delayMs = fullJitterMs(RESTART, this.#failureCount++, this.#options.random);
    this.#enter("waiting", reason);
    this.#options.logger.warn("sidecar.restarting", {
      reason,
      attempt: this.#failureCount,
      delayMs: Math.round(delayMs),
    });
    this.#settleStarted();
    this.#timer = this.#options.clock.setTimer(() => this.#start(), delayMs);
  }

  #enter(state: SidecarState["state"], reason: string): void {
    this.#state = state;
    this.#reason = reason;
    if (state !== "ready") this.#address = null;
    if (state === "starting" || state === "waiting") return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  #clearTimer(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
  }
}

const DEFAULT_CHILD = fileURLToPath(new URL("../children/storage.child.js", import.meta.url));

/** The variables that the runtime and the dynamic linker need; times without a zone are UTC. */
function childEnvironment(): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { TZ: "UTC" };
  for (const name of ["PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR"]) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}
