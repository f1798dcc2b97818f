/**
 * Typed data by which venues move money, make keys or change an account. An act is known by its whole type string and
 * its whole domain. Whatever else has a venue's domain or type names is a likeness: no rule allows it.
 *
 * Sources: sections 5.2, 6.2 and 6.3 of venueone's sheet, 4.3 and 9.3 of venuetwo's.
 */
import { typeString } from "../digest/typed-data-hash.js";
import type { TypedData, TypedDomain, TypedStruct } from "../digest/typed-data-types.js";
import { readVenueAmount } from "./amounts.js";
import { readAgentFields, readAgentText } from "./venue-agents.js";
import { lettersOf } from "./venue-texts.js";

/** What a rule of an act must say: where money may go, and how much of which token. */
interface ActNeeds {
  readonly destinations: "required" | "optional" | "none";
  readonly amounts: boolean;
}

const PLAIN: ActNeeds = { destinations: "none", amounts: false };
const MONEY: ActNeeds = { destinations: "required", amounts: true };
/** The builder of an agent, if it has one, gets fees. */
const AGENT: ActNeeds = { destinations: "optional", amounts: false };

export const VENUE_ACTS = {
  "venueone.usdSend": MONEY,
  "venueone.withdraw": MONEY,
  "venueone.spotSend": MONEY,
  "venueone.sendAsset": MONEY,
  "venueone.usdClassTransfer": PLAIN,
  "venueone.approveAgent": PLAIN,
  "venueone.approveBuilderFee": { destinations: "required", amounts: false },
  "venueone.userSetAbstraction": PLAIN,
  /** The hash of an order or of another act: nobody can say what it does. */
  "venueone.l1Action": PLAIN,
  "venuetwo.withdraw": MONEY,
  /** Any request of the venue's interface, as text. */
  "venuetwo.request": PLAIN,
  "venuetwo.registerAgent": AGENT,
  "venuetwo.approveAgent": AGENT,
  "venuetwo.updateAgent": AGENT,
  "venuetwo.deleteAgent": PLAIN,
  /** Any of the three acts before, with the right to withdraw, or without saying that there is none. */
  "venuetwo.agentThatWithdraws": AGENT,
  "venuetwo.login": PLAIN,
  "venuethree.registerKey": PLAIN,
} as const satisfies Readonly<Record<string, ActNeeds>>;

export type VenueActName = keyof typeof VENUE_ACTS;

export function isVenueAct(name: string): name is VenueActName {
  return Object.hasOwn(VENUE_ACTS, name);
}

export function needsOf(act: VenueActName): ActNeeds {
  return VENUE_ACTS[act];
}

export interface VenueAct {
  readonly act: VenueActName;
  /** The account that the message names; it must be the wallet. Null: the signer's. */
  readonly account: string | null;
  /** Lower case; null where nothing goes to anybody. */
  readonly destination: string | null;
  readonly spent: { readonly token: string; readonly amount: bigint } | null;
}

export type ActReading =
  | { readonly kind: "act"; readonly act: VenueAct }
  /** The type and domain of an act, with values that leave open what it does. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "likeness" }
  | { readonly kind: "none" };

/** Returns null when the values leave open what the act does. */
type DecodeAct = (message: TypedStruct, domain: TypedDomain) => Omit<VenueAct, "act"> | null;

const NOTHING = { account: null, destination: null, spent: null } as const;
const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";
const USER_TYPE = "HyperliquidTransaction:";
const USER_DOMAIN = "HyperliquidSignTransaction";
const ACTION_CHAIN_ID = 1337n;
const WITHDRAW_DOMAIN = "Aster";
const REQUEST_DOMAIN = "AsterSignTransaction";
const REQUEST_CHAIN_ID = 1666n;
const MANAGEMENT_CHAIN_ID = 56n;
/** How venuetwo writes the chain of a withdrawal, which the domain names too. */
const CHAIN_NAMES: ReadonlyMap<string, bigint> = new Map([
  ["ETH", 1n],
  ["BSC", 56n],
  ["Arbitrum", 42161n],
]);

/** The venue reads addresses in texts in lower case; another case would be another hash to it. */
function addressText(value: unknown): string | null {
  return typeof value === "string" && /^0x[0-9a-f]{40}$/.test(value) ? value : null;
}

function amountText(value: unknown): bigint | null {
  return typeof value === "string" ? readVenueAmount(value) : null;
}

function sent(token: unknown): DecodeAct {
  return (message) => {
    const destination = addressText(message.get("destination"));
    const amount = amountText(message.get("amount"));
    const name = token ?? message.get("token");
    if (destination === null || amount === null || typeof name !== "string") return null;
    // From a sub-account: another account than the wallet's pays.
    if ((message.get("fromSubAccount") ?? "") !== "") return null;
    return { account: null, destination, spent: { token: name, amount } };
  };
}

/** The amount may name a sub-account behind a blank: then it is no amount. */
const classTransfer: DecodeAct = (message) => (amountText(message.get("amount")) === null ? null : NOTHING);

function addressMember(member: string, as: "account" | "destination"): DecodeAct {
  return (message) => {
    const address = addressText(message.get(member));
    return address === null ? null : { ...NOTHING, [as]: address };
  };
}

