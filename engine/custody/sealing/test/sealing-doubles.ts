/** What the tests of sealing share: a seeded source of bytes, a store that dies at a commit, and the code of an error. */
import { createSeededRandom } from "../../../domain/random.js";
import { ServiceError } from "../../../domain/errors.js";
import { createMemoryStore } from "../../../storage/test/memory-store.js";
import { completeStore, type StateStore, storeUnavailable } from "../../../storage/state-store.js";
import type { ScryptPolicy } from "../passphrase.js";
import type { SecretRandom } from "../secret-bytes.js";

/** The least that Node's scrypt does at once: for tests that are not about its cost. */
export const FAST_SCRYPT: ScryptPolicy = { newLog2N: 4, minLog2N: 4 };

export function seededRandom(seed: number): SecretRandom {
  const random = createSeededRandom(seed);
  return (target) => {
    for (let index = 0; index < target.byteLength; index++) target[index] = Math.floor(random.next() * 256);
  };
}

/** The ServiceError that `run` throws; any other outcome is an error. */
export function errorOf(run: () => unknown): ServiceError {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

export function codeOf(run: () => unknown): string {
  return errorOf(run).code;
}

/** `CODE REASON` of a rejection. */
export async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.context["reason"] ?? ""].join(" ").trim();
    throw error;
  }
  throw new Error("nothing was refused");
}

export interface MortalStore {
  /** Lives on over every death. */
  readonly rows: StateStore;
  /** A view for one life: it dies at commit number `deathAt` (from 1), which is still written where `isWritten`. */
  live(deathAt: number, isWritten: boolean): StateStore & { readonly commits: () => number };
}

export function createMortalStore(): MortalStore {
  const rows = createMemoryStore();
  return {
    rows,
    live(deathAt, isWritten) {
      let commitCount = 0;
      const isDead = (): boolean => commitCount >= deathAt;
      const dead = (): Error => storeUnavailable("COMMIT_FAILED");
      const store = completeStore({
        async get(namespace, key) {
          if (isDead()) throw dead();
          return rows.get(namespace, key);
        },
        async scan(namespace, options) {
          if (isDead()) throw dead();
          return rows.scan(namespace, options);
        },
        async commit(batch) {
          if (isDead()) throw dead();
          commitCount += 1;
          if (!isDead()) return rows.commit(batch);
          if (isWritten) await rows.commit(batch);
          throw dead();
        },
        status: () => rows.status(),
        close: async () => {},
      });
      return { ...store, commits: () => commitCount };
    },
  };
}
