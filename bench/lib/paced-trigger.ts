/**
 * Paces a publisher by what its readers have received: the next publish waits while more than WINDOW publishes are in
 * flight. Without it the publisher would outrun any reader, and the measurement would be one of dropped frames.
 *
 * The readers' process writes lines to the control connection. A number is the count of frames that all sockets have
 * received so far; the first number starts the run. `stop` ends the run, and the reply is one line of JSON.
 */
import { createServer, type Socket } from "node:net";

/** Publishes in flight: a few hundred bytes each, far below any reader's limit. */
const WINDOW = 16;

/** Reply of the publishing process at the end of a run. */
export interface PublisherCost {
  readonly cpuMs: number;
  readonly publishCount: number;
}

/** Listens for the control connection of one run at a time. Resolves with its port. `trigger` publishes once. */
export function serveTrigger(socketCount: number, trigger: () => void): Promise<number> {
  const server = createServer((control) => new PacedRun(control, socketCount, trigger));
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

class PacedRun {
  readonly #control: Socket;
  readonly #socketCount: number;
  readonly #trigger: () => void;
  #text = "";
  #receivedCount = 0;
  #publishCount = 0;
  #cpuAtStart: NodeJS.CpuUsage | null = null;
  #isScheduled = false;
  #isOver = false;

  constructor(control: Socket, socketCount: number, trigger: () => void) {
    this.#control = control;
    this.#socketCount = socketCount;
    this.#trigger = trigger;
    control.setNoDelay(true);
    control.on("data", (chunk: Buffer) => this.#read(chunk.toString("latin1")));
    control.on("close", () => {
      this.#isOver = true;
    });
    control.on("error", () => control.destroy());
  }

  #read(text: string): void {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "stop") this.#stop();
      else this.#receivedCount = Number(line);
    }
    this.#cpuAtStart ??= process.cpuUsage();
    this.#schedule();
  }

  #stop(): void {
    this.#isOver = true;
    const { user, system } = process.cpuUsage(this.#cpuAtStart ?? undefined);
    const cost: PublisherCost = { cpuMs: (user + system) / 1000, publishCount: this.#publishCount };
    this.#control.end(`${JSON.stringify(cost)}\n`);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isOver) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#isOver || this.#publishCount * this.#socketCount - this.#receivedCount > WINDOW * this.#socketCount)
        return;
      this.#publishCount++;
      this.#trigger();
      // One publish per turn of the loop, as a venue's frames come.
      this.#schedule();
    });
  }
}
