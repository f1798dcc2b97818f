/**
 * Wallets, their agents and their API config keys. An account of the engine is reached by its wallet address; an agent
 * serves one wallet at a time. Keys that are not given are derived from the seed, so a run can be repeated.
 */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { fromBase58, toBase58 } from "../wire/base58.js";

export interface KeyPair {
  /** Base58 of 32 bytes. */
  readonly publicKey: string;
  /** Base58 of 64 bytes: seed, then public key. */
  readonly secret: string;
}

export interface KeyRequest {
  /** Base58; default: the account id where it is an address, else one derived from the seed. */
  readonly walletAddress?: string;
  /** Public keys to bind; default: one agent derived from the seed, whose secret is handed out. */
  readonly agents?: readonly string[];
}

export interface RegisteredKeys {
  readonly walletAddress: string;
  /** Of the agent made here; empty when agents were brought along. */
  readonly apiKey: string;
  readonly apiSecret: string;
  /** Of the wallet itself, when it was made here. */
  readonly walletSecret: string;
}

export const AGENTS_MAX = 20;
export const CONFIG_KEYS_MAX = 5;
const KEY_BYTES = 32;
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

export class KeyRing {
  readonly #seed: number;
  readonly #accountIds = new Map<string, string>();
  readonly #walletOfAgent = new Map<string, string>();
  readonly #configKeys = new Map<string, Set<string>>();
  #configKeyCount = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  register(accountId: string, request: KeyRequest): RegisteredKeys {
    const isAddress = fromBase58(accountId, KEY_BYTES) !== null;
    const made = request.walletAddress === undefined && !isAddress ? this.#derive(`${accountId}/wallet`) : null;
    const walletAddress = request.walletAddress ?? made?.publicKey ?? accountId;
    for (const key of [walletAddress, ...(request.agents ?? [])])
      if (fromBase58(key, KEY_BYTES) === null) throw new RangeError("keys are base58 of 32 bytes");
    const holder = this.#accountIds.get(walletAddress);
    if (holder !== undefined && holder !== accountId) throw new RangeError("the wallet belongs to another account");
    this.#accountIds.set(walletAddress, accountId);
    const agent = request.agents === undefined ? this.#derive(`${accountId}/agent`) : null;
    for (const key of request.agents ?? [agent?.publicKey ?? ""]) this.bind(walletAddress, key);
    return {
      walletAddress,
      apiKey: agent?.publicKey ?? "",
      apiSecret: agent?.secret ?? "",
      walletSecret: made?.secret ?? "",
    };
  }

  /** Returns the engine's account of a wallet, or null without one. */
  accountIdOf(walletAddress: string): string | null {
    return this.#accountIds.get(walletAddress) ?? null;
  }

  walletOf(accountId: string): string | null {
    for (const [wallet, id] of this.#accountIds) if (id === accountId) return wallet;
    return null;
  }

  isAgentOf(agent: string, walletAddress: string): boolean {
    return this.#walletOfAgent.get(agent) === walletAddress;
  }

  agentsOf(walletAddress: string): readonly string[] {
    return [...this.#walletOfAgent].filter(([, wallet]) => wallet === walletAddress).map(([agent]) => agent);
  }

  /** Returns false when the wallet has its maximum. */
  bind(walletAddress: string, agent: string): boolean {
    if (this.isAgentOf(agent, walletAddress)) return true;
    if (this.agentsOf(walletAddress).length >= AGENTS_MAX) return false;
    this.#walletOfAgent.set(agent, walletAddress);
    return true;
  }

  revoke(walletAddress: string, agent: string): boolean {
    return this.isAgentOf(agent, walletAddress) && this.#walletOfAgent.delete(agent);
  }

  configKeysOf(walletAddress: string): readonly string[] {
    return [...(this.#configKeys.get(walletAddress) ?? [])];
  }

  walletOfConfigKey(key: string): string | null {
    for (const [wallet, keys] of this.#configKeys) if (keys.has(key)) return wallet;
    return null;
  }

  /** Returns null when the wallet has its maximum. */
  createConfigKey(walletAddress: string): string | null {
    const keys = this.#configKeys.get(walletAddress) ?? new Set<string>();
    if (keys.size >= CONFIG_KEYS_MAX) return null;
    const random = createHash("sha256")
      .update(`${this.#seed}/config/${this.#configKeyCount++}`)
      .digest();
    const key = `${toBase58(random.subarray(0, 8)).slice(0, 8).padEnd(8, "1")}_${toBase58(random.subarray(8, 24))}`;
    this.#configKeys.set(walletAddress, keys.add(key));
    return key;
  }

  revokeConfigKey(walletAddress: string, key: string): boolean {
    return this.#configKeys.get(walletAddress)?.delete(key) ?? false;
  }

  #derive(name: string): KeyPair {
    return keyPairOf(createHash("sha256").update(`venuefour/${this.#seed}/${name}`).digest());
  }
}

export function keyPairOf(seed: Uint8Array): KeyPair {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-KEY_BYTES);
  return { publicKey: toBase58(publicKey), secret: toBase58(Buffer.concat([seed, publicKey])) };
}
