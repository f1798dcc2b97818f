/** What an endpoint says that is some blocks behind its chain: of its height and of what is above, which it does not have. */
import type { Twist } from "./rpc-proxy.js";

type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

export function laggingTwist(rpc: Rpc, behindBlocks: number, safeLagBlocks: number): Twist {
  const height = async (): Promise<number> => Math.max(0, Number(await rpc("eth_blockNumber", [])) - behindBlocks);
  const block = (number: number): Promise<unknown> => rpc("eth_getBlockByNumber", [hexOf(number), false]);
  const isAbove = (of: unknown, top: number): boolean =>
    Number((of as { readonly blockNumber?: string }).blockNumber) > top;
  return async ({ method, params }, result) => {
    const top = await height();
    if (method === "eth_blockNumber") return hexOf(top);
    if (method === "eth_getBlockByNumber") {
      if (params[0] === "latest") return block(top);
      if (params[0] === "safe") return block(Math.max(0, top - safeLagBlocks));
      return Number(params[0]) > top ? null : undefined;
    }
    if (result === null || result === undefined) return undefined;
    if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash")
      return isAbove(result, top) ? null : undefined;
    // Without a word of what it does not know, as many nodes have it.
    return method === "eth_getLogs" ? (result as readonly unknown[]).filter((log) => !isAbove(log, top)) : undefined;
  };
}

const hexOf = (number: number): string => `0x${number.toString(16)}`;
