/** Time, random numbers and sockets for the client's tests: they change only on a test's command. */
import type { SocketEvents, StreamClock, StreamSocket } from "../stream/stream-client.js";

export interface VirtualTime extends StreamClock {
  advance(ms: number): void;
}

export function createVirtualTime(): VirtualTime {
  let nowMs = 1_000;
  let nextId = 1;
  const repeats = new Map<number, { dueMs: number; readonly intervalMs: number; readonly callback: () => void }>();
  return {
    nowMs: () => nowMs,
    every(intervalMs, callback) {
      const id = nextId++;
      repeats.set(id, { dueMs: nowMs + intervalMs, intervalMs, callback });
      return () => void repeats.delete(id);
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (;;) {
        let next: { dueMs: number; readonly intervalMs: number; readonly callback: () => void } | null = null;
        for (const one of repeats.values())
          if (one.dueMs <= untilMs && (next === null || one.dueMs < next.dueMs)) next = one;
        if (next === null) break;
        nowMs = next.dueMs;
        next.dueMs += next.intervalMs;
        next.callback();
      }
      nowMs = untilMs;
    },
  };
}

export type ClientOp = { readonly op: string; readonly id: string } & Readonly<Record<string, unknown>>;

export class FakeSocket implements StreamSocket {
  readonly #events: SocketEvents;
  /** What the client sent, not yet taken. */
  readonly sent: ClientOp[] = [];
  closedWith: number | null = null;

  constructor(events: SocketEvents) {
    this.#events = events;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as ClientOp);
  }

  close(code: number): void {
    this.closedWith = code;
  }

  take(): ClientOp[] {
    return this.sent.splice(0);
  }

  opened(): void {
    this.#events.opened();
  }

  /** Delivers a frame of the server. */
  says(frame: unknown): void {
    this.#events.said(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  saysBytes(bytes: ArrayBuffer): void {
    this.#events.said(bytes);
  }

  cut(code = 1006): void {
    this.#events.closed(code);
  }
}
