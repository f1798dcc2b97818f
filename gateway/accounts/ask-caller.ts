/**
 * Finds whose rate-limit buckets a request of the account routes uses: those of the server wallet that it names, of the
 * credentials that it carries in any of the possible ways, or of its address if there are neither.
 *
 * Never throws: the route reports what is wrong with the credentials.
 */
import type { ServiceError } from "../../engine/domain/errors.js";
import { CONTRACTS, KEY_VENUE, OWN_KEY } from "../../schemas/venues.js";
import { type Asked, type Payers, payersOf, tagOf } from "../http/caller-tags.js";
import { carriedBlocks, WALLET_HEADER } from "./account-access.js";

/** Spec 4.6: the key as query parameters, or as headers. The first field is the secret. */
const [SECRET, ...BESIDE] = OWN_KEY.headers
  .filter(({ field }) => CONTRACTS[KEY_VENUE].credentials.keyFields.includes(field))
  .map(({ field, name }) => ({ field, header: name.toLowerCase() }));

export function callerOfAsk(ask: Asked): Payers {
  const payers = payersOf(blocksOf(ask));
  if (payers !== null) return payers;
  const walletId = ask.headers[WALLET_HEADER] ?? ask.params["walletId"] ?? "";
  // An unknown id is refused by the route; a known one cannot be guessed.
  return walletId === "" ? null : tagOf(`wallet ${walletId.toLowerCase()}`);
}

function blocksOf(ask: Asked): Parameters<typeof payersOf>[0] {
  const secret = ownKeyText(ask, SECRET);
  if (SECRET !== undefined && secret !== "") {
    const block: Record<string, string> = { [SECRET.field]: secret };
    for (const part of BESIDE) {
      const text = ownKeyText(ask, part);
      if (text !== "") block[part.field] = text;
    }
    return { [KEY_VENUE]: block };
  }
  try {
    return carriedBlocks(ask);
  } catch (error) {
    // The route refuses it and names the field; the address pays for the refusal.
    if (isRefusal(error)) return {};
    throw error;
  }
}

function ownKeyText(ask: Asked, part: typeof SECRET): string {
  return part === undefined ? "" : (ask.query[part.field] ?? ask.headers[part.header] ?? "");
}

function isRefusal(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error;
}
