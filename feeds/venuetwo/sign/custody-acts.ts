/**
 * Typed data and texts by which venuetwo moves money, makes agents and keys, or logs in, for the co-signer's policy.
 * Sources: sections 4.3, 9.1 and 9.3 of its sheet.
 */
import { typeString } from "../../../engine/custody/digest/typed-data-hash.js";
import type { TypedData } from "../../../engine/custody/digest/typed-data-types.js";
import type { ActNeeds, ActReading, RoomActs } from "../../../engine/custody/policy/venue-acts.js";
import {
  addressText,
  amountText,
  type DecodeAct,
  isPlainDomain,
  type KnownAct,
  MONEY,
  NOTHING,
  PLAIN,
  readKnownAct,
  readKnownText,
} from "../../shared/sign/custody-acts.js";
import { readAgentFields, readAgentText } from "./custody-agents.js";

/** The builder of an agent, if it has one, gets fees. */
const AGENT: ActNeeds = { destinations: "optional", amounts: false };

const ACTS = {
  withdraw: MONEY,
  /** Any request of the venue's interface, as text. */
  request: PLAIN,
  registerAgent: AGENT,
  approveAgent: AGENT,
  updateAgent: AGENT,
  deleteAgent: PLAIN,
  /** Any of the three acts before, with the right to withdraw, or without saying that there is none. */
  agentThatWithdraws: AGENT,
  login: PLAIN,
} as const;
type Act = keyof typeof ACTS;

/** The domain of withdrawals. */
const SIGNED_NAME = "Aster";
const REQUEST_DOMAIN = "AsterSignTransaction";
const REQUEST_CHAIN_ID = 1666n;
const MANAGEMENT_CHAIN_ID = 56n;
const MESSAGE_TYPE = "Message(string msg)";
/** How the venue writes the chain of a withdrawal, which the domain names too. */
const CHAIN_NAMES: ReadonlyMap<string, bigint> = new Map([
  ["ETH", 1n],
  ["BSC", 56n],
  ["Arbitrum", 42161n],
]);

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

const TABLE: readonly KnownAct<Act>[] = [
  {
    act: "withdraw",
    type: "Action(string type,address destination,string destination Chain,string token,string amount,string fee,uint256 nonce,string aster chain)",
    domainName: SIGNED_NAME,
    chainId: null,
    decode: withdrawal,
  },
];

/** Letters of names in typed data and of texts that read like the venue's: its name now and before, old texts. */
const SIGNED_NAMES = /^(?:aster|asther|apx)/;
const SIGNED_TEXTS = ["youaresigningintoast", "signingintoaster", "astherus", "asterdex", "createapikey"];
const LIKENESS = {
  domain: SIGNED_NAMES,
  type: /^(?:approve|update|del|delete|register)agent/,
  chainIds: [REQUEST_CHAIN_ID],
};

/** One text serves the login and the creation of keys alike. */
const LOGIN = { act: "login", pattern: /^You are signing into Astherus [0-9]{1,20}$/ } as const;

/** One domain serves requests of agents on one chain id, and what makes agents on another. */
function readRequestDomain(typed: TypedData): ActReading<Act> {
  const type = typeString(typed.types, typed.primaryType);
  const { chainId } = typed.domain;
  if (type === MESSAGE_TYPE && chainId === REQUEST_CHAIN_ID)
    return { kind: "act", act: { act: "request", ...NOTHING } };
  if (chainId !== MANAGEMENT_CHAIN_ID) return { kind: "likeness" };
  const agent = type === MESSAGE_TYPE ? readAgentText(typed.message.get("msg")) : readAgentFields(typed);
  if (agent === null) return { kind: "unreadable" };
  const { act, account, destination } = agent;
  return { kind: "act", act: { act, account, destination, spent: null } };
}

export const custodyActs: RoomActs<Act> = {
  acts: ACTS,
  readTypedData: (typed) =>
    isPlainDomain(typed.domain, REQUEST_DOMAIN) ? readRequestDomain(typed) : readKnownAct(TABLE, LIKENESS, typed),
  readText: (text, letters) => readKnownText<Act>(LOGIN, SIGNED_TEXTS, { text, letters }),
};
