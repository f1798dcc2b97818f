/**
 * Who may sign what: API keys with their secrets, agents with their owners, and the nonces agents have used.
 * Only the newest 100 nonces per signer are remembered, as the venue does: below the smallest of a full list
 * everything counts as expired.
 */
import { createHash } from "node:crypto";

export interface ApiKey {
  readonly accountId: string;
  readonly apiKey: string;
  readonly apiSecret: string;
}

export interface Agent {
  readonly accountId: string;
  /** Main wallet, lower case. */
  readonly user: string;
  /** Agent address, lower case; the main wallet itself may sign too. */
  readonly signer: string;
  name: string;
  ipWhitelist: string;
  expiresMs: number;
  canPerpTrade: boolean;
  canSpotTrade: boolean;
  canWithdraw: boolean;
}

export interface KeyRequest {
  readonly apiKey?: string;
  readonly apiSecret?: string;
  readonly wallet?: string;
  readonly agents?: readonly string[];
  readonly agentExpiresMs?: number;
}

const NONCES_KEPT = 100;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** About a century: agents of tests do not run out by themselves. */
const FAR_FUTURE_MS = 4_900_000_000_000;

export class KeyRing {
  readonly #apiKeys = new Map<string, ApiKey>();
  readonly #agents = new Map<string, Agent>();
  readonly #wallets = new Map<string, string>();
  readonly #nonces = new Map<string, bigint[]>();
  /** Names of keys made by `issue`, by account. */
  readonly #issued = new Map<string, Set<string>>();
  /** Builders a user approved, by user wallet. */
  readonly builders = new Map<string, { builderAddress: string; maxFeeRate: string; builderName: string }[]>();

  /** Registers what the request names; without any key a pair is derived from the account's name. */
  register(
    accountId: string,
    request: KeyRequest,
  ): { apiKey: string; apiSecret: string; wallet: string | null; agents: readonly string[] } {
    const apiKey = request.apiKey ?? derive(accountId, "key");
    const apiSecret = request.apiSecret ?? derive(accountId, "secret");
    this.#apiKeys.set(apiKey, { accountId, apiKey, apiSecret });
    const wallet = request.wallet ?? null;
    if (wallet !== null) {
      if (!ADDRESS.test(wallet)) throw new RangeError("wallet must be an address");
      const user = wallet.toLowerCase();
      this.#wallets.set(user, accountId);
      this.approve(user, user, { name: "", expiresMs: FAR_FUTURE_MS });
      for (const agent of request.agents ?? []) {
        if (!ADDRESS.test(agent)) throw new RangeError("agents must be addresses");
        this.approve(user, agent.toLowerCase(), { name: "agent", expiresMs: request.agentExpiresMs ?? FAR_FUTURE_MS });
      }
    } else if ((request.agents ?? []).length > 0) throw new RangeError("agents need the wallet they act for");
    return { apiKey, apiSecret, wallet, agents: request.agents ?? [] };
  }

  /** Makes one more key of the account. Null: it has one of this name. */
  issue(accountId: string, name: string): ApiKey | null {
    const names = this.#issued.get(accountId) ?? new Set();
    if (names.has(name)) return null;
    this.#issued.set(accountId, names.add(name));
    const apiKey = derive(accountId, `key/${name}`);
    const made = { accountId, apiKey, apiSecret: derive(accountId, `secret/${name}`) };
    this.#apiKeys.set(apiKey, made);
    return made;
  }

  /** Null: no wallet, or one that is not known; or the address belongs to another account. */
  approve(
    user: string,
    signer: string,
    terms: {
      name: string;
      expiresMs: number;
      ipWhitelist?: string;
      canPerpTrade?: boolean;
      canSpotTrade?: boolean;
      canWithdraw?: boolean;
    },
  ): Agent | null {
    const accountId = this.#wallets.get(user);
    if (accountId === undefined) return null;
    const known = this.#agents.get(signer);
    if (known !== undefined && known.user !== user) return null;
    const agent: Agent = {
      accountId,
      user,
      signer,
      name: terms.name,
      ipWhitelist: terms.ipWhitelist ?? "",
      expiresMs: terms.expiresMs,
      canPerpTrade: terms.canPerpTrade ?? true,
      canSpotTrade: terms.canSpotTrade ?? true,
      canWithdraw: terms.canWithdraw ?? false,
    };
    this.#agents.set(signer, agent);
    return agent;
  }

  revoke(signer: string): boolean {
    return this.#agents.delete(signer.toLowerCase());
  }

  apiKey(apiKey: string): ApiKey | null {
    return this.#apiKeys.get(apiKey) ?? null;
  }

  agent(signer: string): Agent | null {
    return this.#agents.get(signer.toLowerCase()) ?? null;
  }

  /** Agents of a user, the main wallet itself left out. */
  agentsOf(user: string): readonly Agent[] {
    return [...this.#agents.values()].filter((agent) => agent.user === user && agent.signer !== user);
  }

  knowsWallet(user: string): boolean {
    return this.#wallets.has(user.toLowerCase());
  }

  /** The main wallet of an account, lower case. Null where it has none. */
  walletOf(accountId: string): string | null {
    for (const [wallet, owner] of this.#wallets) if (owner === accountId) return wallet;
    return null;
  }

  accountOf(user: string): string | null {
    return this.#wallets.get(user.toLowerCase()) ?? null;
  }

  /** `used`: seen before. `old`: below everything remembered. Remembers it when it is new. */
  useNonce(signer: string, nonce: bigint): "new" | "used" | "old" {
    let kept = this.#nonces.get(signer);
    if (kept === undefined) {
      kept = [];
      this.#nonces.set(signer, kept);
    }
    if (kept.includes(nonce)) return "used";
    if (kept.length >= NONCES_KEPT) {
      let lowest = 0;
      for (let index = 1; index < kept.length; index++) if ((kept[index] ?? 0n) < (kept[lowest] ?? 0n)) lowest = index;
      if (nonce < (kept[lowest] ?? 0n)) return "old";
      kept[lowest] = nonce;
      return "new";
    }
    kept.push(nonce);
    return "new";
  }
}

/** 64 hex characters, as the venue's keys look. */
function derive(accountId: string, kind: string): string {
  return createHash("sha256").update(`local-venue/${kind}/${accountId}`).digest("hex");
}
