/** A trader of the local venuefive: raw contract calls of a plain account, and what they left in the log. */
import {
  createPublicClient,
  createWalletClient,
  decodeEventLog,
  defineChain,
  type Hex,
  http,
  type Log,
  parseEther,
  parseUnits,
  type TransactionReceipt,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { GAS_MAX } from "../../chain/chain-account.js";
import { minedReceipt } from "../../chain/chain-rpc.js";
import { VENUEFIVE_CONTRACTS, type VenuefiveContract } from "../contracts/artifacts.js";
import { scaled } from "../pairs.js";
import { DEPLOYED, VENUEFIVE_ADDRESSES } from "../plan.js";
import type { VenuefiveWorld } from "../world.js";

export const ORDER_TYPE = { MARKET: 0, STOP_LIMIT: 1, LIMIT: 2, MARKET_ZERO_FEE: 3 } as const;

export interface OpenOrder {
  readonly pairIndex: number;
  readonly isLong?: boolean;
  /** Decimal texts. */
  readonly collateral: string;
  readonly leverage: string;
  readonly price: string;
  readonly type?: keyof typeof ORDER_TYPE;
  readonly slippagePercent?: string;
  readonly tp?: string;
  readonly sl?: string;
}

export interface VenueEvent {
  readonly contract: VenuefiveContract;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What is paid to the keeper of the real venue. */
export const EXECUTION_FEE_WEI = 350_000_000_000_000n;

export function openArgs(trader: Hex, order: OpenOrder): readonly unknown[] {
  const { pairIndex, isLong = true, type = "MARKET", slippagePercent = "0.3" } = order;
  const trade = {
    trader,
    pairIndex: BigInt(pairIndex),
    index: 0n,
    initialPosToken: 0n,
    positionSizeUSDC: parseUnits(order.collateral, 6),
    openPrice: scaled(order.price),
    buy: isLong,
    leverage: scaled(order.leverage),
    tp: scaled(order.tp ?? "0"),
    sl: scaled(order.sl ?? "0"),
    timestamp: 0n,
  };
  return [trade, ORDER_TYPE[type], scaled(slippagePercent)];
}

/** Logs of the world's contracts, decoded by their own descriptions. */
export function venueEvents(logs: readonly Pick<Log, "address" | "topics" | "data">[]): VenueEvent[] {
  return logs.flatMap(({ address, topics, data }) => {
    const contract = DEPLOYED.find((name) => VENUEFIVE_ADDRESSES[name].toLowerCase() === address.toLowerCase());
    if (contract === undefined) return [];
    const { eventName, args } = decodeEventLog({ abi: VENUEFIVE_CONTRACTS[contract].abi, topics, data });
    return [{ contract, name: String(eventName), args: (args ?? {}) as unknown as Record<string, unknown> }];
  });
}

export class VenuefiveTrader {
  readonly address: Hex;
  readonly #world: VenuefiveWorld;
  readonly #account: ReturnType<typeof privateKeyToAccount>;

  constructor(world: VenuefiveWorld, privateKey: Hex) {
    this.#world = world;
    this.#account = privateKeyToAccount(privateKey);
    this.address = this.#account.address;
  }

  /** Simulated first, so that a refusal shows its reason; with gas to spare, as others change the state before its block. */
  async write(
    contract: VenuefiveContract,
    functionName: string,
    args: readonly unknown[],
    value = 0n,
  ): Promise<{ receipt: TransactionReceipt; events: VenueEvent[] }> {
    const { reader, writer } = this.#clients();
    const { abi } = VENUEFIVE_CONTRACTS[contract];
    const call = {
      address: VENUEFIVE_ADDRESSES[contract],
      abi,
      functionName,
      args,
      account: this.#account,
      value,
      gas: GAS_MAX,
    };
    const { request } = await reader.simulateContract(call);
    const hash = await writer.writeContract(request);
    if (this.#world.minesItself) await this.#world.chain.mine();
    // Asked for until it is there: what waits for the next block waits for ever on a chain that makes none by itself.
    await minedReceipt(this.#world.chain.rpc, hash);
    const receipt = await reader.getTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error(`${functionName} reverted in its block`);
    return { receipt, events: venueEvents(receipt.logs) };
  }

  approve(amount: string, spender: Hex = VENUEFIVE_ADDRESSES.TradingStorage) {
    return this.write("Usdc", "approve", [spender, parseUnits(amount, 6)]);
  }

  open(order: OpenOrder) {
    return this.write("Trading", "openTrade", openArgs(this.address, order), EXECUTION_FEE_WEI);
  }

  /** `amount` of collateral in 1e-6 USDC. */
  close(pairIndex: number, index: number, amount: bigint) {
    const args = [BigInt(pairIndex), BigInt(index), amount];
    return this.write("Trading", "closeTradeMarket", args, EXECUTION_FEE_WEI);
  }

  /** Market order and its execution; returns the slot it opened. */
  async opened(order: OpenOrder): Promise<number> {
    const { receipt } = await this.open(order);
    await this.#world.keeper.round();
    const event = (await eventsSince(this.#world, receipt.blockNumber)).find(({ name }) => name === "MarketExecuted");
    if (event === undefined) throw new Error("the order was not executed");
    return Number((event.args["t"] as { index: bigint }).index);
  }

  #clients() {
    const { rpcUrl, chainId } = this.#world;
    const nativeCurrency = { name: "Coin", symbol: "COIN", decimals: 18 };
    const chain = defineChain({ id: chainId, name: "local", nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
    const options = { chain, transport: http(rpcUrl, { retryCount: 0 }), pollingInterval: 10 };
    return { reader: createPublicClient(options), writer: createWalletClient({ ...options, account: this.#account }) };
  }
}

/** Of the world's contracts from that block on, oldest first. */
export async function eventsSince(world: VenuefiveWorld, fromBlock: bigint): Promise<VenueEvent[]> {
  const filter = { address: Object.values(VENUEFIVE_ADDRESSES), fromBlock: `0x${fromBlock.toString(16)}` };
  return venueEvents((await world.chain.rpc("eth_getLogs", [filter])) as Log[]);
}

/** With coins, USDC and an allowance for the storage. */
export async function startTrader(world: VenuefiveWorld, name: number, usdc = "100000"): Promise<VenuefiveTrader> {
  const trader = new VenuefiveTrader(world, `0x${name.toString(16).padStart(64, "7")}`);
  await world.chain.setBalance(trader.address, parseEther("10"));
  await world.fund(trader.address, { usdc });
  await trader.approve("1000000000");
  return trader;
}
