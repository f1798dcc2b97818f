/** What the next step of a deposit will be: its call, its gas and its nonce, as the chain says now. */
import type { Chain } from "../chain.js";
import { readHex } from "../custody/digest/bytes.js";
import type { CallOptions } from "../ports.js";
import { isSent, planOf, type Preparation } from "./deposit-steps.js";
import { approveData } from "./erc20.js";
import { laneOf, readValue, type TransferParts } from "./transfer-parts.js";
import { type DepositRow, isPutBack, type StepName } from "./transfer-row.js";

/** More than the estimate: state changes between the estimate and the block. */
const GAS_NUMERATOR = 5n;
const GAS_DENOMINATOR = 4n;

export type NextStep =
  | (Preparation & { readonly kind: "ready" })
  /** The chain would undo it now. */
  | { readonly kind: "reverted"; readonly reason: string };

/** Null: a read failed, or the nonce is not known yet; later. */
export async function preparationOf(
  parts: TransferParts,
  row: DepositRow,
  chain: Chain,
  options: CallOptions,
): Promise<NextStep | null> {
  const { account, token, spender } = row;
  let { plan } = row;
  if (plan.length === 0) {
    const allowance =
      spender === null
        ? { value: 0n }
        : await readValue(parts, () => chain.allowance(token.address, account, spender, options));
    if (allowance === null) return null;
    plan = planOf(row, allowance.value);
  }
  const name = plan[row.steps.length];
  if (name === undefined) return null;
  const { to, data } = callOf(row, name);
  const call = { from: account, to, value: 0n, data: readHex(data) ?? new Uint8Array() };
  const estimate = await readValue(parts, () => chain.estimateGas(call, options));
  if (estimate === null) return null;
  if (estimate.value.kind === "reverted") return estimate.value;
  const price = await readValue(parts, () => chain.gasPrice(options));
  const nonce = price === null ? null : await freeNonce(parts, row, chain, options);
  if (price === null || nonce === null) return null;
  const gasLimit = (estimate.value.gas * GAS_NUMERATOR) / GAS_DENOMINATOR;
  return { kind: "ready", plan, to, data, nonce, gasLimit, price: price.value };
}

export function callOf(row: DepositRow, name: StepName): { readonly to: string; readonly data: string } {
  if (name === "deposit") return { to: row.to, data: row.data };
  const amount = name === "reset" ? 0n : BigInt(row.amount);
  if (row.spender === null) throw new RangeError("nothing to approve");
  return { to: row.token.address, data: approveData(row.spender, amount) };
}

/**
 * Null: not known now, or the one before it was used by somebody else and is not final. Behind one that a reorg takes
 * away for good nothing would ever be mined.
 */
async function freeNonce(
  parts: TransferParts,
  row: DepositRow,
  chain: Chain,
  options: CallOptions,
): Promise<number | null> {
  const next = await readValue(parts, () => chain.nextNonce(row.account, options));
  if (next === null) return null;
  const lowest = lowestNonce(parts, row);
  if (next.value <= lowest) return lowest;
  const before = { from: row.account, nonce: next.value - 1, hashes: [] };
  const standing = await readValue(parts, () => chain.standing(before, options));
  return standing?.value.kind === "replaced" ? next.value : null;
}

/** After all that is final, and after all that is under way: an endpoint may lag behind both. */
function lowestNonce({ book }: Pick<TransferParts, "book">, row: DepositRow): number {
  let lowest = book.nonceAfter(row.chainId, row.account);
  for (const other of book.open(row.account))
    if (other.kind === "deposit" && laneOf(other) === laneOf(row) && !isPutBack(other))
      for (const step of other.steps) if (isSent(step)) lowest = Math.max(lowest, step.nonce + 1);
  return lowest;
}
