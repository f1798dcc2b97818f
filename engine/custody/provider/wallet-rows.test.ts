import { describe, expect, it } from "vitest";
import { Owners } from "../../domain/owner.js";
import { encodeJson } from "../../storage/state-store.js";
import { addressText, markedWalletId, walletIdBytes, walletIdText } from "./wallet-names.js";
import { type WalletRow, WalletRows } from "./wallet-rows.js";

const ROW: WalletRow = {
  ...{ walletId: "00010203-0405-4607-8809-0a0b0c0d0e0f", ownerId: null, userId: "ada", createdAt: 1_764_000_000_000 },
  address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
};

async function loaded(value: unknown, key = ROW.walletId, owners = new Owners()): Promise<WalletRows> {
  const rows = new WalletRows(owners);
  await rows.load({ scan: async () => [{ key, value: value instanceof Uint8Array ? value : encodeJson(value) }] });
  return rows;
}

describe("a wallet row", () => {
  const cases: readonly { readonly name: string; readonly value: unknown; readonly key?: string }[] = [
    { name: "is not JSON", value: Buffer.from("{") },
    { name: "is null", value: null },
    { name: "has another id than its key", value: ROW, key: "00010203-0405-4607-8809-0a0b0c0d0e10" },
    {
      name: "has an id in capitals",
      value: { ...ROW, walletId: ROW.walletId.toUpperCase() },
      key: ROW.walletId.toUpperCase(),
    },
    { name: "has a field too many", value: { ...ROW, more: 1 } },
    { name: "has no user id", value: { ...ROW, userId: "" } },
    { name: "has an owner of no name", value: { ...ROW, ownerId: "" } },
    { name: "has no address", value: { ...ROW, address: "0x12" } },
    { name: "has a broken time", value: { ...ROW, createdAt: 1.5 } },
  ];
  it.each(cases)("that $name is not read", async ({ value, key }) => {
    await expect(loaded(value, key)).rejects.toMatchObject({ code: "INTERNAL" });
  });

  it("is found by each of its names by its owner, by who adopted it, and by nobody else", async () => {
    const rows = await loaded(ROW, ROW.walletId, new Owners({ adoptedBy: () => "eve" }));
    for (const name of ["ada", ROW.walletId, ROW.walletId.toUpperCase(), ROW.address.toLowerCase()]) {
      expect([rows.find(name, null), rows.find(name, "eve"), rows.find(name, "bob")]).toEqual([ROW, ROW, null]);
    }
    rows.remove(ROW.walletId);
    expect([rows.find("ada", null), [...rows.after(null, null)]]).toEqual([null, []]);
  });

  it("of a user id that its adopter has too gives way to the adopter's, and is found by it once that is gone", async () => {
    const rows = await loaded(ROW, ROW.walletId, new Owners({ adoptedBy: () => "eve" }));
    const [walletId, address] = ["00010203-0405-4607-8809-0a0b0c0d0e10", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"];
    const own: WalletRow = { ...ROW, walletId, address, ownerId: "eve" };
    rows.put(own);
    expect([rows.find("ada", "eve"), rows.find(ROW.walletId, "eve"), rows.find(ROW.address, "eve")]).toEqual([
      ...[own, ROW, ROW],
    ]);
    expect([...rows.after(null, "eve")]).toEqual([ROW, own]);
    expect([rows.inTheWay("ada", "eve"), rows.inTheWay("ada", null)]).toEqual([own, ROW]);
    rows.remove(walletId);
    expect([rows.find("ada", "eve"), rows.inTheWay("ada", "eve")]).toEqual([ROW, ROW]);
  });

  it("of a user id that another wallet has got since, as after a restore, leaves the user id to the later one", async () => {
    const [walletId, address] = ["f0010203-0405-4607-8809-0a0b0c0d0e0f", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"];
    const later: WalletRow = { ...ROW, walletId, address, createdAt: ROW.createdAt + 1 };
    const rows = await loaded(later, walletId);
    rows.put(ROW);
    expect([rows.find("ada", null), rows.inTheWay("ada", null), rows.find(ROW.walletId, null)]).toEqual([
      ...[later, later, ROW],
    ]);
    // Whatever the order of their ids at the next start.
    const first = { ...later, walletId: "00000000-0405-4607-8809-0a0b0c0d0e0f" };
    const again = await loaded(first, first.walletId);
    again.put(ROW);
    expect(again.find("ada", null)).toEqual(first);
    const other = await loaded(ROW);
    other.put(first);
    expect(other.find("ada", null)).toEqual(first);
  });

  it("keeps what it was written as", async () => {
    const rows = new WalletRows(new Owners());
    const { value } = rows.put(ROW);
    expect([...(await loaded(value)).after(null, null)]).toEqual([ROW]);
  });
});

describe("names", () => {
  it("are those of the standards", () => {
    const bytes = markedWalletId(Buffer.from("000102030405ff07ff090a0b0c0d0e0f", "hex"));
    expect(walletIdText(bytes)).toBe("00010203-0405-4f07-bf09-0a0b0c0d0e0f");
    expect(walletIdBytes(walletIdText(bytes))).toEqual(bytes);
    expect(walletIdBytes("00010203040546078809")).toBeNull();
    // From the text of EIP-55.
    for (const address of [ROW.address, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"])
      expect(addressText(Buffer.from(address.slice(2), "hex"))).toBe(address);
  });
});
