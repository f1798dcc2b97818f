/**
 * Venue client ids: 128 bits as 32 lower-case hex digits, minted before the send and durable before it.
 *
 * With an idempotency key the id is derived, so that a retry of the same request, also after a crash,
 * names the same order; the record's creation time is a part of it, so that the key's next use, after its record ended,
 * names another one. Without a key it is random. Derived ids cannot be guessed or linked to a key without the server's
 * secret.
 */
import type { KeyedHash, RandomIds } from "../storage/keyed-hash.js";

const CLIENT_ID_HEX_DIGITS = 32;

export interface ClientIdSource {
  /** `idempotency`: of the record; null: no key, a random id. */
  mint(idempotency: IdempotentUse | null, legIndex: number, attempt: number): string;
}

/** One use of a key: from its record's creation to its end. */
export interface IdempotentUse {
  readonly scope: { readonly scope: string; readonly key: string };
  readonly createdAtMs: number;
}

export function createClientIdSource(hash: KeyedHash, random: RandomIds): ClientIdSource {
  return {
    mint(idempotency, legIndex, attempt) {
      if (idempotency === null) return random.randomHex128();
      const { scope, createdAtMs } = idempotency;
      return hash
        .hmacHex("client-id", [scope.scope, scope.key, String(createdAtMs), String(legIndex), String(attempt)])
        .slice(0, CLIENT_ID_HEX_DIGITS);
    },
  };
}
