/**
 * Reads rows back, and refuses what this program did not write: a field too many or too few, another shape, a hash that
 * is not that of the signed transaction, a state that what the row holds contradicts.
 */
import { ServiceError } from "../domain/errors.js";
import { ROUTABLE_VENUES } from "../domain/venue.js";
import { decodeJson, encodeJson } from "../storage/state-store.js";
import { rawOf } from "./raw-transaction.js";
import { isEnded, isPutBack, type DepositRow, type StoredStep, type TransferRow } from "./transfer-row.js";

/** Returns the path of what is wrong, "" for the value itself; null: it is right. */
type Check = (value: unknown) => string | null;

const text: Check = (value) => (typeof value === "string" ? null : "");
const flag: Check = (value) => (typeof value === "boolean" ? null : "");
const whole: Check = (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? null : "");

function matches(pattern: RegExp): Check {
  return (value) => (typeof value === "string" && pattern.test(value) ? null : "");
}

function one(...values: readonly string[]): Check {
  return (value) => (values.includes(value as string) ? null : "");
}

function orNull(check: Check): Check {
  return (value) => (value === null ? null : check(value));
}

function list(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return "";
    for (const [index, item] of value.entries()) {
      const problem = check(item);
      if (problem !== null) return `[${index}]${problem}`;
    }
    return null;
  };
}

function record(fields: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return "";
    for (const name of Object.keys(value)) if (!Object.hasOwn(fields, name)) return `.${name}`;
    for (const [name, check] of Object.entries(fields)) {
      const problem = check((value as Record<string, unknown>)[name]);
      if (problem !== null) return `.${name}${problem}`;
    }
    return null;
  };
}

const uuid = matches(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const address = matches(/^0x[0-9a-f]{40}$/);
const hash = matches(/^0x[0-9a-f]{64}$/);
const bytes = matches(/^0x([0-9a-f]{2})*$/);
const signature = matches(/^0x[0-9a-f]{130}$/);
const integer = matches(/^(0|[1-9]\d{0,77})$/);
const decimal = matches(/^(0|[1-9]\d{0,63})(\.\d{1,63})?$/);
const stepName = one("reset", "approve", "deposit");

const REASONS = [
  ...["NOT_SIGNED", "EXPIRED_UNSENT", "LANE_BUSY", "CHAIN_UNAVAILABLE", "WOULD_REVERT", "BROADCAST_REFUSED"],
  ...[
    "REVERTED",
    "NONCE_USED",
    "NOT_SHOWN",
    "VENUE_REFUSED",
    "VENUE_BALANCE",
    "VENUE_RATE_LIMITED",
    "VENUE_UNREACHED",
    "VENUE_FAILED",
    "NEVER_ARRIVED",
  ],
  "NOT_LISTED",
  "RESTORED",
];

const BASE = {
  transferId: uuid,
  ownerId: orNull(text),
  walletId: uuid,
  account: address,
  venue: one(...ROUTABLE_VENUES),
  requestId: text,
  createdAtMs: whole,
  updatedAtMs: whole,
  state: one("created", "signed", "broadcast", "confirmed", "failed", "unknown"),
  reason: orNull(one(...REASONS)),
  reasonText: text,
  venueId: orNull(text),
};

const token = record({ symbol: text, address, decimals: whole, resetsAllowance: flag });

const version = record({
  maxFeePerGas: integer,
  maxPriorityFeePerGas: integer,
  signature: orNull(signature),
  hash: orNull(hash),
  signedAtMs: orNull(whole),
  isTaken: flag,
});

const mined = record({
  hash,
  blockNumber: whole,
  blockHash: hash,
  confirmations: whole,
  isFinal: flag,
  succeeded: flag,
  gasCost: integer,
  taken: orNull(integer),
});

const step = record({
  name: stepName,
  to: address,
  data: bytes,
  nonce: whole,
  gasLimit: integer,
  versions: list(version),
  mined: orNull(mined),
  isReplaced: flag,
  isRefused: flag,
});

const act = record({
  toSign: record({ kind: one("typedData", "message"), text }),
  request: text,
  validUntilMs: whole,
  signature: orNull(signature),
});

const SHAPES: Readonly<Record<TransferRow["kind"], Check>> = {
  deposit: record({
    ...BASE,
    kind: one("deposit"),
    chainId: whole,
    network: text,
    token,
    amount: integer,
    broker: orNull(whole),
    spender: orNull(address),
    to: address,
    data: bytes,
    plan: list(stepName),
    steps: list(step),
    revertsSinceMs: orNull(whole),
    isCreditAwaited: flag,
  }),
  withdrawal: record({
    ...BASE,
    kind: one("withdrawal"),
    chainId: whole,
    network: text,
    token,
    amount: integer,
    receiver: address,
    accountType: orNull(one("spot", "perp")),
    fee: integer,
    feeIsInside: flag,
    act,
    sentAtMs: orNull(whole),
    lastSentAtMs: orNull(whole),
    isAccepted: flag,
    payout: orNull(one("pending", "left", "completed", "failed")),
    hash: orNull(hash),
    paid: orNull(integer),
  }),
  internal: record({
    ...BASE,
    kind: one("internal"),
    asset: text,
    amount: decimal,
    kindType: one("SPOT_FUTURE", "FUTURE_SPOT"),
    clientTranId: text,
    sentAtMs: orNull(whole),
    lastSentAtMs: orNull(whole),
    isRefusedAgain: flag,
  }),
};

export function encodeTransfer(row: TransferRow): Uint8Array {
  return encodeJson(row);
}

/** Throws LEDGER_BROKEN, context `row` and `problem`: the path of what is wrong, never its value. */
export function decodeTransfer(key: string, value: Uint8Array): TransferRow {
  let row: unknown;
  try {
    row = decodeJson(value);
  } catch (cause) {
    throw new ServiceError("LEDGER_BROKEN", { row: key, problem: "no JSON" }, { cause });
  }
  const problem = problemOf(key, row);
  if (problem !== null) throw new ServiceError("LEDGER_BROKEN", { row: key, problem });
  return row as TransferRow;
}

function problemOf(key: string, value: unknown): string | null {
  const kind = (value as { readonly kind?: unknown } | null)?.kind;
  const shape = typeof kind === "string" && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as TransferRow["kind"]] : null;
  if (shape === null) return ".kind";
  const problem = shape(value);
  if (problem !== null) return problem;
  const row = value as TransferRow;
  if (row.transferId !== key) return ".transferId";
  if (row.state === "failed" ? row.reason === null : row.state === "confirmed" && row.reason !== null) return ".reason";
  if (row.kind === "deposit") return problemOfDeposit(row);
  if (row.kind === "withdrawal") {
    const isSigned = row.act.signature !== null;
    if (isSigned !== (row.sentAtMs !== null) || isSigned !== (row.lastSentAtMs !== null)) return ".act.signature";
    if (!isSigned && !isUnsignedState(row)) return ".state";
    if (row.payout === "left" && row.state !== "broadcast") return ".payout";
    if (row.state === "confirmed" && row.payout !== "completed") return ".payout";
    return row.state === "created" && isSigned ? ".state" : null;
  }
  if ((row.sentAtMs === null) !== (row.lastSentAtMs === null)) return ".lastSentAtMs";
  return row.sentAtMs === null && !isEnded(row) && !isUnsignedState(row) ? ".state" : null;
}

