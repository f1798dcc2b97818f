/**
 * The life of one simulated process. Every call of a service to its store and its venues goes through `gate`,
 * before and after the work; once it is dead no call returns any more, as in a process that was killed there.
 */
import type { OpenSession, VenueRoom } from "../../ports.js";
import type { StateStore } from "../../storage/state-store.js";

export class Life {
  /** Port calls passed so far. */
  steps = 0;
  #diesAtStep: number;
  #dead = false;

  constructor(diesAtStep = Number.POSITIVE_INFINITY) {
    this.#diesAtStep = diesAtStep;
  }

  get dead(): boolean {
    return this.#dead;
  }

  kill(): void {
    this.#dead = true;
  }

  /** It dies no more by itself. */
  spare(): void {
    this.#diesAtStep = Number.POSITIVE_INFINITY;
  }

  readonly gate = (): Promise<void> => {
    this.steps += 1;
    if (this.steps >= this.#diesAtStep) this.#dead = true;
    return this.#dead ? new Promise(() => {}) : Promise.resolve();
  };

  /** The room as this process sees it: a killed one opens no session any more. */
  room(inner: VenueRoom): VenueRoom {
    const openSession = (raw: unknown, payer: string | null): OpenSession =>
      this.#dead ? { ok: false, problem: "the process is gone" } : inner.openSession(raw, payer);
    return { ...inner, openSession };
  }

  /** The store as this process sees it: a killed process may still have written what it never saw acknowledged. */
  store(inner: StateStore): StateStore {
    const around = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.gate();
      const value = await work();
      await this.gate();
      return value;
    };
    return {
      get: (namespace, key) => around(() => inner.get(namespace, key)),
      scan: (namespace, options) => around(() => inner.scan(namespace, options)),
      commit: (batch) => around(() => inner.commit(batch)),
      put: (namespace, key, value) => around(() => inner.put(namespace, key, value)),
      putIfAbsent: (namespace, key, value) => around(() => inner.putIfAbsent(namespace, key, value)),
      compareAndSet: (namespace, key, expected, value) =>
        around(() => inner.compareAndSet(namespace, key, expected, value)),
      remove: (namespace, key) => around(() => inner.remove(namespace, key)),
      status: () => inner.status(),
      close: () => inner.close(),
    };
  }
}
