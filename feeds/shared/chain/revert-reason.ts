/**
 * Why a contract undid a call, as text that is fit for replies: of `Error(string)`, of a panic, of a custom error by its
 * name. What a contract says is written by strangers: it is cut, on one line, and without what looks like a key.
 */
import type { Abi } from "viem";
import { decodeErrorResult } from "viem/utils";
import { scrub } from "../../../engine/domain/scrub.js";
import { venueText } from "../net/call-results.js";
import { errorData, type RpcError } from "./rpc-wire.js";
import { toHex } from "./hex.js";

/** As EIP-6093 names the errors of tokens. */
const TOKEN_ERRORS: Abi = [
  error("ERC20InsufficientBalance", "address sender", "uint256 balance", "uint256 needed"),
  error("ERC20InsufficientAllowance", "address spender", "uint256 allowance", "uint256 needed"),
  error("ERC20InvalidSender", "address sender"),
  error("ERC20InvalidReceiver", "address receiver"),
  error("ERC20InvalidApprover", "address approver"),
  error("ERC20InvalidSpender", "address spender"),
  error("SafeERC20FailedOperation", "address token"),
];

/** Of the compiler's documentation. */
const PANICS: Readonly<Record<string, string>> = {
  "1": "an assertion failed",
  "17": "arithmetic overflow",
  "18": "division by zero",
  "33": "value of no enum",
  "34": "broken storage",
  "49": "pop of an empty list",
  "50": "index out of bounds",
  "65": "too much memory",
  "81": "call of no function",
};

/** The call was run, or could not be paid: all endpoints would answer so while the state is the same. */
const UNDONE =
  /revert|invalid opcode|out of gas|stack (?:over|under)flow|gas required exceeds|insufficient (?:funds|balance)|bad instruction/i;
const REVERT_CODE = 3;
const PREFIX =
  /^(?:VM Exception while processing transaction: )?(?:reverted with reason string |execution reverted|revert(?:ed)?)[:,]?\s*/i;
const SELECTOR_BYTES = 4;

export function isRevert({ code, message }: RpcError): boolean {
  return code === REVERT_CODE || UNDONE.test(message);
}

/** "" without a reason. `errors`: custom errors that are known by name; standard ones of tokens need not be among them. */
export function revertReason(answer: RpcError, errors: Abi): string {
  const data = errorData(answer);
  const decoded = data === null ? null : decodeReason(data, errors);
  return cleanText(decoded ?? answer.message.trim().replace(PREFIX, ""));
}

export function cleanText(text: string): string {
  return scrub(venueText(text));
}

/** Null for data that says nothing. */
function decodeReason(data: Uint8Array, errors: Abi): string | null {
  if (data.length < SELECTOR_BYTES) return null;
  try {
    const { errorName, args } = decodeErrorResult({ abi: [...errors, ...TOKEN_ERRORS], data: toHex(data) });
    const values = (args ?? []).map(String);
    if (errorName === "Error") return values[0] ?? "";
    if (errorName === "Panic") return `panic: ${PANICS[values[0] ?? ""] ?? values[0] ?? ""}`;
    return `${errorName}(${values.join(", ")})`;
  } catch {
    // An error that nobody told us the name of, or whose data is cut short.
    return `error ${toHex(data.subarray(0, SELECTOR_BYTES))}`;
  }
}

function error(name: string, ...inputs: readonly string[]): Abi[number] {
  return {
    type: "error",
    name,
    inputs: inputs.map((input) => {
      const [type = "", field = ""] = input.split(" ");
      return { type, name: field };
    }),
  };
}
