/**
 * What a deposit's row becomes by what was done and seen: pure functions. Each returns the row itself where nothing
 * changed.
 *
 * Invariants: a step's nonce, receiver and data never change, and its prices only grow. A step follows once all before it
 * are mined and succeeded. A row fails only when none of what was signed for it can still deposit.
 */
import type { BroadcastOutcome, GasPrice, TransactionStanding } from "../chain.js";
import {
  type DepositRow,
  depositStep,
  isEnded,
  type StepName,
  type StoredStep,
  type StoredVersion,
  type TransferReason,
} from "./transfer-row.js";

/** A replacement must pay so much more than the one before, or endpoints refuse it: an eighth. */
const BUMP_NUMERATOR = 9n;
const BUMP_DENOMINATOR = 8n;
/** Prices of one step; the dearest is about 1.8 times the first, or what the chain asks. */
export const VERSIONS_MAX = 6;
/** Endpoints that lag may not know yet what the step before did. */
const REVERT_PATIENCE_MS = 120_000;
/** Behind one name of an endpoint are servers, of which one may lag. */
const LOST_PATIENCE_MS = 60_000;
const LOST_LOOKS = 4;
/** A venue that has not credited a final deposit by then is a matter for people; the row says so. */
export const CREDIT_WAIT_MS = 86_400_000;

export function planOf(row: DepositRow, allowance: bigint): readonly StepName[] {
  if (row.spender === null || allowance >= BigInt(row.amount)) return ["deposit"];
  return row.token.resetsAllowance && allowance > 0n ? ["reset", "approve", "deposit"] : ["approve", "deposit"];
}

export interface Preparation {
  readonly plan: readonly StepName[];
  readonly to: string;
  readonly data: string;
  readonly nonce: number;
  readonly gasLimit: bigint;
  readonly price: GasPrice;
}

/** The next step, not signed yet. */
export function prepared(row: DepositRow, preparation: Preparation, nowMs: number): DepositRow {
  const { plan, to, data, nonce, gasLimit, price } = preparation;
  const name = plan[row.steps.length];
  if (name === undefined || !canBegin({ ...row, plan })) throw new RangeError("no step can begin");
  const step: StoredStep = {
    ...{ name, to, data, nonce, gasLimit: gasLimit.toString() },
    ...{ versions: [versionAt(price)], mined: null, isReplaced: false, isRefused: false },
  };
  return { ...row, plan, steps: [...row.steps, step], revertsSinceMs: null, updatedAtMs: nowMs };
}

/** The chain says that the next step would revert. What is signed of it is nothing, so it may end for that. */
export function wouldRevert(row: DepositRow, text: string, nowMs: number): DepositRow {
  const before = row.steps.at(-1);
  const sinceMs = row.revertsSinceMs ?? nowMs;
  const isSure = before === undefined || (isFinal(before) && nowMs - sinceMs >= REVERT_PATIENCE_MS);
  if (isSure) return failed(row, "WOULD_REVERT", text, nowMs);
  return row.revertsSinceMs === null ? { ...row, revertsSinceMs: nowMs, updatedAtMs: nowMs } : row;
}

/** The newest version of the step, signed. */
export function signed(
  row: DepositRow,
  index: number,
  { signature, hash }: { readonly signature: string; readonly hash: string },
  nowMs: number,
): DepositRow {
  const next = withVersion(row, index, (version) => ({ ...version, signature, hash, signedAtMs: nowMs }), nowMs);
  return { ...next, state: row.state === "created" ? "signed" : row.state };
}

/**
 * `isFirst`: nothing of this step can have been sent before, in this life or another. Then a refusal is the end of it.
 */
