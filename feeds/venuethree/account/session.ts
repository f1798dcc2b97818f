/**
 * One caller's key for venuethree, opened from the credentials block for one request and closed at its end. The block is
 * `{apiKeyPrivateKey, accountIndex}`; optional `apiKeyIndex` (else looked up by public key, key-directory.ts) and
 * `walletAddress` (the first-layer address the caller means; checked, never trusted). A session of an address alone
 * reads what is public of its accounts.
 *
 * Invariant: key bytes leave this object only into a synchronous callback, and are zero after `close`.
 */
import type { AccountSession, OpenSession } from "../../../engine/ports.js";
import { isAddress } from "../../shared/sign/eip712.js";
import { isFields } from "../../shared/room/wire-fields.js";
import { MAX_ACCOUNT_INDEX, MAX_API_KEY_INDEX } from "../rules/limits.js";
import { HeldSecret, showNothingOf, wipeBytes } from "../../shared/account/key-session.js";
import type { KeyCache } from "../../shared/sign/key-cache.js";

export class VenuethreeSession implements AccountSession {
  static {
    showNothingOf(VenuethreeSession);
  }

  readonly venue = "venuethree";
  /** The public key: provably the caller's, unlike the account index, which the venue must confirm. */
  readonly accountId: string;
  readonly accountIndex: number;
  /** Null when the venue is asked. */
  readonly apiKeyIndex: number | null;
  readonly walletAddress: string | null;
  readonly payer: string | null;
  readonly #key: HeldSecret<Uint8Array>;

  constructor(
    privateKey: Uint8Array,
    publicKey: string,
    accountIndex: number,
    apiKeyIndex: number | null,
    walletAddress: string | null,
    payer: string | null = null,
  ) {
    this.#key = new HeldSecret(privateKey, wipeBytes);
    this.accountId = publicKey;
    this.accountIndex = accountIndex;
    this.apiKeyIndex = apiKeyIndex;
    this.walletAddress = walletAddress;
    this.payer = payer;
  }

  /** One key may be registered for several accounts. */
  get accountScope(): string {
    return String(this.accountIndex);
  }

  get isOpen(): boolean {
    return this.#key.isOpen;
  }

  /** Null once closed. `use` must not keep the bytes. */
  withKey<T>(use: (privateKey: Uint8Array) => T): T | null {
    return this.#key.use(use);
  }

  close(): void {
    this.#key.close();
  }
}

/** No key: positions and balances of all accounts of one first-layer address, which the venue shows to everybody. */
export class VenuethreeAddressSession implements AccountSession {
  static {
    showNothingOf(VenuethreeAddressSession);
  }

  readonly venue = "venuethree";
  readonly accountId: string;
  readonly payer: string | null;

  constructor(address: string, payer: string | null = null) {
    this.accountId = address;
    this.payer = payer;
  }

  close(): void {}
}

const KEY_TEXT = /^(?:0x)?[0-9a-fA-F]{80}$/;

/** Reads a block of interface spec 2.3. `problem` names a field, never its value. */
export function openVenuethreeSession(raw: unknown, publicKeys: KeyCache, payer: string | null = null): OpenSession {
  if (!isFields(raw)) return problem("venuethree credentials must be an object");
  const keyText = raw["apiKeyPrivateKey"];
  if (typeof keyText !== "string") return problem("venuethree.apiKeyPrivateKey must be a string");
  if (!KEY_TEXT.test(keyText)) return problem("venuethree.apiKeyPrivateKey must be 40 bytes of hex");
  const accountIndex = indexOption(raw["accountIndex"], MAX_ACCOUNT_INDEX);
  if (accountIndex === null) return problem("venuethree.accountIndex is required");
  if (accountIndex === undefined) return problem("venuethree.accountIndex must be a whole number from 0 to 2^48 - 2");
  const apiKeyIndex = indexOption(raw["apiKeyIndex"], MAX_API_KEY_INDEX);
  if (apiKeyIndex === undefined) return problem("venuethree.apiKeyIndex must be a whole number from 0 to 254");
  const wallet = raw["walletAddress"];
  const hasWallet = wallet !== undefined && wallet !== null && wallet !== "";
  if (hasWallet && (typeof wallet !== "string" || !isAddress(wallet)))
    return problem("venuethree.walletAddress must be an address");
  const privateKey = Uint8Array.from(Buffer.from(keyText.startsWith("0x") ? keyText.slice(2) : keyText, "hex"));
  const publicKey = publicKeys.publicOf(privateKey);
  if (publicKey === null) return problem("venuethree.apiKeyPrivateKey is the zero of its group");
  const walletAddress = hasWallet ? String(wallet).toLowerCase() : null;
  return {
    ok: true,
    session: new VenuethreeSession(privateKey, publicKey, accountIndex, apiKeyIndex, walletAddress, payer),
  };
}

export function openVenuethreeAddress(walletAddress: string, payer: string | null = null): OpenSession {
  if (!isAddress(walletAddress)) return problem("walletAddress must be an address");
  return { ok: true, session: new VenuethreeAddressSession(walletAddress.toLowerCase(), payer) };
}

/** The account that a block names, not checked. Returns null where it names none. */
export function accountIndexOf(raw: unknown): number | null {
  return isFields(raw) ? (indexOption(raw["accountIndex"], MAX_ACCOUNT_INDEX) ?? null) : null;
}

/** A whole number, or its digits. Null if absent, undefined if wrong. */
function indexOption(value: unknown, max: number): number | null | undefined {
  if (value === undefined || value === null || value === "") return null;
  const index = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof index === "number" && Number.isSafeInteger(index) && index >= 0 && index <= max ? index : undefined;
}

function problem(text: string): OpenSession {
  return { ok: false, problem: text };
}
