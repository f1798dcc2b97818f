/**
 * Whose use of an idempotency key it is: the caller's, or nobody's where the caller adopted the rows of public mode and
 * repeats a request of that time. That one is carried on as what it was.
 *
 * Invariant: a key that is new under its own scope and known under an earlier one is begun under one of them only.
 */
import type { Owners } from "../../domain/owner.js";
import type { IdempotencyBegin, IdempotencyRecords, RunLike } from "./idempotency.js";

/** A request with a key, and the scopes under which it may have been executed. */
interface KeyUse {
  readonly key: string;
  readonly rawBody: Uint8Array;
  readonly scope: string;
  /** Looked into, in their order, once the key is found to be new under `scope`. */
  earlierScopes(): Iterable<string>;
}

/** `isEarlier`: begun under one of the earlier scopes. A ticket must be ended as one of `begin`. */
export async function beginInScopes<Run extends RunLike, Result>(
  idempotency: IdempotencyRecords<Run, Result>,
  use: KeyUse,
): Promise<{ readonly begun: IdempotencyBegin<Run, Result>; readonly isEarlier: boolean }> {
  const { key, rawBody, scope } = use;
  const begun = await idempotency.begin({ scope, key }, rawBody);
  if (begun.kind !== "fresh") return { begun, isEarlier: false };
  try {
    for (const earlierScope of use.earlierScopes()) {
      const earlier = { scope: earlierScope, key };
      if (!(await idempotency.has(earlier))) continue;
      idempotency.release(begun.ticket);
      return { begun: await idempotency.begin(earlier, rawBody), isEarlier: true };
    }
    return { begun, isEarlier: false };
  } catch (error) {
    idempotency.release(begun.ticket);
    throw error;
  }
}

/** Apart from the scopes of closes and opens: the same key there derives other client ids. */
export function scopeOf(ownerId: string | null, accountHash: string): string {
  return ownerId === null ? `order:account:${accountHash}` : `order:owner:${ownerId}`;
}

/** Takes the key as the caller's, or as nobody's. A ticket must be ended as one of `begin`. */
export async function beginOwned<Run extends RunLike, Result>(
  idempotency: IdempotencyRecords<Run, Result>,
  owners: Owners,
  asked: {
    readonly ownerId: string | null;
    readonly key: string;
    readonly rawBody: Uint8Array;
    /** Of the same accounts without an owner. */
    readonly publicScope: string;
  },
): Promise<{ readonly begun: IdempotencyBegin<Run, Result>; readonly ownerId: string | null }> {
  const { key, ownerId, publicScope, rawBody } = asked;
  const scope = ownerId === null ? publicScope : scopeOf(ownerId, "");
  const earlierScopes = () => (ownerId !== null && owners.reaches(ownerId, null) ? [publicScope] : []);
  const { begun, isEarlier } = await beginInScopes(idempotency, { key, rawBody, scope, earlierScopes });
  return { begun, ownerId: isEarlier ? null : ownerId };
}
