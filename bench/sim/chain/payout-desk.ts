/**
 * Payouts of one venue on one chain: each is a short list of calls, one after the other. Invariant: each call is signed
 * once; what is not in a block is sent again as it was signed, so nothing is paid twice and nothing is forgotten. Only
 * the desk may use its key.
 */
import type { Hex } from "viem";
import { type ChainKey, type ContractCall, nextNonce, type SignedTransaction } from "./chain-account.js";
import { type ChainReceipt, type ChainRpc, ChainRpcError } from "./chain-rpc.js";

export interface Payout {
  readonly id: string;
  readonly chainId: number;
  readonly state: "PROCESSING" | "SUCCESS" | "FAILED";
  /** Of the call that pays, once it is signed. */
  readonly hash: Hex | null;
}

export interface PayoutDeskOptions {
  readonly chainId: number;
  readonly rpc: ChainRpc;
  readonly key: ChainKey;
  /** As for deposits; at least 1. */
  readonly confirmations: number;
  /** Called once for each payout, at its end. */
  onEnd(payout: Payout): void;
}

interface OpenPayout {
  readonly id: string;
  readonly calls: readonly ContractCall[];
  step: number;
  signed: SignedTransaction | null;
}

export class PayoutDesk {
  /** While set, what is asked for waits. */
  isHolding = false;
  readonly #options: PayoutDeskOptions;
  readonly #open: OpenPayout[] = [];
  #nonce: number | null = null;

  constructor(options: PayoutDeskOptions) {
    this.#options = options;
  }

  /** The last of the calls is the one that pays. Nothing is sent before `poll`. */
  pay(id: string, calls: readonly ContractCall[]): void {
    this.#open.push({ id, calls, step: 0, signed: null });
  }

  /** Those that have not ended, the oldest first. */
  get open(): readonly Payout[] {
    return this.#open.map((payout) => this.#shown(payout, "PROCESSING"));
  }

  /** Moves each payout on by what the chain shows. Throws where the chain does not answer; nothing is lost by that. */
  async poll(): Promise<void> {
    if (this.isHolding) return;
    for (const payout of [...this.#open]) {
      const state = await this.#advance(payout);
      if (state === "PROCESSING") continue;
      this.#open.splice(this.#open.indexOf(payout), 1);
      this.#options.onEnd(this.#shown(payout, state));
    }
  }

  async #advance(payout: OpenPayout): Promise<Payout["state"]> {
    const call = payout.calls[payout.step];
    if (call === undefined) return "SUCCESS";
    payout.signed ??= await this.#options.key.signCall(call, await this.#takeNonce());
    const { rpc, confirmations } = this.#options;
    const receipt = (await rpc("eth_getTransactionReceipt", [payout.signed.hash])) as ChainReceipt | null;
    if (receipt === null) {
      await this.#send(payout.signed);
      return "PROCESSING";
    }
    const depth = Number(await rpc("eth_blockNumber")) - Number(receipt.blockNumber) + 1;
    if (depth < confirmations) return "PROCESSING";
    if (receipt.status === "0x0") return "FAILED";
    if (payout.step === payout.calls.length - 1) return "SUCCESS";
    payout.step += 1;
    payout.signed = null;
    return this.#advance(payout);
  }

  /** Where it waits in the pool already, the node says so. */
  async #send({ hash, raw }: SignedTransaction): Promise<void> {
    const { rpc } = this.#options;
    if ((await rpc("eth_getTransactionByHash", [hash])) !== null) return;
    await rpc("eth_sendRawTransaction", [raw]).catch((error: unknown) => {
      // Between the two questions it may have come into a block.
      if (!(error instanceof ChainRpcError)) throw error;
    });
  }

  async #takeNonce(): Promise<number> {
    const nonce = this.#nonce ?? (await nextNonce(this.#options.rpc, this.#options.key.address));
    this.#nonce = nonce + 1;
    return nonce;
  }

  #shown({ id, calls, step, signed }: OpenPayout, state: Payout["state"]): Payout {
    const isPaying = step === calls.length - 1;
    return { id, chainId: this.#options.chainId, state, hash: isPaying ? (signed?.hash ?? null) : null };
  }
}
