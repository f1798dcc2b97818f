/**
 * Typed data by which venueone moves money, makes agents or changes an account, for the co-signer's policy. Sources:
 * sections 5.2, 6.2 and 6.3 of its sheet.
 */
import type { RoomActs } from "../../../engine/custody/policy/venue-acts.js";
import {
  addressText,
  amountText,
  type DecodeAct,
  type KnownAct,
  MONEY,
  NOTHING,
  PLAIN,
  readKnownAct,
  readKnownText,
} from "../../shared/sign/custody-acts.js";

const ACTS = {
  usdSend: MONEY,
  withdraw: MONEY,
  spotSend: MONEY,
  sendAsset: MONEY,
  usdClassTransfer: PLAIN,
  approveAgent: PLAIN,
  approveBuilderFee: { destinations: "required", amounts: false },
  userSetAbstraction: PLAIN,
  /** The hash of an order or of another act: nobody can say what it does. */
  l1Action: PLAIN,
} as const;
type Act = keyof typeof ACTS;

const ACTION_CHAIN_ID = 1337n;

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

const USER_ACTS: readonly (readonly [Act, string, DecodeAct])[] = [
  ["usdSend", "UsdSend(string hyperliquidChain,string destination,string amount,uint64 time)", sent("USDC")],
  ["withdraw", "Withdraw(string hyperliquidChain,string destination,string amount,uint64 time)", sent("USDC")],
  [
    "spotSend",
    "SpotSend(string hyperliquidChain,string destination,string token,string amount,uint64 time)",
    sent(undefined),
  ],
  [
    "sendAsset",
    "SendAsset(string hyperliquidChain,string destination,string sourceDex,string destinationDex,string token,string amount,string fromSubAccount,uint64 nonce)",
    sent(undefined),
  ],
  [
    "usdClassTransfer",
    "UsdClassTransfer(string hyperliquidChain,string amount,bool toPerp,uint64 nonce)",
    classTransfer,
  ],
  [
    "approveAgent",
    "ApproveAgent(string hyperliquidChain,address agentAddress,string agentName,uint64 nonce)",
    () => NOTHING,
  ],
  [
    "approveBuilderFee",
    "ApproveBuilderFee(string hyperliquidChain,string maxFeeRate,address builder,uint64 nonce)",
    addressMember("builder", "destination"),
  ],
  [
    "userSetAbstraction",
    "UserSetAbstraction(string hyperliquidChain,address user,string abstraction,uint64 nonce)",
    addressMember("user", "account"),
  ],
];

const TABLE: readonly KnownAct<Act>[] = [
  ...USER_ACTS.map(([act, type, decode]) => ({
    act,
    type: `HyperliquidTransaction:${type}`,
    domainName: "HyperliquidSignTransaction",
    chainId: null,
    decode,
  })),
  {
    act: "l1Action",
    type: "Agent(string source,bytes32 connectionId)",
    domainName: "Exchange",
    chainId: ACTION_CHAIN_ID,
    decode: () => NOTHING,
  },
];

/** Letters of names in typed data and of texts that read like the venue's. */
const SIGNED_NAMES = /^(?:exchange$|hyperliquid)/;
const SIGNED_TYPES = /^hyperliquid|^agent$/;
const SIGNED_TEXTS = ["hyperliquidtransaction", "hyperliquidsigntransaction"];
const LIKENESS = { domain: SIGNED_NAMES, type: SIGNED_TYPES, chainIds: [ACTION_CHAIN_ID] };

export const custodyActs: RoomActs<Act> = {
  acts: ACTS,
  readTypedData: (typed) => readKnownAct(TABLE, LIKENESS, typed),
  readText: (text, letters) => readKnownText<Act>(null, SIGNED_TEXTS, { text, letters }),
};