export function handedOut(
  row: DepositRow,
  { index, isFirst }: { readonly index: number; readonly isFirst: boolean },
  outcome: BroadcastOutcome,
  nowMs: number,
): DepositRow {
  const step = row.steps[index];
  if (outcome.kind === "refused" && isFirst && step !== undefined) {
    const next = withStep(row, index, { ...step, isRefused: true }, nowMs);
    return concluded({ ...next, reasonText: outcome.reason }, nowMs);
  }
  const isTaken = outcome.kind === "taken";
  const isSame = step?.versions.at(-1)?.isTaken === isTaken;
  const next = isSame ? row : withVersion(row, index, (version) => ({ ...version, isTaken }), nowMs);
  if (!isNewestSent(row, index) || (isTaken && row.state === "broadcast")) return next;
  if (isTaken) return { ...next, state: "broadcast", reason: null, reasonText: "" };
  // A bump that was not taken says nothing of the version before it.
  if (step?.versions.length !== 1) return next;
  const reason = outcome.kind === "refused" ? "BROADCAST_REFUSED" : null;
  if (row.state === "unknown" && row.reason === reason) return next;
  const reasonText = outcome.kind === "refused" ? outcome.reason : "";
  return { ...next, state: "unknown", reason, reasonText, updatedAtMs: nowMs };
}

/** `taken`: of a mined deposit, what the venue's contract says that it took. */
export function looked(
  row: DepositRow,
  index: number,
  seen: { readonly standing: TransactionStanding; readonly taken: bigint | null },
  nowMs: number,
): DepositRow {
  const step = row.steps[index];
  if (step === undefined || isDecided(step) || isEnded(row)) return row;
  const { standing } = seen;
  switch (standing.kind) {
    case "replaced":
      return withStep(row, index, { ...step, mined: null, isReplaced: true }, nowMs);
    case "unshown":
      return unshown(row, index, standing, nowMs);
    case "open":
      return openAgain(row, index, standing.isKnown, nowMs);
    case "mined": {
      if (!step.versions.some(({ hash }) => hash === standing.hash)) return row;
      const { hash, blockNumber, blockHash, confirmations, isFinal: final, succeeded, gasCost } = standing;
      const mined = {
        ...{ hash, blockNumber, blockHash, confirmations, isFinal: final, succeeded },
        ...{ gasCost: gasCost.toString(), taken: seen.taken?.toString() ?? null },
      };
      if (step.mined !== null && sameMined(step.mined, mined)) return row;
      const next = withStep(row, index, { ...step, mined }, nowMs);
      if (!isNewestSent(row, index)) return next;
      // Without a reason the text is of a later step, which the chain would not take.
      const reasonText = row.reason === null ? row.reasonText : "";
      return { ...next, state: "broadcast", reason: null, reasonText };
    }
  }
}

/** Unsigned still: the newest version at a price that replaces the one before. */
export function dearer(row: DepositRow, index: number, price: GasPrice, nowMs: number): DepositRow {
  const step = row.steps[index];
  const last = step?.versions.at(-1);
  if (step === undefined || last === undefined || last.signature === null)
    throw new RangeError("no version to replace");
  const version = versionAt({
    maxFeePerGas: larger(price.maxFeePerGas, raised(last.maxFeePerGas)),
    maxPriorityFeePerGas: larger(price.maxPriorityFeePerGas, raised(last.maxPriorityFeePerGas)),
  });
  return withStep(row, index, { ...step, versions: [...step.versions, version] }, nowMs);
}

/** The end of the row, where what is known decides it. */
export function concluded(row: DepositRow, nowMs: number): DepositRow {
  // Also behind a deposit that is final: what the steps before it cost is counted as the chain has it.
  if (isEnded(row) || row.steps.some((step) => isSent(step) && !isDecided(step))) return row;
  const deposit = depositStep(row);
  if (deposit !== null && isFinal(deposit) && deposit.mined?.succeeded === true) {
    if (deposit.mined.taken === null)
      return row.reason === "NOT_SHOWN" ? row : { ...row, state: "unknown", reason: "NOT_SHOWN", updatedAtMs: nowMs };
    return confirmed(row, nowMs);
  }
  // Fewer than must agree showed that it was undone (`unshown`): its approval cannot tell either.
  if (deposit !== null && isFinal(deposit) && row.reason === "NOT_SHOWN") return row;
  for (const step of row.steps) {
    if (step.isRefused) return failed(row, "BROADCAST_REFUSED", row.reasonText, nowMs);
    if (step.isReplaced) return failed(row, "NONCE_USED", "", nowMs);
    if (isFinal(step) && step.mined?.succeeded === false) return failed(row, "REVERTED", "", nowMs);
  }
  return row;
}

