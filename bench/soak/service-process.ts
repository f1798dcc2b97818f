/** The service under soak: a process of its own, with the memory probe in it. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";

const START_MS = 120_000;
const MEMORY_MS = 20_000;
const STOP_MS = 120_000;
const KEPT_LOG_CHARS = 4_000;

export interface MemoryAnswer {
  /** Number of the request. */
  readonly asked: number;
  readonly heapUsed: number;
  /** Buffers, and the memory that native code reports. */
  readonly external: number;
  /** RssAnon. */
  readonly resident: number;
}

export class ServiceProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #gone: Promise<string>;
  readonly #log: () => string;
  #asked = 0;

  private constructor(url: string, child: ChildProcess, gone: Promise<string>, log: () => string) {
    this.url = url;
    this.#child = child;
    this.#gone = gone;
    this.#log = log;
  }

  /** Resolves once the service listens; rejects with its last words. */
  static start(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
    const main = fileURLToPath(new URL("../../gateway/main.js", import.meta.url));
    const probe = pathToFileURL(fileURLToPath(new URL("./memory-probe.js", import.meta.url))).href;
    const child = spawn(process.execPath, ["--expose-gc", "--import", probe, main], {
      env: { PATH: process.env["PATH"] ?? "", ...environment },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    // For every way in which this process ends.
    const kill = (): void => void child.kill("SIGKILL");
    process.once("exit", kill);
    const gone = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => {
        process.off("exit", kill);
        resolve(signal ?? `code ${code ?? "none"}`);
      });
    });
    return new Promise((resolve, reject) => {
      let out = "";
      let log = "";
      const fail = (what: string): void => {
        child.kill("SIGKILL");
        reject(new Error(`the service ${what}: ${log}`));
      };
      const timer = setTimeout(() => fail(`said nothing for ${START_MS} ms`), START_MS);
      child.stderr?.on("data", (chunk: Buffer) => {
        log = `${log}${chunk.toString()}`.slice(-KEPT_LOG_CHARS);
      });
      child.stdout?.on("data", (chunk: Buffer) => {
        out = `${out}${chunk.toString()}`.slice(-KEPT_LOG_CHARS);
        const url = /^ready (\S+)/m.exec(out)?.[1];
        if (url === undefined) return;
        clearTimeout(timer);
        resolve(new ServiceProcess(url, child, gone, () => log));
      });
      void gone.then((end) => {
        clearTimeout(timer);
        fail(`ended with ${end}`);
      });
    });
  }

  /** Resolves with how the service ended, once it has. */
  get gone(): Promise<string> {
    return this.#gone;
  }

  /** The last lines of its log. */
  get log(): string {
    return this.#log();
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Memory after forced collections; null when the service does not answer in time. */
  memory(): Promise<MemoryAnswer | null> {
    return new Promise((resolve) => {
      const child = this.#child;
      const asked = ++this.#asked;
      const onAnswer = (answer: unknown): void => {
        const memory = answer as MemoryAnswer;
        if (memory.asked === asked) end(memory);
      };
      const timer = setTimeout(() => end(null), MEMORY_MS);
      const end = (answer: MemoryAnswer | null): void => {
        clearTimeout(timer);
        child.off("message", onAnswer);
        resolve(answer);
      };
      child.on("message", onAnswer);
      if (!child.connected) end(null);
      else child.send(asked, (error) => void (error !== null && end(null)));
    });
  }

  /** Stops the service in order, and kills it when that takes too long. Resolves with how it ended. */
  async stop(): Promise<string> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    this.#child.kill("SIGTERM");
    const end = await this.#gone;
    clearTimeout(timer);
    return end;
  }
}
