/**
 * The policy of a co-signer, as it is read from its own file at the start. No message carries a part of it. Each origin
 * has rules of its own, and what no rule allows is refused.
 */
import type { IntentOrigin } from "../digest/intent.js";
import type { MethodSignature, TokenMethod } from "./calldata.js";
import type { MessageKind } from "./message-kind.js";
import type { PermitKind } from "./permits.js";
import type { VenueActs } from "./venue-acts.js";

export type Policy = Readonly<Record<IntentOrigin, OriginRules>>;

/** The policy, and what there is that venues have a wallet sign. */
export interface Rulebook {
  readonly policy: Policy;
  readonly acts: VenueActs;
}

export interface OriginRules {
  readonly messages: readonly MessageKind[];
  /** Raw digests: whoever may have them signed may have everything signed. */
  readonly digests: boolean;
  readonly chains: readonly ChainRule[];
  readonly native: readonly NativeRule[];
  readonly tokens: readonly TokenRule[];
  readonly contracts: readonly ContractRule[];
  readonly permits: readonly PermitRule[];
  readonly typedData: readonly TypedDataRule[];
  readonly venues: readonly VenueRule[];
}

export interface Limits {
  readonly perIntent: bigint;
  readonly perDay: bigint;
}

export interface Destinations {
  /** The wallet itself. */
  readonly self: boolean;
  /** Lower case. */
  readonly addresses: ReadonlySet<string>;
}

/** A chain on which transactions are signed at all. The limits are of gas, in wei. */
export interface ChainRule extends Limits {
  readonly chainId: bigint;
}

export interface NativeRule extends Limits {
  readonly chainId: bigint;
  readonly destinations: Destinations;
}

export interface TokenRule extends Limits {
  readonly chainId: bigint;
  readonly token: string;
  readonly methods: readonly TokenMethod[];
  readonly destinations: Destinations;
}

export interface ContractRule {
  readonly chainId: bigint;
  readonly contract: string;
  readonly methods: readonly MethodRule[];
}

export interface FixedArgument {
  readonly argument: number;
  /** As `decodeCall` returns arguments; `self` is the wallet's address. */
  readonly value: string | bigint;
}

export interface MethodRule {
  readonly signature: MethodSignature;
  readonly fixed: readonly FixedArgument[];
  /** Null: money goes to the contract itself, or none goes anywhere. */
  readonly destination: { readonly argument: number; readonly allowed: Destinations } | null;
  readonly amount: ({ readonly argument: number; readonly token: string } & Limits) | null;
  /** The call may carry native money, within the `native` limits of the chain. */
  readonly payable: boolean;
}

export interface PermitRule extends Limits {
  readonly chainId: bigint;
  /** The domain's verifying contract. */
  readonly contract: string;
  readonly kind: PermitKind;
  readonly token: string;
  readonly destinations: Destinations;
}

export interface TypedDataRule {
  readonly name: string;
  /** Null: the domain has no such member. */
  readonly version: string | null;
  readonly chainId: bigint;
  readonly verifyingContract: string | null;
  readonly primaryType: string;
}

export interface VenueRule {
  /** `{venue}.{act}` */
  readonly act: string;
  readonly destinations: Destinations;
  /** Null for an act that spends nothing. Amounts at 18 places. */
  readonly spends: ({ readonly token: string } & Limits) | null;
}

export const NO_DESTINATIONS: Destinations = { self: false, addresses: new Set() };

const NO_RULES: OriginRules = {
  messages: [],
  digests: false,
  chains: [],
  native: [],
  tokens: [],
  contracts: [],
  permits: [],
  typedData: [],
  venues: [],
};

/** Without a file: callers have messages signed, and nothing else is signed at all. */
export const DEFAULT_POLICY: Policy = {
  caller: { ...NO_RULES, messages: ["text", "binary"] },
  service: NO_RULES,
};
