/**
 * Supervisor of a process beside the service: starts it, restarts it when it ends by itself, and stops it within a time
 * limit.
 *
 * Invariants: what a ready child reported is known only while that child is alive. Restarts are spaced by full jitter and
 * never end, unless the child reports that a restart would not help. A child outlives neither `stop` nor this process.
 */
import { type ChildProcess, fork, type Serializable } from "node:child_process";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { LogFields, Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import { type BackoffPolicy, fullJitterMs } from "../../feeds/shared/net/backoff.js";

const RESTART: BackoffPolicy = { baseMs: 200, capMs: 30_000 };
/** A child that lived this long was healthy: the restart delay then begins again. */
const HEALTHY_MS = 60_000;

export type ChildReport<Ready> =
  | { readonly kind: "ready"; readonly ready: Ready }
  /** `isFinal`: no restart would help. */
  | { readonly kind: "refused"; readonly text: string; readonly isFinal: boolean };

export interface ChildProgram<Ready> {
  /** "the embedded store": begins what people read of it. */
  readonly name: string;
  /** Prefix of its lines in the log. */
  readonly logName: string;
  readonly childPath: string;
  /** From fork to the ready report. */
  readonly readyWaitMs: number;
  /** For an orderly end; then it is killed. */
  readonly stopWaitMs: number;
  /** Its stderr, where its log is, goes where ours goes. */
  readonly logs?: boolean;
  /** Called before each start; a text is why it cannot start now. */
  prepare(): { readonly message: Serializable } | { readonly problem: string };
  /** Null for what is no report. */
  read(message: unknown): ChildReport<Ready> | null;
  /** Fields of the log line of a ready child. */
  fieldsOf(ready: Ready): LogFields;
}

export interface ChildState {
  readonly state: "starting" | "ready" | "waiting" | "off" | "stopped";
  /** For people; "" while ready. */
  readonly reason: string;
  /** Number of children started so far. */
  readonly startCount: number;
  /** Process id of the living child; null when there is none. */
  readonly processId: number | null;
}

export interface SupervisorPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** After each change of the state. */
  readonly onChange?: () => void;
}

export class ChildSupervisor<Ready> {
  readonly #program: ChildProgram<Ready>;
  readonly #ports: SupervisorPorts;
  #child: ChildProcess | null = null;
  #state: ChildState["state"] = "starting";
  #reason = "";
  #ready: Ready | null = null;
  #startCount = 0;
  #failureCount = 0;
  #startedNs = 0;
  #timer: TimerHandle | null = null;
  #settleStarted: () => void = () => {};
  readonly #started: Promise<void>;
  #stopped: Promise<void> | null = null;
  readonly #waiters: (() => void)[] = [];

