/**
 * What every session of a venue does with the secret of its credentials, and the names that credentials may go by.
 *
 * Invariants: `HeldSecret` hands a secret only to a synchronous callback, never after `close`, which wipes it; a class
 * that `showNothingOf` was given prints and serialises to nothing.
 */
import { createHash, createHmac, randomBytes } from "node:crypto";

export class HeldSecret<Secret> {
  /** False for an address alone, which may be read and signs nothing. `close` does not change it. */
  readonly isPresent: boolean;
  readonly #wipe: (secret: Secret) => void;
  #secret: Secret | null;
  #isOpen = true;

  constructor(secret: Secret | null, wipe: (secret: Secret) => void) {
    this.isPresent = secret !== null;
    this.#secret = secret;
    this.#wipe = wipe;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Returns null once closed, and where there is no secret. `use` must not keep the secret. */
  use<T>(use: (secret: Secret) => T): T | null {
    return this.#secret === null ? null : use(this.#secret);
  }

  close(): void {
    this.#isOpen = false;
    if (this.#secret !== null) this.#wipe(this.#secret);
    this.#secret = null;
  }
}

/**
 * A copy at an address that stays, so that its wipe leaves nothing: of up to 64 bytes any other buffer may lie in the heap
 * of the engine, whose collector moves it.
 */
export function heldCopy(secret: Uint8Array): Buffer {
  const copy = heldBytes(secret.byteLength);
  copy.set(secret);
  return copy;
}

/** Zeros, likewise. */
export function heldBytes(byteLength: number): Buffer {
  return Buffer.from(new ArrayBuffer(byteLength));
}

export function wipeBytes(secret: Uint8Array): void {
  secret.fill(0);
}

/** What JSON, util.inspect, and so console and test output, show of an instance: `Name {}`. */
export function showNothingOf({ name, prototype }: { readonly name: string; readonly prototype: object }): void {
  Object.defineProperties(prototype, {
    toJSON: { value: () => ({}) },
    [Symbol.for("nodejs.util.inspect.custom")]: { value: () => `${name} {}` },
  });
}

/** Stays in this process, and ends with it. */
const TAG_KEY = randomBytes(32);

/**
 * A name for whole credentials: equal for equal ones only, useless outside this process. What one session has proved may
 * be shared with another only if their tags are equal; an account's address or the name of a key proves nothing.
 */
export function credentialTag(names: unknown, secret: Uint8Array = new Uint8Array()): string {
  return createHmac("sha256", TAG_KEY).update(JSON.stringify(names)).update("\0").update(secret).digest("base64");
}

/**
 * A label for a key that names its account. Stable, so that idempotency survives a restart, and one-way: such a key is
 * 256 bits of the venue's making, too many to be guessed, and `use` keeps the hash from matching one made elsewhere.
 */
export function keyLabel(use: string, key: string): string {
  return `key:${createHash("sha256").update(`unwind/${use}\0`).update(key).digest("hex").slice(0, 40)}`;
}
