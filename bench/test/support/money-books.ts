/** What happened to the money of one wallet, by the chains' own logs and the venues' own books; the ledger is not asked. */
import { encodeEventTopics, type Hex } from "viem";
import { CONTRACTS } from "../../sim/chain/contracts/artifacts.js";
import { bridgeDeposits, type ChainLog, type DepositSource, vaultDeposits } from "../../sim/chain/deposit-sources.js";
import { WORLD, type WorldChainId, worldToken } from "../../sim/chain/world-plan.js";
import type { LocalPair } from "./local-pair.js";
import type { MoneyStand } from "./money-stand.js";

/** Money of the venues in twelve decimals, of the chains in the token's own. */
const VENUE_DECIMALS = 12;
/** What an account at a venue has. */
export interface VenueBooks {
  readonly spot: bigint;
  readonly perp: bigint;
}

const NOTHING: VenueBooks = { spot: 0n, perp: 0n };

export function venueBooks(pair: LocalPair, venue: "venueone" | "venuetwo", address: string): VenueBooks {
  const account = pair[venue].exchange.accounts.find(address.toLowerCase());
  return account === null ? NOTHING : { spot: account.spotE12, perp: account.walletE12 };
}

/** Withdrawals that the venue carried out for the account. */
export function withdrawalsTaken(pair: LocalPair, venue: "venueone" | "venuetwo", address: string): number {
  const records = pair[venue].log.records({ accountId: address.toLowerCase(), action: "withdraw" });
  return records.filter(({ refusal }) => refusal === null).length;
}

/** In the token's smallest unit: each deposit of the address that the venue's contract took. */
export async function depositsOnChain(
  stand: MoneyStand,
  {
    chainId,
    venue,
    address,
  }: { readonly chainId: WorldChainId; readonly venue: "venueone" | "venuetwo"; readonly address: string },
): Promise<readonly bigint[]> {
  const source: DepositSource = venue === "venueone" ? bridgeDeposits(chainId) : vaultDeposits(chainId);
  const logs = await logsOf(stand, chainId, source.filter);
  return logs.flatMap((log) => {
    const facts = source.read(log);
    return facts !== null && facts.account === address.toLowerCase() ? [facts.amount] : [];
  });
}

/** In the token's smallest unit: each payment of the venue to the address. */
export async function payoutsOnChain(
  stand: MoneyStand,
  {
    chainId,
    venue,
    to,
  }: { readonly chainId: WorldChainId; readonly venue: "venueone" | "venuetwo"; readonly to: string },
): Promise<readonly bigint[]> {
  const token = venue === "venueone" ? "USDC" : "USDT";
  const from = venue === "venueone" ? WORLD[chainId].bridge : WORLD[chainId].vault;
  const topics = encodeEventTopics({
    abi: CONTRACTS.Token.abi,
    eventName: "Transfer",
    args: { from, to },
  }) as readonly (Hex | null)[];
  const logs = await logsOf(stand, chainId, { address: worldToken(chainId, token).address, topics });
  return logs.map(({ data }) => BigInt(data));
}

async function logsOf(
  stand: MoneyStand,
  chainId: WorldChainId,
  filter: { readonly address: Hex; readonly topics: readonly (Hex | null)[] },
): Promise<readonly ChainLog[]> {
  const { rpc } = stand.world.chain(chainId);
  return (await rpc("eth_getLogs", [{ ...filter, fromBlock: "0x0", toBlock: "latest" }])) as readonly ChainLog[];
}

export async function tokensOf(
  stand: MoneyStand,
  chainId: WorldChainId,
  symbol: string,
  address: string,
): Promise<bigint> {
  const token = worldToken(chainId, symbol);
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
  return BigInt((await stand.world.chain(chainId).rpc("eth_call", [{ to: token.address, data }, "latest"])) as Hex);
}

/** Wei. */
export async function coinsOf(stand: MoneyStand, chainId: WorldChainId, address: string): Promise<bigint> {
  return BigInt((await stand.world.chain(chainId).rpc("eth_getBalance", [address, "latest"])) as Hex);
}

/** Transactions of the address that are in blocks. */
export async function sentCount(stand: MoneyStand, chainId: WorldChainId, address: string): Promise<number> {
  return Number(await stand.world.chain(chainId).rpc("eth_getTransactionCount", [address, "latest"]));
}

export async function isKnownToChain(stand: MoneyStand, chainId: WorldChainId, hash: string): Promise<boolean> {
  return (await stand.world.chain(chainId).rpc("eth_getTransactionByHash", [hash])) !== null;
}

/** Of a token's smallest unit, as venues count. */
export function inVenueUnits(amount: bigint, decimals: number): bigint {
  return decimals >= VENUE_DECIMALS
    ? amount / 10n ** BigInt(decimals - VENUE_DECIMALS)
    : amount * 10n ** BigInt(VENUE_DECIMALS - decimals);
}
