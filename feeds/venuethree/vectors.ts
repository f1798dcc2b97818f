/** Vectors of venuethree: its signing and encoding against what no code of ours made, one check per kind of entry. */
import {
  addPoints,
  decode,
  encode,
  multiplyGenerator,
  multiplyPoint,
  neutral,
  ORDER,
  type Point,
  scalarFromBytes,
  scalarToBytes,
} from "./sign/curve.js";
import * as base from "./sign/goldilocks.js";
import { hash, hashToQuintic, permute, WIDTH } from "./sign/poseidon2.js";
import * as quintic from "./sign/quintic.js";
import { nonceOf, publicKeyOf, signMessage, verifySignature } from "./sign/schnorr.js";
import { foldDigests, hashText, hashTransaction, type TxAttributes, type TxFields } from "./sign/tx.js";
import { authMessage, changePublicKeyMessage, signAuthToken, signTransaction } from "./sign/sign.js";
import {
  expectEqual,
  expectTrue,
  isObject,
  type Vector,
  VectorMismatch,
  type VectorChecks,
} from "../shared/sign/vector.js";

export const vectors: VectorChecks = {
  "goldilocks-field": checkBaseField,
  "quintic-field": checkQuinticField,
  "scalar-field": checkScalarField,
  "poseidon2-permute": checkPermutation,
  "poseidon2-hash-n-to-m": checkHashElements,
  "poseidon2-hash-to-quintic": checkHashToQuintic,
  "poseidon2-fold-4": checkFold,
  "ecgfp5-decode": checkDecode,
  "ecgfp5-add": checkAddition,
  "ecgfp5-scalar-mul": checkMultiple,
  "public-key": checkPublicKey,
  "schnorr-sign-with-k": checkSchnorr,
  "tx-sign-with-k": checkSignedTransaction,
  "tx-createOrder": checkTransaction,
  "tx-cancelOrder": checkTransaction,
  "tx-cancelAllOrders": checkTransaction,
  "tx-modifyOrder": checkTransaction,
  "tx-updateLeverage": checkTransaction,
  "tx-updateMargin": checkTransaction,
  "tx-withdraw": checkTransaction,
  "tx-createGroupedOrders": checkTransaction,
  "tx-createSubAccount": checkTransaction,
  "tx-changePubKey": checkTransaction,
  "tx-transfer": checkTransaction,
  "tx-approveIntegrator": checkTransaction,
  "tx-invalid-signature": checkTransaction,
  "auth-token": checkAuthToken,
  "auth-token-with-k": checkAuthTokenWithK,
  "change-pub-key-l1-message": checkChangeKeyMessage,
};

function wordsOf(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, index) => view.getUint32(4 * index, true));
}

function bytesOf(words: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(4 * words.length);
  const view = new DataView(bytes.buffer);
  for (const [index, word] of words.entries()) view.setUint32(4 * index, word, true);
  return bytes;
}

function words(vector: Vector, name: string): Uint32Array {
  return wordsOf(vector.bytes(name));
}

function checkBaseField(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["add", "sub", "mul", "neg_a", "inv_a", "pow_a_e"]);
  const input = vector.object("input");
  const a = words(input, "a");
  const b = words(input, "b");
  const result = (compute: (out: Uint32Array) => void): Uint8Array => {
    const out = new Uint32Array(2);
    compute(out);
    return bytesOf(out);
  };
  expected.expectHex(
    "add",
    result((out) => base.add(out, 0, a, 0, b, 0)),
  );
  expected.expectHex(
    "sub",
    result((out) => base.subtract(out, 0, a, 0, b, 0)),
  );
  expected.expectHex(
    "mul",
    result((out) => base.multiply(out, 0, a, 0, b, 0)),
  );
  expected.expectHex(
    "neg_a",
    result((out) => base.subtract(out, 0, new Uint32Array(2), 0, a, 0)),
  );
  expected.expectHex(
    "inv_a",
    result((out) => base.invert(out, 0, a, 0)),
  );
  expected.expectHex(
    "pow_a_e",
    result((out) => base.power(out, 0, a, 0, BigInt(input.text("e")))),
  );
}

