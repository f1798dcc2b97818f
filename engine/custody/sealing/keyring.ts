/**
 * The KEKs in use: the present one seals, both open while a rotation runs.
 *
 * Invariant: a record under a key that this ring has opens; one under any other fails with SEAL_KEY_UNKNOWN. Keys are
 * wiped when they leave the ring.
 */
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { Kek } from "./kek.js";
import { keyUnknown, openRecord, recordKekId, rewrapRecord, sealRecord } from "./record.js";
import type { SealContext, Sealer } from "./sealer.js";
import { type SecretRandom, secretBuffer } from "./secret-bytes.js";

export interface KeyringParts {
  readonly present: Kek;
  readonly former: Kek | null;
  readonly clock: Clock;
  readonly random: SecretRandom;
}

export class Keyring implements Sealer {
  #present: Kek;
  #former: Kek | null;
  readonly #clock: Clock;
  readonly #random: SecretRandom;
  readonly #watchers = new Set<() => void>();
  /** Monotonic; null: nothing yet. */
  #lastSealNs: number | null = null;
  #lastFormerSealNs: number | null = null;
  /** A thread seals with copies of the keys, unseen by this ring. */
  #isShared = false;

  constructor({ present, former, clock, random }: KeyringParts) {
    this.#present = present;
    this.#former = former;
    this.#clock = clock;
    this.#random = random;
  }

  get kekId(): string {
    return this.#present.id;
  }

  /** Null: no rotation runs. */
  get formerKekId(): string | null {
    return this.#former?.id ?? null;
  }

  seal(context: SealContext, plaintext: Uint8Array): Buffer {
    const record = sealRecord(this.#present, context, plaintext, this.#random);
    this.#lastSealNs = this.#clock.monoNs();
    return record;
  }

  open(context: SealContext, record: Uint8Array): Buffer {
    return openRecord(this.#kekOf(record), context, record);
  }

  /**
   * For a record that another thread has sealed with keys of this ring: as it is to be written, under the present key.
   * It counts as sealed now, so a rotation waits until it is in the store; where it is under the former key, that key is
   * kept for as long, since the same record may be brought again.
   */
  takeOver(context: SealContext, record: Uint8Array): Uint8Array {
    const rewrapped = this.rewrap(context, record);
    this.#lastSealNs = this.#clock.monoNs();
    if (rewrapped !== null) this.#lastFormerSealNs = this.#lastSealNs;
    return rewrapped ?? record;
  }

  /** For a thread that seals with these keys: the caller wipes them. What it seals until a rotation counts for that. */
  copyOfKeys(): { readonly present: Buffer; readonly former: Buffer | null } {
    this.#isShared = true;
    return { present: copyOf(this.#present), former: this.#former === null ? null : copyOf(this.#former) };
  }

  /** Called after each change of the keys but the last (`close`). Must not throw. Returns how to end it. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  rewrap(context: SealContext, record: Uint8Array): Buffer | null {
    const kek = this.#kekOf(record);
    return kek === this.#present ? null : rewrapRecord(kek, this.#present, context, record, this.#random);
  }

  /** Takes `next` over: it seals from here on. The store names it already (rotation.ts). */
  advance(next: Kek): void {
    if (this.#former !== null) throw new ServiceError("INTERNAL", { problem: "sealing: TWO_FORMER_KEYS" });
    this.#former = this.#present;
    this.#present = next;
    // What a thread seals under the former key may be on its way until the thread has the next one.
    this.#lastFormerSealNs = this.#isShared ? this.#clock.monoNs() : this.#lastSealNs;
    for (const changed of this.#watchers) changed();
  }

  /** The store names the former key no more (rotation.ts). */
  dropFormer(): void {
    this.#forgetFormer();
    for (const changed of this.#watchers) changed();
  }

  /** Ms since the last seal under the former key, by this ring or a thread of it; null where there was none. */
  formerIdleMs(): number | null {
    return this.#lastFormerSealNs === null ? null : (this.#clock.monoNs() - this.#lastFormerSealNs) / 1e6;
  }

  /** Wipes all keys: every later call throws. */
  close(): void {
    this.#watchers.clear();
    this.#forgetFormer();
    this.#present.wipe();
  }

  #forgetFormer(): void {
    this.#former?.wipe();
    this.#former = null;
    this.#lastFormerSealNs = null;
  }

  #kekOf(record: Uint8Array): Kek {
    const kekId = recordKekId(record);
    if (kekId === this.#present.id) return this.#present;
    if (this.#former !== null && kekId === this.#former.id) return this.#former;
    throw keyUnknown(kekId);
  }
}

function copyOf({ key }: Kek): Buffer {
  const copy = secretBuffer(key.byteLength);
  copy.set(key);
  return copy;
}
