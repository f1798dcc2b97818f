/**
 * The user-signed actions of venueone as EIP-712 types (sheet 5.2, 6.3): what moves money or approves an agent, and
 * what only the account's own key can sign. Field order is the hash's; names carry a colon.
 */
import type { TypedDomain, TypedField } from "../../shared/sign/eip712.js";
import { ZERO_ADDRESS } from "../../shared/sign/eip712.js";

const CHAIN: TypedField = { name: "hyperliquidChain", type: "string" };

function text(...names: readonly string[]): readonly TypedField[] {
  return names.map((name) => ({ name, type: "string" }));
}

function field(name: string, type: string): TypedField {
  return { name, type };
}

export const USER_ACTION_TYPES = {
  usdSend: {
    primaryType: "HyperliquidTransaction:UsdSend",
    fields: [CHAIN, ...text("destination", "amount"), field("time", "uint64")],
  },
  withdraw3: {
    primaryType: "HyperliquidTransaction:Withdraw",
    fields: [CHAIN, ...text("destination", "amount"), field("time", "uint64")],
  },
  spotSend: {
    primaryType: "HyperliquidTransaction:SpotSend",
    fields: [CHAIN, ...text("destination", "token", "amount"), field("time", "uint64")],
  },
  usdClassTransfer: {
    primaryType: "HyperliquidTransaction:UsdClassTransfer",
    fields: [CHAIN, ...text("amount"), field("toPerp", "bool"), field("nonce", "uint64")],
  },
  sendAsset: {
    primaryType: "HyperliquidTransaction:SendAsset",
    fields: [
      CHAIN,
      ...text("destination", "sourceDex", "destinationDex", "token", "amount", "fromSubAccount"),
      field("nonce", "uint64"),
    ],
  },
  approveAgent: {
    primaryType: "HyperliquidTransaction:ApproveAgent",
    fields: [CHAIN, field("agentAddress", "address"), ...text("agentName"), field("nonce", "uint64")],
  },
  approveBuilderFee: {
    primaryType: "HyperliquidTransaction:ApproveBuilderFee",
    fields: [CHAIN, ...text("maxFeeRate"), field("builder", "address"), field("nonce", "uint64")],
  },
  userSetAbstraction: {
    primaryType: "HyperliquidTransaction:UserSetAbstraction",
    fields: [CHAIN, field("user", "address"), ...text("abstraction"), field("nonce", "uint64")],
  },
} as const satisfies Record<string, { readonly primaryType: string; readonly fields: readonly TypedField[] }>;

export type UserActionType = keyof typeof USER_ACTION_TYPES;

export function isUserActionType(text: string): text is UserActionType {
  return Object.hasOwn(USER_ACTION_TYPES, text);
}

/** Fields that a multi-signature inner payload has behind hyperliquidChain. */
export const MULTI_SIG_FIELDS: readonly TypedField[] = [
  field("payloadMultiSigUser", "address"),
  field("outerSigner", "address"),
];

/** `signatureChainId` is hex text in the action; any chain the wallet signs on is accepted by the venue. */
export function userActionDomain(signatureChainId: string): TypedDomain {
  return {
    name: "HyperliquidSignTransaction",
    version: "1",
    chainId: Number(signatureChainId),
    verifyingContract: ZERO_ADDRESS,
  };
}

/** EIP-2612 permit of the bridge's USDC (sheet 10.1). */
export const PERMIT_FIELDS: readonly TypedField[] = [
  field("owner", "address"),
  field("spender", "address"),
  field("value", "uint256"),
  field("nonce", "uint256"),
  field("deadline", "uint256"),
];