function checkQuinticField(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["add", "sub", "mul", "neg_a", "inv_a", "pow_a_e"]);
  const input = vector.object("input");
  const a = words(input, "a");
  const b = words(input, "b");
  const result = (compute: (out: Uint32Array) => void): Uint8Array => {
    const out = new Uint32Array(quintic.QUINTIC_WORDS);
    compute(out);
    return quintic.toBytes(out);
  };
  expected.expectHex(
    "add",
    result((out) => quintic.add(out, a, b)),
  );
  expected.expectHex(
    "sub",
    result((out) => quintic.subtract(out, a, b)),
  );
  expected.expectHex(
    "mul",
    result((out) => quintic.multiply(out, a, b)),
  );
  expected.expectHex(
    "neg_a",
    result((out) => quintic.negate(out, a)),
  );
  expected.expectHex(
    "inv_a",
    result((out) => quintic.invert(out, a)),
  );
  expected.expectHex(
    "pow_a_e",
    result((out) => quintic.power(out, a, BigInt(input.text("e")))),
  );
}

function checkScalarField(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["add", "sub", "mul", "negA"]);
  const a = scalarFromBytes(vector.object("input").bytes("a"));
  const b = scalarFromBytes(vector.object("input").bytes("b"));
  expected.expectHex("add", scalarBytes((a + b) % ORDER));
  expected.expectHex("sub", scalarBytes((a + ORDER - b) % ORDER));
  expected.expectHex("mul", scalarBytes((a * b) % ORDER));
  expected.expectHex("negA", scalarBytes((ORDER - a) % ORDER));
}

function scalarBytes(scalar: bigint): Uint8Array {
  const out = new Uint8Array(40);
  scalarToBytes(out, 0, scalar);
  return out;
}

function checkPermutation(vector: Vector): void {
  const state = words(vector.object("input"), "state");
  expectTrue(state.length === 2 * WIDTH, "the state has another width");
  permute(state);
  const expected = vector.object("expected");
  expected.allowOnly(["state"]);
  expected.expectHex("state", bytesOf(state));
}

function checkHashElements(vector: Vector): void {
  const input = vector.object("input");
  const elements = words(input, "elements");
  const expected = vector.object("expected");
  expected.allowOnly(["elements"]);
  expected.expectHex("elements", bytesOf(hash(elements, elements.length / 2, input.integer("numOutputs"))));
}

function checkHashToQuintic(vector: Vector): void {
  const elements = words(vector.object("input"), "elements");
  const expected = vector.object("expected");
  expected.allowOnly(["element5"]);
  expected.expectHex("element5", bytesOf(hashToQuintic(elements, elements.length / 2)));
}

function checkFold(vector: Vector): void {
  const digests = vector
    .object("input")
    .list("digests")
    .map((digest) => wordsOf(Buffer.from(String(digest), "hex")));
  const expected = vector.object("expected");
  expected.allowOnly(["digest"]);
  expected.expectHex("digest", bytesOf(foldDigests(digests)));
}

function checkDecode(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["decodes", "isNeutral", "encodedBack"]);
  const point = decode(words(vector.object("input"), "w"));
  expectTrue((point !== null) === expected.flag("decodes"), "decodes");
  if (point === null) return;
  const back = quintic.toBytes(encode(point));
  if (expected.has("isNeutral"))
    expectTrue(back.every((byte) => byte === 0) === expected.flag("isNeutral"), "isNeutral");
  expected.expectHex("encodedBack", back);
}

function point(vector: Vector, name: string): Point {
  const found = decode(words(vector, name));
  if (found === null) throw new VectorMismatch(`${name} does not decode`);
  return found;
}

function checkAddition(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["sum", "doubleA"]);
  const a = point(vector.object("input"), "a");
  const out = neutral();
  addPoints(out, a, point(vector.object("input"), "b"));
  expected.expectHex("sum", quintic.toBytes(encode(out)));
  addPoints(out, a, a);
  expected.expectHex("doubleA", quintic.toBytes(encode(out)));
}

function checkMultiple(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["result"]);
  const scalar = scalarFromBytes(vector.object("input").bytes("scalar"));
  expected.expectHex("result", quintic.toBytes(encode(multiplyPoint(point(vector.object("input"), "base"), scalar))));
}

function checkPublicKey(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["publicKey", "canonicalPrivateKey"]);
  const key = vector.bytes("privateKey");
  expected.expectHex("publicKey", publicKeyOf(key));
  expected.expectHex("canonicalPrivateKey", scalarBytes(scalarFromBytes(key)));
  // Two ways to the same multiple: the table of the order path and plain doubling.
  const scalar = scalarFromBytes(key);
  expected.expectHex("publicKey", quintic.toBytes(encode(multiplyGenerator(scalar))));
}

function checkSchnorr(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["signature", "publicKey"]);
  const input = vector.object("input");
  const key = vector.bytes("privateKey");
  const message = words(input, "hashedMessage");
  const signature = signMessage(message, key, nonceOf(scalarFromBytes(input.bytes("k"))));
  expected.expectHex("signature", signature);
  expected.expectHex("publicKey", publicKeyOf(key));
  expectTrue(verifySignature(message, signature, expected.bytes("publicKey")), "our own signature does not verify");
}

