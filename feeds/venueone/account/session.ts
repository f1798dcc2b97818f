/**
 * One caller's key for venueone, opened from the credentials block for one request and closed at its end. The block is
 * `{privateKey}`, the account's own key or an agent's, as hex or (made in this program) as its bytes; optional `vaultAddress` (sub-account or vault traded for) and
 * `walletAddress` (the account the caller means; checked, never trusted).
 *
 * Invariant: key bytes leave this object only into a synchronous callback, and are zero after `close`.
 */
import type { AccountSession, CallOptions, OpenSession } from "../../../engine/ports.js";
import { isAddress, isMistyped } from "../../shared/sign/eip712.js";
import { isFields } from "../../shared/room/wire-fields.js";
import { createAddressCache, type KeyCache } from "../../shared/sign/key-cache.js";
import { heldBytes, HeldSecret, showNothingOf, wipeBytes } from "../../shared/account/key-session.js";

const KEY_BYTES = 32;
const HEX_DIGITS = 2 * KEY_BYTES;

export class VenueoneSession implements AccountSession {
  static {
    showNothingOf(VenueoneSession);
  }

  readonly venue = "venueone";
  /**
   * Address of the key: provably the caller's, unlike the account behind an agent, which the venue must name. Of a server
   * wallet its own address, whichever of its agents signs: orders keep their names when one follows another.
   */
  readonly accountId: string;
  readonly signerAddress: string;
  readonly vaultAddress: string | null;
  readonly walletAddress: string | null;
  readonly payer: string | null;
  readonly #key: HeldSecret<Uint8Array>;

  constructor(
    privateKey: Uint8Array | null,
    address: string,
    vaultAddress: string | null,
    walletAddress: string | null,
    payer: string | null = null,
    accountId = address,
  ) {
    this.#key = new HeldSecret(privateKey, wipeBytes);
    this.accountId = accountId;
    this.signerAddress = address;
    this.vaultAddress = vaultAddress;
    this.walletAddress = walletAddress;
    this.payer = payer;
  }

  /** One key acts for its own account and for vaults and sub-accounts it names. */
  get accountScope(): string {
    return this.vaultAddress ?? "";
  }

  get isOpen(): boolean {
    return this.#key.isOpen;
  }

  /** False: an address alone, which may be read but signs nothing. */
  get canSign(): boolean {
    return this.#key.isPresent;
  }

  /** Null once closed, and without a key. `use` must not keep the bytes. */
  withKey<T>(use: (privateKey: Uint8Array) => T): T | null {
    return this.#key.use(use);
  }

  close(): void {
    this.#key.close();
  }
}

/**
 * Whose credentials these are, as only the holder of the key can be: an address or a vault that is merely named is
 * nobody's good name, and spends nobody's share. The account itself where the key is all that decides.
 */
export function callerOf(session: VenueoneSession, account: string): string {
  if (!session.canSign) return `reader ${session.accountId}`;
  return session.vaultAddress === null ? account : `${session.signerAddress} ${session.vaultAddress}`;
}

/** The options of calls for a session whose account alone does not say who asks. */
export function callOf(session: AccountSession, options: CallOptions): CallOptions {
  if (!(session instanceof VenueoneSession) || (session.canSign && session.vaultAddress === null)) return options;
  return { ...options, caller: callerOf(session, session.accountId) };
}

/** Reads a block of interface spec 2.3. `problem` names a field, never its value. */
export function openVenueoneSession(
  raw: unknown,
  addresses: KeyCache = createAddressCache(),
  payer: string | null = null,
): OpenSession {
  if (!isFields(raw)) return problem("venueone credentials must be an object");
  const key = raw["privateKey"];
  if (typeof key !== "string" && !(key instanceof Uint8Array)) return problem("venueone.privateKey must be a string");
  const vault = addressOption(raw, "vaultAddress");
  const wallet = addressOption(raw, "walletAddress");
  if (vault === undefined) return problem("venueone.vaultAddress must be an address of a right checksum");
  if (wallet === undefined) return problem("venueone.walletAddress must be an address of a right checksum");
  const privateKey = heldBytes(KEY_BYTES);
  if (!(typeof key === "string" ? readKey(key, privateKey) : copyKey(key, privateKey))) {
    privateKey.fill(0);
    return problem("venueone.privateKey must be 32 bytes of hex");
  }
  const address = addresses.publicOf(privateKey);
  if (address === null) {
    privateKey.fill(0);
    return problem("venueone.privateKey is not a key of the curve");
  }
  // Bytes come from this program alone: the wallet approved the agent here.
  const account = typeof key === "string" ? address : (wallet ?? address);
  return { ok: true, session: new VenueoneSession(privateKey, address, vault, wallet, payer, account) };
}

/** A session of an address alone: everything of an account is public on this venue but the right to act. */
export function openVenueoneAddress(walletAddress: string, payer: string | null = null): OpenSession {
  if (!isAddress(walletAddress)) return problem("walletAddress must be an address");
  return { ok: true, session: new VenueoneSession(null, walletAddress.toLowerCase(), null, null, payer) };
}

/** 64 hex digits of any case, after `0x` or nothing, in one pass. False: they are not. */
function readKey(text: string, into: Uint8Array): boolean {
  const start = text.length === HEX_DIGITS + 2 && text.startsWith("0x") ? 2 : 0;
  if (text.length !== start + HEX_DIGITS) return false;
  for (let index = 0; index < KEY_BYTES; index++) {
    const high = hexValue(text.charCodeAt(start + 2 * index));
    const low = hexValue(text.charCodeAt(start + 2 * index + 1));
    if (high < 0 || low < 0) return false;
    into[index] = (high << 4) | low;
  }
  return true;
}

/** The caller's bytes stay the caller's, to be wiped. */
function copyKey(bytes: Uint8Array, into: Uint8Array): boolean {
  if (bytes.length !== KEY_BYTES) return false;
  into.set(bytes);
  return true;
}

/** Of a digit's code; -1 if it is none. */
function hexValue(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Null if absent, undefined if wrong. */
function addressOption(raw: Readonly<Record<string, unknown>>, name: string): string | null | undefined {
  const value = raw[name];
  if (value === undefined || value === null || value === "") return null;
  return typeof value === "string" && isAddress(value) && !isMistyped(value) ? value.toLowerCase() : undefined;
}

function problem(text: string): OpenSession {
  return { ok: false, problem: text };
}
