/**
 * Deposits of one venue on one chain, read block by block. Invariant: each deposit is reported once, when it is as many
 * blocks deep as the venue waits for, whatever reorgs happen before and after; one that a reorg takes away before that
 * is not reported.
 */
import type { Hex } from "viem";
import type { ChainRpc } from "./chain-rpc.js";
import type { ChainLog, DepositFacts, DepositSource } from "./deposit-sources.js";

export interface ChainDeposit extends DepositFacts {
  /** Transaction and place among its deposits: the same in whatever block a reorg puts it. */
  readonly id: string;
  readonly chainId: number;
  readonly hash: Hex;
  readonly blockNumber: number;
}

export interface DepositWatcherOptions {
  readonly chainId: number;
  readonly rpc: ChainRpc;
  readonly source: DepositSource;
  /** Blocks from that of the deposit to the newest, both counted; at least 1. */
  readonly confirmations: number;
  onDeposit(deposit: ChainDeposit): void;
}

export class DepositWatcher {
  /** In a block, and not yet as deep as the venue waits for. */
  pending: readonly ChainDeposit[] = [];
  readonly #options: DepositWatcherOptions;
  readonly #reported = new Set<string>();
  /** The first block that is not settled. */
  #next = 0;
  /** Of the block before it, as it was read. */
  #settledHash: string | null = null;

  constructor(options: DepositWatcherOptions) {
    if (options.confirmations < 1) throw new RangeError("a deposit needs one confirmation at least");
    this.#options = options;
  }

  /** Reads what is new. Throws where the chain does not answer; the next call goes on from the same place. */
  async poll(): Promise<void> {
    const { rpc, source, confirmations, onDeposit } = this.#options;
    // A reorg deeper than the venue waits for: all is read again, and what was reported is known by its id.
    if (this.#settledHash !== (await this.#hashOf(this.#next - 1))) this.#next = 0;
    const head = Number(await rpc("eth_blockNumber"));
    const settled = head - confirmations + 1;
    const settledHash = await this.#hashOf(settled);
    const range = { fromBlock: hex(this.#next), toBlock: hex(head) };
    // The node refuses a range that begins above its newest block.
    const logs = this.#next > head ? [] : await rpc("eth_getLogs", [{ ...source.filter, ...range }]);
    const deposits = this.#depositsOf(logs as readonly ChainLog[]);
    this.pending = deposits.filter(({ id, blockNumber }) => blockNumber > settled && !this.#reported.has(id));
    for (const deposit of deposits) {
      if (deposit.blockNumber > settled || this.#reported.has(deposit.id)) continue;
      this.#reported.add(deposit.id);
      onDeposit(deposit);
    }
    this.#next = Math.max(0, settled + 1);
    this.#settledHash = settledHash;
  }

  #depositsOf(logs: readonly ChainLog[]): readonly ChainDeposit[] {
    const countOf = new Map<string, number>();
    return logs.flatMap((log) => {
      const hash = log.transactionHash;
      const place = countOf.get(hash) ?? 0;
      countOf.set(hash, place + 1);
      const facts = this.#options.source.read(log);
      if (facts === null) return [];
      const { chainId } = this.#options;
      return [{ ...facts, id: `${hash}:${place}`, chainId, hash, blockNumber: Number(log.blockNumber) }];
    });
  }

  /** Null before the first block. */
  async #hashOf(block: number): Promise<string | null> {
    if (block < 0) return null;
    const found = (await this.#options.rpc("eth_getBlockByNumber", [hex(block), false])) as { hash: string } | null;
    return found?.hash ?? null;
  }
}

const hex = (value: number): Hex => `0x${Math.max(0, value).toString(16)}`;
