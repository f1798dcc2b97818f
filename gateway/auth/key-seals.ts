/** Seals the secrets of a key's row, and opens them. Every buffer with a secret is wiped by whoever made it. */
import type { Sealer } from "../../engine/custody/sealing/sealer.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { type KeyFactsRow, type KeyRow, sealContext, type Slot } from "./key-rows.js";
import { SigningSecret } from "./signing-secret.js";

export class KeySeals {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** The secrets stay the caller's to wipe. */
  seal(facts: KeyFactsRow, present: Uint8Array, former: Uint8Array | null): KeyRow {
    const secrets: Partial<Record<Slot, string>> = { present: this.#sealOne(facts, "present", present) };
    if (former !== null) secrets.former = this.#sealOne(facts, "former", former);
    return { ...facts, secrets };
  }

  /** The caller wipes it. Throws SEAL_BROKEN, or SEAL_KEY_UNKNOWN. */
  open(row: KeyRow, slot: Slot): Buffer {
    const text = row.secrets[slot];
    if (text === undefined) throw new ServiceError("SEAL_BROKEN", { keyId: row.keyId });
    return this.#sealer.open(sealContext(row, slot), Buffer.from(text, "base64"));
  }

  openSigning(row: KeyRow, slot: Slot): SigningSecret {
    const secret = this.open(row, slot);
    try {
      return new SigningSecret(secret);
    } finally {
      secret.fill(0);
    }
  }

  #sealOne(facts: KeyFactsRow, slot: Slot, secret: Uint8Array): string {
    return Buffer.from(this.#sealer.seal(sealContext(facts, slot), secret)).toString("base64");
  }
}