  constructor(program: ChildProgram<Ready>, ports: SupervisorPorts) {
    this.#program = program;
    this.#ports = ports;
    this.#started = new Promise((resolve) => {
      this.#settleStarted = resolve;
    });
    this.#start();
  }

  /** What the living child reported; null while there is none. */
  get ready(): Ready | null {
    return this.#ready;
  }

  state(): ChildState {
    return {
      state: this.#state,
      reason: this.#reason,
      startCount: this.#startCount,
      processId: this.#child?.pid ?? null,
    };
  }

  /** Resolves once the first child is ready, off, or failed; never rejects. */
  async started(): Promise<ChildState> {
    await this.#started;
    return this.state();
  }

  /** Resolves as soon as a child is ready, or none will come. */
  async settled(): Promise<ChildState> {
    if (this.#state === "starting" || this.#state === "waiting")
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    return this.state();
  }

  /** Ends within a time limit; kills a child that does not end. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#clearTimer();
    this.#enter("stopped", `${this.#program.name} was stopped`);
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill("SIGTERM");
    const kill = this.#ports.clock.setTimer(() => child.kill("SIGKILL"), this.#program.stopWaitMs);
    await ended;
    this.#ports.clock.clearTimer(kill);
  }

  #start(): void {
    const { clock } = this.#ports;
    this.#startCount++;
    this.#startedNs = clock.monoNs();
    this.#enter("starting", `${this.#program.name} is starting`);
    const prepared = this.#program.prepare();
    if ("problem" in prepared) {
      this.#retry(prepared.problem);
      return;
    }
    const child = this.#fork();
    if (child === null) return;
    this.#child = child;
    let refusal: { readonly text: string; readonly isFinal: boolean } | null = null;
    child.on("message", (message) => {
      const report = this.#program.read(message);
      if (report === null || child !== this.#child) return;
      if (report.kind === "refused") refusal = report;
      else this.#reported(report.ready);
    });
    // A failed fork emits no exit event, and without free files it has no channel either.
    child.on("error", () => this.#ended(child, null));
    child.once("exit", () => this.#ended(child, refusal));
    if (child.pid === undefined) return;
    child.send(prepared.message, (error) => {
      // It ended before it listened: its exit reports that too.
      if (error !== null) child.kill("SIGKILL");
    });
    this.#timer = clock.setTimer(() => child.kill("SIGKILL"), this.#program.readyWaitMs);
  }

  /**
   * Returns null when no process can be created now (a lack of memory throws; a lack of files or processes comes as an
   * event); it is tried again.
   */
  #fork(): ChildProcess | null {
    try {
      return fork(this.#program.childPath, [], {
        // The child gets nothing of ours: neither secrets of the environment nor flags such as a debugger's port.
        env: childEnvironment(),
        execArgv: [],
        stdio: ["ignore", "ignore", this.#program.logs === true ? "inherit" : "ignore", "ipc"],
        // A process group of its own: a terminal's Ctrl-C is for this process, which stops the child last. The child
        // ends when its channel does.
        detached: true,
      });
    } catch (error) {
      this.#retry(`${this.#program.name} could not be started (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
      return null;
    }
  }

  #reported(ready: Ready): void {
    if (this.#stopped !== null) return;
    this.#clearTimer();
    this.#ready = ready;
    this.#enter("ready", "");
    this.#ports.logger.info(`${this.#program.logName}.ready`, this.#program.fieldsOf(ready));
    this.#settleStarted();
  }

  #ended(child: ChildProcess, refusal: { readonly text: string; readonly isFinal: boolean } | null): void {
    if (child !== this.#child) return;
    this.#child = null;
    this.#clearTimer();
    if (this.#stopped !== null) {
      this.#ready = null;
      this.#settleStarted();
      return;
    }
    // Later on the fault may be temporary, and somebody relies on the child by then.
    if (refusal?.isFinal === true && this.#startCount === 1) {
      this.#enter("off", refusal.text);
      this.#ports.logger.warn(`${this.#program.logName}.off`, { reason: refusal.text });
      this.#settleStarted();
      return;
    }
    const lived = (this.#ports.clock.monoNs() - this.#startedNs) / 1e6;
    if (lived >= HEALTHY_MS) this.#failureCount = 0;
    const end = child.signalCode ?? child.exitCode ?? "not started";
    this.#retry(refusal?.text ?? `${this.#program.name} ended (${end})`);
  }

  #retry(reason: string): void {
    const { clock, random, logger } = this.#ports;
    const delayMs = fullJitterMs(RESTART, this.#failureCount++, random);
    this.#enter("waiting", reason);
    logger.warn(`${this.#program.logName}.restarting`, {
      reason,
      attempt: this.#failureCount,
      delayMs: Math.round(delayMs),
    });
    this.#settleStarted();
    this.#timer = clock.setTimer(() => this.#start(), delayMs);
  }

  #enter(state: ChildState["state"], reason: string): void {
    this.#state = state;
    this.#reason = reason;
    if (state !== "ready") this.#ready = null;
    this.#ports.onChange?.();
    if (state === "starting" || state === "waiting") return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  #clearTimer(): void {
    if (this.#timer !== null) this.#ports.clock.clearTimer(this.#timer);
    this.#timer = null;
  }
}

/** The variables that the runtime and the dynamic linker need; times without a zone are UTC. */
function childEnvironment(): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { TZ: "UTC" };
  for (const name of ["PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR"]) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}
