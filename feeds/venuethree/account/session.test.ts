import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ORDER, scalarToBytes } from "../sign/curve.js";
import { publicKeyOf } from "../sign/schnorr.js";
import { createPublicKeyCache } from "../sign/sign.js";
import { openVenuethreeAddress, openVenuethreeSession, VenuethreeSession } from "./session.js";

const KEY = "1f".repeat(40);
const ADDRESS = `0x${"Ab".repeat(20)}`;

function open(raw: unknown): VenuethreeSession {
  const opened = openVenuethreeSession(raw, createPublicKeyCache());
  if (!opened.ok || !(opened.session instanceof VenuethreeSession)) throw new Error("did not open");
  return opened.session;
}

describe("credentials of venuethree", () => {
  it("derives the public key, with and without a prefix, in any case", () => {
    const expected = Buffer.from(publicKeyOf(Buffer.from(KEY, "hex"))).toString("hex");
    for (const apiKeyPrivateKey of [KEY, `0x${KEY}`, KEY.toUpperCase()])
      expect(open({ apiKeyPrivateKey, accountIndex: 516 }).accountId).toBe(expected);
  });

  it("takes indexes as numbers or digits, and keeps accounts of one key apart", () => {
    const session = open({
      apiKeyPrivateKey: KEY,
      accountIndex: "281474976710654",
      apiKeyIndex: "7",
      walletAddress: ADDRESS,
    });
    expect(session).toMatchObject({ accountIndex: 281_474_976_710_654, apiKeyIndex: 7 });
    expect(session.walletAddress).toBe(ADDRESS.toLowerCase());
    expect(session.accountScope).not.toBe(open({ apiKeyPrivateKey: KEY, accountIndex: 0 }).accountScope);
    expect(open({ apiKeyPrivateKey: KEY, accountIndex: 0, apiKeyIndex: null }).apiKeyIndex).toBeNull();
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "venuethree"],
    ["a list", [KEY], "venuethree"],
    ["no key", { accountIndex: 1 }, "apiKeyPrivateKey"],
    ["a number for a key", { apiKeyPrivateKey: 5, accountIndex: 1 }, "apiKeyPrivateKey"],
    ["a short key", { apiKeyPrivateKey: KEY.slice(2), accountIndex: 1 }, "apiKeyPrivateKey"],
    ["a long key", { apiKeyPrivateKey: `${KEY}00`, accountIndex: 1 }, "apiKeyPrivateKey"],
    ["no hex", { apiKeyPrivateKey: "g".repeat(80), accountIndex: 1 }, "apiKeyPrivateKey"],
    ["the zero key", { apiKeyPrivateKey: "00".repeat(40), accountIndex: 1 }, "apiKeyPrivateKey"],
    ["no account", { apiKeyPrivateKey: KEY }, "accountIndex"],
    ["an empty account", { apiKeyPrivateKey: KEY, accountIndex: "" }, "accountIndex"],
    ["a negative account", { apiKeyPrivateKey: KEY, accountIndex: -1 }, "accountIndex"],
    ["half an account", { apiKeyPrivateKey: KEY, accountIndex: 1.5 }, "accountIndex"],
    ["an account past the last", { apiKeyPrivateKey: KEY, accountIndex: 2 ** 48 - 1 }, "accountIndex"],
    ["an account beyond a double", { apiKeyPrivateKey: KEY, accountIndex: "9007199254740993000" }, "accountIndex"],
    ["NaN", { apiKeyPrivateKey: KEY, accountIndex: Number.NaN }, "accountIndex"],
    ["the key index that means all", { apiKeyPrivateKey: KEY, accountIndex: 1, apiKeyIndex: 255 }, "apiKeyIndex"],
    ["a key index of text", { apiKeyPrivateKey: KEY, accountIndex: 1, apiKeyIndex: "x" }, "apiKeyIndex"],
    ["a bad wallet", { apiKeyPrivateKey: KEY, accountIndex: 1, walletAddress: "0x12" }, "walletAddress"],
    ["a wallet of another type", { apiKeyPrivateKey: KEY, accountIndex: 1, walletAddress: 7 }, "walletAddress"],
  ])("refuses %s, naming the field and never its value", (_what, raw, field) => {
    const opened = openVenuethreeSession(raw, createPublicKeyCache());
    expect(opened.ok).toBe(false);
    if (opened.ok) return;
    expect(opened.problem).toContain(field);
    expect(opened.problem).not.toContain(KEY.slice(0, 16));
  });

  it("reduces a key from the group's order up as the venue does: the order itself is no key", () => {
    const keyOf = (scalar: bigint): string => {
      const bytes = Buffer.alloc(40);
      scalarToBytes(bytes, 0, scalar);
      return bytes.toString("hex");
    };
    const publicKey = (scalar: bigint): string => open({ apiKeyPrivateKey: keyOf(scalar), accountIndex: 1 }).accountId;
    expect(publicKey(ORDER + 5n)).toBe(publicKey(5n));
    const opened = openVenuethreeSession({ apiKeyPrivateKey: keyOf(ORDER), accountIndex: 1 }, createPublicKeyCache());
    expect(opened).toMatchObject({ ok: false, problem: expect.stringContaining("apiKeyPrivateKey") as string });
  });

  it("wipes the key on close, and gives it to nobody afterwards", () => {
    const session = open({ apiKeyPrivateKey: KEY, accountIndex: 1 });
    let bytes: Uint8Array = new Uint8Array();
    session.withKey((key) => {
      bytes = key;
    });
    expect(bytes.some((byte) => byte !== 0)).toBe(true);
    session.close();
    session.close();
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    expect(session.withKey(() => true)).toBeNull();
  });

  it("shows nothing of itself", () => {
    const session = open({ apiKeyPrivateKey: KEY, accountIndex: 1 });
    expect(JSON.stringify({ session })).toBe('{"session":{}}');
    expect(inspect(session)).toBe("VenuethreeSession {}");
  });

  it("opens an address without a key, in any case", () => {
    expect(openVenuethreeAddress(ADDRESS)).toMatchObject({ ok: true, session: { accountId: ADDRESS.toLowerCase() } });
    expect(openVenuethreeAddress("0x12")).toMatchObject({ ok: false });
  });
});
