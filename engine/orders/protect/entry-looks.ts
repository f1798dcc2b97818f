/** Reads of a watched entry's orders: one look at all of them that may still fill, but for those the resolver reads. */
import { within } from "../../domain/deadline.js";
import type { VenueOrder } from "../../domain/order.js";
import type { CallOptions, ReadFailure } from "../../ports.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { TradeAccounts } from "../accounts.js";
import { filledLots, isOpen, mayYetFill } from "../attempt-figures.js";
import { newestOf } from "../follow/newest-id.js";
import { isBehind, wholeOrder } from "../order-parts.js";
import { isOfPosition, positionAttempts, type OrderAttempt, type TradeRun } from "../run.js";
import { isYoungCancel } from "../send/absence-proof.js";
import { readPriceLater } from "../send/fill-price.js";
import { isRefusal, isUnsent } from "../send/look-pause.js";
import { applyResolution } from "../send/outcome.js";
import type { UnknownOrder } from "../send/resolver.js";
import { unknownOrderOf, type LookupParts } from "../send/unknown-order.js";
import { withAccounts, type Watched } from "./watched-entry.js";
import { isRetryLeft } from "./work-left.js";

/** What looks at the orders of an entry. */
interface LookParts extends LookupParts {
  readonly hash: KeyedHash;
}

/** One order, and how it is looked at. */
interface Look {
  readonly attempt: OrderAttempt;
  readonly account: NonNullable<ReturnType<TradeAccounts["get"]>>;
  readonly order: UnknownOrder;
  readonly options: CallOptions;
  /** Why a read of another id of it was not answered; null: all were. */
  failure: ReadFailure | null;
}

const READ_TIMEOUT_MS = 3_000;
/** Looks on the lane of exits at an entry that should have traded on arrival. */
const URGENT_LOOKS = 5;

/** Of an entry whose reply shows less than the decision saw as marketable. */
export function urgentLooksOf(run: TradeRun): number {
  const isBehind = (attempt: OrderAttempt): boolean => filledLots(attempt) < (attempt.marketableLots ?? 0);
  return positionAttempts(run).some((attempt) => mayFill(attempt) && isBehind(attempt)) ? URGENT_LOOKS : 0;
}

/** Those that are with the resolver are its to end. Returns false where the venue did not answer, and may soon. */
export async function lookAtAll(parts: LookParts, entry: Watched): Promise<boolean> {
  const { run } = entry;
  const { resolver } = parts;
  const open = positionAttempts(run).filter((attempt) => mayFill(attempt) && !resolver.isActive(attempt.clientIdHex));
  if (open.length === 0) return true;
  const isUrgent = entry.urgentLooks > 0;
  const options = { timeoutMs: READ_TIMEOUT_MS, lane: isUrgent ? "exit" : "reconcile" } as const;
  let isAnswered = true;
  let isSent = false;
  await withAccounts(parts, entry, async (accounts) => {
    for (const attempt of open) {
      const isUnsettled = mayYetFill(attempt);
      const failure = await look(parts, run, accounts, attempt, options);
      if (failure !== null && !isRefusal(failure)) isAnswered = false;
      if (failure === null || !isUnsent(failure)) isSent = true;
      if (isUnsettled && !mayYetFill(attempt)) entry.reportsEnd = true;
    }
  });
  if (isUrgent && isSent) entry.urgentLooks--;
  return isAnswered;
}

/** Does an order of it rest, is one with the resolver, or is anything to be sent for it? */
export function isInHand({ resolver }: Pick<LookParts, "resolver">, run: TradeRun): boolean {
  if (isRetryLeft(run)) return true;
  return run.attempts.some(
    (attempt) =>
      (isOfPosition(attempt) && isOpen(attempt) && !mayYetFill(attempt)) ||
      (mayFill(attempt) && resolver.isActive(attempt.clientIdHex)),
  );
}

/**
 * One read of one order, and of its other ids; what they say less than is known already is left out. Returns why one of
 * them was not answered, else null.
 */
async function look(
  parts: LookParts,
  run: TradeRun,
  accounts: TradeAccounts,
  attempt: OrderAttempt,
  options: CallOptions,
): Promise<ReadFailure | null> {
  const account = accounts.get(attempt.venue);
  const order = unknownOrderOf(parts, run, attempt, parts.rooms.get(attempt.venue));
  if (account === null || order === null) return null;
  const ref = { clientIdHex: attempt.clientIdHex };
  const reading = account.room.reader.readOrder(account.session, order.instrument, ref, options);
  const read = await within(parts.clock, reading, options.timeoutMs);
  if (!read.done) return "TIMEOUT";
  if (!read.value.ok) return read.value.code;
  const shown = read.value.value;
  if (shown === null || isYoungCancel(attempt, shown, account.room.venueClock.nowAtLeastMs())) return null;
  const made: Look = { attempt, account, order, options, failure: null };
  await see(parts, accounts, made, shown);
  return made.failure;
}

async function see(parts: LookParts, accounts: TradeAccounts, made: Look, shown: VenueOrder): Promise<void> {
  const { attempt, order } = made;
  const seen = await newestSeen(parts, made, shown);
  if (seen === null) return;
  if (isBehind(attempt, seen)) return;
  if (seen.status === "UNKNOWN") applyResolution(parts, attempt, { kind: "unknown", reason: "TIMED_OUT", order: seen });
  else {
    const found = { kind: "found", order: seen } as const;
    const isNew =
      wholeOrder(attempt, seen).order.filledLots > filledLots(attempt) || seen.status !== attempt.order?.status;
    applyResolution(parts, attempt, found);
    if (isNew) readPriceLater(parts.resolver, order, found, () => accounts.another(attempt.venue));
  }
}

/** What its ids filled that have another in their place, and how it is under the newest. Null where that cannot be learnt now. */
function newestSeen(parts: LookParts, made: Look, found: VenueOrder): Promise<VenueOrder | null> {
  const { account, attempt, options, order } = made;
  const { room, session } = account;
  return newestOf(attempt, found, {
    async read(venueOrderId) {
      const reading = room.reader.readOrder(session, order.instrument, { venueOrderId }, options);
      const read = await within(parts.clock, reading, options.timeoutMs);
      if (read.done && read.value.ok) return { order: read.value.value };
      made.failure = read.done && !read.value.ok ? read.value.code : "TIMEOUT";
      return null;
    },
    seeReplaced(progress) {
      if (wholeOrder(attempt, progress, true).order.filledLots > filledLots(attempt))
        applyResolution(parts, attempt, { kind: "found", order: progress, isReplaced: true });
      return true;
    },
  });
}

function mayFill(attempt: OrderAttempt): boolean {
  return mayYetFill(attempt) || isOpen(attempt);
}