/** A store that was put back may not have the signature of what its venue shows. */
function isUnsignedState(row: TransferRow): boolean {
  const { state } = row;
  return (
    state === "created" || state === "failed" || isPutBack(row) || (row.kind !== "deposit" && row.venueId !== null)
  );
}

function problemOfDeposit(row: DepositRow): string | null {
  if (row.steps.length > row.plan.length) return ".steps";
  for (const [index, one] of row.steps.entries()) {
    const problem = problemOfStep(row, one, row.plan[index]);
    if (problem !== null) return `.steps[${index}]${problem}`;
  }
  const isSigned = row.steps.some((one) => one.versions.some((two) => two.signature !== null));
  if (isSigned ? row.state === "created" : !isUnsignedState(row)) return ".state";
  if (row.isCreditAwaited && row.state !== "confirmed") return ".isCreditAwaited";
  if (row.state !== "confirmed") return null;
  const last = row.steps.at(-1);
  return last?.name === "deposit" && last.mined?.isFinal === true && last.mined.succeeded ? null : ".state";
}

function problemOfStep(row: DepositRow, one: StoredStep, planned: string | undefined): string | null {
  if (one.name !== planned) return ".name";
  if (one.to !== (one.name === "deposit" ? row.to : row.token.address)) return ".to";
  if (one.name === "deposit" && one.data !== row.data) return ".data";
  if (one.versions.length === 0) return ".versions";
  for (const [index, two] of one.versions.entries()) {
    if ((two.signature === null) !== (two.hash === null)) return `.versions[${index}].hash`;
    if ((two.signature === null) !== (two.signedAtMs === null)) return `.versions[${index}].signedAtMs`;
    if (two.signature === null) continue;
    if (rawOf(row.chainId, one, two, two.signature)?.hash !== two.hash) return `.versions[${index}].hash`;
  }
  const { mined: seen } = one;
  if (seen !== null && !one.versions.some((two) => two.hash === seen.hash)) return ".mined.hash";
  if (seen !== null && one.isReplaced) return ".isReplaced";
  return one.isRefused && (seen !== null || one.isReplaced) ? ".isRefused" : null;
}
