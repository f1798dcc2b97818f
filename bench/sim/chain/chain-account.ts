/** Keys of the local world on one chain: what they sign, and one that sends at once. */
import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, type Hex, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { ChainRpc } from "./chain-rpc.js";
import type { Contract } from "./contracts/artifacts.js";

export interface ContractCall {
  readonly to: Hex;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args: readonly unknown[];
  /** Of the native coin, in wei; default none. */
  readonly value?: bigint;
  /** Its limit; default above what a call here takes. */
  readonly gas?: bigint;
}

export interface SignedTransaction {
  readonly nonce: number;
  readonly hash: Hex;
  readonly raw: Hex;
}

/** Above what a call here takes, and below a block's limit. */
const CALL_GAS = 3_000_000n;
/** Above what a deployment takes, and below what one transaction may have. */
export const GAS_MAX = 15_000_000n;
/** Mined whatever base fee a test sets: these keys have coins without end. */
const MAX_FEE_WEI = 10n ** 13n;
const TIP_WEI = 10n ** 9n;

/** Signs for one chain, with the nonces that the caller chooses. */
export class ChainKey {
  readonly address: Hex;
  readonly #account: ReturnType<typeof privateKeyToAccount>;
  readonly #chainId: number;

  constructor(privateKey: Hex, chainId: number) {
    this.#account = privateKeyToAccount(privateKey);
    this.address = this.#account.address;
    this.#chainId = chainId;
  }

  signCall(call: ContractCall, nonce: number): Promise<SignedTransaction> {
    const { to, abi, functionName, args, value = 0n, gas = CALL_GAS } = call;
    return this.sign({ to, value, gas, data: encodeFunctionData({ abi, functionName, args }) }, nonce);
  }

  /** Without `to` it creates a contract. */
  async sign(
    what: { readonly to?: Hex; readonly data: Hex; readonly value?: bigint; readonly gas?: bigint },
    nonce: number,
  ): Promise<SignedTransaction> {
    const raw = await this.#account.signTransaction({
      gas: what.to === undefined ? GAS_MAX : CALL_GAS,
      ...what,
      type: "eip1559",
      chainId: this.#chainId,
      nonce,
      maxFeePerGas: MAX_FEE_WEI,
      maxPriorityFeePerGas: TIP_WEI,
    });
    return { nonce, raw, hash: keccak256(raw) };
  }
}

/**
 * Sends one transaction after the other, each with the nonce that the chain expects: after a reorg that undid some, the
 * next takes their place.
 */
export class ChainSender {
  readonly #key: ChainKey;
  readonly #rpc: ChainRpc;
  #last: Promise<unknown> = Promise.resolve();

  constructor(key: ChainKey, rpc: ChainRpc) {
    this.#key = key;
    this.#rpc = rpc;
  }

  /** Returns the hash; the call may still fail in its block. */
  call(call: ContractCall): Promise<Hex> {
    return this.#inLine(async () => {
      const signed = await this.#key.signCall(call, await nextNonce(this.#rpc, this.#key.address));
      await this.#rpc("eth_sendRawTransaction", [signed.raw]);
      return signed.hash;
    });
  }

  /** Creates a contract. Returns the hash and the address that it has once it is mined. */
  deploy({ abi, bytecode }: Contract, args: readonly unknown[]): Promise<{ hash: Hex; address: Hex }> {
    return this.#inLine(async () => {
      const nonce = await nextNonce(this.#rpc, this.#key.address);
      const { hash, raw } = await this.#key.sign({ data: encodeDeployData({ abi, bytecode, args }) }, nonce);
      await this.#rpc("eth_sendRawTransaction", [raw]);
      return { hash, address: getContractAddress({ from: this.#key.address, nonce: BigInt(nonce) }) };
    });
  }

  #inLine<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act);
    this.#last = done.catch(() => {});
    return done;
  }
}

/** With what waits in the pool. */
export async function nextNonce(rpc: ChainRpc, address: Hex): Promise<number> {
  return Number(await rpc("eth_getTransactionCount", [address, "pending"]));
}
