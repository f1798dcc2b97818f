/** Every action that the room has wallets sign is one that the co-signer's policy knows by name. */
import { describe, expect, it } from "vitest";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import { encodeTypeString } from "../../shared/sign/eip712.js";
import { custodyActs } from "./custody-acts.js";
import { USER_ACTION_TYPES, userActionDomain } from "./typed-data.js";

const ADDRESS = `0x${"a".repeat(40)}`;
const VALUES: Readonly<Record<string, unknown>> = {
  string: "1",
  address: ADDRESS,
  uint64: 1,
  bool: true,
};
const NAMES: Readonly<Record<string, unknown>> = { destination: ADDRESS, fromSubAccount: "" };
/** Where the action has another name at the venue's interface than in its type. */
const ACT_NAMES: Readonly<Record<string, string>> = { withdraw3: "withdraw" };

function reading(type: keyof typeof USER_ACTION_TYPES, changed: Readonly<Record<string, unknown>> = {}) {
  const { primaryType, fields } = USER_ACTION_TYPES[type];
  const values = fields.map(({ name, type: kind }) => [name, changed[name] ?? NAMES[name] ?? VALUES[kind]]);
  const json = { types: { [primaryType]: fields }, primaryType, domain: userActionDomain("0xa4b1"), message: {} };
  const text = JSON.stringify({ ...json, message: Object.fromEntries(values) });
  const read = readTypedData(new TextEncoder().encode(text));
  if (!read.ok) throw new Error(read.problem);
  return custodyActs.readTypedData(read.typed);
}

describe("actions that wallets sign", () => {
  it.each(Object.keys(USER_ACTION_TYPES) as (keyof typeof USER_ACTION_TYPES)[])("have an act: %s", (type) => {
    const { primaryType, fields } = USER_ACTION_TYPES[type];
    expect(encodeTypeString(primaryType, fields)).toContain(":");
    expect(reading(type)).toMatchObject({ kind: "act", act: { act: ACT_NAMES[type] ?? type } });
  });

  it("are all that the policy can name but the hash of orders", () => {
    const signed = Object.keys(USER_ACTION_TYPES).map((type) => ACT_NAMES[type] ?? type);
    expect(Object.keys(custodyActs.acts).sort()).toEqual([...signed, "l1Action"].sort());
  });

  it.each<[keyof typeof USER_ACTION_TYPES, Readonly<Record<string, unknown>>]>([
    ["usdClassTransfer", { amount: "1 subaccount:0x" }],
    ["sendAsset", { fromSubAccount: ADDRESS }],
    ["spotSend", { destination: ADDRESS.toUpperCase() }],
  ])("with values that leave open what they do are unreadable: %s", (type, changed) => {
    expect(reading(type, changed)).toEqual({ kind: "unreadable" });
  });

  it("name who gets the money, or whose account it is", () => {
    expect(reading("approveBuilderFee")).toMatchObject({ act: { destination: ADDRESS, account: null } });
    expect(reading("userSetAbstraction")).toMatchObject({ act: { destination: null, account: ADDRESS } });
    expect(reading("sendAsset", { token: "USDC:0x1" })).toMatchObject({
      act: { destination: ADDRESS, spent: { token: "USDC:0x1", amount: 10n ** 18n } },
    });
  });
});
