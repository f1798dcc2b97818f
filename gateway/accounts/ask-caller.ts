/**
 * Finds whose rate-limit buckets a request of the account routes uses: those of the server wallet that it names, of the
 * credentials that it carries in any of the possible ways, or of its address if there are neither.
 *
 * Never throws: the route reports what is wrong with the credentials.
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
  // An unknown id is refused by the route; a known one cannot be guessed.
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
    // The route refuses it and names the field; the address pays for the refusal.
    if (isRefusal(error)) return {};
    throw error;
  }
}

function isRefusal(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error;
}
