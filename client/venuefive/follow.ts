/**
 * A transaction that has left, until it is in its block. Invariant: that it is not shown proves nothing; it is given up only
 * where another transaction has used its nonce, and else its outcome is unknown.
 */
import type { Hex, Transaction, TransactionReceipt } from "viem";
import type { ChainReader } from "./chain-reader.js";
import type { TradingConfig } from "./options.js";
import { revertReason, shortText } from "./rpc-errors.js";
import { VenuefiveTradeError, type VenuefiveErrorCode, type VenuefiveStage } from "./trade-error.js";
import type { SentTransaction } from "./wallet.js";
import { pause } from "./within.js";

/** Read at one look, at most. */
const BLOCKS_AT_ONCE = 20;

export interface Mined {
  readonly receipt: TransactionReceipt;
  /** Another than the first where the wallet sped it up. */
  readonly hash: Hex;
}

export class TransactionFollower {
  readonly #config: TradingConfig;
  readonly #reader: ChainReader;
  readonly #sent: SentTransaction;
  readonly #stage: VenuefiveStage;
  readonly #onReplaced: (hash: Hex, replaced: Hex) => void;
  #hash: Hex;
  #nonce: number | null;
  /** Blocks up to here hold nothing of this nonce. */
  #scannedTo: bigint;
  #seenMs: number | null = null;
  #problem: unknown;

  constructor(
    config: TradingConfig,
    reader: ChainReader,
    sent: SentTransaction,
    on: { readonly stage: VenuefiveStage; readonly replaced: (hash: Hex, replaced: Hex) => void },
  ) {
    this.#config = config;
    this.#reader = reader;
    this.#sent = sent;
    this.#stage = on.stage;
    this.#onReplaced = on.replaced;
    this.#hash = sent.hash;
    this.#nonce = sent.nonce;
    this.#scannedTo = sent.afterBlock;
    this.#problem = sent.doubt ?? undefined;
  }

  /** Throws REVERTED where the contract refused it in its block. */
  async mined(): Promise<Mined> {
    const { clock, timeouts } = this.#config;
    const endMs = clock.monoMs() + timeouts.minedMs;
    for (;;) {
      const receipt = await this.#look();
      if (receipt !== null) {
        if (receipt.status === "success") return { receipt, hash: this.#hash };
        throw await this.#reverted(receipt);
      }
      if (clock.monoMs() >= endMs)
        throw this.#unknown("RECEIPT_TIMEOUT", "the transaction is in no block yet; it may still be mined");
      await pause(clock, timeouts.pollMs);
    }
  }

  /** A look that fails is as one that shows nothing. */
  async #look(): Promise<TransactionReceipt | null> {
    try {
      const receipt = await this.#reader.node.receipt(this.#hash);
      if (receipt !== null) return receipt;
      const shown = await this.#reader.node.transaction(this.#hash);
      await this.#whereNonceIsUsed(shown);
      this.#notDropped(shown);
    } catch (error) {
      if (!(error instanceof VenuefiveTradeError) || error.code !== "CHAIN_UNAVAILABLE") throw error;
      this.#problem = error;
    }
    return null;
  }

  #notDropped(shown: Transaction | null): void {
    const { clock, timeouts } = this.#config;
    if (shown !== null) {
      this.#seenMs = clock.monoMs();
      this.#nonce ??= shown.nonce;
    } else if (this.#seenMs !== null && clock.monoMs() - this.#seenMs >= timeouts.droppedMs)
      throw this.#unknown(
        "TRANSACTION_DROPPED",
        "the node no longer shows the transaction; it can still be mined until its nonce is used",
      );
  }

  /** Looks for the transaction that took the nonce, in the blocks since the send. */
  async #whereNonceIsUsed(shown: Transaction | null): Promise<void> {
    const nonce = this.#nonce ?? shown?.nonce ?? null;
    if (nonce === null || (await this.#reader.node.minedCount(this.#sent.from)) <= nonce) return;
    const head = await this.#reader.node.blockNumber();
    for (let count = 0; this.#scannedTo < head && count < BLOCKS_AT_ONCE; count++) {
      const { transactions } = await this.#reader.node.blockWithTransactions(this.#scannedTo + 1n);
      const used = transactions.find((one) => isSame(one.from, this.#sent.from) && one.nonce === nonce);
      // The receipt comes once the node has it.
      if (used !== undefined && used.hash === this.#hash) return;
      if (used !== undefined) this.#replacedBy(used);
      this.#scannedTo += 1n;
      if (used !== undefined) return;
    }
  }

  /** Goes on with the same call under another hash; throws where it is another call. */
  #replacedBy(used: Transaction): void {
    const { call, data, from } = this.#sent;
    if (isSame(used.to, call.address) && used.input === data && used.value === call.value) {
      const replaced = this.#hash;
      this.#hash = used.hash;
      this.#onReplaced(used.hash, replaced);
      return;
    }
    const isCancel = isSame(used.to, from) && used.value === 0n && used.input === "0x";
    const code = isCancel ? "TRANSACTION_CANCELLED" : "TRANSACTION_REPLACED";
    throw new VenuefiveTradeError(code, `the transaction was ${isCancel ? "cancelled" : "replaced"} in the wallet`, {
      ...{ outcome: "failed", stage: this.#stage, txHash: this.#hash, details: { replacedBy: used.hash } },
    });
  }

  async #reverted({ blockNumber, transactionHash }: TransactionReceipt): Promise<VenuefiveTradeError> {
    const reason = await this.#reasonAt(blockNumber);
    return new VenuefiveTradeError("REVERTED", `the contract refused in its block: ${reason ?? "no reason is known"}`, {
      ...{ outcome: "failed", stage: this.#stage, txHash: transactionHash },
      details: { reason, isSimulated: false, blockNumber: String(blockNumber) },
    });
  }

  /** A receipt has no reason: the call is tried on the state around its block. */
  async #reasonAt(blockNumber: bigint): Promise<string | null> {
    for (const at of [blockNumber, blockNumber - 1n])
      try {
        await this.#reader.node.simulate(this.#sent.call, this.#sent.from, at);
      } catch (error) {
        const reason = revertReason(error);
        if (reason !== undefined) return reason;
      }
    return null;
  }

  #unknown(code: VenuefiveErrorCode, message: string): VenuefiveTradeError {
    const details = this.#problem === undefined ? {} : { lastProblem: shortText(this.#problem) };
    return new VenuefiveTradeError(code, message, {
      ...{ outcome: "unknown", stage: this.#stage, txHash: this.#hash, cause: this.#problem, details },
    });
  }
}

const isSame = (a: string | null, b: string): boolean => a?.toLowerCase() === b.toLowerCase();
