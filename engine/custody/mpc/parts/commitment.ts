/** Commitments of key generation, refresh and signing: a hash under the committer's index, opened by its fields. */
import { isSame } from "../base/bits.js";
import { type HashScope, hash } from "../base/hash.js";
import type { Party } from "../base/parameters.js";

export type CommitmentStep = "kg/com" | "ref/com" | "sign/com";

/** `fields` begin with the salt, in the order of the table of hashes. */
export function commit(
  scope: HashScope,
  step: CommitmentStep,
  committer: Party,
  fields: readonly Uint8Array[],
): Buffer {
  return hash(scope, step, { actor: committer }, ...fields);
}

/** In constant time. */
export function opens(
  commitment: Uint8Array,
  scope: HashScope,
  step: CommitmentStep,
  committer: Party,
  fields: readonly Uint8Array[],
): boolean {
  return isSame(commitment, commit(scope, step, committer, fields));
}