/** The venue has it. */
export function credited(row: DepositRow, venueId: string, nowMs: number): DepositRow {
  return { ...confirmed(row, nowMs), venueId, isCreditAwaited: false };
}

/**
 * Nobody waits for its credit any more. `unreadMs`: for so long the venue has not answered in this start of the program;
 * null: it does. Without an answer it says nothing of the credit.
 */
export function isGivenUp(row: DepositRow, unreadMs: number | null, nowMs: number): boolean {
  const isOld = row.isCreditAwaited && nowMs - row.updatedAtMs >= CREDIT_WAIT_MS;
  return isOld && (unreadMs === null || unreadMs >= CREDIT_WAIT_MS);
}

export function failed(row: DepositRow, reason: TransferReason, text: string, nowMs: number): DepositRow {
  return { ...row, state: "failed", reason, reasonText: text, updatedAtMs: nowMs };
}

/** All before are mined and succeeded, and the plan has another. */
export function canBegin(row: DepositRow): boolean {
  const isOver = row.plan.length > 0 && row.steps.length >= row.plan.length;
  return !isEnded(row) && !isOver && row.steps.every((step) => step.mined?.succeeded === true);
}

/** Index of the step whose newest version waits for its signature; -1: none that may be signed now. */
export function unsignedIndex(row: DepositRow): number {
  // A price that was to be raised when the step was mined after all is never signed.
  const index = row.steps.findIndex((step) => step.mined === null && !isDecided(step) && !isNewestSigned(step));
  if (index < 0 || isEnded(row)) return -1;
  const before = row.steps.slice(0, index);
  // What was sent holds its nonce, and with it the lane, whatever became of the steps before it.
  const isSentBefore = row.steps[index] !== undefined && isSent(row.steps[index]);
  return before.every((step) => step.mined?.succeeded === true || (isSentBefore && isDecided(step))) ? index : -1;
}

/** Something of it was signed, so it may have been sent. */
export function isSent({ versions }: StoredStep): boolean {
  return versions.some(({ signature }) => signature !== null);
}

/** What the row's state and its reason are of: what shows of the steps before it says nothing of this one. */
function isNewestSent({ steps }: DepositRow, index: number): boolean {
  return !steps.some((step, at) => at > index && isSent(step));
}

function isNewestSigned({ versions }: StoredStep): boolean {
  return versions.at(-1)?.signature !== null;
}

export function isFinal({ mined }: StoredStep): boolean {
  return mined?.isFinal === true;
}

/** Nothing changes it any more. */
export function isDecided(step: StoredStep): boolean {
  return step.isReplaced || step.isRefused || isFinal(step);
}

/** Whether so many looks in a row, over so long, that show another transaction with the nonce make it lost. */
export function isLost(looks: number, shownMs: number): boolean {
  return looks >= LOST_LOOKS && shownMs >= LOST_PATIENCE_MS;
}

/** Another deposit of the wallet on the chain waits for this one: for its nonces and for its allowance. */
export function holdsLane(row: DepositRow): boolean {
  return row.steps.length > 0 && mayTakeYet(row);
}

/** The chain may still take the tokens: the deposit is in no block that succeeded, and not all is decided. */
export function mayTakeYet(row: DepositRow): boolean {
  const deposit = depositStep(row);
  if (isEnded(row) || deposit?.mined?.succeeded === true) return false;
  return deposit === null || row.steps.some((step) => !isDecided(step));
}