const withdrawal: DecodeAct = (message, domain) => {
  const destination = addressText(message.get("destination"));
  const [amount, fee] = [amountText(message.get("amount")), amountText(message.get("fee"))];
  const token = message.get("token");
  const chain = CHAIN_NAMES.get(String(message.get("destination Chain")));
  if (message.get("type") !== "Withdraw" || chain === undefined || chain !== domain.chainId) return null;
  if (destination === null || amount === null || fee === null || typeof token !== "string") return null;
  // The contract takes up to the signed fee besides.
  return { account: null, destination, spent: { token, amount: amount + fee } };
};

const USER_ACTS: readonly (readonly [VenueActName, string, DecodeAct])[] = [
  ["venueone.usdSend", "UsdSend(string hyperliquidChain,string destination,string amount,uint64 time)", sent("USDC")],
  ["venueone.withdraw", "Withdraw(string hyperliquidChain,string destination,string amount,uint64 time)", sent("USDC")],
  [
    "venueone.spotSend",
    "SpotSend(string hyperliquidChain,string destination,string token,string amount,uint64 time)",
    sent(undefined),
  ],
  [
    "venueone.sendAsset",
    "SendAsset(string hyperliquidChain,string destination,string sourceDex,string destinationDex,string token,string amount,string fromSubAccount,uint64 nonce)",
    sent(undefined),
  ],
  [
    "venueone.usdClassTransfer",
    "UsdClassTransfer(string hyperliquidChain,string amount,bool toPerp,uint64 nonce)",
    classTransfer,
  ],
  [
    "venueone.approveAgent",
    "ApproveAgent(string hyperliquidChain,address agentAddress,string agentName,uint64 nonce)",
    () => NOTHING,
  ],
  [
    "venueone.approveBuilderFee",
    "ApproveBuilderFee(string hyperliquidChain,string maxFeeRate,address builder,uint64 nonce)",
    addressMember("builder", "destination"),
  ],
  [
    "venueone.userSetAbstraction",
    "UserSetAbstraction(string hyperliquidChain,address user,string abstraction,uint64 nonce)",
    addressMember("user", "account"),
  ],
];

interface KnownAct {
  readonly act: VenueActName;
  readonly domainName: string;
  /** Null: any chain id. */
  readonly chainId: bigint | null;
  readonly decode: DecodeAct;
}

const KNOWN: ReadonlyMap<string, KnownAct> = new Map<string, KnownAct>([
  ...USER_ACTS.map(
    ([act, type, decode]) => [`${USER_TYPE}${type}`, { act, domainName: USER_DOMAIN, chainId: null, decode }] as const,
  ),
  [
    "Agent(string source,bytes32 connectionId)",
    { act: "venueone.l1Action", domainName: "Exchange", chainId: ACTION_CHAIN_ID, decode: () => NOTHING },
  ],
  [
    "Action(string type,address destination,string destination Chain,string token,string amount,string fee,uint256 nonce,string aster chain)",
    { act: "venuetwo.withdraw", domainName: WITHDRAW_DOMAIN, chainId: null, decode: withdrawal },
  ],
]);

const MESSAGE_TYPE = "Message(string msg)";

export function readVenueAct(typed: TypedData): ActReading {
  const type = typeString(typed.types, typed.primaryType);
  const { domain } = typed;
  if (hasVenueDomain(domain, REQUEST_DOMAIN)) return readRequestDomain(typed, type);
  const known = KNOWN.get(type);
  if (
    known !== undefined &&
    hasVenueDomain(domain, known.domainName) &&
    (known.chainId === null || known.chainId === domain.chainId)
  ) {
    const decoded = known.decode(typed.message, domain);
    return decoded === null ? { kind: "unreadable" } : { kind: "act", act: { act: known.act, ...decoded } };
  }
  return looksLikeVenue(typed) ? { kind: "likeness" } : { kind: "none" };
}

/** One domain of venuetwo serves requests of agents on one chain id, and what makes agents on another. */
function readRequestDomain(typed: TypedData, type: string): ActReading {
  const { chainId } = typed.domain;
  if (type === MESSAGE_TYPE && chainId === REQUEST_CHAIN_ID)
    return { kind: "act", act: { act: "venuetwo.request", ...NOTHING } };
  if (chainId !== MANAGEMENT_CHAIN_ID) return { kind: "likeness" };
  const agent = type === MESSAGE_TYPE ? readAgentText(typed.message.get("msg")) : readAgentFields(typed);
  if (agent === null) return { kind: "unreadable" };
  const { act, account, destination } = agent;
  return { kind: "act", act: { act, account, destination, spent: null } };
}

/** All of the venues' domains are of this form: version 1, the zero address, no salt. */
function hasVenueDomain(domain: TypedDomain, name: string): boolean {
  const { version, chainId, verifyingContract, salt } = domain;
  const isPlain = version === "1" && verifyingContract === ZERO_ADDRESS && salt === undefined;
  return domain.name === name && isPlain && chainId !== undefined && chainId > 0n;
}

const LIKE_DOMAIN = /^(?:exchange$|hyperliquid|aster|asther|apx|lighter|zklighter|avantis|veranta)/;
const LIKE_TYPE = /^hyperliquid|^(?:approve|update|del|delete|register)agent|^agent$/;

function looksLikeVenue(typed: TypedData): boolean {
  return (
    LIKE_DOMAIN.test(lettersOf(typed.domain.name ?? "")) ||
    typed.domain.chainId === ACTION_CHAIN_ID ||
    typed.domain.chainId === REQUEST_CHAIN_ID ||
    [...typed.types.keys()].some((name) => LIKE_TYPE.test(lettersOf(name)))
  );
}
