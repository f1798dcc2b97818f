/** Calls of ERC-20 tokens and what they answer. Some tokens return nothing where the standard has a truth value. */
import { encodeFunctionData } from "viem/utils";
import { uintOfBytes } from "../../../engine/custody/digest/bytes.js";
import type { CallOptions } from "../../../engine/ports.js";
import { WireFault } from "../room/wire-fields.js";
import { asAddress, type Hex, toHex } from "./hex.js";
import type { RpcEndpoint, RpcResult } from "./rpc-endpoint.js";
import { readData } from "./rpc-wire.js";

const ABI = [
  view("balanceOf", ["address"], "uint256"),
  view("allowance", ["address", "address"], "uint256"),
  view("decimals", [], "uint8"),
] as const;

/** Selectors of what returns whether it was done: `transfer`, `approve`, `transferFrom`. */
const TRUTHFUL: ReadonlySet<string> = new Set(["0xa9059cbb", "0x095ea7b3", "0x23b872dd"]);
const SELECTOR_BYTES = 4;
const WORD_BYTES = 32;
const DECIMALS_MAX = 77n;

export function balanceCall(address: string): Hex {
  return encodeFunctionData({ abi: ABI, functionName: "balanceOf", args: [asAddress(address)] });
}

export function allowanceCall(owner: string, spender: string): Hex {
  return encodeFunctionData({ abi: ABI, functionName: "allowance", args: [asAddress(owner), asAddress(spender)] });
}

export function decimalsCall(): Hex {
  return encodeFunctionData({ abi: ABI, functionName: "decimals" });
}

/** One word, no more and no less: where no contract is, a node returns nothing. */
export function readUint(result: unknown): bigint {
  const data = readData(result, "result");
  if (data.length !== WORD_BYTES) throw new WireFault("result", "is not one word: no such token there");
  return uintOfBytes(data);
}

export function readDecimals(result: unknown): number {
  const decimals = readUint(result);
  // 10^77 is the largest power that fits a word.
  if (decimals > DECIMALS_MAX) throw new WireFault("decimals", "are out of range");
  return Number(decimals);
}

export function saysWhetherDone(data: Uint8Array): boolean {
  return TRUTHFUL.has(toHex(data.subarray(0, SELECTOR_BYTES)));
}

/** Of a call that was simulated: nothing counts as done, a word that is not zero too. */
export function readDone(result: unknown): boolean {
  const data = readData(result, "result");
  if (data.length === 0) return true;
  if (data.length !== WORD_BYTES) throw new WireFault("result", "is neither nothing nor a truth value");
  return data.some((byte) => byte !== 0);
}

export function callAt<T>(
  endpoint: RpcEndpoint,
  call: { readonly to: string; readonly data: Hex },
  read: (result: unknown) => T,
  options: CallOptions,
): Promise<RpcResult<T>> {
  return endpoint.call("eth_call", [{ to: asAddress(call.to), data: call.data }, "latest"], read, options);
}

function view<const Name extends string>(name: Name, inputs: readonly string[], output: string) {
  return {
    type: "function" as const,
    name,
    stateMutability: "view" as const,
    inputs: inputs.map((type) => ({ type, name: "" })),
    outputs: [{ type: output, name: "" }],
  };
}
