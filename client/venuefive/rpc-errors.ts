/**
 * What an error of viem, of a wallet or of a node means. By names and codes, not by classes: the page's viem may be another
 * copy than this library's.
 */

const USER_REJECTED = 4001;
/** The account is not the page's to use: the wallet has not begun (EIP-1193). */
const UNAUTHORIZED = 4100;
/** From all chains, from this chain (EIP-1193): what was under way may have been sent. */
const DISCONNECTED: ReadonlySet<unknown> = new Set([4900, 4901]);
const CHAIN_NOT_ADDED = 4902;
const DEPTH_MAX = 20;

interface ErrorLike {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly shortMessage?: unknown;
  readonly details?: unknown;
  readonly reason?: unknown;
  readonly signature?: unknown;
  readonly data?: unknown;
  readonly raw?: unknown;
  readonly cause?: unknown;
}

/** The error and what caused it, outermost first. */
function* chainOf(error: unknown): Generator<ErrorLike> {
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && typeof at === "object" && at !== null; depth++) {
    yield at;
    at = (at as ErrorLike).cause;
  }
}

function has(error: unknown, matches: (one: ErrorLike) => boolean): boolean {
  for (const one of chainOf(error)) if (matches(one)) return true;
  return false;
}

export const isUserRejection = (error: unknown): boolean =>
  has(
    error,
    ({ code, name }) => code === USER_REJECTED || code === "ACTION_REJECTED" || name === "UserRejectedRequestError",
  );

export const isUnauthorized = (error: unknown): boolean => has(error, ({ code }) => code === UNAUTHORIZED);
export const isDisconnection = (error: unknown): boolean => has(error, ({ code }) => DISCONNECTED.has(code));

export const isWrongChain = (error: unknown): boolean => has(error, ({ code }) => code === CHAIN_NOT_ADDED);

export const isNotFound = (error: unknown): boolean =>
  has(error, ({ name }) => name === "TransactionReceiptNotFoundError" || name === "TransactionNotFoundError");

/** The call came back empty: no contract is there. */
export const isWithoutContract = (error: unknown): boolean =>
  has(error, ({ name }) => name === "ContractFunctionZeroDataError" || name === "AbiDecodingZeroDataError");

const textOf = ({ message, shortMessage, details }: ErrorLike): string =>
  [message, shortMessage, details].filter((part) => typeof part === "string").join(" ");

const REFUSALS_OF_NODES =
  /insufficient funds|intrinsic gas|gas required exceeds|exceeds block gas|fee cap|underpriced|invalid sender/i;

/** The node read the transaction and does not take it. */
export const isNodeRefusal = (error: unknown): boolean => has(error, (one) => REFUSALS_OF_NODES.test(textOf(one)));
export const isWithoutFunds = (error: unknown): boolean =>
  has(error, (one) => one.name === "InsufficientFundsError" || /insufficient funds|OutOfFunds/i.test(textOf(one)));

/** Invalid request, method or parameters, unsupported method: what was asked was not begun. */
const NOT_BEGUN: ReadonlySet<unknown> = new Set([-32600, -32601, -32602, -32004, 4200, UNAUTHORIZED]);
export const isRefusedRequest = (error: unknown): boolean => has(error, ({ code }) => NOT_BEGUN.has(code));

/** Why the contract refuses; null: it gives no reason. Undefined: the error is no refusal of a contract. */
export function revertReason(error: unknown): string | null | undefined {
  for (const one of chainOf(error)) {
    if (one.name === "ContractFunctionRevertedError") {
      const hasData = one.data !== undefined || one.signature !== undefined;
      // A node's own failure has this class too, with its text for a reason and no data.
      if (!hasData && one.raw === undefined && !/revert/i.test(textOf(one))) return undefined;
      return reasonOf(one);
    }
    if (one.name === "ExecutionRevertedError") return withoutPrefix(/reason: (.+?)\.?$/m.exec(textOf(one))?.[1] ?? "");
  }
  return undefined;
}

function reasonOf({ reason, signature, data }: ErrorLike): string | null {
  if (typeof reason === "string") return withoutPrefix(reason);
  if (typeof signature === "string") return signature;
  const { errorName } = (data ?? {}) as { readonly errorName?: unknown };
  return typeof errorName === "string" ? errorName : null;
}

const withoutPrefix = (text: string): string | null => text.replace(/^execution reverted:? ?/, "") || null;

/** One line, without addresses of nodes or what was sent to them. */
export function shortText(error: unknown): string {
  for (const one of chainOf(error))
    if (typeof one.shortMessage === "string") return one.shortMessage.split("\n")[0]?.slice(0, 200) ?? "";
  return error instanceof Error ? (error.message.split("\n")[0] ?? "").slice(0, 200) : "no reason was given";
}
