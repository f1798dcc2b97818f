/**
 * A transaction that has left, until it is in its block. Invariant: that it is not shown proves nothing; it is given up only
 * where another transaction has used its nonce, and else its outcome is unknown.
 */
import type { Hex, Transaction, TransactionReceipt } from "viem";
import type { ChainReader } from "./chain-reader.js";
import type { TradingConfig } from "./options.js";
import { revertReason, shortText } from "./rpc-errors.js";
import { VenuefiveTradeError, type VenuefiveErrorCode, type VenuefiveStage } from "./trade-error.js";
import { isSame } from "./receipt-events.js";
import { type SentTransaction, seenByWallet } from "./wallet.js";
import { pause } from "./within.js";

/** Read at one look, at most. */
const BLOCKS_AT_ONCE = 20;

export interface Mined {
  readonly receipt: TransactionReceipt;
  /** Another than the first where the wallet sped it up. */
  readonly hash: Hex;
}

interface Seen {
  readonly receipt: TransactionReceipt | null;
  readonly shown: Transaction | null;
  readonly used: Transaction | null;
}

export class TransactionFollower {
  readonly #config: TradingConfig;
  readonly #reader: ChainReader;
  readonly #sent: SentTransaction;
  readonly #stage: VenuefiveStage;
  readonly #onReplaced: (hash: Hex, replaced: Hex) => void;
  #hash: Hex;
  #nonce: number | null;
  #call: Pick<Transaction, "to" | "input" | "value">;
  #isWalletAsked = false;
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
    this.#call = { to: sent.call.address, input: sent.data, value: sent.call.value };
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
        this.#reader.node.note(receipt.blockNumber);
        if (receipt.status === "success") return { receipt, hash: this.#hash };
        throw await this.#reverted(receipt);
      }
      if (clock.monoMs() >= endMs)
        throw this.#unknown("RECEIPT_TIMEOUT", "the transaction is in no block yet; it may still be mined");
      await pause(clock, timeouts.pollMs);
    }
  }

  /** Null: it is in no block yet. Reads are apart from what follows of them, so none that fails is taken for a verdict. */
  async #look(): Promise<TransactionReceipt | null> {
    const seen = await this.#seen();
    if (seen === null || seen.receipt !== null) return seen?.receipt ?? null;
    if (seen.used !== null) {
      this.#replacedBy(seen.used);
      this.#seenMs = null;
      // It is in its block, though all times may be over: a page may have slept.
      return this.#look();
    }
    this.#notDropped(seen.shown);
    return null;
  }

  /** Null where a read fails, whatever its error says. */
  async #seen(): Promise<Seen | null> {
    try {
      const receipt = await this.#reader.node.receipt(this.#hash);
      if (receipt !== null) return { receipt, shown: null, used: null };
      const shown = await this.#reader.node.transaction(this.#hash);
      if (shown === null) this.#askWallet();
      else this.#learn(shown);
      return { receipt, shown, used: await this.#nonceUsedBy() };
    } catch (error) {
      this.#problem = error;
      return null;
    }
  }

  /** What the wallet chose: its nonce, and the call as its user has changed it. */
  #learn(shown: Transaction | null): void {
    if (shown === null || !isSame(shown.from, this.#sent.from)) return;
    this.#nonce ??= shown.nonce;
    this.#call = shown;
  }

  /** The wallet's own node may show what this one does not yet. A wallet that does not answer holds nothing up. */
  #askWallet(): void {
    if (this.#nonce !== null || this.#isWalletAsked) return;
    this.#isWalletAsked = true;
    void seenByWallet(this.#config, this.#reader, this.#sent.hash).then((shown) => {
      this.#isWalletAsked = false;
      this.#learn(shown);
    });
  }

  #notDropped(shown: Transaction | null): void {
    const { clock, timeouts } = this.#config;
    if (shown !== null) this.#seenMs = clock.monoMs();
    else if (this.#seenMs !== null && clock.monoMs() - this.#seenMs >= timeouts.droppedMs)
      throw this.#unknown(
        "TRANSACTION_DROPPED",
        "the node no longer shows the transaction; it can still be mined until its nonce is used",
      );
  }

  /** Another transaction that took the nonce, in the blocks since the send. */
  async #nonceUsedBy(): Promise<Transaction | null> {
    const nonce = this.#nonce;
    if (nonce === null || (await this.#reader.node.minedCount(this.#sent.from)) <= nonce) return null;
    const head = await this.#reader.node.blockNumber();
    for (let count = 0; this.#scannedTo < head && count < BLOCKS_AT_ONCE; count++) {
      const { transactions } = await this.#reader.node.blockWithTransactions(this.#scannedTo + 1n);
      const used = transactions.find((one) => isSame(one.from, this.#sent.from) && one.nonce === nonce);
      // The receipt comes once the node has it.
      if (used !== undefined && used.hash === this.#hash) return null;
      this.#scannedTo += 1n;
      if (used !== undefined) return used;
    }
    return null;
  }

  /** Goes on with the same call under another hash; throws where it is another call. */
  #replacedBy(used: Transaction): void {
    const { to, input, value } = this.#call;
    if (isSame(used.to, to ?? "") && used.input === input && used.value === value) {
      const replaced = this.#hash;
      this.#hash = used.hash;
      this.#onReplaced(used.hash, replaced);
      return;
    }
    const isCancel = isSame(used.to, this.#sent.from) && used.value === 0n && used.input === "0x";
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
