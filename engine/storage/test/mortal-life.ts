/**
 * One life of a program that ends before or after one of its acts on the outside (a commit, a signature, a request): for
 * tests in which a next life begins from what is durable.
 */
import { ServiceError } from "../../domain/errors.js";
import type { VirtualClock } from "../../domain/virtual-clock.js";
import { completeStore, type StateStore } from "../state-store.js";

/** Before act number `at` of a life (from 1), or right after it. */
export interface Death {
  readonly at: number;
  readonly isAfter: boolean;
}

/** Runs an act, or never returns. */
export type Gate = <T>(act: () => Promise<T>) => Promise<T>;

export class MortalLife {
  readonly #death: Death | null;
  readonly #onDeath: () => void;
  #acts = 0;
  #isDead = false;

  /** `death` null: it lives on. */
  constructor(death: Death | null, onDeath: () => void = () => {}) {
    this.#death = death;
    this.#onDeath = onDeath;
  }

  readonly isDead = (): boolean => this.#isDead;
  readonly acts = (): number => this.#acts;

  readonly gate: Gate = async (act) => {
    if (this.#isDead) return never();
    this.#acts++;
    if (this.#death?.at !== this.#acts) return act();
    this.#isDead = true;
    if (this.#death.isAfter) await act();
    this.#onDeath();
    return never();
  };

  /** Its commits are acts. */
  store(store: StateStore): StateStore {
    return completeStore({
      get: (namespace, key) => store.get(namespace, key),
      scan: (namespace, options) => store.scan(namespace, options),
      commit: (batch) => this.gate(() => store.commit(batch)),
      status: () => store.status(),
      close: () => store.close(),
    });
  }
}

/** Returns what a call comes to while time passes: its value, the code of its refusal, `dead` or `hangs`. */
export async function outcomeOf<T>(
  clock: VirtualClock,
  { isDead }: Pick<MortalLife, "isDead">,
  call: Promise<T>,
  { maxMs = 60_000, stepMs = 500 }: { readonly maxMs?: number; readonly stepMs?: number } = {},
): Promise<T | string> {
  let outcome: { readonly value: T | string } | null = null;
  call.then(
    (value) => {
      outcome = { value };
    },
    (error: unknown) => {
      outcome = { value: error instanceof ServiceError ? error.code : `BUG ${String(error)}` };
    },
  );
  for (let passedMs = 0; passedMs <= maxMs; passedMs += stepMs) {
    await clock.advanceAsync(0);
    if (outcome !== null) return (outcome as { readonly value: T | string }).value;
    if (isDead()) return "dead";
    await clock.advanceAsync(stepMs);
  }
  return "hangs";
}

function never(): Promise<never> {
  return new Promise(() => {});
}
