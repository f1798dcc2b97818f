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
import type { SecretRandom } from "./secret-bytes.js";

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
  /** Monotonic; null: nothing yet. */
  #lastSealNs: number | null = null;
  #lastFormerSealNs: number | null = null;

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

  rewrap(context: SealContext, record: Uint8Array): Buffer | null {
    const kek = this.#kekOf(record);
    return kek === this.#present ? null : rewrapRecord(kek, this.#present, context, record, this.#random);
  }

  /** Takes `next` over: it seals from here on. The store names it already (rotation.ts). */
  advance(next: Kek): void {
    if (this.#former !== null) throw new ServiceError("INTERNAL", { problem: "sealing: TWO_FORMER_KEYS" });
    this.#former = this.#present;
    this.#present = next;
    this.#lastFormerSealNs = this.#lastSealNs;
  }

  /** The store names the former key no more (rotation.ts). */
  dropFormer(): void {
    this.#former?.wipe();
    this.#former = null;
    this.#lastFormerSealNs = null;
  }

  /** Ms since this ring sealed the last time under the former key; null where it never did. */
  formerIdleMs(): number | null {
    return this.#lastFormerSealNs === null ? null : (this.#clock.monoNs() - this.#lastFormerSealNs) / 1e6;
  }

  /** Wipes all keys: every later call throws. */
  close(): void {
    this.dropFormer();
    this.#present.wipe();
  }

  #kekOf(record: Uint8Array): Kek {
    const kekId = recordKekId(record);
    if (kekId === this.#present.id) return this.#present;
    if (this.#former !== null && kekId === this.#former.id) return this.#former;
    throw keyUnknown(kekId);
  }
}
