/**
 * Whether the chain would take a call now, and the gas it needs. Beyond the node's estimate: a call with data needs a
 * contract to answer it (a plain address takes any data and does nothing), and a token may refuse by returning false.
 */
import type { Abi } from "viem";
import type { ChainCall, GasEstimate } from "../../../engine/chain.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { Clock } from "../../../engine/domain/clock.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import { WireFault } from "../room/wire-fields.js";
import { asAddress, toHex } from "./hex.js";
import { isRevert, revertReason } from "./revert-reason.js";
import type { RpcEndpoint, RpcResult } from "./rpc-endpoint.js";
import { readData, readQuantity, toQuantity } from "./rpc-wire.js";
import { readDone, saysWhetherDone } from "./token-calls.js";

/** What any transaction takes, and what a block holds: an estimate outside is none. */
const GAS_MIN = 21_000n;
const GAS_MAX = 30_000_000n;

const NO_CONTRACT = "no contract at this address";
const NOT_DONE = "the token refuses without a reason";

/** Of one endpoint. */
export async function estimateOf(
  endpoint: RpcEndpoint,
  call: ChainCall,
  errors: Abi,
  clock: Clock,
  options: CallOptions,
): Promise<RpcResult<GasEstimate>> {
  const deadline = new Deadline(clock, options);
  const ask = async <T>(method: string, params: readonly unknown[], read: (result: unknown) => T) => {
    const left = deadline.left();
    if (left === null) return OUT_OF_TIME;
    return endpoint.call(method, params, read, left);
  };
  const to = asAddress(call.to);
  const from = asAddress(call.from);
  const params = { from, to, value: toQuantity(call.value), data: toHex(call.data) };
  if (call.data.length > 0) {
    const code = await ask("eth_getCode", [to, "latest"], (value) => readData(value, "code").length);
    if (code.kind !== "value") return code;
    if (code.value === 0) return reverted(NO_CONTRACT);
  }
  const gas = await ask("eth_estimateGas", [params], readGas);
  if (gas.kind === "failed") return gas;
  if (gas.kind === "error") return isRevert(gas.error) ? reverted(revertReason(gas.error, errors)) : gas;
  if (saysWhetherDone(call.data)) {
    const done = await ask("eth_call", [params, "latest"], readDone);
    if (done.kind === "error" && isRevert(done.error)) return reverted(revertReason(done.error, errors));
    if (done.kind !== "value") return done;
    if (!done.value) return reverted(NOT_DONE);
  }
  return { kind: "value", value: { kind: "gas", gas: gas.value } };
}

function readGas(value: unknown): bigint {
  const gas = readQuantity(value, "gas");
  if (gas < GAS_MIN || gas > GAS_MAX) throw new WireFault("gas", "is out of range");
  return gas;
}

function reverted(reason: string): RpcResult<GasEstimate> {
  return { kind: "value", value: { kind: "reverted", reason } };
}

const OUT_OF_TIME: Extract<RpcResult<never>, { kind: "failed" }> = {
  kind: "failed",
  failure: failedRead("TIMEOUT", "no time left"),
  isSent: false,
};
