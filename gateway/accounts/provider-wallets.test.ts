import { describe, expect, it } from "vitest";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { Owners } from "../../engine/domain/owner.js";
import { findWallet, requireSameWallet, walletBlock } from "./account-access.js";
import { MemoryCredentials } from "./memory-credentials.js";
import { joinedWallets } from "./provider-wallets.js";

const ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const WALLET: Wallet = {
  ownerId: "ow_alice",
  walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  userId: "alice's",
  address: ADDRESS,
  publicKey: `0x02${"ab".repeat(32)}`,
  createdAt: 1,
  state: "ACTIVE",
  epoch: 1,
};
const CONFIGURED = {
  ownerId: "ow_alice",
  walletId: "11111111-1111-4111-8111-111111111111",
  userId: "configured",
  address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  credentials: { venueone: { privateKey: "of the configured one" } },
} as const;

const provider = {
  find(name: string, ownerId: string | null): Wallet | null {
    const names = [WALLET.userId, WALLET.walletId, WALLET.address.toLowerCase(), CONFIGURED.userId];
    return ownerId === WALLET.ownerId && names.some((one) => one === name || one === name.toLowerCase())
      ? WALLET
      : null;
  },
};
const BLOCKS = { venuetwo: { apiKey: "of a registered key" } };
const keys = { opened: async (walletId: string) => (walletId === WALLET.walletId ? BLOCKS : {}) };
const source = joinedWallets(new MemoryCredentials([CONFIGURED]), provider, keys);
const wallets = { source, owners: new Owners() };

describe("wallets of the provider", () => {
  it("are found beside configured ones, by each name, with the keys that are registered for them", async () => {
    for (const name of [WALLET.userId, WALLET.walletId, ADDRESS, ADDRESS.toLowerCase()]) {
      const { walletId, userId } = WALLET;
      const found = { ownerId: "ow_alice", walletId, userId, address: ADDRESS.toLowerCase(), credentials: BLOCKS };
      expect(await source.find(name, "ow_alice")).toEqual(found);
    }
    expect(await source.find(CONFIGURED.walletId, "ow_alice")).toBe(CONFIGURED);
  });

  it("give way to a configured one of the same name", async () => {
    expect(await source.find(CONFIGURED.userId, "ow_alice")).toBe(CONFIGURED);
  });

  it("are another owner's no more than one that does not exist", async () => {
    for (const owner of ["ow_bob", null]) expect(await source.find(WALLET.walletId, owner)).toBeNull();
  });

  it("are known by `x-wallet-id`, and say which venue they cannot act on", async () => {
    const wallet = await findWallet(wallets, "ow_alice", WALLET.walletId);
    requireSameWallet(wallet, WALLET.userId, ADDRESS);
    expect(() => walletBlock(wallet, "venueone")).toThrow(expect.objectContaining({ code: "MISSING_CREDENTIALS" }));
    await expect(findWallet(wallets, "ow_bob", WALLET.walletId)).rejects.toMatchObject({ code: "WALLET_NOT_FOUND" });
  });

  it("are none without a provider", () => {
    const configured = new MemoryCredentials([CONFIGURED]);
    expect(joinedWallets(configured, null, null)).toBe(configured);
  });
});
