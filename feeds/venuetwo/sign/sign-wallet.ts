/**
 * What the main wallet (never an agent) signs or sends for venuetwo: agent management, key registration, withdrawal,
 * deposit calldata, and the request rule that V3 had until March 2026 (sheet sections 4.3, 4.4, 9). Pure.
 */
import { utf8ToBytes } from "@noble/hashes/utils";
import {
  encodeCall,
  encodeTypeString,
  hashDomain,
  hashPersonalMessage,
  hashStruct,
  hashTypedData,
  keccak256,
  signDigestHex,
  writeAddressWord,
  writeUintWord,
  ZERO_ADDRESS,
  type TypedDomain,
  type TypedField,
  type TypedValue,
} from "../../shared/sign/eip712.js";
import { messageDomainSeparator } from "./sign.js";

/** Everything a check can compare: each stage of a typed-data signature. */
export interface TypedSignature {
  readonly typeString: string;
  readonly domainSeparator: Uint8Array;
  readonly structHash: Uint8Array;
  readonly digest: Uint8Array;
  readonly signature: string;
}

/** Chain whose wallet signs management calls (sheet 4.3). */
export const MANAGEMENT_CHAIN_ID = 56;

export const MESSAGE_FIELDS: readonly TypedField[] = [{ name: "msg", type: "string" }];

export type ManagementParams = Readonly<Record<string, string | number | boolean>>;

/** Field list of a management call: the sent parameters in order, first letter raised; text, whole numbers, truth values. */
export function managementFields(params: ManagementParams): readonly TypedField[] {
  return Object.entries(params).map(([name, value]) => ({
    name: raiseFirst(name),
    type: typeof value === "string" ? "string" : typeof value === "number" ? "uint256" : "bool",
  }));
}

/** The sent parameters under the names of their fields. */
export function managementMessage(params: ManagementParams): ManagementParams {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [raiseFirst(name), value]));
}

/** `primaryType` is ApproveAgent, UpdateAgent or DelAgent. */
export function signManagement(primaryType: string, params: ManagementParams, privateKey: Uint8Array): TypedSignature {
  const message = managementMessage(params);
  return signTyped(
    messageDomainSeparator(MANAGEMENT_CHAIN_ID),
    primaryType,
    managementFields(params),
    message,
    privateKey,
  );
}

export interface RegisterAgentParams {
  readonly user: string;
  readonly nonce: string;
  readonly agentName: string;
  readonly agentAddress: string;
  readonly expired: string;
  readonly canSpotTrade: boolean;
  readonly canPerpTrade: boolean;
  readonly canWithdraw: boolean;
  /** Blank-separated; required when canWithdraw. */
  readonly ipWhitelist: string;
}

/** The text that registers and approves an agent in one call; raw, not percent-encoded, as the venue's page prints it. */
export function registerAgentMessage(params: RegisterAgentParams): string {
  return (
    `user=${params.user}&nonce=${params.nonce}&agentName=${params.agentName}&agentAddress=${params.agentAddress}` +
    `&expired=${params.expired}&signatureChainId=${MANAGEMENT_CHAIN_ID}&canSpotTrade=${params.canSpotTrade}` +
    `&canPerpTrade=${params.canPerpTrade}&canWithdraw=${params.canWithdraw}&ipWhitelist=${params.ipWhitelist}`
  );
}

/** `Message(string msg)` by the main wallet in the domain of `chainId`. */
export function signWalletMessage(message: string, chainId: number, privateKey: Uint8Array): TypedSignature {
  return signTyped(messageDomainSeparator(chainId), "Message", MESSAGE_FIELDS, { msg: message }, privateKey);
}

export interface WithdrawAction {
  readonly chainId: number;
  readonly asset: string;
  /** Decimal text in token units, identical to the text sent. */
  readonly amount: string;
  readonly fee: string;
  readonly receiver: string;
  /** Microseconds as digits. */
  readonly nonce: string;
}

/** Chains that withdrawals may name, as the signed text spells them. */
export const WITHDRAW_CHAINS: Readonly<Record<number, string>> = { 1: "ETH", 56: "BSC", 42161: "Arbitrum" };

/** Two names hold a blank: that is how the venue hashes them. */
const WITHDRAW_FIELDS: readonly TypedField[] = [
  { name: "type", type: "string" },
  { name: "destination", type: "address" },
  { name: "destination Chain", type: "string" },
  { name: "token", type: "string" },
  { name: "amount", type: "string" },
  { name: "fee", type: "string" },
  { name: "nonce", type: "uint256" },
  { name: "aster chain", type: "string" },
];

