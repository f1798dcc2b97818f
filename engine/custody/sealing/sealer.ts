/**
 * Seals secrets at rest: envelope encryption under a key-encryption key that is not in the store (KEK). API secrets and
 * venue credentials use it, key shares later.
 */

/** What a record is, bound to its ciphertext: opening it as anything else fails. */
export interface SealContext {
  /** Fixed word: `api-key`, `venue-credentials`, `share`. */
  readonly purpose: string;
  /** Whatever identifies the record within its purpose, in a fixed order: ids, party, epoch, public key. */
  readonly parts: readonly (string | Uint8Array)[];
  /** Grows with each new version of the record, so that an older one cannot be put back in its place. */
  readonly recordVersion: number;
}

export interface Sealer {
  /** Id of the KEK in use; no secret. */
  readonly kekId: string;
  /** The plaintext stays the caller's to wipe. */
  seal(context: SealContext, plaintext: Uint8Array): Uint8Array;
  /** Returns a buffer that the caller wipes. Throws ServiceError SEAL_BROKEN, or SEAL_KEY_UNKNOWN for another KEK. */
  open(context: SealContext, record: Uint8Array): Buffer;
  /** Seals the record's own key again under the present KEK; null where it is already. The content is not opened. */
  rewrap(context: SealContext, record: Uint8Array): Uint8Array | null;
}
