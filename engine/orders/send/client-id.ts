/**
 * Venue client ids: 128 bits as 32 lower-case hex digits, minted before the send and durable before it.
 *
 * With an idempotency key the id is derived, so that a retry of the same request, also after a crash,
 * names the same order; the record's creation time is a part of it, so that the key's next use, after its record ended,
 * names another one. Without a key it is random. Derived ids cannot be guessed or linked to a key without the server's
 * secret.
 *
 * The id of a market order ends in a keyed tag: venues keep a market order as a limit that ends at once, and years later
 * their record shows, to us and for its owner alone, what it was placed as. An id of another source carries it once in 2^32.
 */
import type { KeyedHash, RandomIds } from "../../storage/keyed-hash.js";

const CLIENT_ID = /^[0-9a-f]{32}$/;
const CLIENT_ID_HEX_DIGITS = 32;
const TAG_HEX_DIGITS = 8;
/** Digits that a venue overwrites to make a UUID of the id. */
const VERSION_DIGIT = 12;
const VARIANT_DIGIT = 16;

export interface ClientIdSource {
  /** `idempotency`: of the record; null: no key, a random id. */
  mint(
    idempotency: IdempotentUse | null,
    legIndex: number,
    attempt: number,
    isMarket: boolean,
    ownerId: string | null,
  ): string;
  /** Was it minted here, for this owner, with `isMarket`? */
  isOfMarketOrder(clientIdHex: string, ownerId: string | null): boolean;
}

/** One use of a key: from its record's creation to its end. */
export interface IdempotentUse {
  readonly scope: { readonly scope: string; readonly key: string };
  readonly createdAtMs: number;
}

export function createClientIdSource(hash: KeyedHash, random: RandomIds): ClientIdSource {
  function unmarked(idempotency: IdempotentUse | null, legIndex: number, attempt: number): string {
    if (idempotency === null) return random.randomHex128();
    const { scope, createdAtMs } = idempotency;
    return hash
      .hmacHex("client-id", [scope.scope, scope.key, String(createdAtMs), String(legIndex), String(attempt)])
      .slice(0, CLIENT_ID_HEX_DIGITS);
  }

  function marketTag(clientIdHex: string, ownerId: string | null): string {
    const digits =
      clientIdHex.slice(0, VERSION_DIGIT) +
      clientIdHex.slice(VERSION_DIGIT + 1, VARIANT_DIGIT) +
      clientIdHex.slice(VARIANT_DIGIT + 1, -TAG_HEX_DIGITS);
    const tag =
      ownerId === null ? hash.hmacHex("market-order", [digits]) : hash.hmacHex("owned-market-order", [ownerId, digits]);
    return tag.slice(0, TAG_HEX_DIGITS);
  }

  return {
    mint(idempotency, legIndex, attempt, isMarket, ownerId) {
      const id = unmarked(idempotency, legIndex, attempt);
      return isMarket ? id.slice(0, -TAG_HEX_DIGITS) + marketTag(id, ownerId) : id;
    },
    isOfMarketOrder(clientIdHex, ownerId) {
      return CLIENT_ID.test(clientIdHex) && clientIdHex.endsWith(marketTag(clientIdHex, ownerId));
    },
  };
}
