/**
 * The local world: a chain for each id with its tokens, a vault and a bridge of the venues that have them, at the
 * addresses of the plan. Vault and bridge own enough to pay out.
 */
import type { Hex } from "viem";
import { ChainKey } from "./chain-account.js";
import { CONTRACTS } from "./contracts/artifacts.js";
import { Faucet, type MintOrder, settle, type WorldUrls } from "./faucet.js";
import { type LocalChain, type Mining, startLocalChain } from "./local-chain.js";
import {
  BRIDGE_OPERATOR_KEY,
  DEPLOYER_KEY,
  VAULT_OPERATOR_KEY,
  WORLD,
  WORLD_CHAIN_IDS,
  type WorldChain,
  type WorldChainId,
  type WorldToken,
  worldToken,
} from "./world-plan.js";

export interface ChainWorldOptions {
  /** Default all. */
  readonly chainIds?: readonly WorldChainId[];
  /** Default auto. */
  readonly mining?: Mining;
  /** Default 0: free ones. */
  readonly ports?: Readonly<Partial<Record<WorldChainId, number>>>;
  /** What vault and bridge own of each token at the start, in whole tokens. Default 1 000 000. */
  readonly reserve?: string;
}

/** For gas, of each key of the world. */
const OPERATOR_COINS = "1000000";

export class ChainWorld {
  readonly #chains: ReadonlyMap<WorldChainId, LocalChain>;
  readonly #faucet: Faucet;

  /** Use `startChainWorld`. */
  constructor(chains: readonly LocalChain[]) {
    this.#chains = new Map(chains.map((chain) => [chain.chainId as WorldChainId, chain]));
    this.#faucet = new Faucet(this.rpcUrls);
  }

  /** Throws RangeError where no such chain was started. */
  chain(chainId: WorldChainId): LocalChain {
    const chain = this.#chains.get(chainId);
    if (chain === undefined) throw new RangeError(`no chain ${chainId} in this world`);
    return chain;
  }

  /** Of the chains that run, by their ids. */
  get rpcUrls(): WorldUrls {
    return Object.fromEntries([...this.#chains].map(([chainId, { rpcUrl }]) => [chainId, rpcUrl]));
  }

  /** Makes tokens; makes a block too, where transactions do not make their own. */
  mint(order: MintOrder): Promise<void> {
    return this.#faucet.mint(order);
  }

  /** Of the native coin, decimal text in whole coins; replaces what was there. */
  setCoins(chainId: WorldChainId, address: Hex, coins: string): Promise<void> {
    return this.#faucet.setCoins(chainId, address, coins);
  }

  /** Decimal text in token units. */
  balance(chainId: WorldChainId, token: string, address: Hex): Promise<string> {
    return this.#faucet.balance(chainId, token, address);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#chains.values()].map((chain) => chain.stop()));
  }

  /** Puts the plan on one chain. Throws where a contract does not lie where the plan says. */
  async deploy(chainId: WorldChainId, reserve: string): Promise<void> {
    for (const key of [DEPLOYER_KEY, VAULT_OPERATOR_KEY, BRIDGE_OPERATOR_KEY])
      await this.setCoins(chainId, new ChainKey(key, chainId).address, OPERATOR_COINS);
    const plan = WORLD[chainId];
    const hashes: Hex[] = [];
    for (const { name, args, address } of deployments(plan)) {
      const made = await this.#faucet.minter(chainId).deploy(CONTRACTS[name], args);
      if (made.address !== address) throw new Error(`${name} of chain ${chainId} lies at ${made.address}`);
      hashes.push(made.hash);
    }
    await settle(this.chain(chainId).rpc, hashes);
    for (const [owner, token] of reserves(plan)) await this.mint({ chainId, token, to: owner, amount: reserve });
  }
}

interface Deployment {
  readonly name: keyof typeof CONTRACTS;
  readonly args: readonly unknown[];
  readonly address: Hex;
}

function deployments({ chainId, tokens, vault, bridge }: WorldChain): Deployment[] {
  const operator = (key: Hex): Hex => new ChainKey(key, chainId).address;
  const ofTokens = Object.values(tokens).map(({ contract, symbol, decimals, address }: WorldToken) => ({
    name: contract,
    args: [`Local ${symbol}`, symbol, decimals],
    address,
  }));
  const usdt = worldToken(chainId, "USDT").address;
  const list: Deployment[] = [
    ...ofTokens,
    { name: "Vault", args: [operator(VAULT_OPERATOR_KEY), [usdt]], address: vault },
  ];
  if (bridge !== null) {
    const args = [operator(BRIDGE_OPERATOR_KEY), worldToken(chainId, "USDC").address];
    list.push({ name: "Bridge", args, address: bridge });
  }
  return list;
}

const reserves = ({ vault, bridge }: WorldChain): [owner: Hex, token: string][] => [
  [vault, "USDT"],
  ...(bridge === null ? [] : [[bridge, "USDC"] as [Hex, string]]),
];

/** Starts the chains and puts the plan on each. Nothing is left running where one of them fails. */
export async function startChainWorld(options: ChainWorldOptions = {}): Promise<ChainWorld> {
  const { chainIds = WORLD_CHAIN_IDS, mining = { kind: "auto" }, ports = {}, reserve = "1000000" } = options;
  const started = await Promise.allSettled(
    chainIds.map((chainId) => startLocalChain({ chainId, mining, port: ports[chainId] ?? 0 })),
  );
  const chains = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const world = new ChainWorld(chains);
  try {
    for (const one of started) if (one.status === "rejected") throw one.reason;
    await Promise.all(chainIds.map((chainId) => world.deploy(chainId, reserve)));
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}
