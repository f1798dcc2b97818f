/** What every provider of server wallets keeps to (wallet-provider.ts), whoever holds the keys. */
import { getAddress, type Hex, recoverAddress } from "viem";
import { publicKeyToAddress } from "viem/accounts";
import { secp256k1 } from "@noble/curves/secp256k1";
import { beforeAll, describe, expect, it } from "vitest";
import type { Wallet, WalletProvider, WalletSignature } from "../wallet-provider.js";

export interface ProviderStage {
  readonly provider: WalletProvider;
  /** A call's value, or the code of what it rejects with, while time passes. */
  told<T>(call: Promise<T>): Promise<T | string>;
  /** The next wallet has other randomness than the one before. */
  drawAnew(): void;
  /** Ends the process and starts it from what is durable. */
  restarted(): Promise<ProviderStage>;
}

const ALICE = "ow_alice";
const BOB = "ow_bob";
const NOBODY = "11111111-1111-4111-8111-111111111111";

/** `text`: a message that the provider's rules let callers have signed. */
export function describeWalletProvider(name: string, open: () => Promise<ProviderStage>, text: string): void {
  describe(`${name} as a provider of wallets`, () => {
    let stage: ProviderStage;
    let hers: Wallet;
    let his: Wallet;
    const made = async (userId: string, ownerId: string): Promise<Wallet> => {
      stage.drawAnew();
      const wallet = await stage.told(stage.provider.create(userId, ownerId, "local"));
      if (typeof wallet === "string") throw new Error(wallet);
      return wallet;
    };
    const signed = (walletId: string) =>
      stage.told(stage.provider.sign(walletId, "caller", { kind: "message", bytes: Buffer.from(text) }));

    beforeAll(async () => {
      stage = await open();
      hers = await made("ann", ALICE);
      his = await made("ann", BOB);
    });

    it("makes wallets whose address is that of their key, in the forms of the interface", () => {
      for (const wallet of [hers, his]) {
        expect(wallet).toMatchObject({ userId: "ann", state: "ACTIVE", epoch: 1 });
        expect(wallet.walletId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(wallet.publicKey).toMatch(/^0x0[23][0-9a-f]{64}$/);
        expect(getAddress(wallet.address)).toBe(wallet.address);
        const whole = secp256k1.ProjectivePoint.fromHex(wallet.publicKey.slice(2)).toHex(false);
        expect(publicKeyToAddress(`0x${whole}`)).toBe(wallet.address);
      }
      expect(new Set([hers.walletId, his.walletId, hers.address, his.address]).size).toBe(4);
    });

    it("makes one for a user id of an owner", async () => {
      expect(await stage.told(stage.provider.create("ann", ALICE, "local"))).toBe("WALLET_EXISTS");
      await expect(stage.provider.create("ann", ALICE, "local")).rejects.toMatchObject({
        context: { walletId: hers.walletId },
      });
      expect(stage.provider.status()).toMatchObject({ problem: null, wallets: 2, frozen: 0, lost: 0 });
    });

    it("finds a wallet by each of its names, for its owner alone", () => {
      const { provider } = stage;
      for (const wallet of [hers, his]) {
        const owner = wallet === hers ? ALICE : BOB;
        const stranger = wallet === hers ? BOB : ALICE;
        const { walletId, address } = wallet;
        for (const one of [walletId, walletId.toUpperCase(), address, address.toLowerCase(), address.toUpperCase()]) {
          expect(provider.find(one, owner)).toEqual(wallet);
          expect(provider.find(one, stranger)).toBeNull();
          expect(provider.find(one, null)).toBeNull();
        }
      }
      expect([provider.find("ann", ALICE), provider.find("ann", BOB)]).toEqual([hers, his]);
      for (const one of ["bea", NOBODY, ""]) expect(provider.find(one, ALICE)).toBeNull();
    });

    it("lists the wallets of an owner, and those behind a cursor", () => {
      const { provider } = stage;
      expect(provider.list(ALICE, null, 10)).toEqual({ wallets: [hers], next: null });
      expect(provider.list(ALICE, hers.walletId, 10)).toEqual({ wallets: [], next: null });
      expect(provider.list(null, null, 10)).toEqual({ wallets: [], next: null });
    });

    it("signs so that the wallet's address recovers, in the one form of a signature", async () => {
      for (const { walletId, address } of [hers, his]) {
        const { signature, digest } = (await signed(walletId)) as WalletSignature;
        expect(signature).toMatch(/^0x[0-9a-f]{128}1[bc]$/);
        expect(digest).toMatch(/^0x[0-9a-f]{64}$/);
        expect(await recoverAddress({ hash: digest as Hex, signature: signature as Hex })).toBe(address);
        expect(secp256k1.Signature.fromCompact(signature.slice(2, 130)).hasHighS()).toBe(false);
      }
    });

    it("signs for no wallet that it has not", async () => {
      expect(await signed(NOBODY)).toBe("WALLET_NOT_FOUND");
    });

    it("has them all after a restart", async () => {
      stage = await stage.restarted();
      const { provider } = stage;
      expect([provider.find("ann", ALICE), provider.find("ann", BOB)]).toEqual([hers, his]);
      expect(await stage.told(provider.create("ann", BOB, "local"))).toBe("WALLET_EXISTS");
      expect(await signed(hers.walletId)).not.toBeTypeOf("string");
    });
  });
}
