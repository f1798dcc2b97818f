/**
 * Whose buckets a request of the account routes spends: the server wallet that it names, the credentials that it carries
 * in any of the ways in which it can, or nobody's (then its address pays).
 *
 * Never throws: what is wrong with the credentials is for the route to say.
 */
import type { ServiceError } from "../../engine/domain/errors.js";
import { type Asked, type Payers, payersOf, tagOf } from "../http/caller-tags.js";
import { carriedBlocks, WALLET_HEADER } from "./account-access.js";

/** Spec 4.6: the key as query parameters, or as headers. */
const VENUETHREE_KEYS = ["apiKeyPrivateKey", "accountIndex"] as const;
const VENUETHREE_HEADERS = ["x-venuethree-api-key-private-key", "x-venuethree-account-index"] as const;

export function callerOfAsk(ask: Asked): Payers {
  const payers = payersOf(blocksOf(ask));
  if (payers !== null) return payers;
  const walletId = ask.headers[WALLET_HEADER] ?? ask.params["walletId"] ?? "";
  // An id that no wallet has is refused for it; nobody can guess one that a wallet has.
  return walletId === "" ? null : tagOf(`wallet ${walletId.toLowerCase()}`);
}

function blocksOf(ask: Asked): Parameters<typeof payersOf>[0] {
  const [key, accountIndex] = VENUETHREE_KEYS.map((name, index) => {
    const text = ask.query[name] ?? ask.headers[VENUETHREE_HEADERS[index] ?? ""] ?? "";
    return text === "" ? undefined : text;
  });
  if (key !== undefined) return { venuethree: { apiKeyPrivateKey: key, accountIndex } };
  try {
    return carriedBlocks(ask);
  } catch (error) {
    // Refused by the route, with the field's name; the address pays for the refusal.
    if (isRefusal(error)) return {};
    throw error;
  }
}

function isRefusal(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error;
}
