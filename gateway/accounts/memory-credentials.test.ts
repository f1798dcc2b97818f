import { describe, expect, it } from "vitest";
import { MemoryCredentials } from "./memory-credentials.js";

const WALLET = {
  ownerId: null,
  walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  userId: "alice",
  address: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  credentials: { venueone: { privateKey: "0x01" } },
};

describe("wallets in memory", () => {
  it("are found by wallet id and address in any case, and by the exact user id", async () => {
    const wallets = new MemoryCredentials([WALLET]);
    for (const name of [
      WALLET.walletId,
      WALLET.walletId.toUpperCase(),
      WALLET.address,
      `0x${WALLET.address.slice(2).toUpperCase()}`,
      "alice",
    ])
      expect(await wallets.find(name, null), name).toBe(WALLET);
    for (const name of ["Alice", "", "0x", WALLET.walletId.slice(1), "__proto__"])
      expect(await wallets.find(name, null)).toBeNull();
  });

  it("are refused when a name is taken, malformed, or could be read as another kind of name", () => {
    const wallets = new MemoryCredentials([WALLET]);
    const other = {
      ...WALLET,
      walletId: "1b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
      userId: "bob",
      address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    };
    for (const wrong of [
      { ...other, userId: "alice" },
      { ...other, walletId: WALLET.walletId.toUpperCase() },
      { ...other, address: WALLET.address },
      { ...other, walletId: "w1" },
      { ...other, address: "0x12" },
      { ...other, userId: other.address },
      { ...other, userId: "" },
    ])
      expect(() => wallets.add(wrong)).toThrow(RangeError);
    wallets.add(other);
  });

  it("are their owner's alone, and two owners may use the same user id", async () => {
    const bobs = {
      ...WALLET,
      ownerId: "ow_bob",
      walletId: "1b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
      address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    };
    const wallets = new MemoryCredentials([WALLET, bobs]);
    expect(await wallets.find("alice", "ow_bob")).toBe(bobs);
    expect(await wallets.find("alice", null)).toBe(WALLET);
    for (const name of [WALLET.walletId, WALLET.address]) expect(await wallets.find(name, "ow_bob")).toBeNull();
    for (const name of [bobs.walletId, bobs.address, "alice"]) expect(await wallets.find(name, "ow_carol")).toBeNull();
    // An id and an address name one wallet, whoever asks for another.
    for (const taken of [{ walletId: WALLET.walletId }, { address: WALLET.address }])
      expect(() => wallets.add({ ...bobs, userId: "else", ...taken })).toThrow(RangeError);
  });
});
