/**
 * In the place of a wallet that a browser extension injects (`window.ethereum`): the same calls of EIP-1193, with a key of the
 * local chain that signs without asking. A page for others never has a key.
 */
import { type Address, createWalletClient, type EIP1193RequestFn, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { ExampleFacts } from "./facts.js";

export interface InjectedWallet {
  readonly request: EIP1193RequestFn;
}

interface SentCall {
  readonly to: Address;
  readonly data: Hex;
  readonly value?: Hex;
}

export function devWallet({ devKey, rpcUrl }: Pick<ExampleFacts, "devKey" | "rpcUrl">): InjectedWallet {
  const account = privateKeyToAccount(devKey);
  const client = createWalletClient({ account, transport: http(rpcUrl) });
  const request = async ({ method, params }: { readonly method: string; readonly params?: unknown }) => {
    if (method === "eth_requestAccounts" || method === "eth_accounts") return [account.address];
    if (method !== "eth_sendTransaction") return client.request({ method, params } as never);
    const [{ to, data, value = "0x0" }] = params as readonly [SentCall];
    return client.sendTransaction({ chain: null, to, data, value: BigInt(value) });
  };
  return { request: request as EIP1193RequestFn };
}