function confirmed(row: DepositRow, nowMs: number): DepositRow {
  if (row.state === "confirmed") return row;
  return { ...row, state: "confirmed", reason: null, reasonText: "", isCreditAwaited: true, updatedAtMs: nowMs };
}

function openAgain(row: DepositRow, index: number, isKnown: boolean, nowMs: number): DepositRow {
  const step = row.steps[index];
  if (step === undefined) return row;
  const isLost = !isKnown && step.versions.some(({ isTaken }) => isTaken);
  const isFound = isKnown && row.state !== "broadcast" && isNewestSent(row, index);
  // There is no block any more that does not show it; while the reason lasts, no price is raised.
  const isDoubted = row.reason === "NOT_SHOWN" && isNewestSent(row, index);
  if (step.mined === null && !isLost && !isFound && !isDoubted) return row;
  const versions = isLost ? step.versions.map((version) => ({ ...version, isTaken: false })) : step.versions;
  const next = withStep(row, index, { ...step, mined: null, versions }, nowMs);
  if (isFound) return { ...next, state: "broadcast", reason: null, reasonText: "" };
  return isDoubted ? { ...next, reason: null } : next;
}

/**
 * The block is what it was, so the transaction is in it, and its nonce is used for good once the block is final. What it did
 * was shown by fewer than must agree, so the deposit's logs are left out: the venue alone says then that it took it. A
 * deposit that was undone there stays unknown, and an approval that was makes the row fail where nothing behind it is
 * signed.
 */
function unshown(
  row: DepositRow,
  index: number,
  { confirmations, isFinal: final }: Extract<TransactionStanding, { readonly kind: "unshown" }>,
  nowMs: number,
): DepositRow {
  const step = row.steps[index];
  if (step === undefined || step.mined === null) return row;
  const next = final
    ? withStep(row, index, { ...step, mined: { ...step.mined, confirmations, isFinal: true, taken: null } }, nowMs)
    : row;
  if (!isNewestSent(row, index)) return next;
  const isNotShown = !final || (step.name === "deposit" && !step.mined.succeeded);
  if (isNotShown)
    return next === row && row.reason === "NOT_SHOWN"
      ? row
      : { ...next, state: "unknown", reason: "NOT_SHOWN", updatedAtMs: nowMs };
  // While fewer had its block, the row waited for it.
  return row.reason === "NOT_SHOWN" ? { ...next, state: "broadcast", reason: null, reasonText: "" } : next;
}

function sameMined(left: NonNullable<StoredStep["mined"]>, right: NonNullable<StoredStep["mined"]>): boolean {
  return (
    left.blockHash === right.blockHash &&
    left.hash === right.hash &&
    left.confirmations === right.confirmations &&
    left.isFinal === right.isFinal
  );
}

function withStep(row: DepositRow, index: number, step: StoredStep, nowMs: number): DepositRow {
  return { ...row, steps: row.steps.map((one, at) => (at === index ? step : one)), updatedAtMs: nowMs };
}

function withVersion(
  row: DepositRow,
  index: number,
  change: (version: StoredVersion) => StoredVersion,
  nowMs: number,
): DepositRow {
  const step = row.steps[index];
  const last = step?.versions.at(-1);
  if (step === undefined || last === undefined) throw new RangeError("no such step");
  return withStep(row, index, { ...step, versions: [...step.versions.slice(0, -1), change(last)] }, nowMs);
}

function versionAt({ maxFeePerGas, maxPriorityFeePerGas }: GasPrice): StoredVersion {
  return {
    ...{ maxFeePerGas: maxFeePerGas.toString(), maxPriorityFeePerGas: maxPriorityFeePerGas.toString() },
    ...{ signature: null, hash: null, signedAtMs: null, isTaken: false },
  };
}

/** Rounded up: a price that is too low by one is refused, and so is a tip of nothing in place of nothing. */
function raised(price: string): bigint {
  const more = (BigInt(price) * BUMP_NUMERATOR + BUMP_DENOMINATOR - 1n) / BUMP_DENOMINATOR;
  return larger(more, BigInt(price) + 1n);
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
