/** Vectors of venuefour: its signing and encoding against what no code of ours made, one check per kind of entry. */
import { toHex } from "../shared/sign/eip712.js";
import { decodeBase58 } from "./sign/base58.js";
import {
  canonicalJson,
  isAddress,
  isExpired,
  OPERATION_PATHS,
  type Operation,
  type OperationType,
  readPrivateKey,
  type SignedFields,
  signedBody,
  signedFrame,
  signedMessage,
  type SigningKey,
  verifySignature,
} from "./sign/sign.js";
import { expectEqual, expectTrue, type Vector, VectorMismatch, type VectorChecks } from "../shared/sign/vector.js";

export const vectors: VectorChecks = {
  "signed-request": checkSignedRequest,
  "signed-ws-frame": checkSignedFrame,
  "canonical-message": checkCanonicalMessage,
  verify: checkVerify,
  expiry: checkExpiry,
  "key-pair": checkKeyPair,
  "key-pair-invalid": checkInvalidKeyPair,
  "wallet-address": checkWalletAddress,
};

const API_ROOT = "/api/v1";

function checkSignedRequest(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly([
    "message",
    "messageUtf8Hex",
    "signature",
    "signatureHex",
    "signerPublicKey",
    "restPath",
    "restBody",
  ]);
  const operation = operationOf(vector);
  const key = keyOf(vector);
  const signature = expectSigned(expected, operation, key);
  expectHexDigits("messageUtf8Hex", expected, Buffer.from(signedMessage(operation), "utf8"));
  expectHexDigits("signatureHex", expected, decodeBase58(signature) ?? new Uint8Array());
  if (expected.has("restPath")) expected.expectText("restPath", API_ROOT + OPERATION_PATHS[operation.type]);
  if (expected.has("restBody"))
    expectSame("restBody", signedBody(operation, vector.text("account"), key), expected.object("restBody"));
}

function checkSignedFrame(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["message", "signature", "signerPublicKey", "wsFrame"]);
  const operation = operationOf(vector);
  const key = keyOf(vector);
  expectSigned(expected, operation, key);
  const frame = signedFrame(operation, vector.text("account"), key, vector.text("requestId"));
  expectSame("wsFrame", frame, expected.object("wsFrame"));
}

function checkCanonicalMessage(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["message"]);
  expectEqual("message", signedMessage(operationOf(vector)), expected.text("message"));
}

function checkVerify(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["signatureValid", "why"]);
  const message = signedMessage(operationOf(vector));
  const verdict = verifySignature(message, vector.text("signature"), vector.text("signerPublicKey"));
  expectEqual("signatureValid", String(verdict === "valid"), String(expected.flag("signatureValid")));
}

function checkExpiry(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["expired", "why"]);
  const actual = isExpired(vector.integer("timestamp"), vector.integer("expiryWindow"), vector.integer("now"));
  expectEqual("expired", String(actual), String(expected.flag("expired")));
}

function checkKeyPair(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["seedHex", "publicKey", "publicKeyHex", "privateKeyBytes"]);
  const text = vector.text("privateKey");
  const read = readPrivateKey(text);
  if (read === null) throw new VectorMismatch("privateKey was refused");
  expectEqual("publicKey", read.key.publicKey, expected.text("publicKey"));
  expectEqual("privateKeyBytes", String(read.byteCount), String(expected.integer("privateKeyBytes")));
  expectHexDigits("publicKeyHex", expected, decodeBase58(read.key.publicKey) ?? new Uint8Array());
  expectHexDigits("seedHex", expected, (decodeBase58(text) ?? new Uint8Array()).subarray(0, 32));
}

function checkInvalidKeyPair(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["valid", "why"]);
  const isValid = readPrivateKey(vector.text("privateKey")) !== null;
  expectEqual("valid", String(isValid), String(expected.flag("valid")));
}

function checkWalletAddress(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["valid", "decodedLength", "why"]);
  const input = vector.text("input");
  expectEqual("valid", String(isAddress(input)), String(expected.flag("valid")));
  const length = decodeBase58(input)?.length ?? null;
  expectEqual("decodedLength", String(length), String(expected.fields["decodedLength"] ?? null));
}

function operationOf(vector: Vector): Operation {
  const type = vector.text("operationType");
  if (!isOperationType(type)) throw new VectorMismatch(`operation ${type} is not known`);
  return {
    type,
    timestamp: vector.integer("timestamp"),
    expiryWindow: vector.integer("expiryWindow"),
    payload: vector.object("payload").fields as SignedFields,
  };
}

function isOperationType(type: string): type is OperationType {
  return Object.hasOwn(OPERATION_PATHS, type);
}

function keyOf(vector: Vector): SigningKey {
  const read = readPrivateKey(vector.text("privateKey"));
  if (read === null) throw new VectorMismatch("privateKey was refused");
  return read.key;
}

/** The parts that every signed vector states; and what we sign must pass our own verification. */
function expectSigned(expected: Vector, operation: Operation, key: SigningKey): string {
  const message = signedMessage(operation);
  const signature = key.sign(message);
  expectEqual("message", message, expected.text("message"));
  expectEqual("signature", signature, expected.text("signature"));
  expectEqual("signerPublicKey", key.publicKey, expected.text("signerPublicKey"));
  expectTrue(verifySignature(message, signature, key.publicKey) === "valid", "our own signature does not verify");
  return signature;
}

/** Hex without a prefix, where the vector states it. */
function expectHexDigits(name: string, expected: Vector, actual: Uint8Array): void {
  expected.expectText(name, toHex(actual).slice(2));
}

/** Bodies and frames may order their keys as they like: both are compared sorted. */
function expectSame(name: string, actual: SignedFields, expected: Vector): void {
  expectEqual(name, canonicalJson(actual), canonicalJson(expected.fields as SignedFields));
}
