/** What each venue's circle goes over, and what a wallet has on the way. */
import { NATIVE_VENUE, WALLET_VENUE } from "../../schemas/venues.js";
import { type Atto, parseAtto, printAtto } from "./sums.js";
import { CircleError, type Fields, type User } from "./user.js";

export type CircleVenue = typeof NATIVE_VENUE | typeof WALLET_VENUE;

export interface Plan {
  readonly chainId: number;
  readonly network: string;
  readonly asset: string;
  readonly coin: string;
  /** Digits behind the point that the venue shows of amounts and fees. */
  readonly digits: number;
  /** Accounts of the venue, the one that trades first. */
  readonly accounts: readonly ("spot" | "perp")[];
}

export const PLANS: Readonly<Record<CircleVenue, Plan>> = {
  [NATIVE_VENUE]: {
    ...{ chainId: 56, network: "network_56", asset: "USDT", coin: "coins of chain 56" },
    ...{ digits: 8, accounts: ["perp", "spot"] },
  },
  [WALLET_VENUE]: {
    ...{ chainId: 42161, network: "arbitrum", asset: "USDC", coin: "coins of chain 42161" },
    ...{ digits: 6, accounts: ["perp"] },
  },
};

export interface Held {
  readonly token: Atto;
  readonly coins: Atto;
  readonly atVenue: Readonly<Record<string, Atto>>;
}

/** Each part may be unknown for a moment, which is not the same as nothing. */
export function readHeld(user: User, venue: CircleVenue, walletId: string): Promise<Held> {
  return user.until("all balances", async () => {
    const reply = await user.read(`/api/wallets/${walletId}/balances`);
    return heldOf(venue, reply["data"] as Fields);
  });
}

/** Null where a part is not known now. */
function heldOf(exchange: CircleVenue, data: Fields): Held | null {
  const { chainId, asset } = PLANS[exchange];
  const { chains, venues } = data as Readonly<Record<"chains" | "venues", readonly Fields[]>>;
  const chain = chains.find((one) => one["chainId"] === chainId);
  if (chain === undefined) throw new CircleError(`the demo runs without chain ${chainId}`);
  const venue = venues.find((one) => one["exchange"] === exchange);
  const problem = venue?.["error"] as Fields | undefined;
  // Without a key of the wallet a venue may show nothing, and there is nothing yet.
  const isVenueKnown = problem === undefined || problem["code"] === "API_KEY_NOT_FOUND";
  if (chain["error"] !== undefined || !isVenueKnown) return null;
  const tokens = chain["tokens"] as readonly Fields[];
  const rows = (venue?.["balances"] ?? []) as readonly Fields[];
  const own = rows.filter((row) => row["asset"] === asset);
  return {
    token: parseAtto(String(tokens.find(({ symbol }) => symbol === asset)?.["amount"] ?? "0")),
    coins: parseAtto(String(chain["native"] ?? "0")),
    atVenue: Object.fromEntries(own.map(({ accountType, free }) => [String(accountType), parseAtto(String(free))])),
  };
}

export function heldText(venue: CircleVenue, { token, coins, atVenue }: Held): string {
  const { asset, chainId } = PLANS[venue];
  const there = Object.entries(atVenue).map(([account, free]) => `${account} ${printAtto(free)}`);
  const onChain = `chain ${chainId}: ${printAtto(token)} ${asset}, ${printAtto(coins)} coins`;
  return `${onChain}; ${venue}: ${there.join(", ") || "nothing known"}`;
}
