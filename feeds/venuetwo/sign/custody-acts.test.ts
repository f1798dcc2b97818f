/** What the room has wallets sign is what the co-signer's policy reads, by the room's own builders. */
import { describe, expect, it } from "vitest";
import { lettersOf } from "../../../engine/custody/policy/venue-acts.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { toHex, type TypedField } from "../../shared/sign/eip712.js";
import { custodyActs } from "./custody-acts.js";
import { managementFields, registerAgentMessage, signInMessage, signManagement, signWithdraw } from "./sign-wallet.js";

const KEY = new Uint8Array(32).fill(1);
const WALLET = `0x${"a".repeat(40)}`;
const ZERO = `0x${"0".repeat(40)}`;

function typed(name: string, chainId: number, primaryType: string, fields: readonly TypedField[], message: object) {
  const domain = { name, version: "1", chainId, verifyingContract: ZERO };
  const text = JSON.stringify({ types: { [primaryType]: fields }, primaryType, domain, message });
  const read = readTypedData(new TextEncoder().encode(text));
  if (!read.ok) throw new Error(read.problem);
  return read.typed;
}

describe("what wallets sign", () => {
  it("for a withdrawal is the act of withdrawing, with the fee", () => {
    const [asset, amount, fee, nonce] = ["USDT", "31", "0.3", "1761210000000000"];
    const signed = signWithdraw({ chainId: 56, asset, amount, fee, receiver: WALLET, nonce }, KEY);
    const types = signed.typeString.slice("Action(".length, -1).split(",");
    const fields = types.map((field) => ({ type: field.split(" ")[0] ?? "", name: field.replace(/^\S+ /, "") }));
    const data = typed("Aster", 56, "Action", fields, {
      type: "Withdraw",
      destination: WALLET,
      "destination Chain": "BSC",
      token: asset,
      amount,
      fee,
      nonce,
      "aster chain": "Mainnet",
    });
    expect(toHex(typedDataDigest(data))).toBe(toHex(signed.digest));
    expect(custodyActs.readTypedData(data)).toEqual({
      kind: "act",
      act: { act: "withdraw", account: null, destination: WALLET, spent: { token: "USDT", amount: 313n * 10n ** 17n } },
    });
  });

  it.each([
    ["ApproveAgent", "approveAgent"],
    ["UpdateAgent", "updateAgent"],
    ["DelAgent", "deleteAgent"],
  ])("to manage an agent by %s is an act of the policy", (primaryType, act) => {
    const params = { user: WALLET, nonce: 1, agentName: "svc", agentAddress: ZERO, canWithdraw: false };
    const fields = managementFields(params);
    const message = Object.fromEntries(Object.values(params).map((value, index) => [fields[index]?.name ?? "", value]));
    const data = typed("AsterSignTransaction", 56, primaryType, fields, message);
    expect(toHex(typedDataDigest(data))).toBe(toHex(signManagement(primaryType, params, KEY).digest));
    expect(custodyActs.readTypedData(data)).toEqual({
      kind: "act",
      act: { act, account: WALLET, destination: null, spent: null },
    });
  });

  it.each([
    [false, "registerAgent"],
    [true, "agentThatWithdraws"],
  ])("to register an agent is an act; may it withdraw: %s", (canWithdraw, act) => {
    const msg = registerAgentMessage({
      user: WALLET,
      nonce: "1",
      agentName: "svc",
      agentAddress: ZERO,
      expired: "1",
      canSpotTrade: true,
      canPerpTrade: true,
      canWithdraw,
      ipWhitelist: "10.0.0.1 10.0.0.2",
    });
    const data = typed("AsterSignTransaction", 56, "Message", [{ name: "msg", type: "string" }], { msg });
    expect(custodyActs.readTypedData(data)).toMatchObject({ kind: "act", act: { act, account: WALLET } });
  });

  it("to sign in is the act of a login", () => {
    const text = signInMessage("111111");
    expect(custodyActs.readText(text, lettersOf(text))).toEqual({ kind: "act", act: "login" });
  });
});
