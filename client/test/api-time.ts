/** Time for the API client's tests: it moves only from one timer to the next, while a call waits for it. */
import type { ApiClock } from "../api/clock.js";

export interface ApiTime extends ApiClock {
  /** This machine's wall clock is so far off the true time. */
  skewMs: number;
  /** Unix ms. */
  trueMs(): number;
  advance(ms: number): void;
  /** Moves time from timer to timer until the promise is settled. Throws when nothing is left that could settle it. */
  settle<T>(promise: Promise<T>): Promise<T>;
  readonly timerCount: number;
}

const START_MS = 1_790_000_000_000;
/** More turns than any step between two timers takes. */
const TURNS = 200;

export function createApiTime(skewMs = 0): ApiTime {
  let monoMs = 5_000;
  let nextId = 1;
  const timers = new Map<number, { readonly dueMs: number; readonly callback: () => void }>();

  function fireNext(): boolean {
    const next = [...timers].sort(([a, one], [b, two]) => one.dueMs - two.dueMs || a - b)[0];
    if (next === undefined) return false;
    const [id, { dueMs, callback }] = next;
    timers.delete(id);
    monoMs = Math.max(monoMs, dueMs);
    callback();
    return true;
  }

  const time: ApiTime = {
    skewMs,
    trueMs: () => START_MS + monoMs,
    wallMs: () => START_MS + monoMs + time.skewMs,
    monoMs: () => monoMs,
    after(ms, callback) {
      const id = nextId++;
      timers.set(id, { dueMs: monoMs + ms, callback });
      return () => void timers.delete(id);
    },
    advance(ms) {
      monoMs += ms;
    },
    async settle(promise) {
      let isSettled = false;
      const noted = () => {
        isSettled = true;
      };
      promise.then(noted, noted);
      for (;;) {
        for (let turn = 0; turn < TURNS && !isSettled; turn++) await Promise.resolve();
        if (isSettled) return promise;
        if (!fireNext()) throw new Error("nothing is left that could settle it");
      }
    },
    get timerCount() {
      return timers.size;
    },
  };
  return time;
}
