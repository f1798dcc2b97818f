/** A WebSocket client for tests: checks every frame, folds every subscription, lets tests wait for frames. */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { Fold, type Frame, FrameJudge } from "./frame-judge.js";

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** One judge for all clients of a file: schemas compile once. */
export const judge = new FrameJudge();

export class StreamClient {
  readonly frames: Frame[] = [];
  readonly folds = new Map<string, Fold>();
  readonly closed: Promise<Closed>;
  /** The first illegal frame, kept for the next wait. */
  fault: Error | null = null;
  end: Closed | null = null;
  readonly socket: WebSocket;
  readonly #waiters = new Set<() => void>();
  #nextId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data, isBinary) => this.#take(String(data), isBinary));
    socket.on("error", () => {
      // `closed` reports it.
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => {
        this.end = { code, reason: reason.toString() };
        resolve(this.end);
        this.#wake();
      });
    });
  }

  static async open(port: number, options: { readonly autoPong?: boolean } = {}): Promise<StreamClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { perMessageDeflate: false, ...options });
    const client = new StreamClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return client;
  }

  raw(data: string | Buffer): void {
    this.socket.send(data, { binary: typeof data !== "string" });
  }

  /** Sends an op with an id and waits for the frame that repeats it. */
  async ask(frame: Record<string, unknown>): Promise<Frame> {
    const id = `t${this.#nextId++}`;
    this.raw(JSON.stringify({ ...frame, id }));
    return this.next((answer) => answer.id === id);
  }

  async subscribe(frame: Record<string, unknown>): Promise<Frame> {
    const answer = await this.ask({ op: "subscribe", ...frame });
    if (answer.type === "error") return answer;
    for (const { sub } of answer.subs) await this.fold(sub);
    return answer;
  }

  /** Returns the fold of a subscription, once its snapshot is there. */
  async fold(sub: string): Promise<Fold> {
    await this.until(() => this.folds.has(sub), `a snapshot of ${sub}`);
    return this.folds.get(sub) as Fold;
  }

  /** Returns the first frame, among those received and those to come, that fits. */
  async next(fits: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    let found: Frame | undefined;
    await this.until(() => {
      found = this.frames.slice(from).find(fits);
      return found !== undefined;
    }, "a frame that fits");
    return found as Frame;
  }

  async until(holds: () => boolean, what = "a condition"): Promise<void> {
    for (;;) {
      if (this.fault !== null) throw this.fault;
      if (holds()) return;
      if (this.end !== null)
        throw new Error(`closed with ${this.end.code} ${this.end.reason} while waiting for ${what}`);
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  updates(sub: string): Frame[] {
    return this.frames.filter((frame) => frame.type === "update" && frame.sub === sub);
  }

  /** Stops reading from the kernel; `on` continues. */
  read(on: boolean): void {
    const { _socket } = this.socket as unknown as { readonly _socket: Socket };
    if (on) _socket.resume();
    else _socket.pause();
  }

  async stop(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }

  #take(text: string, isBinary: boolean): void {
    try {
      if (isBinary) throw new Error("a binary frame");
      const frame = judge.check(text);
      this.frames.push(frame);
      if (frame.type === "snapshot" || frame.type === "update") {
        const fold = this.folds.get(frame.sub) ?? new Fold(frame.sub);
        if (frame.type === "update" && fold.frameCount === 0) throw new Error(`an update before its snapshot: ${text}`);
        this.folds.set(frame.sub, fold);
        fold.take(frame);
      } else if (frame.type === "unsubscribed") {
        for (const sub of frame.subs as unknown as string[]) this.folds.delete(sub);
      } else if (frame.type === "heartbeat") this.#checkHeads(frame);
    } catch (error) {
      this.fault ??= error as Error;
    }
    this.#wake();
  }

  /** A heartbeat names what was sent before it, which is exactly what has arrived. */
  #checkHeads(frame: Frame): void {
    for (const [sub, fold] of this.folds) {
      const head = frame.heads[sub];
      if (head !== undefined && head !== fold.seq)
        throw new Error(`heartbeat says ${head} of ${sub}, ${fold.seq} arrived`);
    }
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}
