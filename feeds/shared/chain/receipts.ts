/**
 * What one endpoint shows of the transactions that were signed for one nonce.
 *
 * The order of its calls is what makes it true, for its chain may change between any two of them. Mined: the receipt
 * first, then the head, then the block of that height, which must be the receipt's; the depth is of a chain between two
 * that had the block. Replaced: the nonce at the final depth first, then the receipts once more: what was deep enough to
 * have used the nonce has had its receipt since before. A transaction whose nonce is used waits in no pool: who shows it
 * there answers from servers of which one lags.
 *
 * Endpoints keep receipts for some time, and blocks for ever: where the block that a transaction was seen in is in the
 * chain still, it was not replaced.
 *
 * Questions about several hashes go out at once: one after another they would take longer than there is time for.
 */
import type { SeenIn } from "../../../engine/chain.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { FailedRead } from "../net/call-results.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import { cleanText } from "./revert-reason.js";
import type { RpcEndpoint } from "./rpc-endpoint.js";
import { readBlock, readCount, readKnown, readReceipt, toQuantity, type WireReceipt } from "./rpc-wire.js";

export interface SignedFor {
  /** Lower case. */
  readonly from: string;
  readonly nonce: number;
  readonly hashes: readonly string[];
  readonly seenIn?: SeenIn;
}

export type EndpointView =
  | { readonly kind: "silent"; readonly failure: FailedRead }
  /** Its own chain has the receipt's block at that height. `confirmations` 1: its head. */
  | { readonly kind: "mined"; readonly receipt: WireReceipt; readonly confirmations: number }
  /** Its answers contradict each other: it shows a transaction in a block that its chain does not have (now). */
  | { readonly kind: "unsettled" }
  /** Its nonce is used, and its chain has the block that it was seen in, without a receipt. */
  | { readonly kind: "unshown"; readonly confirmations: number }
  /** `isNonceUsed`: as deep as makes final. */
  | { readonly kind: "unmined"; readonly isKnown: boolean; readonly isNonceUsed: boolean };

/** Ends the reading of a view; never leaves `viewOf`. */
class Unread extends Error {
  readonly failure: FailedRead;

  constructor(failure: FailedRead) {
    super(failure.message);
    this.failure = failure;
  }
}

type Call = <T>(method: string, params: readonly unknown[], read: (result: unknown) => T) => Promise<T>;

export async function viewOf(
  endpoint: RpcEndpoint,
  of: SignedFor,
  confirmations: number,
  clock: Clock,
  options: CallOptions,
): Promise<EndpointView> {
  const deadline = new Deadline(clock, options);
  const call: Call = async (method, params, read) => {
    const left = deadline.left();
    if (left === null) throw new Unread(failedRead("TIMEOUT", "no time left"));
    const result = await endpoint.call(method, params, read, left);
    if (result.kind === "value") return result.value;
    throw new Unread(
      result.kind === "failed" ? result.failure : failedRead("VENUE_ERROR", cleanText(result.error.message)),
    );
  };
  try {
    return await readView(call, of, confirmations);
  } catch (error) {
    if (error instanceof Unread) return { kind: "silent", failure: error.failure };
    throw error;
  }
}

async function readView(call: Call, of: SignedFor, confirmations: number): Promise<EndpointView> {
  const receipt = await findReceipt(call, of);
  const head = await call("eth_blockNumber", [], (value) => readCount(value, "height"));
  if (receipt !== null) {
    const isInChain = await hasBlock(call, receipt);
    if (!isInChain || head < receipt.blockNumber) return { kind: "unsettled" };
    return { kind: "mined", receipt, confirmations: head - receipt.blockNumber + 1 };
  }
  const finalHeight = Math.max(0, head - confirmations);
  const used = await call("eth_getTransactionCount", [of.from, toQuantity(finalHeight)], (value) =>
    readCount(value, "nonce"),
  );
  const isNonceUsed = used > of.nonce;
  if (isNonceUsed && (await findReceipt(call, of)) !== null) return { kind: "unsettled" };
  const known = await findKnown(call, of.hashes);
  if (known === "inBlock" || (known === "waiting" && isNonceUsed)) return { kind: "unsettled" };
  const { seenIn } = of;
  if (isNonceUsed && seenIn !== undefined && (await hasBlock(call, seenIn)))
    return { kind: "unshown", confirmations: Math.max(1, head - seenIn.blockNumber + 1) };
  return { kind: "unmined", isKnown: known === "waiting", isNonceUsed };
}

async function hasBlock(call: Call, { blockNumber, blockHash }: SeenIn): Promise<boolean> {
  const block = await call("eth_getBlockByNumber", [toQuantity(blockNumber), false], readBlock);
  return block?.number === blockNumber && block.hash === blockHash;
}

/** Of one nonce at most one transaction is in a chain. */
async function findReceipt(call: Call, { from, hashes }: SignedFor): Promise<WireReceipt | null> {
  const receipts = await Promise.all(
    hashes.map((hash) => call("eth_getTransactionReceipt", [hash], (value) => readReceipt(value, hash, from))),
  );
  return receipts.find((receipt) => receipt !== null) ?? null;
}

async function findKnown(call: Call, hashes: readonly string[]): Promise<"unknown" | "waiting" | "inBlock"> {
  const known = await Promise.all(
    hashes.map((hash) => call("eth_getTransactionByHash", [hash], (value) => readKnown(value, hash))),
  );
  if (known.includes("inBlock")) return "inBlock";
  return known.includes("waiting") ? "waiting" : "unknown";
}
