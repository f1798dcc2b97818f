/** Vectors of venuetwo: its signing and encoding against what no code of ours made, one check per kind of entry. */
import { addressOfPrivateKey } from "../shared/sign/eip712.js";
import { encodeForm, MessageSigner, signHmac, type FormParams } from "./sign/sign.js";
import {
  approveCalldata,
  depositCalldata,
  depositNativeCalldata,
  MANAGEMENT_CHAIN_ID,
  registerAgentMessage,
  signInMessage,
  signLegacyRequest,
  signManagement,
  signPersonal,
  signWalletMessage,
  signWithdraw,
  type ManagementParams,
  type TypedSignature,
} from "./sign/sign-wallet.js";
import { expectEqual, expectTrue, type Vector, VectorMismatch, type VectorChecks } from "../shared/sign/vector.js";

export const vectors: VectorChecks = {
  "hmac-sha256": checkHmac,
  "v3-eip712-message": checkMessage,
  "v3-eip712-management": checkManagement,
  "v3-eip712-register-agent": checkRegisterAgent,
  "v3-legacy-abi-keccak": checkLegacy,
  "eip712-withdraw": checkWithdraw,
  "personal-sign-api-key": checkPersonalSign,
  "deposit-calldata": checkDepositCalldata,
};

const TYPED_EXPECTATIONS = ["address", "typeString", "domainSeparator", "structHash", "digest", "signature"];

function checkHmac(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["signature"]);
  const input = vector.object("input");
  const payload = input.text("payload");
  expectEqual("payload", input.text("queryString") + input.text("body"), payload);
  // The project's own encoder must give the very text that was signed.
  expectEqual("encodeForm", encodeForm(decodeForm(payload)), payload);
  const signature = signHmac(Buffer.from(vector.text("secret"), "utf8"), input.text("queryString"), input.text("body"));
  expected.expectHex("signature", signature);
}

function checkMessage(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(TYPED_EXPECTATIONS);
  const input = vector.object("input");
  const message = encodeForm(
    Object.entries(input.object("params").fields).map(([name, value]) => [name, String(value)]),
  );
  expectEqual("encodedParams", message, input.text("encodedParams"));
  const chainId = input.object("domain").integer("chainId");
  const privateKey = vector.bytes("privateKey");
  // Two paths of ours: the scratch-buffer signer of the order path and the general encoder.
  const signer = new MessageSigner(chainId);
  expected.expectHex("digest", signer.digest(message));
  expected.expectHex("signature", signer.sign(message, privateKey));
  expectTyped(expected, signWalletMessage(message, chainId, privateKey), privateKey);
}

function checkManagement(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(TYPED_EXPECTATIONS);
  const input = vector.object("input");
  const privateKey = vector.bytes("privateKey");
  const params = input.object("params").fields as ManagementParams;
  expectTrue(input.object("domain").integer("chainId") === MANAGEMENT_CHAIN_ID, "domain chain id differs");
  expectTyped(expected, signManagement(input.text("primaryType"), params, privateKey), privateKey);
}

function checkRegisterAgent(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(TYPED_EXPECTATIONS);
  const input = vector.object("input");
  const privateKey = vector.bytes("privateKey");
  const message = input.object("message").text("msg");
  const parts = new Map(
    message.split("&").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]),
  );
  const part = (name: string): string => {
    const value = parts.get(name);
    if (value === undefined) throw new VectorMismatch(`${name} is not in the message`);
    return value;
  };
  const rebuilt = registerAgentMessage({
    user: part("user"),
    nonce: part("nonce"),
    agentName: part("agentName"),
    agentAddress: part("agentAddress"),
    expired: part("expired"),
    canSpotTrade: part("canSpotTrade") === "true",
    canPerpTrade: part("canPerpTrade") === "true",
    canWithdraw: part("canWithdraw") === "true",
    ipWhitelist: part("ipWhitelist"),
  });
  expectEqual("message", rebuilt, message);
  expectTyped(expected, signWalletMessage(rebuilt, input.object("domain").integer("chainId"), privateKey), privateKey);
}

function checkWithdraw(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(TYPED_EXPECTATIONS);
  const input = vector.object("input");
  const privateKey = vector.bytes("privateKey");
  const signed = signWithdraw(
    {
      chainId: input.integer("chainId"),
      asset: input.text("asset"),
      amount: input.text("amount"),
      fee: input.text("fee"),
      receiver: input.text("receiver"),
      nonce: input.text("nonce"),
    },
    privateKey,
  );
  expectTyped(expected, signed, privateKey);
}

function checkPersonalSign(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["address", "messageHash", "signature"]);
  const input = vector.object("input");
  const privateKey = vector.bytes("privateKey");
  const message = signInMessage(input.text("nonce"));
  expectEqual("message", message, input.text("message"));
  const signed = signPersonal(message, privateKey);
  expected.expectHex("messageHash", signed.messageHash);
  expected.expectHex("signature", signed.signature);
  expected.expectHex("address", addressOfPrivateKey(privateKey));
}

function checkLegacy(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["json", "abiEncoded", "keccak", "signature"]);
  const input = vector.object("input");
  const signed = signLegacyRequest(
    {
      user: input.text("user"),
      signer: input.text("signer"),
      nonce: BigInt(input.text("nonce")),
      params: input.object("params").fields as ManagementParams,
    },
    vector.bytes("privateKey"),
  );
  expected.expectText("json", signed.json);
  expected.expectHex("abiEncoded", signed.abiEncoded);
  expected.expectHex("keccak", signed.hash);
  expected.expectHex("signature", signed.signature);
}

function checkDepositCalldata(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["selector", "data", "value"]);
  const input = vector.object("input");
  const args = input.list("args").map(String);
  const arg = (index: number): string => {
    const value = args[index];
    if (value === undefined) throw new VectorMismatch(`argument ${index} is missing`);
    return value;
  };
  const name = input.text("function");
  let data: string;
  if (name === "approve") data = approveCalldata(arg(0), BigInt(arg(1)));
  else if (name === "deposit") data = depositCalldata(arg(0), BigInt(arg(1)), BigInt(arg(2)));
  else if (name === "depositNative") data = depositNativeCalldata(BigInt(arg(0)));
  else throw new VectorMismatch(`function ${name} is not known`);
  expected.expectHex("data", data);
  expected.expectHex("selector", data.slice(0, 10));
  // Only the native deposit carries value, and the vector states it as input; token calls never do.
  if (name !== "depositNative") expected.expectText("value", "0");
}

function expectTyped(expected: Vector, signed: TypedSignature, privateKey: Uint8Array): void {
  expected.expectText("typeString", signed.typeString);
  expected.expectHex("domainSeparator", signed.domainSeparator);
  expected.expectHex("structHash", signed.structHash);
  expected.expectHex("digest", signed.digest);
  expected.expectHex("signature", signed.signature);
  expected.expectHex("address", addressOfPrivateKey(privateKey));
}

function decodeForm(text: string): FormParams {
  return text.split("&").map((part) => {
    const split = part.indexOf("=");
    return [decodeURIComponent(part.slice(0, split)), decodeURIComponent(part.slice(split + 1))] as const;
  });
}
