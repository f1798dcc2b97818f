/** Somebody with coins and tokens on a chain of the local world, who deposits as any wallet does. */
import { type Hex, maxUint256, parseUnits } from "viem";
import { ChainKey, ChainSender } from "../chain-account.js";
import { CONTRACTS } from "../contracts/artifacts.js";
import type { ChainWorld } from "../world.js";
import { WORLD, type WorldChainId, worldToken } from "../world-plan.js";

export interface Depositor {
  /** Lower case. */
  readonly address: Hex;
  /** Into the vault; returns the hash. Amounts are decimal text in token units. */
  deposit(amount: string): Promise<Hex>;
  /** The native coin into the vault. */
  depositCoins(coins: string): Promise<Hex>;
  transfer(to: Hex, amount: string): Promise<Hex>;
}

/** It owns 1000 tokens and has approved the vault. Makes a block on chains that make none by themselves. */
export async function startDepositor(
  world: ChainWorld,
  chainId: WorldChainId,
  token: string,
  privateKey: Hex,
): Promise<Depositor> {
  const key = new ChainKey(privateKey, chainId);
  const chain = world.chain(chainId);
  const sender = new ChainSender(key, chain.rpc);
  const { address, decimals } = worldToken(chainId, token);
  const erc20 = { to: address, abi: CONTRACTS.Token.abi };
  await world.setCoins(chainId, key.address, "1000");
  await world.mint({ chainId, token, to: key.address, amount: "1000" });
  await sender.call({ ...erc20, functionName: "approve", args: [WORLD[chainId].vault, maxUint256] });
  await chain.mine();
  return {
    address: key.address.toLowerCase() as Hex,
    deposit: (amount) =>
      sender.call({
        to: WORLD[chainId].vault,
        abi: CONTRACTS.Vault.abi,
        functionName: "deposit",
        args: [address, parseUnits(amount, decimals), 1000n],
      }),
    depositCoins: (coins) =>
      sender.call({
        ...{ to: WORLD[chainId].vault, abi: CONTRACTS.Vault.abi, functionName: "depositNative", args: [1000n] },
        value: parseUnits(coins, 18),
      }),
    transfer: (to, amount) =>
      sender.call({ ...erc20, functionName: "transfer", args: [to, parseUnits(amount, decimals)] }),
  };
}
