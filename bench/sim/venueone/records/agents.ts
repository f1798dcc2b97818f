/**
 * API wallets ("agents"): which address may sign trading actions for which account. Invariants: an address is an
 * agent at most once in its life; an account has at most one unnamed agent and a bounded number of named ones.
 */

const DAY_MS = 86_400_000;
const VALID_FOR_DEFAULT_MS = 90 * DAY_MS;
const VALID_FOR_MAX_MS = 180 * DAY_MS;
const NAME_LENGTH_MAX = 16;
const NAMED_MAX = 3;
const NAMED_PER_SUB_ACCOUNT = 2;
const REMOVAL_PENDING_MS = 5_000;
/** Expiry is enforced lazily: expired agents still worked a quarter of an hour later. */
const EXPIRY_GRACE_MS = 30 * 60_000;
/** Addresses remembered as used up, per venue; overflow forgets the oldest. */
const RETIRED_MAX = 100_000;
export const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";

export interface Agent {
  readonly address: string;
  readonly accountId: string;
  /** Empty for the unnamed agent. */
  readonly name: string;
  readonly validUntilMs: number;
}

export type AgentRefusal =
  | { readonly kind: "expired" }
  | { readonly kind: "used" }
  | { readonly kind: "removalPending" }
  | { readonly kind: "tooMany"; readonly limit: number }
  | { readonly kind: "name" };

/** What an unknown signer used to be: the venue's refusal depends on it. */
export type FormerAgent = { readonly accountId: string; readonly ended: "replaced" | "revoked" | "expired" | "pruned" };

export interface AgentApproval {
  readonly accountId: string;
  readonly agentAddress: string;
  /** As signed: may end with ` valid_until <ms>`. */
  readonly agentName: string;
  readonly subAccountCount: number;
  readonly nowMs: number;
}

export class AgentRegistry {
  readonly #isAccount: (address: string) => boolean;
  readonly #live = new Map<string, Agent>();
  readonly #retired = new Map<string, FormerAgent>();
  readonly #removalPendingUntilMs = new Map<string, number>();

  constructor(isAccount: (address: string) => boolean) {
    this.#isAccount = isAccount;
  }

  /** Returns null on success. */
  approve({ accountId, agentAddress, agentName, subAccountCount, nowMs }: AgentApproval): AgentRefusal | null {
    const parsed = parseAgentName(agentName, nowMs);
    if (parsed === null) return { kind: "name" };
    if (parsed.validUntilMs <= nowMs || parsed.validUntilMs > nowMs + VALID_FOR_MAX_MS) return { kind: "expired" };
    if (nowMs < (this.#removalPendingUntilMs.get(accountId) ?? 0)) return { kind: "removalPending" };
    const present = this.list(accountId, nowMs);
    const sameName = present.find((agent) => agent.name === parsed.name);
    if (agentAddress === ZERO_ADDRESS) {
      if (sameName !== undefined) {
        this.#retire(sameName, "revoked");
        this.#removalPendingUntilMs.set(accountId, nowMs + REMOVAL_PENDING_MS);
      }
      return null;
    }
    if (this.#live.has(agentAddress) || this.#retired.has(agentAddress) || this.#isAccount(agentAddress))
      return { kind: "used" };
    const namedCount = present.filter((agent) => agent.name !== "").length;
    const limit = NAMED_MAX + NAMED_PER_SUB_ACCOUNT * subAccountCount;
    if (parsed.name !== "" && sameName === undefined && namedCount >= limit) return { kind: "tooMany", limit };
    if (sameName !== undefined) this.#retire(sameName, "replaced");
    this.#live.set(agentAddress, { address: agentAddress, accountId, ...parsed });
    return null;
  }

  find(address: string, nowMs: number): Agent | null {
    const agent = this.#live.get(address);
    if (agent === undefined) return null;
    if (nowMs <= agent.validUntilMs + EXPIRY_GRACE_MS) return agent;
    this.#retire(agent, "expired");
    return null;
  }

  /** The account has no funds left. */
  prune(accountId: string): void {
    for (const agent of this.#live.values()) if (agent.accountId === accountId) this.#retire(agent, "pruned");
  }

  former(address: string): FormerAgent | null {
    return this.#retired.get(address) ?? null;
  }

  /** All live agents of an account, the unnamed one included. */
  list(accountId: string, nowMs: number): readonly Agent[] {
    const found = [...this.#live.values()].filter((agent) => agent.accountId === accountId);
    for (const agent of found) if (nowMs > agent.validUntilMs + EXPIRY_GRACE_MS) this.#retire(agent, "expired");
    return found.filter((agent) => this.#live.has(agent.address));
  }

  #retire(agent: Agent, ended: FormerAgent["ended"]): void {
    this.#live.delete(agent.address);
    this.#retired.set(agent.address, { accountId: agent.accountId, ended });
    const oldest = this.#retired.size > RETIRED_MAX ? this.#retired.keys().next().value : undefined;
    if (oldest !== undefined) this.#retired.delete(oldest);
  }
}

/** Splits `name valid_until <ms>`. Returns null when the name is too long. */
function parseAgentName(agentName: string, nowMs: number): { name: string; validUntilMs: number } | null {
  const match = /^(.*?) ?valid_until (\d{1,15})$/.exec(agentName);
  const name = match?.[1] ?? agentName;
  if (name.length > NAME_LENGTH_MAX) return null;
  return { name, validUntilMs: match?.[2] === undefined ? nowMs + VALID_FOR_DEFAULT_MS : Number(match[2]) };
}
