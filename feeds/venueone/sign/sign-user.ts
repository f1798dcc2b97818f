/**
 * Signatures of venueone's user-signed actions (withdraw, send, approve an agent) and the calldata of a permit
 * deposit. Pure. Only the account's own key signs these: signed by an agent they act on the agent's empty account.
 */
import {
  encodeCall,
  fromHex,
  hashDomain,
  hashStruct,
  hashTypedData,
  toHex,
  writeAddressWord,
  writeUintWord,
  type TypedDomain,
  type TypedField,
  type TypedValue,
} from "../../shared/sign/eip712.js";
import { secp256k1 } from "../../shared/sign/secp256k1.js";
import type { WireSignature } from "./sign.js";
import { isUserActionType, USER_ACTION_TYPES, userActionDomain } from "./typed-data.js";

export type UserAction = Readonly<Record<string, TypedValue>>;

/** Digest of a typed struct under a domain. */
export function typedDigest(
  domain: TypedDomain,
  primaryType: string,
  fields: readonly TypedField[],
  message: UserAction,
): Uint8Array {
  return hashTypedData(hashDomain(domain), hashStruct(primaryType, fields, message));
}

/** Digest of a user-signed action by its `type`. Throws TypeError for an action the venue has no type for. */
export function userActionDigest(action: UserAction): Uint8Array {
  const { type, signatureChainId } = action;
  if (typeof type !== "string" || !isUserActionType(type)) throw new TypeError("not a user-signed action");
  if (typeof signatureChainId !== "string") throw new TypeError("signatureChainId is missing");
  const { primaryType, fields } = USER_ACTION_TYPES[type];
  return typedDigest(userActionDomain(signatureChainId), primaryType, fields, action);
}

export function signDigest(digest: Uint8Array, privateKey: Uint8Array): WireSignature {
  const rs = new Uint8Array(64);
  const recoveryId = secp256k1.sign(digest, privateKey, rs);
  const hex = toHex(rs);
  return { r: hex.slice(0, 66), s: `0x${hex.slice(66)}`, v: 27 + recoveryId };
}

/** @testonly The wallet's own actions, held to the venue's vectors. */
export function signUserAction(action: UserAction, privateKey: Uint8Array): WireSignature {
  return signDigest(userActionDigest(action), privateKey);
}

export interface PermitDeposit {
  readonly user: string;
  readonly usdcE6: bigint;
  readonly deadlineS: bigint;
  readonly signature: WireSignature;
}

/** `batchedDepositWithPermit((address,uint64,uint64,(uint256,uint256,uint8))[])` with one deposit (sheet 10.1). */
export function permitDepositCalldata(deposit: PermitDeposit): string {
  // Head: offset of the array and its length; the tuple is static, so its six words follow inline.
  const head = encodeCall("0xb30b5bce", [{ uint: 32n }, { uint: 1n }]);
  const tuple = new Uint8Array(6 * 32);
  const word = (index: number): Uint8Array => tuple.subarray(32 * index, 32 * (index + 1));
  writeAddressWord(deposit.user, word(0));
  writeUintWord(deposit.usdcE6, 64, word(1));
  writeUintWord(deposit.deadlineS, 64, word(2));
  word(3).set(fromHex(deposit.signature.r.slice(2).padStart(64, "0")));
  word(4).set(fromHex(deposit.signature.s.slice(2).padStart(64, "0")));
  writeUintWord(BigInt(deposit.signature.v), 8, word(5));
  return head + toHex(tuple).slice(2);
}
