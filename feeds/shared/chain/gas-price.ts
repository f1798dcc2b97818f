/**
 * The price of gas by EIP-1559: twice the base fee of the latest block, so that it may rise for some blocks, and a tip.
 * Invariant: no price above the configured limits is ever returned, whatever an endpoint says.
 */
import type { GasPrice } from "../../../engine/chain.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { Clock } from "../../../engine/domain/clock.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import type { RpcEndpoint, RpcResult } from "./rpc-endpoint.js";
import { readBlock, readQuantity } from "./rpc-wire.js";

/** Wei for each unit of gas. */
export interface GasLimits {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

const GWEI = 1_000_000_000n;

/** Of one endpoint; a price above the limit is a failure of it, and the text says so. */
export async function gasPriceOf(
  endpoint: RpcEndpoint,
  limits: GasLimits,
  clock: Clock,
  options: CallOptions,
): Promise<RpcResult<GasPrice>> {
  const deadline = new Deadline(clock, options);
  const block = await endpoint.call("eth_getBlockByNumber", ["latest", false], readBlock, options);
  if (block.kind !== "value") return block;
  const baseFee = block.value?.baseFeePerGas ?? null;
  if (baseFee === null) return refusal("BAD_RESPONSE", "the latest block has no base fee");
  const tip = await readTip(endpoint, baseFee, deadline);
  if (tip.kind !== "value") return tip;
  const maxPriorityFeePerGas = least(tip.value, limits.maxPriorityFeePerGas);
  const now = baseFee + maxPriorityFeePerGas;
  if (now > limits.maxFeePerGas)
    return refusal("VENUE_ERROR", `a gas price of ${gwei(now)} is above the limit of ${gwei(limits.maxFeePerGas)}`);
  const maxFeePerGas = least(2n * baseFee + maxPriorityFeePerGas, limits.maxFeePerGas);
  return { kind: "value", value: { maxFeePerGas, maxPriorityFeePerGas } };
}

/** Not every node has a word for the tip; each has one for the whole price. */
async function readTip(endpoint: RpcEndpoint, baseFee: bigint, deadline: Deadline): Promise<RpcResult<bigint>> {
  const ask = async (method: string): Promise<RpcResult<bigint>> => {
    const left = deadline.left();
    if (left === null) return refusal("TIMEOUT", "no time left");
    return endpoint.call(method, [], (value) => readQuantity(value, method), left);
  };
  const tip = await ask("eth_maxPriorityFeePerGas");
  if (tip.kind !== "error") return tip;
  const price = await ask("eth_gasPrice");
  if (price.kind !== "value") return price;
  return { kind: "value", value: price.value > baseFee ? price.value - baseFee : 0n };
}

function refusal(code: "BAD_RESPONSE" | "VENUE_ERROR" | "TIMEOUT", text: string): RpcResult<never> {
  return { kind: "failed", failure: failedRead(code, text), isSent: true };
}

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** For people, rounded down. */
function gwei(wei: bigint): string {
  return wei < GWEI ? `${wei} wei` : `${wei / GWEI} gwei`;
}
