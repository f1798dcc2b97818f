/**
 * What signals mean for this process: stop, or, the second time, stop at once.
 *
 * A terminal's Ctrl-C reaches both this process and the launcher, and the launcher passes it on. That copy comes as a
 * message, not as a signal, so that it never counts as a second request, however late it comes. Some supervisors signal
 * a process and then its group: two signals within SAME_SIGNAL_MS count as one.
 */

const SAME_SIGNAL_MS = 1_000;
const SIGNALS = ["SIGINT", "SIGTERM"] as const;
export type StopSignal = (typeof SIGNALS)[number];

/** Sent to the launcher: from now on it passes signals on as messages. */
const HEARS_SIGNALS = { kind: "hears-signals" };

export class StopRequests {
  #firstMs: number | null = null;
  #hasOwn = false;

  /** `isOwn`: sent to this process; false: passed on by the launcher. `nowMs`: monotonic. */
  take(isOwn: boolean, nowMs: number): "stop" | "force" | "none" {
    if (isOwn) this.#hasOwn = true;
    if (this.#firstMs === null) {
      this.#firstMs = nowMs;
      return "stop";
    }
    // A signal that reached both counts once.
    if (!isOwn && this.#hasOwn) return "none";
    return nowMs - this.#firstMs < SAME_SIGNAL_MS ? "none" : "force";
  }
}

/** Calls back once with `force` false and, on a second request, with `force` true. */
export function onStopSignals(stop: (signal: StopSignal, force: boolean) => void): void {
  const requests = new StopRequests();
  const take = (signal: StopSignal, isOwn: boolean): void => {
    const wish = requests.take(isOwn, performance.now());
    if (wish !== "none") stop(signal, wish === "force");
  };
  for (const signal of SIGNALS) process.on(signal, () => take(signal, true));
  if (process.send === undefined) return;
  process.on("message", (message) => {
    const signal = signalOf(message);
    if (signal !== null) take(signal, false);
  });
  process.send(HEARS_SIGNALS, undefined, undefined, () => {
    // A launcher that is gone passes nothing on.
  });
}

/** Returns null when the message is no signal that a launcher passed on. */
function signalOf(message: unknown): StopSignal | null {
  if (typeof message !== "object" || message === null || !("signal" in message)) return null;
  return SIGNALS.find((signal) => signal === message.signal) ?? null;
}

/** The exit code by which a shell reports that this signal ended a process. */
export function exitCodeOf(signal: StopSignal): number {
  return signal === "SIGINT" ? 130 : 143;
}
