/** Calls of the local venuefive's contracts: reads, and what one key sends. */
import { type Abi, decodeErrorResult, decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import { type ChainKey, ChainSender, type ContractCall, GAS_MAX } from "../chain/chain-account.js";
import { type ChainReceipt, type ChainRpc, ChainRpcError, minedReceipt } from "../chain/chain-rpc.js";
import { VENUEFIVE_CONTRACTS, type VenuefiveContract } from "./contracts/artifacts.js";
import { VENUEFIVE_ADDRESSES } from "./plan.js";

export function contractCall(
  contract: VenuefiveContract,
  functionName: string,
  args: readonly unknown[] = [],
): ContractCall {
  const { abi } = VENUEFIVE_CONTRACTS[contract];
  return { to: VENUEFIVE_ADDRESSES[contract], abi, functionName, args, gas: GAS_MAX };
}

/** What the function returns at the newest block; several values are an array. Throws ChainRpcError where it reverts. */
export async function readContract<T>(
  rpc: ChainRpc,
  contract: VenuefiveContract,
  functionName: string,
  args: readonly unknown[] = [],
): Promise<T> {
  const { to, abi } = contractCall(contract, functionName, args);
  const data = (await rpc("eth_call", [{ to, data: encode(abi, functionName, args) }, "latest"])) as Hex;
  return decodeFunctionResult({ abi, functionName, args, data }) as T;
}

/** Sends one call after the other, each in its block before the next. */
export class ContractSender {
  readonly #key: ChainKey;
  readonly #rpc: ChainRpc;
  readonly #minesItself: boolean;
  readonly #sender: ChainSender;

  /** `minesItself`: blocks come by hand, so each call makes its own. */
  constructor(key: ChainKey, rpc: ChainRpc, minesItself: boolean) {
    this.#key = key;
    this.#rpc = rpc;
    this.#minesItself = minesItself;
    this.#sender = new ChainSender(key, rpc);
  }

  get sender(): ChainSender {
    return this.#sender;
  }

  /** The text with which the call would revert at the newest block; null: it would not. */
  async refusal(call: ContractCall): Promise<string | null> {
    const { to, abi, functionName, args } = call;
    try {
      await this.#rpc("eth_call", [{ from: this.#key.address, to, data: encode(abi, functionName, args) }, "latest"]);
      return null;
    } catch (error) {
      if (error instanceof ChainRpcError) return revertText(error);
      throw error;
    }
  }

  /** Resolves once it is in a block, where it may have failed. */
  async send(call: ContractCall): Promise<ChainReceipt> {
    return this.landed(await this.#sender.call(call));
  }

  async landed(hash: Hex): Promise<ChainReceipt> {
    if (this.#minesItself) await this.#rpc("anvil_mine", ["0x1"]);
    return minedReceipt(this.#rpc, hash);
  }
}

const encode = (abi: Abi, functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi, functionName, args });

/** The contract's own text, without what the node adds. */
function revertText({ data, message }: ChainRpcError): string {
  if (typeof data === "string" && data.startsWith("0x08c379a0")) {
    const { args } = decodeErrorResult({ abi: [], data: data as Hex });
    return String(args?.[0]);
  }
  return data === "0x" ? "" : message;
}