interface ParsedTransaction {
  readonly fields: TxFields;
  readonly attributes: TxAttributes | null;
  readonly signature: Uint8Array | null;
}

/** Integers beyond 2^53 become bigint: JSON.parse alone would round them. */
function parseTransaction(text: string): ParsedTransaction {
  const exact = text.replace(/([:[,])(-?\d{16,})(?=[,\]}])/g, '$1{"integer":"$2"}');
  const parsed: unknown = JSON.parse(exact, (_key, value: unknown) =>
    isObject(value) && typeof value["integer"] === "string" ? BigInt(value["integer"]) : value,
  );
  if (!isObject(parsed)) throw new VectorMismatch("the transaction is no object");
  const { Sig, L2TxAttributes, ...fields } = parsed;
  const attributes = isObject(L2TxAttributes)
    ? new Map(Object.entries(L2TxAttributes).map(([code, value]) => [Number(code), BigInt(value as number)]))
    : null;
  return {
    fields: fields as TxFields,
    attributes,
    signature: typeof Sig === "string" ? Buffer.from(Sig, "base64") : null,
  };
}

function checkTransaction(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["txHash", "publicKey", "signature", "signatureValid"]);
  const input = vector.object("input");
  const { fields, attributes, signature } = parseTransaction(input.text("txInfo"));
  const message = hashTransaction(input.integer("chainId"), input.integer("txType"), fields, attributes);
  expected.expectHex("txHash", quintic.toBytes(message));
  const key = vector.bytes("privateKey");
  expected.expectHex("publicKey", publicKeyOf(key));
  const judged = input.has("signature") ? input.bytes("signature") : signature;
  if (judged === null) throw new VectorMismatch("no signature to judge");
  expected.expectHex("signature", judged);
  expectTrue(
    verifySignature(message, judged, expected.bytes("publicKey")) === expected.flag("signatureValid"),
    "signatureValid",
  );
  // What we sign for the same payload verifies, and prints as the venue's own signer prints it.
  const ours = signTransaction(input.integer("chainId"), input.integer("txType"), fields, attributes, key);
  expectTrue(verifySignature(message, ours.signature, expected.bytes("publicKey")), "our own signature");
}

function checkSignedTransaction(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["txHash", "publicKey", "signature", "txInfo"]);
  const input = vector.object("input");
  const { fields, attributes } = parseTransaction(input.text("tx"));
  const key = vector.bytes("privateKey");
  const signed = signTransaction(
    input.integer("chainId"),
    input.integer("txType"),
    fields,
    attributes,
    key,
    nonceOf(scalarFromBytes(input.bytes("k"))),
  );
  expected.expectHex("txHash", signed.hash);
  expected.expectHex("publicKey", publicKeyOf(key));
  expected.expectHex("signature", signed.signature);
  expected.expectText("txInfo", signed.text);
}

function checkAuthToken(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["message", "messageHash", "publicKey", "signature", "signatureValid"]);
  const input = vector.object("input");
  const key = vector.bytes("privateKey");
  const message = authMessage(input.integer("deadline"), input.integer("accountIndex"), input.integer("apiKeyIndex"));
  expected.expectText("message", message);
  const hashed = hashText(message);
  expected.expectHex("messageHash", quintic.toBytes(hashed));
  expected.expectHex("publicKey", publicKeyOf(key));
  expectEqual("token", input.text("token"), `${message}:${expected.text("signature")}`);
  expectTrue(
    verifySignature(hashed, expected.bytes("signature"), expected.bytes("publicKey")) ===
      expected.flag("signatureValid"),
    "signatureValid",
  );
}

function checkAuthTokenWithK(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["messageHash", "token", "publicKey"]);
  const input = vector.object("input");
  const key = vector.bytes("privateKey");
  expected.expectHex("messageHash", quintic.toBytes(hashText(input.text("message"))));
  expected.expectText("token", signAuthToken(input.text("message"), key, nonceOf(scalarFromBytes(input.bytes("k")))));
  expected.expectHex("publicKey", publicKeyOf(key));
}

function checkChangeKeyMessage(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["message", "publicKey"]);
  const input = vector.object("input");
  const publicKey = publicKeyOf(vector.bytes("privateKey"));
  expected.expectHex("publicKey", publicKey);
  expected.expectText(
    "message",
    changePublicKeyMessage(
      Buffer.from(publicKey).toString("hex"),
      input.integer("nonce"),
      input.integer("accountIndex"),
      input.integer("apiKeyIndex"),
    ),
  );
}
