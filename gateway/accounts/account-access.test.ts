/** Whose wallet a request may act for: that of another owner is answered as one that does not exist. */
import { describe, expect, it } from "vitest";
import type { WalletCredentials } from "../../engine/custody/credential-source.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { Owners } from "../../engine/domain/owner.js";
import { PUBLIC_CALLER } from "../http/caller.js";
import type { Ask } from "../http/json-route.js";
import { addressBlocks, callerBlocks, findWallet, type OwnedWallets } from "./account-access.js";
import { MemoryCredentials } from "./memory-credentials.js";

const WALLET: WalletCredentials = {
  ownerId: "ow_alice",
  walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  userId: "alice",
  address: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  credentials: { venueone: { privateKey: "0x01" } },
};
const LOCAL: WalletCredentials = {
  ...WALLET,
  ownerId: null,
  walletId: "2b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  credentials: { venuetwo: { apiKey: "k", apiSecret: "s" } },
};
const UNKNOWN_ID = "1b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const LOCAL_ORIGIN = { host: "127.0.0.1:8080", origin: "", fetchSite: "" };
const OPERATOR = { loopbackOnly: true, open: false };

function walletsWith(adoptedBy: string | null = null): OwnedWallets {
  return {
    source: new MemoryCredentials([WALLET, LOCAL]),
    owners: new Owners({ adoptedBy: () => adoptedBy }),
  };
}

function askOf(ownerId: string | null, walletId: string | null, parts: Partial<Ask> = {}): Ask {
  return {
    ...{ requestId: "r", receivedAtMs: 0, address: "", params: {}, query: {}, idempotencyKey: null, body: undefined },
    ...{ rawBody: Buffer.alloc(0), boundBytes: Buffer.alloc(0), origin: LOCAL_ORIGIN },
    caller: { ...PUBLIC_CALLER, ownerId },
    headers: { "x-wallet-id": walletId, "x-venue-credentials": null },
    ...parts,
  };
}

async function refusalOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { code: error.code, status: error.status, message: error.message, context: error.context };
  }
}

describe("a wallet", () => {
  it.each(["WALLET_NOT_FOUND", "INVALID_WALLET_ID"] as const)(
    "of another owner is refused as an unknown one is: %s",
    async (unknown) => {
      const wallets = walletsWith();
      for (const stranger of ["ow_bob", null]) {
        const refused = await refusalOf(findWallet(wallets, stranger, WALLET.walletId, unknown));
        expect(refused).toEqual(await refusalOf(findWallet(wallets, stranger, UNKNOWN_ID, unknown)));
        expect(refused).toMatchObject({ code: unknown });
      }
      expect(await findWallet(wallets, "ow_alice", WALLET.walletId, unknown)).toBe(WALLET);
    },
  );

  it("gives its credentials to its owner's requests alone", async () => {
    const wallets = walletsWith();
    expect(await callerBlocks(wallets, askOf("ow_alice", WALLET.walletId))).toEqual(WALLET.credentials);
    const refused = await refusalOf(callerBlocks(wallets, askOf("ow_bob", WALLET.walletId)));
    expect(refused).toEqual(await refusalOf(callerBlocks(wallets, askOf("ow_bob", UNKNOWN_ID))));
  });

  it("made without a key is the operator's, and the owner's that adopted it", async () => {
    const blocksFor = (ownerId: string | null, adoptedBy: string | null) =>
      refusalOf(callerBlocks(walletsWith(adoptedBy), askOf(ownerId, LOCAL.walletId)));
    expect(await blocksFor(null, null)).toEqual(LOCAL.credentials);
    expect(await blocksFor("ow_alice", "ow_alice")).toEqual(LOCAL.credentials);
    expect(await blocksFor("ow_alice", null)).toMatchObject({ code: "WALLET_NOT_FOUND" });
    expect(await blocksFor("ow_bob", "ow_alice")).toMatchObject({ code: "WALLET_NOT_FOUND" });
  });

  it("by its public address alone is its owner's, without a key the operator's of this machine", async () => {
    const blocks = (ownerId: string | null, address: string, origin = LOCAL_ORIGIN) =>
      addressBlocks(walletsWith(), OPERATOR, askOf(ownerId, null, { origin }), address);
    const elsewhere = { ...LOCAL_ORIGIN, host: "example.org" };
    expect(await blocks("ow_alice", WALLET.address, elsewhere)).toEqual(WALLET.credentials);
    expect(await blocks("ow_bob", WALLET.address)).toEqual({});
    expect(await blocks(null, WALLET.address)).toEqual({});
    expect(await blocks(null, LOCAL.address)).toEqual(LOCAL.credentials);
    expect(await blocks(null, LOCAL.address, elsewhere)).toEqual({});
    expect(await blocks("ow_bob", LOCAL.address)).toEqual({});
  });

  it("that a source returns for another owner is not used", async () => {
    const wallets: OwnedWallets = { source: { find: async () => WALLET }, owners: new Owners() };
    expect(await refusalOf(findWallet(wallets, "ow_bob", WALLET.walletId))).toMatchObject({ code: "WALLET_NOT_FOUND" });
  });
});
