/** Tokens and coins of the local world for anybody, over the chains' URLs: from whatever process. */
import { formatUnits, type Hex, parseUnits } from "viem";
import { ChainKey, ChainSender } from "./chain-account.js";
import { type ChainRpc, chainRpc, minedReceipt } from "./chain-rpc.js";
import { CONTRACTS } from "./contracts/artifacts.js";
import { DEPLOYER_KEY, type WorldChainId, worldToken } from "./world-plan.js";

export type WorldUrls = Readonly<Partial<Record<WorldChainId, string>>>;

/** An amount of a token for somebody; `amount` is decimal text in token units. */
export interface MintOrder {
  readonly chainId: WorldChainId;
  readonly token: string;
  readonly to: Hex;
  readonly amount: string;
}

const COIN_DECIMALS = 18;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export class Faucet {
  readonly #rpcs = new Map<WorldChainId, ChainRpc>();
  readonly #minters = new Map<WorldChainId, ChainSender>();

  constructor(rpcUrls: WorldUrls) {
    for (const [id, url] of Object.entries(rpcUrls)) {
      const chainId = Number(id) as WorldChainId;
      const rpc = chainRpc(url);
      this.#rpcs.set(chainId, rpc);
      this.#minters.set(chainId, new ChainSender(new ChainKey(DEPLOYER_KEY, chainId), rpc));
    }
  }

  /** Makes tokens; makes a block too, where transactions do not make their own. Throws RangeError on what the world lacks. */
  async mint({ chainId, token, to, amount }: MintOrder): Promise<void> {
    const { address, decimals, contract } = worldToken(chainId, token);
    const args = [to, parseUnits(amount, decimals)];
    const call = { to: address, abi: CONTRACTS[contract].abi, functionName: "mint", args };
    await settle(this.rpc(chainId), [await this.minter(chainId).call(call)]);
  }

  /** Of the native coin, decimal text in whole coins; replaces what was there. */
  async setCoins(chainId: WorldChainId, address: Hex, coins: string): Promise<void> {
    const wei: Hex = `0x${parseUnits(coins, COIN_DECIMALS).toString(16)}`;
    await this.rpc(chainId)("anvil_setBalance", [address, wei]);
  }

  /** Decimal text in token units. */
  async balance(chainId: WorldChainId, symbol: string, address: Hex): Promise<string> {
    const token = worldToken(chainId, symbol);
    const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
    const answer = (await this.rpc(chainId)("eth_call", [{ to: token.address, data }, "latest"])) as Hex;
    return formatUnits(BigInt(answer), token.decimals);
  }

  rpc(chainId: WorldChainId): ChainRpc {
    return found(this.#rpcs.get(chainId), chainId);
  }

  /** The deployer's own line of transactions. */
  minter(chainId: WorldChainId): ChainSender {
    return found(this.#minters.get(chainId), chainId);
  }

  /** `{chainId, token, to, amount, coins?}` of the control API; `coins` are for gas. Throws RangeError on a wrong body. */
  async order(body: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
    const { chainId, token, to, amount, coins } = body;
    if (typeof to !== "string" || !ADDRESS.test(to)) throw new RangeError("to must be an address");
    if (typeof token !== "string" || !isAmount(amount)) throw new RangeError("token and amount are texts");
    if (coins !== undefined && !isAmount(coins)) throw new RangeError("coins must be decimal text");
    const [id, receiver] = [Number(chainId) as WorldChainId, to as Hex];
    this.rpc(id);
    if (coins !== undefined) await this.setCoins(id, receiver, coins);
    await this.mint({ chainId: id, token, to: receiver, amount });
    return { chainId: id, token, balance: await this.balance(id, token, receiver) };
  }
}

const isAmount = (value: unknown): value is string =>
  typeof value === "string" && /^\d{1,12}(\.\d{1,18})?$/.test(value);

function found<T>(value: T | undefined, chainId: number): T {
  if (value === undefined) throw new RangeError(`no chain ${chainId} in this world`);
  return value;
}

/** Waits until all are in a block, which it makes where none comes by itself. Throws where one of them failed. */
export async function settle(rpc: ChainRpc, hashes: readonly Hex[]): Promise<void> {
  if ((await rpc("anvil_getAutomine")) !== true) await rpc("anvil_mine", ["0x1"]);
  for (const hash of hashes) {
    const { status } = await minedReceipt(rpc, hash);
    if (status !== "0x1") throw new Error(`the transaction ${hash} of the local world failed`);
  }
}
