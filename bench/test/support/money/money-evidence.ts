/** What happened, from the chains' blocks and the venues' books alone. Nothing here is read through the product. */
import { type Abi, decodeEventLog, decodeFunctionData, type Hex } from "viem";
import { CONTRACTS, type ContractName } from "../../../sim/chain/contracts/artifacts.js";
import { WORLD, WORLD_CHAIN_IDS, type WorldChainId } from "../../../sim/chain/world-plan.js";
import type { MoneyWallet, MoneyWorld } from "./money-world.js";

export interface SeenCall {
  readonly chainId: WorldChainId;
  readonly hash: string;
  readonly from: string;
  readonly nonce: number;
  readonly to: string;
  /** Of the contract at `to`; null: none of its calls. */
  readonly name: string | null;
  readonly args: readonly unknown[];
  readonly succeeded: boolean;
  readonly gasCost: bigint;
}

export interface SeenEvent {
  readonly chainId: WorldChainId;
  readonly contract: string;
  readonly name: string;
  readonly hash: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Of one wallet on one chain. */
export interface Holding {
  readonly native: bigint;
  readonly nonce: number;
  /** By symbol. */
  readonly tokens: Readonly<Record<string, bigint>>;
}

export interface VenueHolding {
  readonly oneE12: bigint;
  readonly spotE12: bigint;
  readonly perpE12: bigint;
}

export interface Snapshot {
  /** By chain and address. */
  readonly chains: ReadonlyMap<string, Holding>;
  /** By address. */
  readonly venues: ReadonlyMap<string, VenueHolding>;
  readonly heights: ReadonlyMap<WorldChainId, number>;
}

export interface Evidence {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly calls: readonly SeenCall[];
  readonly events: readonly SeenEvent[];
}

/** Of the venues' books. */
export const E12_DECIMALS = 12;
export const lower = (value: unknown): string => String(value).toLowerCase();
export const chainKey = (chainId: number, address: string): string => `${chainId}/${address}`;

export async function snapshotOf(world: MoneyWorld, wallets: readonly MoneyWallet[]): Promise<Snapshot> {
  const chains = new Map<string, Holding>();
  const heights = new Map<WorldChainId, number>();
  for (const chainId of WORLD_CHAIN_IDS) {
    const { rpc } = world.chains.chain(chainId);
    heights.set(chainId, Number(await rpc("eth_blockNumber")));
    for (const { address } of wallets) {
      const tokens: Record<string, bigint> = {};
      for (const { symbol, address: to } of Object.values(WORLD[chainId].tokens)) {
        const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
        tokens[symbol] = BigInt((await rpc("eth_call", [{ to, data }, "latest"])) as Hex);
      }
      chains.set(chainKey(chainId, address), {
        native: BigInt((await rpc("eth_getBalance", [address, "latest"])) as Hex),
        nonce: Number(await rpc("eth_getTransactionCount", [address, "latest"])),
        tokens,
      });
    }
  }
  const venues = new Map(wallets.map(({ address }) => [address, venueHolding(world, address)]));
  return { chains, heights, venues };
}

function venueHolding({ venueone, venuetwo }: MoneyWorld, address: string): VenueHolding {
  const two = venuetwo.exchange.accounts.find(address);
  return {
    oneE12: venueone.exchange.accounts.find(address)?.walletE12 ?? 0n,
    spotE12: two?.spotE12 ?? 0n,
    perpE12: two?.walletE12 ?? 0n,
  };
}

export async function evidenceOf(
  world: MoneyWorld,
  wallets: readonly MoneyWallet[],
  before: Snapshot,
): Promise<Evidence> {
  const own = new Set<string>(wallets.map(({ address }) => address));
  const calls: SeenCall[] = [];
  const events: SeenEvent[] = [];
  const after = await snapshotOf(world, wallets);
  for (const chainId of WORLD_CHAIN_IDS) {
    const first = (before.heights.get(chainId) ?? 0) + 1;
    const last = after.heights.get(chainId) ?? 0;
    for (let block = first; block <= last; block++) await readBlock(world, chainId, block, own, { calls, events });
  }
  return { before, after, calls, events };
}

interface WireTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly to: Hex | null;
  readonly nonce: Hex;
  readonly input: Hex;
}

interface WireReceipt {
  readonly status: Hex;
  readonly gasUsed: Hex;
  readonly effectiveGasPrice: Hex;
  readonly logs: readonly { readonly address: Hex; readonly topics: [Hex, ...Hex[]]; readonly data: Hex }[];
}

async function readBlock(
  world: MoneyWorld,
  chainId: WorldChainId,
  block: number,
  own: ReadonlySet<string>,
  found: { readonly calls: SeenCall[]; readonly events: SeenEvent[] },
): Promise<void> {
  const { rpc } = world.chains.chain(chainId);
  const { transactions } = (await rpc("eth_getBlockByNumber", [`0x${block.toString(16)}`, true])) as {
    readonly transactions: readonly WireTransaction[];
  };
  for (const { hash, from, to, nonce, input } of transactions) {
    const receipt = (await rpc("eth_getTransactionReceipt", [hash])) as WireReceipt;
    for (const log of receipt.logs) {
      const name = contractAt(chainId, log.address);
      if (name === null) continue;
      const { abi } = CONTRACTS[name];
      const { eventName, args } = decodeEventLog({ abi, topics: log.topics, data: log.data });
      const contract = lower(log.address);
      found.events.push({
        chainId,
        contract,
        hash,
        name: eventName ?? "",
        args: args as unknown as Record<string, unknown>,
      });
    }
    if (!own.has(lower(from))) continue;
    found.calls.push({
      ...{ chainId, hash, from: lower(from), to: lower(to), nonce: Number(nonce), ...callOf(chainId, to, input) },
      succeeded: receipt.status === "0x1",
      gasCost: BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice),
    });
  }
}

export function callOf(chainId: WorldChainId, to: string | null, data: Hex): Pick<SeenCall, "name" | "args"> {
  const contract = contractAt(chainId, to);
  if (contract === null || data === "0x") return { name: null, args: [] };
  const { abi }: { readonly abi: Abi } = CONTRACTS[contract];
  const { functionName, args = [] } = decodeFunctionData({ abi, data });
  return { name: functionName, args };
}

function contractAt(chainId: WorldChainId, address: string | null): ContractName | null {
  const { vault, bridge, tokens } = WORLD[chainId];
  const at = lower(address);
  if (at === lower(vault)) return "Vault";
  if (bridge !== null && at === lower(bridge)) return "Bridge";
  return Object.values(tokens).find((token) => lower(token.address) === at)?.contract ?? null;
}
