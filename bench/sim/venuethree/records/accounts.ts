/**
 * Who is registered: accounts by index, their address on the first layer, their API keys with public key and nonce.
 * The core knows an account by its index as text. Invariant: a key's nonce only grows, but for the one case that
 * `releaseNonce` names.
 */
import type { TimerHandle } from "../../../../engine/domain/clock.js";

export type AccountTier = "standard" | "premium";

export interface ApiKeyRegistration {
  /** 4 to 254 are the users'. */
  readonly apiKeyIndex: number;
  /** 80 hex digits. */
  readonly publicKey: string;
  /** First nonce that is accepted; 1 by default, as seen. */
  readonly nonce?: number;
}

export interface AccountRegistration {
  readonly accountIndex: number;
  readonly l1Address: string;
  readonly tier?: AccountTier;
  readonly apiKeys?: readonly ApiKeyRegistration[];
}

export interface ApiKey {
  readonly accountIndex: number;
  readonly apiKeyIndex: number;
  publicKey: Uint8Array;
  nextNonce: number;
  /** Microseconds of the last transaction; 0 without one. */
  transactionUs: number;
}

interface Approval {
  readonly takerFee: number;
  readonly makerFee: number;
  readonly expiryMs: number;
}

export interface VenueAccount {
  readonly index: number;
  /** Name in the core. */
  readonly id: string;
  readonly l1Address: string;
  /** 0 master, 1 sub-account. */
  readonly type: 0 | 1;
  readonly tier: AccountTier;
  readonly createdMs: number;
  readonly keys: Map<number, ApiKey>;
  /** Margin fraction in 1e-4 by market id, where it was set. */
  readonly marginFractions: Map<number, number>;
  readonly integrators: Map<number, Approval>;
  /** Time of the scheduled cancel-all; 0 without one. */
  cancelAllMs: number;
  cancelAllTimer: TimerHandle | null;
  pendingTransactions: number;
  totalOrderCount: number;
  transactionUs: number;
}

const KEY_HEX = /^[0-9a-f]{80}$/;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const INDEX_MAX = 281_474_976_710_654;
const MASTER_INDEX_MAX = 140_737_488_355_327;
const KEY_INDEX_MAX = 254;
/** Sub-accounts of one address; the venue's own bound is not known. */
const SUB_ACCOUNTS_MAX = 16;
const FIRST_NONCE = 1;
/** Nonces of skipping transactions stay below. */
const SKIP_NONCE_LIMIT = 2 ** 47 - 1;

export class Accounts {
  readonly byIndex = new Map<number, VenueAccount>();
  readonly #byAddress = new Map<string, VenueAccount[]>();
  #lastSubIndex = INDEX_MAX + 1;

  /** Throws RangeError on a registration that the venue could not have. */
  register(registration: AccountRegistration, nowMs: number): VenueAccount {
    const { accountIndex: index, l1Address } = registration;
    if (!Number.isSafeInteger(index) || index < 0 || index > INDEX_MAX)
      throw new RangeError("accountIndex must be a whole number below 2^48 - 1");
    if (!ADDRESS.test(l1Address)) throw new RangeError("l1Address must be 0x and 40 hex digits");
    const known = this.byIndex.get(index);
    const account = known ?? this.#create(index, l1Address, registration.tier ?? "standard", nowMs);
    if (account.l1Address.toLowerCase() !== l1Address.toLowerCase())
      throw new RangeError(`account ${index} belongs to another address`);
    for (const key of registration.apiKeys ?? []) this.#registerKey(account, key);
    return account;
  }

  of(l1Address: string): readonly VenueAccount[] {
    return this.#byAddress.get(l1Address.toLowerCase()) ?? [];
  }

  byId(id: string): VenueAccount | null {
    return this.byIndex.get(Number(id)) ?? null;
  }

  /** Counted down from the top. Null when too many. */
  createSubAccount(master: VenueAccount, nowMs: number): VenueAccount | null {
    if (this.of(master.l1Address).length > SUB_ACCOUNTS_MAX) return null;
    do this.#lastSubIndex--;
    while (this.byIndex.has(this.#lastSubIndex));
    return this.#create(this.#lastSubIndex, master.l1Address, master.tier, nowMs);
  }

  #create(index: number, l1Address: string, tier: AccountTier, nowMs: number): VenueAccount {
    const account: VenueAccount = {
      index,
      id: String(index),
      l1Address,
      type: index > MASTER_INDEX_MAX ? 1 : 0,
      tier,
      createdMs: nowMs,
      keys: new Map(),
      marginFractions: new Map(),
      integrators: new Map(),
      cancelAllMs: 0,
      cancelAllTimer: null,
      pendingTransactions: 0,
      totalOrderCount: 0,
      transactionUs: 0,
    };
    this.byIndex.set(index, account);
    const address = l1Address.toLowerCase();
    // The master account comes first.
    const both = [...(this.#byAddress.get(address) ?? []), account].sort((left, right) => left.type - right.type);
    this.#byAddress.set(address, both);
    return account;
  }

  #registerKey(account: VenueAccount, { apiKeyIndex, publicKey, nonce }: ApiKeyRegistration): void {
    if (!Number.isSafeInteger(apiKeyIndex) || apiKeyIndex < 0 || apiKeyIndex > KEY_INDEX_MAX)
      throw new RangeError("apiKeyIndex must be a whole number from 0 to 254");
    if (!KEY_HEX.test(publicKey)) throw new RangeError("publicKey must be 80 lower-case hex digits");
    setKey(account, apiKeyIndex, Buffer.from(publicKey, "hex"), nonce ?? FIRST_NONCE);
  }
}

/** Registers a key or puts another one in its place. */
export function setKey(account: VenueAccount, apiKeyIndex: number, publicKey: Uint8Array, nextNonce: number): void {
  const known = account.keys.get(apiKeyIndex);
  if (known === undefined)
    account.keys.set(apiKeyIndex, { accountIndex: account.index, apiKeyIndex, publicKey, nextNonce, transactionUs: 0 });
  else {
    known.publicKey = publicKey;
    known.nextNonce = nextNonce;
  }
}

/** Exactly the next one, or any later one when the transaction says that it skips. */
export function acceptsNonce(nextNonce: number, nonce: number, skips: boolean): boolean {
  return skips ? nonce >= nextNonce && nonce < SKIP_NONCE_LIMIT : nonce === nextNonce;
}

/** A transaction died before it was executed: its nonce is free again, unless a later one was spent meanwhile. */
export function releaseNonce(key: ApiKey, nonce: number): void {
  if (key.nextNonce === nonce + 1) key.nextNonce = nonce;
}
