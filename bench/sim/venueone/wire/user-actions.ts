/**
 * User-signed actions: the EIP-712 type of each, and typed reading. The typed-data message consists of exactly the
 * fields of the type, taken from the action itself, so JSON key order never matters.
 */
import type { JsonNode } from "./json.js";
import { mismatch, readAddress, readBool, readOneOf, readStruct, readText, readUint, type Struct } from "./shape.js";

export type FieldType = "string" | "address" | "bool" | "uint64";
export interface TypedField {
  readonly name: string;
  readonly type: FieldType;
}
export type TypedMessage = Readonly<Record<string, string | boolean | bigint>>;

interface UserBase {
  readonly family: "user";
  /** Chain the wallet signed on, from `signatureChainId`; any is accepted. */
  readonly chainId: number;
  readonly primaryType: string;
  /** Fields after `hyperliquidChain`. The chain text itself is replaced by the venue's own network when hashing. */
  readonly fields: readonly TypedField[];
  readonly message: TypedMessage;
  /** The `time` or `nonce` inside the action; must equal the envelope's nonce. */
  readonly innerNonce: number;
}

export type UserAction = UserBase &
  (
    | { readonly type: "usdSend" | "withdraw3"; readonly destination: string; readonly amount: string }
    | { readonly type: "spotSend"; readonly destination: string; readonly token: string; readonly amount: string }
    | { readonly type: "usdClassTransfer"; readonly amount: string; readonly toPerp: boolean }
    | {
        readonly type: "sendAsset";
        readonly destination: string;
        readonly sourceDex: string;
        readonly destinationDex: string;
        readonly token: string;
        readonly amount: string;
        readonly fromSubAccount: string;
      }
    | { readonly type: "approveAgent"; readonly agentAddress: string; readonly agentName: string }
    | { readonly type: "approveBuilderFee"; readonly maxFeeRate: string; readonly builder: string }
    | { readonly type: "userSetAbstraction"; readonly user: string; readonly abstraction: string }
  );

export type UserActionType = UserAction["type"];

interface UserActionSpec {
  readonly primaryType: string;
  readonly fields: readonly TypedField[];
  readonly nonceKey: "time" | "nonce";
}

const text = (name: string): TypedField => ({ name, type: "string" });
const address = (name: string): TypedField => ({ name, type: "address" });
const uint64 = (name: string): TypedField => ({ name, type: "uint64" });

const SPECS: Readonly<Record<UserActionType, UserActionSpec>> = {
  usdSend: {
    primaryType: "HyperliquidTransaction:UsdSend",
    fields: [text("destination"), text("amount"), uint64("time")],
    nonceKey: "time",
  },
  withdraw3: {
    primaryType: "HyperliquidTransaction:Withdraw",
    fields: [text("destination"), text("amount"), uint64("time")],
    nonceKey: "time",
  },
  spotSend: {
    primaryType: "HyperliquidTransaction:SpotSend",
    fields: [text("destination"), text("token"), text("amount"), uint64("time")],
    nonceKey: "time",
  },
  usdClassTransfer: {
    primaryType: "HyperliquidTransaction:UsdClassTransfer",
    fields: [text("amount"), { name: "toPerp", type: "bool" }, uint64("nonce")],
    nonceKey: "nonce",
  },
  sendAsset: {
    primaryType: "HyperliquidTransaction:SendAsset",
    fields: [
      text("destination"),
      text("sourceDex"),
      text("destinationDex"),
      text("token"),
      text("amount"),
      text("fromSubAccount"),
      uint64("nonce"),
    ],
    nonceKey: "nonce",
  },
  approveAgent: {
    primaryType: "HyperliquidTransaction:ApproveAgent",
    fields: [address("agentAddress"), text("agentName"), uint64("nonce")],
    nonceKey: "nonce",
  },
  approveBuilderFee: {
    primaryType: "HyperliquidTransaction:ApproveBuilderFee",
    fields: [text("maxFeeRate"), address("builder"), uint64("nonce")],
    nonceKey: "nonce",
  },
  userSetAbstraction: {
    primaryType: "HyperliquidTransaction:UserSetAbstraction",
    fields: [address("user"), text("abstraction"), uint64("nonce")],
    nonceKey: "nonce",
  },
};

export const USER_ACTION_TYPES: readonly string[] = Object.keys(SPECS);

export function isUserActionType(type: string): type is UserActionType {
  return Object.hasOwn(SPECS, type);
}

/** Throws the shape mismatch of shape.ts on anything untypeable. */
export function decodeUserAction(type: UserActionType, node: JsonNode): UserAction {
  const spec = SPECS[type];
  const keys = ["type", "signatureChainId", "hyperliquidChain", ...spec.fields.map((field) => field.name)];
  const struct = readStruct(node, keys, "refuse");
  const chain = readOneOf(struct.required("hyperliquidChain"), ["Mainnet", "Testnet"]);
  const innerNonce = readUint(struct.required(spec.nonceKey));
  const message: Record<string, string | boolean | bigint> = { hyperliquidChain: chain };
  for (const field of spec.fields) message[field.name] = readField(struct, field);
  const base = {
    family: "user" as const,
    chainId: readChainId(struct.required("signatureChainId")),
    primaryType: spec.primaryType,
    fields: spec.fields,
    message,
    innerNonce,
  };
  const named = (name: string): string => String(message[name]);
  switch (type) {
    case "usdSend":
    case "withdraw3":
      return { ...base, type, destination: named("destination"), amount: named("amount") };
    case "spotSend":
      return { ...base, type, destination: named("destination"), token: named("token"), amount: named("amount") };
    case "usdClassTransfer":
      return { ...base, type, amount: named("amount"), toPerp: message.toPerp === true };
    case "sendAsset":
      return {
        ...base,
        type,
        destination: named("destination"),
        sourceDex: named("sourceDex"),
        destinationDex: named("destinationDex"),
        token: named("token"),
        amount: named("amount"),
        fromSubAccount: named("fromSubAccount"),
      };
    case "approveAgent":
      return { ...base, type, agentAddress: named("agentAddress"), agentName: named("agentName") };
    case "approveBuilderFee":
      return { ...base, type, maxFeeRate: named("maxFeeRate"), builder: named("builder") };
    case "userSetAbstraction":
      return { ...base, type, user: named("user"), abstraction: named("abstraction") };
  }
}

function readField(struct: Struct, field: TypedField): string | boolean | bigint {
  // An unnamed agent signs the empty name; some clients then omit the key from the JSON.
  if (field.name === "agentName") {
    const node = struct.optional("agentName");
    return node === undefined ? "" : readText(node);
  }
  const node = struct.required(field.name);
  switch (field.type) {
    case "address":
      return readAddress(node);
    case "bool":
      return readBool(node);
    case "uint64":
      return BigInt(readUint(node));
    case "string":
      // A destination is typed as an address by the venue and hashed as its lower-case text.
      return field.name === "destination" ? readAddress(node) : readText(node);
  }
}

function readChainId(node: JsonNode): number {
  const digits = /^0x([0-9a-fA-F]{1,13})$/.exec(readText(node))?.[1];
  if (digits === undefined) mismatch("hex chain id expected");
  const chainId = Number.parseInt(digits, 16);
  return Number.isSafeInteger(chainId) ? chainId : mismatch("chain id out of range");
}
