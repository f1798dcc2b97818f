/** A chain of blocks as one endpoint tells it: heights, blocks, nonces, receipts. The test moves it. */
import { toQuantity } from "../rpc-wire.js";
import type { Reply } from "./scripted-endpoint.js";

export const SENDER = `0x${"5e".repeat(20)}`;
export const TOKEN = `0x${"70".repeat(20)}`;
export const OTHER = `0x${"0a".repeat(20)}`;
export const hashOf = (text: string): string => `0x${Buffer.from(text).toString("hex").padStart(64, "0")}`;
export const word = (value: bigint | number): string => `0x${value.toString(16).padStart(64, "0")}`;

export interface MinedAt {
  readonly height: number;
  readonly status?: string;
  /** Of its block; default the chain's own. */
  readonly blockHash?: string;
  readonly logData?: string;
}

export class ScriptedChain {
  head: number;
  chainId = 56;
  /** Part of the hashes of all blocks from `forkAt` on. */
  branch = "a";
  forkAt = 0;
  /** Of the sender, by height. */
  nonceAt: (height: number) => number = () => 7;
  pendingNonce = 7;
  readonly mined = new Map<string, MinedAt>();
  /** Transactions with a log that is searched for. */
  readonly written = new Map<string, MinedAt>();
  readonly waiting = new Set<string>();
  balance = 10n;
  baseFee: bigint = 1_000_000_000n;
  tip: bigint = 100_000_000n;

  constructor(head: number) {
    this.head = head;
  }

  blockHash(height: number): string {
    return hashOf(`${height >= this.forkAt ? this.branch : "a"}/${height}`);
  }

  receipt(hash: string): Record<string, unknown> | null {
    const mined = this.mined.get(hash);
    if (mined === undefined) return null;
    const blockHash = mined.blockHash ?? this.blockHash(mined.height);
    const log = {
      address: TOKEN,
      topics: [hashOf("topic")],
      data: mined.logData ?? "0x01",
      transactionHash: hash,
      blockHash,
    };
    return {
      ...{ transactionHash: hash, blockHash, blockNumber: toQuantity(mined.height), from: SENDER, to: TOKEN },
      ...{ status: mined.status ?? "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x3b9aca00", logs: [log] },
    };
  }

  /** In this range, both counted. */
  logs({ fromBlock, toBlock }: { readonly fromBlock: string; readonly toBlock: string }): Record<string, unknown>[] {
    const isAsked = ({ height }: MinedAt) => height >= Number(fromBlock) && height <= Number(toBlock);
    return [...this.written]
      .filter(([, at]) => isAsked(at) && at.height <= this.head)
      .map(([transactionHash, { height, blockHash, logData }]) => ({
        ...{ address: TOKEN, topics: [hashOf("topic"), hashOf("other")], data: logData ?? "0x01", transactionHash },
        ...{ blockNumber: toQuantity(height), blockHash: blockHash ?? this.blockHash(height), logIndex: "0x0" },
        removed: false,
      }));
  }

  replies(): Record<string, Reply> {
    return {
      eth_chainId: () => toQuantity(this.chainId),
      eth_blockNumber: () => toQuantity(this.head),
      eth_getBlockByNumber: ([tag]) => {
        const height = tag === "latest" ? this.head : Number(tag);
        if (height > this.head) return null;
        const baseFeePerGas = toQuantity(this.baseFee);
        const timestamp = toQuantity(height);
        return { number: toQuantity(height), hash: this.blockHash(height), timestamp, baseFeePerGas };
      },
      eth_getTransactionCount: ([, tag]) =>
        toQuantity(tag === "pending" ? this.pendingNonce : this.nonceAt(tag === "latest" ? this.head : Number(tag))),
      eth_getTransactionReceipt: ([hash]) => this.receipt(String(hash)),
      eth_getTransactionByHash: ([hash]) => {
        const text = String(hash);
        if (this.waiting.has(text)) return { hash: text, blockHash: null };
        const receipt = this.receipt(text);
        return receipt === null ? null : { hash: text, blockHash: receipt["blockHash"] };
      },
      eth_getLogs: ([filter]) => this.logs(filter as { fromBlock: string; toBlock: string }),
      eth_getBalance: () => toQuantity(this.balance),
      eth_maxPriorityFeePerGas: () => toQuantity(this.tip),
      eth_call: () => word(this.balance),
      eth_getCode: () => "0x6001",
      eth_estimateGas: () => toQuantity(60_000),
    };
  }
}
