/**
 * The local world: a chain for each id with its tokens, the vault of venuetwo and the bridge of venueone, at the
 * addresses of the plan. Vault and bridge own enough to pay out.
 */
import { formatUnits, type Hex, parseUnits } from "viem";
import { ChainKey, ChainSender } from "./chain-account.js";
import { minedReceipt } from "./chain-rpc.js";
import { CONTRACTS } from "./contracts/artifacts.js";
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

/** An amount of a token for somebody; `amount` is decimal text in token units. */
export interface MintOrder {
  readonly chainId: WorldChainId;
  readonly token: string;
  readonly to: Hex;
  readonly amount: string;
}

export class ChainWorld {
  readonly #chains: ReadonlyMap<WorldChainId, LocalChain>;
  readonly #minters = new Map<WorldChainId, ChainSender>();
  readonly #isAuto: boolean;

  /** Use `startChainWorld`. */
  constructor(chains: readonly LocalChain[], isAuto: boolean) {
    this.#chains = new Map(chains.map((chain) => [chain.chainId as WorldChainId, chain]));
    this.#isAuto = isAuto;
    for (const [chainId, chain] of this.#chains)
      this.#minters.set(chainId, new ChainSender(new ChainKey(DEPLOYER_KEY, chainId), chain.rpc));
  }

  /** Throws RangeError where no such chain was started. */
  chain(chainId: WorldChainId): LocalChain {
    const chain = this.#chains.get(chainId);
    if (chain === undefined) throw new RangeError(`no chain ${chainId} in this world`);
    return chain;
  }

  /** Of the chains that run, by their ids. */
  get rpcUrls(): Readonly<Partial<Record<WorldChainId, string>>> {
    return Object.fromEntries([...this.#chains].map(([chainId, { rpcUrl }]) => [chainId, rpcUrl]));
  }

  /** Makes tokens; makes a block too, where transactions do not make their own. */
  async mint({ chainId, token, to, amount }: MintOrder): Promise<void> {
    const { address, decimals, contract } = worldToken(chainId, token);
    const args = [to, parseUnits(amount, decimals)];
    const hash = await this.#minter(chainId).call({
      to: address,
      abi: CONTRACTS[contract].abi,
      functionName: "mint",
      args,
    });
    await this.#mined(chainId, [hash]);
  }

  /** Of the native coin, decimal text in whole coins; replaces what was there. */
  setCoins(chainId: WorldChainId, address: Hex, coins: string): Promise<void> {
    return this.chain(chainId).setBalance(address, parseUnits(coins, 18));
  }

  /** Decimal text in token units. */
  async balance(chainId: WorldChainId, symbol: string, address: Hex): Promise<string> {
    const token = worldToken(chainId, symbol);
    const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
    const answer = (await this.chain(chainId).rpc("eth_call", [{ to: token.address, data }, "latest"])) as Hex;
    return formatUnits(BigInt(answer), token.decimals);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#chains.values()].map((chain) => chain.stop()));
  }

  /** Puts the plan on one chain. Throws where a contract does not lie where the plan says. */
  async deploy(chainId: WorldChainId, reserve: string): Promise<void> {
    const chain = this.chain(chainId);
    for (const key of [DEPLOYER_KEY, VAULT_OPERATOR_KEY, BRIDGE_OPERATOR_KEY])
      await chain.setBalance(new ChainKey(key, chainId).address, parseUnits("1000000", 18));
    const plan = WORLD[chainId];
    const hashes: Hex[] = [];
    for (const { name, args, address } of deployments(plan)) {
      const made = await this.#minter(chainId).deploy(CONTRACTS[name], args);
      if (made.address !== address) throw new Error(`${name} of chain ${chainId} lies at ${made.address}`);
      hashes.push(made.hash);
    }
    await this.#mined(chainId, hashes);
    for (const [owner, token] of reserves(plan)) await this.mint({ chainId, token, to: owner, amount: reserve });
  }

  #minter(chainId: WorldChainId): ChainSender {
    const minter = this.#minters.get(chainId);
    if (minter === undefined) throw new RangeError(`no chain ${chainId} in this world`);
    return minter;
  }

  async #mined(chainId: WorldChainId, hashes: readonly Hex[]): Promise<void> {
    const chain = this.chain(chainId);
    if (!this.#isAuto) await chain.mine();
    for (const hash of hashes) {
      const { status } = await minedReceipt(chain.rpc, hash);
      if (status !== "0x1") throw new Error(`a transaction of the local world failed on chain ${chainId}`);
    }
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
  const world = new ChainWorld(chains, mining.kind === "auto");
  try {
    for (const one of started) if (one.status === "rejected") throw one.reason;
    await Promise.all(chainIds.map((chainId) => world.deploy(chainId, reserve)));
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}