/** What a wallet signs of a withdrawal. Throws RangeError where the venue pays nothing out on the chain. */
export function withdrawTypedData(action: WithdrawAction) {
  const chainName = WITHDRAW_CHAINS[action.chainId];
  if (chainName === undefined) throw new RangeError(`chain ${action.chainId} takes no withdrawals`);
  const domain: TypedDomain = { name: "Aster", version: "1", chainId: action.chainId, verifyingContract: ZERO_ADDRESS };
  const message = {
    type: "Withdraw",
    destination: action.receiver,
    "destination Chain": chainName,
    token: action.asset,
    amount: action.amount,
    fee: action.fee,
    nonce: action.nonce,
    // The only value that the venue's page shows, for its test network too.
    "aster chain": "Mainnet",
  };
  return { domain, primaryType: "Action", fields: WITHDRAW_FIELDS, message } as const;
}

export function signWithdraw(action: WithdrawAction, privateKey: Uint8Array): TypedSignature {
  const { domain, primaryType, fields, message } = withdrawTypedData(action);
  return signTyped(hashDomain(domain), primaryType, fields, message, privateKey);
}

/** Text that a wallet signs to create a V1 key or to log in (sheet 9.1). */
export function signInMessage(nonce: string): string {
  return `You are signing into Astherus ${nonce}`;
}

export function signPersonal(
  message: string,
  privateKey: Uint8Array,
): { readonly messageHash: Uint8Array; readonly signature: string } {
  const messageHash = hashPersonalMessage(utf8ToBytes(message));
  return { messageHash, signature: signDigestHex(messageHash, privateKey) };
}

export interface LegacyRequest {
  readonly user: string;
  readonly signer: string;
  readonly nonce: bigint;
  /** Values become text. */
  readonly params: Readonly<Record<string, string | number | boolean>>;
}

/** The V3 rule before EIP-712: keccak of abi.encode(sorted JSON, user, signer, nonce), signed as a personal message. */
export function signLegacyRequest(
  request: LegacyRequest,
  privateKey: Uint8Array,
): { readonly json: string; readonly abiEncoded: Uint8Array; readonly hash: Uint8Array; readonly signature: string } {
  const sorted = Object.entries(request.params).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  const json = JSON.stringify(Object.fromEntries(sorted.map(([name, value]) => [name, String(value)])));
  const text = utf8ToBytes(json);
  // Four head words, then the length and the text padded to whole words.
  const abiEncoded = new Uint8Array(32 * (5 + Math.ceil(text.length / 32)));
  const word = (index: number): Uint8Array => abiEncoded.subarray(32 * index, 32 * (index + 1));
  writeUintWord(128n, 256, word(0));
  writeAddressWord(request.user, word(1));
  writeAddressWord(request.signer, word(2));
  writeUintWord(request.nonce, 256, word(3));
  writeUintWord(BigInt(text.length), 256, word(4));
  abiEncoded.set(text, 160);
  const hash = keccak256(abiEncoded);
  return { json, abiEncoded, hash, signature: signDigestHex(hashPersonalMessage(hash), privateKey) };
}

/** Functions of the deposit path (sheet 9.4) with their selectors. */
const DEPOSIT_SELECTORS = { approve: "0x095ea7b3", deposit: "0x0efe6a8b", depositNative: "0x608fc37a" } as const;

export function approveCalldata(spender: string, amountRaw: bigint): string {
  return encodeCall(DEPOSIT_SELECTORS.approve, [{ address: spender }, { uint: amountRaw }]);
}

export function depositCalldata(currency: string, amountRaw: bigint, broker: bigint): string {
  return encodeCall(DEPOSIT_SELECTORS.deposit, [{ address: currency }, { uint: amountRaw }, { uint: broker }]);
}

/** Sent with `amount` as the transaction's value. */
export function depositNativeCalldata(broker: bigint): string {
  return encodeCall(DEPOSIT_SELECTORS.depositNative, [{ uint: broker }]);
}

function signTyped(
  domainSeparator: Uint8Array,
  primaryType: string,
  fields: readonly TypedField[],
  message: Readonly<Record<string, TypedValue>>,
  privateKey: Uint8Array,
): TypedSignature {
  const structHash = hashStruct(primaryType, fields, message);
  const digest = hashTypedData(domainSeparator, structHash);
  return {
    typeString: encodeTypeString(primaryType, fields),
    domainSeparator,
    structHash,
    digest,
    signature: signDigestHex(digest, privateKey),
  };
}

function raiseFirst(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
