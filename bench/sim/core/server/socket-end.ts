/**
 * The venue's end of one WebSocket: frames pass the fault injector, stay in order under latency, and a client that does
 * not read is cut when too much is waiting for it.
 */
import { WebSocket } from "ws";
import type { Clock } from "../../../../engine/domain/clock.js";
import type { FaultInjector } from "./faults.js";
import type { ShellStats, SimSocket } from "./server-types.js";

/** A reader this far behind is cut, as real venues do, unless the room says otherwise. */
export const BACKLOG_BYTES_MAX = 32 * 1024 * 1024;
/** Frames waiting under a latency fault before the connection is cut. */
const DELAYED_FRAMES_MAX = 50_000;

export class SocketEnd implements SimSocket {
  readonly id: number;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  readonly openedMs: number;
  state: unknown = null;
  readonly #webSocket: WebSocket;
  readonly #clock: Clock;
  readonly #faults: FaultInjector;
  readonly #stats: ShellStats;
  readonly #backlogBytesMax: number;
  /** Held back by `reorder`; goes out after the next frame. */
  #held: string | null = null;
  /** Frames under latency. Each timer sends the head, so that order holds whatever the timers do. */
  readonly #delayed: string[] = [];
  #busyUntilMs = 0;
  #scope: "market" | "user" = "market";

  constructor(
    webSocket: WebSocket,
    id: number,
    origin: { readonly path: string; readonly query: string; readonly remoteAddress: string },
    clock: Clock,
    faults: FaultInjector,
    stats: ShellStats,
    backlogBytesMax: number,
  ) {
    this.#webSocket = webSocket;
    this.id = id;
    this.path = origin.path;
    this.query = origin.query;
    this.remoteAddress = origin.remoteAddress;
    this.openedMs = clock.wallMs();
    this.#clock = clock;
    this.#faults = faults;
    this.#stats = stats;
    this.#backlogBytesMax = backlogBytesMax;
    // The server is created with autoPong off: a silent socket must not answer pings.
    webSocket.on("ping", (data: Buffer) => {
      if (!this.#faults.isSilent(this.#scope)) webSocket.pong(data);
    });
  }

  push(scope: "market" | "user", stream: string, text: string, sequenced: boolean): void {
    this.#scope = scope;
    const verdict = this.#faults.onFrame(scope, stream, sequenced);
    const { copies, holdBack, delayMs } = verdict;
    const sent = verdict.half ? text.slice(0, text.length >>> 1) : text;
    if (verdict.disconnect) {
      this.terminate();
      return;
    }
    if (verdict.drop || verdict.silent) return;
    if (holdBack && this.#held === null) {
      this.#held = sent;
      return;
    }
    for (let copy = 0; copy < copies; copy++) this.#schedule(sent, delayMs);
    if (this.#held !== null) {
      const held = this.#held;
      this.#held = null;
      this.#schedule(held, delayMs);
    }
  }

  reply(text: string): void {
    if (!this.#faults.isSilent(this.#scope)) this.#schedule(text, 0);
  }

  ping(): void {
    if (this.#webSocket.readyState === WebSocket.OPEN && !this.#faults.isSilent(this.#scope)) this.#webSocket.ping();
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
  }

  terminate(): void {
    this.#webSocket.terminate();
  }

  #schedule(text: string, delayMs: number): void {
    const nowMs = this.#clock.wallMs();
    const dueMs = Math.max(nowMs + delayMs, this.#busyUntilMs);
    if (dueMs <= nowMs && this.#delayed.length === 0) {
      this.#write(text);
      return;
    }
    if (this.#delayed.length >= DELAYED_FRAMES_MAX) {
      this.terminate();
      return;
    }
    this.#busyUntilMs = dueMs;
    this.#delayed.push(text);
    this.#clock.setTimer(() => {
      const head = this.#delayed.shift();
      if (head !== undefined) this.#write(head);
    }, dueMs - nowMs);
  }

  #write(text: string): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#webSocket.send(text);
    this.#stats.frameCount++;
    this.#stats.frameBytes += text.length;
    if (this.#webSocket.bufferedAmount > this.#backlogBytesMax) this.terminate();
  }
}
