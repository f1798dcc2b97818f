/** What a server wallet has: who pays for the reads, and parts that fail by themselves. */
import { describe, expect, it } from "vitest";
import type { Chain } from "../../engine/chain.js";
import type { AccountSession, CallOptions } from "../../engine/ports.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import { WalletBalances } from "./wallet-balances.js";

const wallet = {
  ownerId: "owner-a",
  walletId: "5f0c7c3e-6f6b-4f0e-9a53-0a4c8f1f2d10",
  address: `0x${"Ab".repeat(20)}`,
};

function scene(opens: () => Promise<AccountSession | null>) {
  const payers: (string | null | undefined)[] = [];
  const balances = async (account: string, _session: AccountSession | null, options: CallOptions) => {
    payers.push(options.payer);
    const value = [{ accountType: "spot" as const, asset: account, free: "1" }];
    return { ok: true as const, value, asOfMs: 1, source: "venue" as const };
  };
  const rail = { deposits: { routes: [] }, balances } as unknown as VenueMoney;
  return {
    payers,
    balances: new WalletBalances({
      chains: new Map<number, Chain>(),
      rails: new Map([["venueone", rail]]),
      openSession: (_walletId, _venue, payer) => {
        payers.push(payer);
        return opens();
      },
    }),
  };
}

describe("balances of a wallet", () => {
  it("are read on the owner's share of the venue's lanes, with a key and without one", async () => {
    const { balances, payers } = scene(async () => null);
    const { venues } = await balances.read(wallet);
    expect(venues).toMatchObject([{ balances: [{ asset: wallet.address.toLowerCase() }] }]);
    await balances.free(wallet, { venue: "venueone", accountType: "spot", asset: "USDT" });
    expect(payers).toEqual(["owner-a", "owner-a", "owner-a", "owner-a"]);
  });

  it("whose key cannot be opened are not known, which is not nothing", async () => {
    const { balances } = scene(() => Promise.reject(new Error("disk")));
    expect((await balances.read(wallet)).venues).toMatchObject([
      { balances: [], error: { code: "VENUE_UNAVAILABLE" } },
    ]);
  });
});
