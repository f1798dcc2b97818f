/** Policies, wallets and intents that the tests of the rules share. Addresses are made up. */
import { custodyActs as venueone } from "../../../../feeds/venueone/sign/custody-acts.js";
import { custodyActs as venuetwo } from "../../../../feeds/venuetwo/sign/custody-acts.js";
import { custodyActs as venuethree } from "../../../../feeds/venuethree/sign/custody-acts.js";
import { custodyActs as venuefive } from "../../../../feeds/venuefive/sign/custody-acts.js";
import { jsonBytes } from "../../digest/test/typed-data-cases.js";
import {
  decodeIntent,
  encodeIntent,
  type IntentInput,
  type IntentOrigin,
  type SignIntent,
} from "../../digest/intent.js";
import type { Transaction } from "../../digest/transaction.js";
import type { Policy } from "../policy.js";
import { readPolicyConfig } from "../policy-config.js";
import { judgeIntent } from "../rules.js";
import { joinVenueActs } from "../venue-acts.js";

/** As the registry of rooms joins them; by themselves, since no test of a rule needs a room. */
export const ACTS = joinVenueActs(Object.entries({ venueone, venuetwo, venuethree, venuefive }));

export const address = (digit: string): string => `0x${digit.repeat(40)}`;
export const WALLET = address("a");
export const TOKEN = address("1");
export const OTHER_TOKEN = address("2");
export const VAULT = address("3");
export const FRIEND = address("4");
export const STRANGER = address("5");
export const PERMIT2 = address("6");
export const ZERO = address("0");
export const CHAIN = 42_161;

/** An example of everything that a file can say; both origins have it, unless a test takes one away. */
export const RULES = {
  messages: ["text"],
  chains: [
    { chainId: CHAIN, perIntent: "1000", perDay: "5000" },
    { chainId: 1, perDay: "5000" },
  ],
  native: [{ chainId: CHAIN, destinations: [FRIEND], perIntent: "50", perDay: "80" }],
  tokens: [
    {
      chainId: CHAIN,
      token: TOKEN,
      methods: ["transfer", "approve"],
      destinations: [FRIEND, VAULT],
      perIntent: "60",
      perDay: "100",
    },
  ],
  contracts: [
    {
      chainId: CHAIN,
      contract: VAULT,
      methods: [
        {
          signature: "deposit(address,uint256,uint256)",
          fixed: [{ argument: 0, value: TOKEN }],
          amount: { argument: 1, token: TOKEN, perDay: "100" },
          free: [2],
        },
        { signature: "depositNative(uint256)", free: [0], payable: true },
        {
          signature: "withdrawTo(address,address)",
          fixed: [{ argument: 0, value: "self" }],
          destination: { argument: 1, allowed: [FRIEND] },
        },
      ],
    },
  ],
  permits: [
    { chainId: CHAIN, contract: TOKEN, kind: "eip2612", destinations: [VAULT], perIntent: "60", perDay: "100" },
    { chainId: CHAIN, contract: TOKEN, kind: "allowed", destinations: [VAULT], perDay: "100" },
    { chainId: CHAIN, contract: TOKEN, kind: "eip3009", destinations: [VAULT], perDay: "100" },
    { chainId: CHAIN, contract: PERMIT2, kind: "permit2Allowance", token: TOKEN, destinations: [VAULT], perDay: "100" },
    { chainId: CHAIN, contract: PERMIT2, kind: "permit2Transfer", token: TOKEN, destinations: [VAULT], perDay: "100" },
    { chainId: CHAIN, contract: PERMIT2, kind: "permit2Witness", token: TOKEN, destinations: [VAULT], perDay: "100" },
  ],
  typedData: [
    { domain: { name: "Forum", version: "1", chainId: CHAIN, verifyingContract: VAULT }, primaryType: "Post" },
    { domain: { name: "Bare", chainId: CHAIN }, primaryType: "Post" },
  ],
  venues: [
    { act: "venueone.withdraw", token: "USDC", destinations: ["self"], perIntent: "60", perDay: "100" },
    { act: "venueone.approveAgent" },
    { act: "venuetwo.withdraw", token: "USDT", destinations: ["self"], perDay: "100" },
    { act: "venuetwo.approveAgent" },
    { act: "venuetwo.login" },
  ],
};

export function policyOf(service: unknown, callers: unknown = {}): Policy {
  const read = readPolicyConfig(jsonBytes({ format: 1, service, callers }), ACTS);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.policy;
}

export const FULL = policyOf(RULES, RULES);

export function intentOf(input: IntentInput): SignIntent {
  const decoded = decodeIntent(encodeIntent(input));
  if (!decoded.ok) throw new Error(decoded.problem);
  if (decoded.intent.kind === "test") throw new Error("a test intent");
  return decoded.intent;
}

/** `ok`, or the name of the rule that refuses. */
export function judged(intent: SignIntent, policy: Policy = FULL): string {
  const verdict = judgeIntent({ policy, acts: ACTS }, intent, WALLET);
  return verdict.ok ? "ok" : verdict.rule;
}

/** What is counted, without the gas. */
export function spent(intent: SignIntent, policy: Policy = FULL): Record<string, bigint> | string {
  const verdict = judgeIntent({ policy, acts: ACTS }, intent, WALLET);
  if (!verdict.ok) return verdict.rule;
  return Object.fromEntries(
    verdict.amounts.filter(({ asset }) => !asset.endsWith("/gas")).map(({ asset, amount }) => [asset, amount]),
  );
}

export function message(text: string | Uint8Array, origin: IntentOrigin = "service"): SignIntent {
  return intentOf({
    kind: "message",
    origin,
    message: typeof text === "string" ? new TextEncoder().encode(text) : text,
  });
}

export function transaction(
  fields: Partial<Extract<Transaction, { type: "legacy" }>>,
  origin: IntentOrigin = "service",
): SignIntent {
  const base: Transaction = {
    type: "legacy",
    chainId: BigInt(CHAIN),
    nonce: 0n,
    gasPrice: 1n,
    gasLimit: 100n,
    to: TOKEN,
    value: 0n,
    data: new Uint8Array(),
  };
  return intentOf({ kind: "transaction", origin, transaction: { ...base, ...fields } });
}

export type Field = readonly [type: string, name: string, value: unknown];

export interface TypedCase {
  readonly domain?: Readonly<Record<string, unknown>>;
  readonly primaryType: string;
  readonly fields: readonly Field[];
  readonly types?: Readonly<Record<string, readonly (readonly [type: string, name: string])[]>>;
  readonly origin?: IntentOrigin;
}

export function typedData({ domain = {}, primaryType, fields, types = {}, origin = "service" }: TypedCase): SignIntent {
  const named = (list: readonly (readonly [string, string, ...unknown[]])[]) =>
    list.map(([type, name]) => ({ type, name }));
  const json = jsonBytes({
    types: {
      [primaryType]: named(fields),
      ...Object.fromEntries(Object.entries(types).map(([name, list]) => [name, named(list)])),
    },
    primaryType,
    domain,
    message: Object.fromEntries(fields.map(([, name, value]) => [name, value])),
  });
  return intentOf({ kind: "typedData", origin, json });
}
