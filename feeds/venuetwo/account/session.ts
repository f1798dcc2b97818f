/**
 * One caller's credentials for venuetwo, opened for one request and closed at its end. `{apiKey, apiSecret,
 * walletAddress}` is a V1 key (HMAC) unless `apiKey` is an address and `apiSecret` a 32-byte key: then it is a V3
 * agent (signer and its private key) acting for `walletAddress`. A secret that this program keeps comes as bytes: a V1
 * key's as its characters, an agent's as its 32.
 *
 * Invariant: secret bytes leave this object only into a synchronous callback, and are zero after `close`.
 */
import type { AccountSession, OpenSession } from "../../../engine/ports.js";
import { isAddress, isMistyped } from "../../shared/sign/eip712.js";
import { heldCopy, HeldSecret, keyLabel, showNothingOf, wipeBytes } from "../../shared/account/key-session.js";
import { createAddressCache, type KeyCache } from "../../shared/sign/key-cache.js";
import { isFields } from "../../shared/room/wire-fields.js";
import { privateKeyBytes } from "../sign/sign.js";

export type VenuetwoIdentity =
  | { readonly kind: "v1"; readonly apiKey: string }
  /** `user` is the main wallet, `signer` the approved agent; both as the caller spelled them. */
  | { readonly kind: "v3"; readonly user: string; readonly signer: string };

/** Long enough for any key seen (64), short enough for a header. */
const MAX_KEY_CHARS = 256;
const AGENT_KEY_BYTES = 32;

export class VenuetwoSession implements AccountSession {
  static {
    showNothingOf(VenuetwoSession);
  }

  readonly venue = "venuetwo";
  readonly accountId: string;
  readonly payer: string | null;
  /** Not enumerable through toJSON or inspect; `apiKey` is sent as a header, so it is no secret to the venue, but is one to logs. */
  readonly #identity: VenuetwoIdentity;
  readonly #secret: HeldSecret<Uint8Array>;

  constructor(identity: VenuetwoIdentity, secret: Uint8Array, payer: string | null = null) {
    this.#identity = identity;
    this.#secret = new HeldSecret(secret, wipeBytes);
    this.accountId = accountIdOf(identity);
    this.payer = payer;
  }

  get identity(): VenuetwoIdentity {
    return this.#identity;
  }

  get isOpen(): boolean {
    return this.#secret.isOpen;
  }

  /** Null once closed. `use` must not keep the bytes. */
  withSecret<T>(use: (secret: Uint8Array) => T): T | null {
    return this.#secret.use(use);
  }

  close(): void {
    this.#secret.close();
  }
}

/** Reads a block of interface spec 2.3. `problem` names a field, never its value. */
export function openVenuetwoSession(
  raw: unknown,
  addresses: KeyCache = createAddressCache(),
  payer: string | null = null,
): OpenSession {
  if (!isFields(raw)) return problem("venuetwo credentials must be an object");
  const { apiKey, apiSecret, walletAddress } = raw;
  if (typeof apiKey !== "string" || !isHeaderToken(apiKey))
    return problem("venuetwo.apiKey must be a printable string");
  if (!isSecret(apiSecret)) return problem("venuetwo.apiSecret must be a printable string");
  const hasWallet = walletAddress !== undefined && walletAddress !== null && walletAddress !== "";
  if (hasWallet && (typeof walletAddress !== "string" || !isAddress(walletAddress))) {
    return problem("venuetwo.walletAddress must be an address");
  }
  if (typeof walletAddress === "string" && hasWallet && isMistyped(walletAddress))
    return problem("venuetwo.walletAddress has a wrong checksum");
  if (isAddress(apiKey) && isMistyped(apiKey)) return problem("venuetwo.apiKey has a wrong checksum");
  if (!isAddress(apiKey)) {
    // V1: the wallet address plays no part at the venue.
    return { ok: true, session: new VenuetwoSession({ kind: "v1", apiKey }, secretCopy(apiSecret), payer) };
  }
  if (typeof walletAddress !== "string" || !hasWallet)
    return problem("venuetwo.walletAddress is needed with an agent key");
  const agentKey = agentKeyCopy(apiSecret);
  if (agentKey === null)
    return problem("venuetwo.apiSecret must be 32 bytes of hex where apiKey is an agent's address");
  const address = addresses.publicOf(agentKey);
  if (address === apiKey.toLowerCase())
    return {
      ok: true,
      session: new VenuetwoSession({ kind: "v3", user: walletAddress, signer: apiKey }, agentKey, payer),
    };
  agentKey.fill(0);
  return problem(`venuetwo.apiSecret is not ${address === null ? "a key of the curve" : "the key of apiKey"}`);
}

function isSecret(secret: unknown): secret is string | Uint8Array {
  if (secret instanceof Uint8Array) return secret.length > 0 && secret.length <= MAX_KEY_CHARS;
  return typeof secret === "string" && isHeaderToken(secret);
}

/** The caller's bytes stay the caller's, to be wiped. */
function secretCopy(secret: string | Uint8Array): Uint8Array {
  return heldCopy(typeof secret === "string" ? Buffer.from(secret, "utf8") : secret);
}

function agentKeyCopy(secret: string | Uint8Array): Uint8Array | null {
  const bytes = typeof secret === "string" ? privateKeyBytes(secret) : secret;
  return bytes?.length === AGENT_KEY_BYTES ? heldCopy(bytes) : null;
}

/** Printable ASCII without blanks: fits a header and a signed text unchanged. */
function isHeaderToken(text: string): boolean {
  return text.length <= MAX_KEY_CHARS && /^[\x21-\x7e]+$/.test(text);
}

function accountIdOf(identity: VenuetwoIdentity): string {
  return identity.kind === "v3" ? identity.user.toLowerCase() : keyLabel("venuetwo/api-key", identity.apiKey);
}

function problem(text: string): OpenSession {
  return { ok: false, problem: text };
}
