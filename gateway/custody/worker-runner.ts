/**
 * The sessions of the service in a thread of its own (engine/custody/provider/session-runner.ts over worker messages).
 * A thread that dies takes its sessions with it: their calls reject, which the host counts as unexplained, and the next
 * call starts another one. One that gives no answer is ended, and its calls say that it was slow.
 *
 * Invariant: the thread has the keys of the ring, also after a rotation: they are sent ahead of any call after it.
 */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { EndCause, Step } from "../../engine/custody/mpc/sessions/effects.js";
import type { Message } from "../../engine/custody/mpc/wire/header.js";
import { NoAnswer, type ServiceRequest, type SessionRunner } from "../../engine/custody/provider/session-runner.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type {
  FromWorker,
  ToWorker,
  WorkerCall,
  WorkerKeys,
  WorkerStart,
} from "../../engine/custody/provider/worker-messages.js";

export interface WorkerRunnerParts {
  readonly ring: Pick<Keyring, "copyOfKeys" | "watch">;
  /** 32 bytes. */
  readonly backupKey: Uint8Array;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The compiled main of the thread; by default its place in this build. */
  readonly workerPath?: string;
}

/** Above what the host waits for a step, so that it has decided before. */
const ANSWER_MS_MAX = 15_000;
const CLOSE_MS_MAX = 5_000;

interface Waiting {
  resolve(step: Step | null): void;
  reject(error: Error): void;
}

export class WorkerRunner implements SessionRunner<ServiceRequest> {
  readonly #parts: WorkerRunnerParts;
  readonly #waiting = new Map<number, Waiting>();
  readonly #unwatch: () => void;
  /** Ended because they gave no answer. */
  readonly #silent = new WeakSet<Worker>();
  #worker: Worker | null = null;
  #lastNumber = 0;
  #isClosed = false;

  constructor(parts: WorkerRunnerParts) {
    this.#parts = parts;
    this.#unwatch = parts.ring.watch(() => this.#sendKeys());
    this.#started();
  }

  async open(id: number, request: ServiceRequest): Promise<Step> {
    return this.#step({ kind: "open", id, request });
  }

  async receive(id: number, message: Message): Promise<Step> {
    return this.#step({ kind: "receive", id, message });
  }

  async end(id: number, cause: EndCause): Promise<Step> {
    return this.#step({ kind: "end", id, cause });
  }

  abandon(id: number): void {
    this.#worker?.postMessage({ kind: "abandon", id } satisfies ToWorker);
  }

  /** Sessions that are left end, keys are wiped; then the thread is gone. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unwatch();
    const worker = this.#worker;
    if (worker === null) return;
    const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    await this.#call(worker, { kind: "close" }, CLOSE_MS_MAX).catch(() => {});
    // All is wiped by then, or it was given no more time.
    void worker.terminate();
    await gone;
  }

  async #step(call: WorkerCall): Promise<Step> {
    if (this.#isClosed) throw new Error("the runner is closed");
    const step = await this.#call(this.#started(), call, ANSWER_MS_MAX);
    if (step === null) throw new Error("a call without a step");
    return step;
  }

  async #call(worker: Worker, call: WorkerCall, answerMs: number): Promise<Step | null> {
    const { clock } = this.#parts;
    const number = ++this.#lastNumber;
    const timer = clock.setTimer(() => this.#silenced(worker), answerMs);
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(number, { resolve, reject });
        worker.postMessage({ kind: "call", number, call } satisfies ToWorker);
      });
    } finally {
      clock.clearTimer(timer);
    }
  }

  #started(): Worker {
    this.#worker ??= this.#start();
    return this.#worker;
  }

  #start(): Worker {
    const { backupKey, workerPath, logger } = this.#parts;
    const { keys, moved } = this.#keys();
    const worker = new Worker(workerPath ?? DEFAULT_WORKER, {
      workerData: { keys, backupKey: Uint8Array.from(backupKey) } satisfies WorkerStart,
      transferList: moved,
      // Nothing of ours goes over but what is sent: neither secrets of the environment nor options.
      ...{ env: {}, execArgv: [], argv: [] },
    });
    worker.on("message", (reply: FromWorker) => this.#answered(reply));
    worker.on("error", (error) => logger.error("custody.worker_failed", { errorName: error.name }));
    worker.once("exit", () => this.#gone(worker));
    return worker;
  }

  #answered(reply: FromWorker): void {
    const waiting = this.#waiting.get(reply.number);
    this.#waiting.delete(reply.number);
    if ("step" in reply) waiting?.resolve(reply.step);
    else waiting?.reject(new Error(reply.problem));
  }

  #gone(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const isSilent = this.#silent.has(worker);
    for (const { reject } of this.#waiting.values()) reject(isSilent ? new NoAnswer() : new Error("the thread ended"));
    this.#waiting.clear();
  }

  #silenced(worker: Worker): void {
    this.#silent.add(worker);
    this.#parts.logger.error("custody.worker_failed", { errorName: "NoAnswer" });
    void worker.terminate();
  }

  #sendKeys(): void {
    if (this.#worker === null) return;
    const { keys, moved } = this.#keys();
    this.#worker.postMessage({ kind: "keys", keys } satisfies ToWorker, moved);
  }

  /** Their memory is moved to the thread, so no copy stays here. */
  #keys(): { readonly keys: WorkerKeys; readonly moved: ArrayBuffer[] } {
    const { present, former } = this.#parts.ring.copyOfKeys();
    const moved = [present, former].flatMap((key) => (key === null ? [] : [key.buffer as ArrayBuffer]));
    return { keys: { present, former }, moved };
  }
}

const DEFAULT_WORKER = fileURLToPath(new URL("../children/custody.worker.js", import.meta.url));
