import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { openVenueoneSession, VenueoneSession } from "./session.js";

/** Published test key, of no value. */
const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const CURVE_ORDER = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

function open(raw: unknown): VenueoneSession {
  const opened = openVenueoneSession(raw);
  if (!opened.ok || !(opened.session instanceof VenueoneSession)) throw new Error("did not open");
  return opened.session;
}

describe("credentials of venueone", () => {
  it.each([KEY, `0x${KEY}`, KEY.toUpperCase(), `0x${KEY.toUpperCase()}`])(
    "opens %s and derives the address",
    (privateKey) => {
      expect(open({ privateKey }).accountId).toBe(ADDRESS);
    },
  );

  it("opens the bytes of a key, which stay the caller's, and no others", () => {
    const privateKey = Uint8Array.from(Buffer.from(KEY, "hex"));
    const session = open({ privateKey });
    privateKey.fill(0);
    expect(session.accountId).toBe(ADDRESS);
    expect(session.withKey((key) => Buffer.from(key).toString("hex"))).toBe(KEY);
    for (const other of [
      new Uint8Array(31).fill(1),
      new Uint8Array(33).fill(1),
      new Uint8Array(32),
      [1],
      { length: 32 },
    ])
      expect(openVenueoneSession({ privateKey: other })).toMatchObject({
        ok: false,
        problem: expect.stringContaining("privateKey"),
      });
  });

  it("has the account of the wallet where the key is one that this program keeps, and the key's own where it is a caller's", () => {
    const walletAddress = `0x${"ab".repeat(20)}`;
    const kept = open({ privateKey: Uint8Array.from(Buffer.from(KEY, "hex")), walletAddress });
    expect([kept.accountId, kept.signerAddress, kept.walletAddress]).toEqual([walletAddress, ADDRESS, walletAddress]);
    const own = open({ privateKey: KEY, walletAddress });
    expect([own.accountId, own.signerAddress]).toEqual([ADDRESS, ADDRESS]);
  });

  it("takes a vault and a wallet address, in capitals or with its checksum", () => {
    const session = open({
      privateKey: KEY,
      vaultAddress: `0x${"AB".repeat(20)}`,
      walletAddress: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    });
    expect(session.vaultAddress).toBe(`0x${"ab".repeat(20)}`);
    expect(session.walletAddress).toBe("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed");
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "venueone"],
    ["null", null, "venueone"],
    ["a list", [KEY], "venueone"],
    ["text", KEY, "venueone"],
    ["no key", {}, "privateKey"],
    ["a number for a key", { privateKey: 5 }, "privateKey"],
    ["a short key", { privateKey: KEY.slice(1) }, "privateKey"],
    ["a long key", { privateKey: `${KEY}00` }, "privateKey"],
    ["no hex", { privateKey: "g".repeat(64) }, "privateKey"],
    ["an upper-case prefix", { privateKey: `0X${KEY}` }, "privateKey"],
    ["the zero key", { privateKey: "0".repeat(64) }, "curve"],
    ["the group order", { privateKey: CURVE_ORDER }, "curve"],
    ["a bad vault", { privateKey: KEY, vaultAddress: "0x12" }, "vaultAddress"],
    ["a vault that is no text", { privateKey: KEY, vaultAddress: 7 }, "vaultAddress"],
    ["a bad wallet", { privateKey: KEY, walletAddress: "me" }, "walletAddress"],
  ])("refuses %s, naming the field and never the value", (_what, raw, word) => {
    const opened = openVenueoneSession(raw);
    expect(opened.ok).toBe(false);
    if (opened.ok) return;
    expect(opened.problem).toContain(word);
    expect(opened.problem.toLowerCase()).not.toContain(KEY.slice(0, 16));
  });

  it("shows nothing of itself", () => {
    const session = open({ privateKey: KEY });
    const shown = [
      JSON.stringify(session),
      JSON.stringify({ session }),
      inspect(session, { depth: 9, showHidden: true }),
      String(session),
    ];
    for (const text of shown) expect(text.toLowerCase()).not.toContain(KEY.slice(0, 16));
    expect(JSON.stringify(session)).toBe("{}");
    expect(inspect({ a: { b: { session } } }, { depth: 9 })).toContain("VenueoneSession {}");
  });

  it("zeroes the key when closed, and gives it to nobody then", () => {
    const session = open({ privateKey: KEY });
    let bytes: Uint8Array = new Uint8Array();
    session.withKey((key) => {
      bytes = key;
    });
    expect(bytes).toHaveLength(32);
    session.close();
    session.close();
    expect(session.isOpen).toBe(false);
    expect([...bytes].every((byte) => byte === 0)).toBe(true);
    expect(session.withKey(() => "used")).toBeNull();
  });
});
