/**
 * Venue client ids: 128 bits as 32 lower-case hex digits, minted before the send and durable before it.
 *
 * With an idempotency key the id is derived, so that a retry of the same request, also after a crash,
 * names the same order. Without one it is random. Derived ids cannot be guessed or linked to a key
 * without the server's secret.
 */
import type { KeyedHash, RandomIds } from "../storage/keyed-hash.js";

const CLIENT_ID_HEX_DIGITS = 32;

export interface ClientIdSource {
  /** `scope` and `key` are the parts of the idempotency record; null: no key, a random id. */
  mint(idempotency: { readonly scope: string; readonly key: string } | null, legIndex: number, attempt: number): string;
}

export function createClientIdSource(hash: KeyedHash, random: RandomIds): ClientIdSource {
  return {
    mint(idempotency, legIndex, attempt) {
      if (idempotency === null) return random.randomHex128();
      return hash
        .hmacHex("client-id", [idempotency.scope, idempotency.key, String(legIndex), String(attempt)])
        .slice(0, CLIENT_ID_HEX_DIGITS);
    },
  };
}
