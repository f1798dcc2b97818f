/**
 * The accounts that the demo, the benchmarks and the whole-path tests trade with. The keys work at local venues only;
 * each venue's keys are in its own folder.
 */
import { randomUUID } from "node:crypto";
import { DEMO_ADDRESS } from "./core/local-venue.js";
import { LOCAL_VENUE_NAMES, LOCAL_VENUES, type LocalVenueName } from "./venues.js";

/** The `credentials` object of the demo trader's requests (interface spec 2.3). */
export const DEMO_CREDENTIALS = Object.fromEntries(
  LOCAL_VENUE_NAMES.map((name) => [name, LOCAL_VENUES[name].credentials]),
) as Readonly<Record<LocalVenueName, object>>;

/** The demo trader's server wallet, but for its id. */
export const DEMO_WALLET = { userId: "demo", address: DEMO_ADDRESS } as const;

/**
 * The value of `x-wallet-id` and `{walletId}`. Whoever has it can trade with the wallet, so each start makes another.
 */
export function mintDemoWallet(): typeof DEMO_WALLET & { readonly walletId: string } {
  return { ...DEMO_WALLET, walletId: randomUUID() };
}
