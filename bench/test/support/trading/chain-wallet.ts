/** A wallet of the local world that sends what a room's route says, and reads what became of it as the service would. */
import type { Hex } from "viem";
import type { ChainLog } from "../../../../engine/chain.js";
import type { DepositRoute, Token } from "../../../../engine/venue-money.js";
import { fromHex, toHex } from "../../../../feeds/shared/sign/eip712.js";
import { ChainKey, nextNonce } from "../../../sim/chain/chain-account.js";
import { minedReceipt } from "../../../sim/chain/chain-rpc.js";
import type { ChainWorld } from "../../../sim/chain/world.js";
import { type WorldChainId, worldToken } from "../../../sim/chain/world-plan.js";
import { approveCalldata } from "../../../../feeds/venuetwo/sign/sign-wallet.js";

export interface SentCall {
  readonly hash: Hex;
  readonly succeeded: boolean;
  readonly logs: readonly ChainLog[];
}

interface ReceiptLogs {
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: Hex }[];
}

export class ChainWallet {
  readonly address: Hex;
  readonly #world: ChainWorld;
  readonly #key: ChainKey;
  readonly #chainId: WorldChainId;

  /** Use `startChainWallet`. */
  constructor(world: ChainWorld, chainId: WorldChainId, privateKey: Hex) {
    this.#world = world;
    this.#chainId = chainId;
    this.#key = new ChainKey(privateKey, chainId);
    this.address = this.#key.address;
  }

  /** Sends, and makes the block that it is in. */
  async send({ to, data }: { readonly to: string; readonly data: Uint8Array }): Promise<SentCall> {
    const { rpc } = this.#world.chain(this.#chainId);
    const signed = await this.#key.sign(
      { to: to as Hex, data: toHex(data) as Hex },
      await nextNonce(rpc, this.address),
    );
    await rpc("eth_sendRawTransaction", [signed.raw]);
    await this.#world.chain(this.#chainId).mine();
    const receipt = (await minedReceipt(rpc, signed.hash)) as unknown as ReceiptLogs & { readonly status: string };
    const logs = receipt.logs.map((log) => ({ ...log, data: fromHex(log.data) }));
    return { hash: signed.hash, succeeded: receipt.status === "0x1", logs };
  }

  /** What the route needs approved, then the deposit itself. */
  async deposit({ token, spender, call }: DepositRoute, amount: bigint): Promise<SentCall> {
    if (spender !== null) await this.send({ to: token.address, data: fromHex(approveCalldata(spender, amount)) });
    return this.send(call(amount, null));
  }

  balance({ symbol }: Pick<Token, "symbol">, of: string = this.address): Promise<string> {
    return this.#world.balance(this.#chainId, symbol, of as Hex);
  }
}

/** It owns 1000 tokens, and coins for gas. */
export async function startChainWallet(
  world: ChainWorld,
  chainId: WorldChainId,
  token: string,
  privateKey: Hex,
): Promise<ChainWallet> {
  const wallet = new ChainWallet(world, chainId, privateKey);
  await world.setCoins(chainId, wallet.address, "1000");
  await world.mint({ chainId, token, to: wallet.address, amount: "1000" });
  return wallet;
}

/** A token of the local chains in the form of a room's options. */
export function tokenOf(chainId: WorldChainId, symbol: string): Token {
  const { address, contract, decimals } = worldToken(chainId, symbol);
  return { chainId, symbol, address: address.toLowerCase(), decimals, resetsAllowance: contract === "OldToken" };
}
