/**
 * The trading of the client on the local venuefive, with real viem clients. The wallet is of this file: it signs with an
 * account of its own, counts what it is asked to sign, and can do what a wallet's user does. Nothing stands in for the chain.
 */
import {
  type Address,
  createPublicClient,
  createWalletClient,
  custom,
  decodeFunctionData,
  type EIP1193RequestFn,
  type Hex,
  http,
  type LocalAccount,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { approveCall, callData, TRADING, USDC } from "../../../client/venuefive/contract-calls.js";
import type { OpenPositionParameters } from "../../../client/venuefive/open-order.js";
import type { TradingClock, VenuefiveTradingOptions } from "../../../client/venuefive/options.js";
import type { VenuefiveStepEvent } from "../../../client/venuefive/steps.js";
import { VenuefiveTradeError } from "../../../client/venuefive/trade-error.js";
import { createVenuefiveTrading, type VenuefiveTrading } from "../../../client/venuefive/trading.js";
import type { VenuefiveWorld } from "../../sim/venuefive/world.js";

const POLL_MS = 7;
const NEVER_MS = 1e12;
/** Nothing times out by itself; a test shortens what it is about. */
export const PATIENT = {
  ...{ readMs: NEVER_MS, signMs: NEVER_MS, minedMs: NEVER_MS, executedMs: NEVER_MS, droppedMs: NEVER_MS },
  ...{ lagMs: NEVER_MS, pollMs: POLL_MS },
};
/** So many looks at the chain. */
export const looks = (count: number): number => count * POLL_MS;
export const ORDER = {
  ...{ symbol: "BTC", direction: "LONG", positionSizeUsd: "100", leverage: 10 },
  ...{ openPrice: "92400", orderType: "MARKET" },
} as const satisfies OpenPositionParameters;
/** viem asks again where a contract refuses, and a test counts what is asked. */
const ONCE = { retryCount: 0 };
export const FEE_WEI = 350_000_000_000_000n;

/** Virtual: only pauses between looks pass, each at once; longer times end once so many pauses have passed. */
export function pausingClock(): TradingClock {
  let nowMs = 0;
  const timers = new Map<symbol, { readonly dueMs: number; readonly callback: () => void }>();
  const pass = (untilMs: number): void => {
    nowMs = Math.max(nowMs, untilMs);
    for (const [id, { dueMs, callback }] of timers) if (dueMs <= nowMs && timers.delete(id)) callback();
  };
  return {
    monoMs: () => nowMs,
    after(ms, callback) {
      const id = Symbol("timer");
      const dueMs = nowMs + ms;
      timers.set(id, { dueMs, callback });
      if (ms === POLL_MS) setImmediate(pass, dueMs);
      return () => void timers.delete(id);
    },
  };
}

export function addressesOf({ addresses }: VenuefiveWorld): NonNullable<VenuefiveTradingOptions["addresses"]> {
  const { Trading, TradingStorage, PairStorage, Multicall, Usdc } = addresses;
  return { Trading, TradingStorage, PairStorage, Multicall, USDC: Usdc };
}

type Handler = (request: { readonly method: string; readonly params: readonly never[] }) => Promise<unknown>;

/** A node as the world has it; `intercept` may answer in its place, or put another question. */
export class Node {
  readonly #world: VenuefiveWorld;
  intercept: ((request: Parameters<Handler>[0], forward: Handler) => Promise<unknown>) | null = null;

  constructor(world: VenuefiveWorld) {
    this.#world = world;
  }

  readonly request: Handler = (request) => {
    const { intercept } = this;
    return intercept === null ? this.forward(request) : intercept(request, this.forward);
  };

  readonly forward: Handler = ({ method, params }) => this.#world.chain.rpc(method, params ?? []);
}

export interface SignedCall {
  readonly to: Address;
  readonly data: Hex;
  readonly name: string;
  readonly value: bigint;
}

/** A page's wallet behind EIP-1193. */
export class InjectedWallet {
  readonly account: LocalAccount;
  readonly node: Node;
  /** Signatures that it was asked for, given or not. */
  readonly asked: SignedCall[] = [];
  accounts: readonly Address[];
  chainId = 8453;
  /** In the place of signing and sending, once. */
  next: ((send: () => Promise<Hex>) => Promise<Hex>) | null = null;

  constructor(node: Node, key: Hex) {
    this.node = node;
    this.account = privateKeyToAccount(key);
    this.accounts = [this.account.address];
  }

  client() {
    return createWalletClient({ account: this.account.address, transport: this.transport });
  }

  readonly transport = custom({ request: ((request: never) => this.#request(request)) as EIP1193RequestFn }, ONCE);

  /** Signs and sends it: at the account's next nonce, or in the place of one that waits. */
  async send(call: { to: Address; data: Hex; value: bigint }, nonce?: number, tip = 1n): Promise<Hex> {
    const { address } = this.account;
    const count = nonce ?? Number(await this.node.forward(rpc("eth_getTransactionCount", address, "pending")));
    const price = BigInt((await this.node.forward(rpc("eth_gasPrice"))) as Hex) * 2n * tip;
    const raw = await this.account.signTransaction({
      ...{ ...call, type: "eip1559", chainId: this.chainId, nonce: count, gas: 3_000_000n },
      ...{ maxFeePerGas: price, maxPriorityFeePerGas: 1_000_000_000n * tip },
    });
    return (await this.node.forward(rpc("eth_sendRawTransaction", raw))) as Hex;
  }

  async #request(request: Parameters<Handler>[0]): Promise<unknown> {
    if (request.method === "eth_accounts") return this.accounts;
    if (request.method === "eth_chainId") return `0x${this.chainId.toString(16)}`;
    if (request.method !== "eth_sendTransaction") return this.node.request(request);
    const [{ to, data, value = "0x0" }] = request.params as unknown as [{ to: Address; data: Hex; value?: Hex }];
    const call = { to, data, value: BigInt(value) };
    this.asked.push({ ...call, name: decodeFunctionData({ abi: [...TRADING, ...USDC], data }).functionName });
    const { next } = this;
    this.next = null;
    return next === null ? this.send(call) : next(() => this.send(call));
  }
}

const rpc = (method: string, ...params: readonly unknown[]) => ({ method, params: params as readonly never[] });

export interface Stand {
  readonly trading: VenuefiveTrading;
  readonly wallet: InjectedWallet;
  /** Which the reads go to. */
  readonly node: Node;
  readonly steps: VenuefiveStepEvent[];
  readonly options: VenuefiveTradingOptions;
  readonly address: Address;
  /** The same account and wallet with other options. */
  with(options: Partial<VenuefiveTradingOptions>): VenuefiveTrading;
  /** Names of what the wallet was asked to sign. */
  signed(): string[];
}

let accounts = 0;
export const nextKey = (): Hex => `0x${(++accounts).toString(16).padStart(64, "5")}`;

type StandOptions = Partial<VenuefiveTradingOptions> & {
  readonly key?: Hex;
  readonly usdc?: string;
  readonly coins?: string;
};

/** With coins and USDC, and no allowance. */
export async function startStand(
  world: VenuefiveWorld,
  { key = nextKey(), usdc = "10000", coins = "10", ...given }: StandOptions = {},
): Promise<Stand> {
  const node = new Node(world);
  const wallet = new InjectedWallet(new Node(world), key);
  const { address } = wallet.account;
  await world.fund(address, { usdc, coins });
  const steps: VenuefiveStepEvent[] = [];
  const options: VenuefiveTradingOptions = {
    publicClient: createPublicClient({ transport: custom({ request: node.request as EIP1193RequestFn }, ONCE) }),
    walletClient: wallet.client(),
    addresses: addressesOf(world),
    executionFeeWei: FEE_WEI,
    timeouts: PATIENT,
    clock: pausingClock(),
    onStep: (event) => void steps.push(event),
    ...given,
  };
  return {
    ...{ wallet, node, steps, options, address },
    trading: createVenuefiveTrading(options),
    with: (more) => createVenuefiveTrading({ ...options, ...more }),
    signed: () => wallet.asked.map(({ name }) => name),
  };
}

/** With an allowance that suffices, in its block. */
export async function startApproved(world: VenuefiveWorld, given: StandOptions = {}): Promise<Stand> {
  const stand = await startStand(world, given);
  const { Usdc, TradingStorage } = world.addresses;
  const call = approveCall(Usdc, TradingStorage, 10_000_000_000n);
  await stand.wallet.send({ to: Usdc, data: callData(call), value: 0n });
  await world.chain.mine();
  return stand;
}

/** A key of this process over HTTP, as a server or a test has it. */
export function keyClients(world: VenuefiveWorld, key: Hex) {
  const transport = http(world.rpcUrl, ONCE);
  const account = privateKeyToAccount(key);
  return {
    account,
    publicClient: createPublicClient({ transport }),
    walletClient: createWalletClient({ account, transport }),
  };
}

/** What it rejects with; throws where it resolves. */
export async function refusal(work: Promise<unknown>): Promise<VenuefiveTradeError> {
  const result = await work.catch((error: unknown) => error);
  if (result instanceof VenuefiveTradeError) return result;
  throw result instanceof Error ? result : new Error(`it resolved with ${JSON.stringify(result)}`);
}
