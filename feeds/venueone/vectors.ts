/** Vectors of venueone: its signing and encoding against what no code of ours made, one check per kind of entry. */
import {
  encodeTypeString,
  hashDomain,
  hashStruct,
  hashTypedData,
  recoverAddress,
  toHex,
  type TypedDomain,
  type TypedField,
  type TypedValue,
} from "../shared/sign/eip712.js";
import { packMsgpack, type MsgpackValue } from "./sign/msgpack.js";
import { AGENT_DOMAIN_SEPARATOR, L1Signer, signatureBytes, type WireSignature } from "./sign/sign.js";
import { permitDepositCalldata, signDigest, userActionDigest } from "./sign/sign-user.js";
import {
  isUserActionType,
  MULTI_SIG_FIELDS,
  PERMIT_FIELDS,
  USER_ACTION_TYPES,
  userActionDomain,
} from "./sign/typed-data.js";
import {
  floatToInt,
  floatToWire,
  formatPrice,
  formatSize,
  isValidPrice,
  roundPrice,
  type MarketKind,
} from "./orders/wire-number.js";
import { expectEqual, expectTrue, isObject, Vector, VectorMismatch, type VectorChecks } from "../shared/sign/vector.js";

export const vectors: VectorChecks = {
  l1: checkL1,
  hash: checkHash,
  user: checkUser,
  wire: checkWire,
};

const mainnet = new L1Signer(true);
const testnet = new L1Signer(false);

/** Signed trading action: hash, signature bit for bit, recovery. */
function checkL1(vector: Vector): void {
  const expected = vector.object("expected");
  // venueResponse is the venue's answer to the captured request; there is nothing in it to compute.
  expected.allowOnly(["actionHash", "r", "s", "v", "signer", "venueResponse"]);
  const signer = vector.flag("isMainnet") ? mainnet : testnet;
  const connectionId = vector.has("connectionId") ? vector.bytes("connectionId") : hashOf(vector, signer);
  expected.expectHex("actionHash", connectionId);
  const signature = expectedSignature(expected);
  if (vector.has("privateKey")) {
    expectSignature(signer.signConnectionId(connectionId, vector.bytes("privateKey")), signature);
  } else {
    expectTrue(expected.has("signer"), "neither key nor signer is given");
  }
  const recovered = signer.recover(connectionId, signature);
  expectTrue(recovered !== null, "no signer recovers");
  expected.expectHex("signer", recovered ?? "");
}

function checkHash(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly([
    "actionHash",
    "msgpack",
    "eip712DigestMainnet",
    "eip712DigestTestnet",
    "eip712DomainSeparator",
    "eip712StructHashTestnet",
  ]);
  expected.expectHex("msgpack", packMsgpack(actionOf(vector)));
  expected.expectHex("eip712DomainSeparator", AGENT_DOMAIN_SEPARATOR);
  expected.expectHex("eip712DomainSeparator", hashDomain(AGENT_DOMAIN));
  if (!vector.has("nonce")) return;
  // Copied: the digests below run through the same signer's buffers.
  const connectionId = hashOf(vector, testnet).slice();
  expected.expectHex("actionHash", connectionId);
  const structHash = hashStruct("Agent", AGENT_FIELDS, { source: "b", connectionId: toHex(connectionId) });
  expected.expectHex("eip712StructHashTestnet", structHash);
  expected.expectHex("eip712DigestTestnet", testnet.agentDigest(connectionId));
  expected.expectHex("eip712DigestTestnet", hashTypedData(AGENT_DOMAIN_SEPARATOR, structHash));
  expected.expectHex("eip712DigestMainnet", mainnet.agentDigest(connectionId));
}

function checkUser(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["eip712Digest", "r", "s", "v", "signer", "venueResponse", "batchedDepositWithPermitCalldata"]);
  const action = vector.object("action");
  const fields = vector.list("types").map(typedField);
  const domain = vector.has("domain")
    ? typedDomain(vector.object("domain"))
    : userActionDomain(action.text("signatureChainId"));
  const message = action.fields as Readonly<Record<string, TypedValue>>;
  const primaryType = vector.text("primaryType");
  const digest = hashTypedData(hashDomain(domain), hashStruct(primaryType, fields, message));
  expected.expectHex("eip712Digest", digest);
  checkOwnTable(action, primaryType, fields, message, digest);
  if (!expected.has("r")) return;
  const signature = expectedSignature(expected);
  if (vector.has("privateKey")) expectSignature(signDigest(digest, vector.bytes("privateKey")), signature);
  const recovered = recoverAddress(digest, signatureBytes(signature), signature.v);
  expectTrue(recovered !== null, "no signer recovers");
  expected.expectHex("signer", recovered ?? "");
  if (expected.has("batchedDepositWithPermitCalldata")) {
    const calldata = permitDepositCalldata({
      user: action.text("owner"),
      usdcE6: BigInt(action.text("value")),
      deadlineS: BigInt(action.text("deadline")),
      signature,
    });
    expected.expectHex("batchedDepositWithPermitCalldata", calldata);
  }
}

