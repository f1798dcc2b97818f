/**
 * What `{apiKey, apiSecret, walletAddress}` means at this venue: `walletAddress` is the account, `apiSecret` the private
 * key that signs, `apiKey` either the agent's public key or an API config key, which only raises the rate limits.
 *
 * Invariant: who signs is decided by the secret alone, because its public key can be derived; a stated public key that
 * says otherwise is refused here, before anything is sent. Problems name a field, never its value.
 */
import { isFields } from "../../shared/room/wire-fields.js";
import { isAddress, readPrivateKey, type SigningKey } from "../sign/sign.js";

export interface VenuefourCredentials {
  /** Base58 of the account the requests are for. */
  readonly account: string;
  /** Signs; the account's own key, or an agent's bound to it. */
  readonly key: SigningKey;
  /** For the header `PF-API-KEY`; null where there is none. */
  readonly configKey: string | null;
}

export type ReadCredentials =
  | { readonly ok: true; readonly credentials: VenuefourCredentials }
  | { readonly ok: false; readonly problem: string };

/** Longer than any key, short enough for a header; letters that a header takes as they are. */
const HEADER_TOKEN = /^[\x21-\x7e]{1,256}$/;

export function readCredentials(raw: unknown): ReadCredentials {
  if (!isFields(raw)) return problem("venuefour credentials must be an object");
  const { apiKey, apiSecret, walletAddress } = raw;
  if (typeof walletAddress !== "string" || !isAddress(walletAddress))
    return problem("venuefour.walletAddress must be a base58 address of 32 bytes");
  const read = typeof apiSecret === "string" ? readPrivateKey(apiSecret) : null;
  if (read === null) return problem("venuefour.apiSecret must be an Ed25519 private key in base58");
  if (typeof apiKey !== "string" || !HEADER_TOKEN.test(apiKey))
    return problem("venuefour.apiKey must be a printable string");
  // A config key always has an underscore, which base58 has not.
  const isAgentKey = isAddress(apiKey);
  if (isAgentKey && apiKey !== read.key.publicKey)
    return problem("venuefour.apiKey is not the public key of venuefour.apiSecret");
  return {
    ok: true,
    credentials: { account: walletAddress, key: read.key, configKey: isAgentKey ? null : apiKey },
  };
}

function problem(text: string): ReadCredentials {
  return { ok: false, problem: text };
}
