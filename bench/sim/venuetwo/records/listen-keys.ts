/** Listen keys: one per account, valid 60 minutes, extended by POST and PUT; after expiry one last event, then silence. */
import type { Random } from "../../../../engine/domain/random.js";

export const LISTEN_KEY_LIFE_MS = 60 * 60 * 1000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 64;

interface Entry {
  readonly key: string;
  readonly accountId: string;
  expiresMs: number;
}

export class ListenKeys {
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #byAccount = new Map<string, Entry>();
  readonly #byKey = new Map<string, Entry>();

  constructor(random: Random, nowMs: () => number) {
    this.#random = random;
    this.#nowMs = nowMs;
  }

  /** The account's key; a second call returns the same one and extends it. */
  open(accountId: string): string {
    const known = this.#byAccount.get(accountId);
    if (known !== undefined) {
      known.expiresMs = this.#nowMs() + LISTEN_KEY_LIFE_MS;
      return known.key;
    }
    const key = Array.from({ length: LENGTH }, () =>
      ALPHABET.charAt(Math.floor(this.#random.next() * ALPHABET.length)),
    ).join("");
    const entry: Entry = { key, accountId, expiresMs: this.#nowMs() + LISTEN_KEY_LIFE_MS };
    this.#byAccount.set(accountId, entry);
    this.#byKey.set(key, entry);
    return key;
  }

  extend(accountId: string): boolean {
    const known = this.#byAccount.get(accountId);
    if (known !== undefined) known.expiresMs = this.#nowMs() + LISTEN_KEY_LIFE_MS;
    return known !== undefined;
  }

  drop(accountId: string): boolean {
    const known = this.#byAccount.get(accountId);
    if (known !== undefined) {
      this.#byAccount.delete(accountId);
      this.#byKey.delete(known.key);
    }
    return known !== undefined;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  keyOf(accountId: string): string | null {
    return this.#byAccount.get(accountId)?.key ?? null;
  }

  /** Removes what has run out (or everything, when a test wants the expiry now) and returns the keys. */
  expire(all = false): readonly string[] {
    const nowMs = this.#nowMs();
    const ended = [...this.#byAccount.values()].filter((entry) => all || entry.expiresMs <= nowMs);
    for (const entry of ended) this.drop(entry.accountId);
    return ended.map((entry) => entry.key);
  }
}