/** Number texts. A null of ours is the vector's `error`. */
function checkWire(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["result", "valid", "error"]);
  const call = vector.object("action");
  const fn = call.text("fn");
  if (fn === "isValidPrice") {
    expectEqual(
      "valid",
      String(isValidPrice(call.text("price"), call.integer("szDecimals"), marketKind(call))),
      String(expected.flag("valid")),
    );
    return;
  }
  const result = wireResult(fn, call);
  if (expected.has("error")) expectEqual("error", String(result === null), String(expected.flag("error")));
  else expectEqual("result", result ?? "a refusal", expected.text("result"));
}

function wireResult(fn: string, call: Vector): string | null {
  switch (fn) {
    case "floatToWire":
      return floatToWire(call.text("input"));
    case "floatToInt": {
      const value = floatToInt(call.text("input"), call.integer("power"));
      return value === null ? null : String(value);
    }
    case "formatPrice":
      return formatPrice(call.text("price"), call.integer("szDecimals"), marketKind(call));
    case "formatSize":
      return formatSize(call.text("size"), call.integer("szDecimals"));
    case "roundPrice":
      return roundPrice(call.text("price"), call.integer("szDecimals"), marketKind(call));
    default:
      throw new VectorMismatch(`rule ${fn} is not known`);
  }
}

const AGENT_DOMAIN: TypedDomain = {
  name: "Exchange",
  version: "1",
  chainId: 1337,
  verifyingContract: "0x0000000000000000000000000000000000000000",
};

const AGENT_FIELDS: readonly TypedField[] = [
  { name: "source", type: "string" },
  { name: "connectionId", type: "bytes32" },
];

/** The product's own type tables must say the same as the vector's type, also for multi-signature inner payloads. */
function checkOwnTable(
  action: Vector,
  primaryType: string,
  fields: readonly TypedField[],
  message: Readonly<Record<string, TypedValue>>,
  digest: Uint8Array,
): void {
  const type = action.textOrNull("type");
  if (primaryType === "Permit") {
    expectEqual("type string", encodeTypeString("Permit", PERMIT_FIELDS), encodeTypeString(primaryType, fields));
    return;
  }
  if (type === null || !isUserActionType(type)) return;
  const own = USER_ACTION_TYPES[type];
  const isInner = action.has("payloadMultiSigUser");
  const ownFields = isInner ? [...own.fields.slice(0, 1), ...MULTI_SIG_FIELDS, ...own.fields.slice(1)] : own.fields;
  expectEqual("type string", encodeTypeString(own.primaryType, ownFields), encodeTypeString(primaryType, fields));
  if (!isInner) expectEqual("userActionDigest", toHex(userActionDigest(message)), toHex(digest));
}

function hashOf(vector: Vector, signer: L1Signer): Uint8Array {
  return signer.hashAction(
    actionOf(vector),
    vector.integer("nonce"),
    vector.textOrNull("vaultAddress"),
    vector.integerOrNull("expiresAfter"),
  );
}

function actionOf(vector: Vector): MsgpackValue {
  const action = vector.fields["action"];
  if (!isObject(action) && !Array.isArray(action)) throw new VectorMismatch("action is neither object nor list");
  // JSON holds nothing that MessagePack of this venue lacks, fractions apart, which the packer refuses.
  return action as MsgpackValue;
}

function expectedSignature(expected: Vector): WireSignature {
  return { r: expected.text("r"), s: expected.text("s"), v: expected.integer("v") };
}

/** r and s as numbers: some sources strip leading zeros. */
function expectSignature(actual: WireSignature, expected: WireSignature): void {
  expectTrue(BigInt(actual.r) === BigInt(expected.r), `r: got ${actual.r}, expected ${expected.r}`);
  expectTrue(BigInt(actual.s) === BigInt(expected.s), `s: got ${actual.s}, expected ${expected.s}`);
  expectTrue(actual.v === expected.v, `v: got ${actual.v}, expected ${expected.v}`);
}

function typedField(value: unknown): TypedField {
  if (!isObject(value)) throw new VectorMismatch("a type field is not an object");
  const field = new Vector(value);
  return { name: field.text("name"), type: field.text("type") };
}

function typedDomain(domain: Vector): TypedDomain {
  return {
    name: domain.text("name"),
    version: domain.text("version"),
    chainId: domain.integer("chainId"),
    verifyingContract: domain.text("verifyingContract"),
  };
}

function marketKind(call: Vector): MarketKind {
  const kind = call.text("type");
  if (kind !== "perp" && kind !== "spot") throw new VectorMismatch(`market kind ${kind} is not known`);
  return kind;
}
