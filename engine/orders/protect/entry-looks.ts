/** Reads of a watched entry's orders: one look at all of them that may still fill, but for those the resolver reads. */
import { within } from "../../domain/deadline.js";
import type { VenueOrder } from "../../domain/order.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { TradeAccounts } from "../accounts.js";
import { filledLots, isOpen, mayYetFill } from "../attempt-figures.js";
import { asProgress, isOver, unreadIds, wholeOrder } from "../order-parts.js";
import { isOfPosition, positionAttempts, type OrderAttempt, type TradeRun } from "../run.js";
import { dropOtherId } from "../run-writes.js";
import { isYoungCancel } from "../send/absence-proof.js";
import { readPriceLater } from "../send/fill-price.js";
import { applyResolution } from "../send/outcome.js";
import type { UnknownOrder } from "../send/resolver.js";
import { unknownOrderOf, type LookupParts } from "../send/unknown-order.js";
import { withAccounts, type Watched } from "./watched-entry.js";
import { isRetryLeft } from "./work-left.js";

/** What looks at the orders of an entry. */
interface LookParts extends LookupParts {
  readonly hash: KeyedHash;
}

const READ_TIMEOUT_MS = 3_000;

/** Those that are with the resolver are its to end. */
export async function lookAtAll(parts: LookParts, entry: Watched): Promise<void> {
  const { run } = entry;
  const { resolver } = parts;
  const open = positionAttempts(run).filter((attempt) => mayFill(attempt) && !resolver.isActive(attempt.clientIdHex));
  if (open.length === 0) return;
  await withAccounts(parts, entry, async (accounts) => {
    for (const attempt of open) {
      const isUnsettled = mayYetFill(attempt);
      await look(parts, run, accounts, attempt);
      if (isUnsettled && !mayYetFill(attempt)) entry.reportsEnd = true;
    }
  });
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

/** One read of one order; what it says less than is known already is left out. */
async function look(parts: LookParts, run: TradeRun, accounts: TradeAccounts, attempt: OrderAttempt): Promise<void> {
  const account = accounts.get(attempt.venue);
  const order = unknownOrderOf(parts, run, attempt, parts.rooms.get(attempt.venue));
  if (account === null || order === null) return;
  const ref = { clientIdHex: attempt.clientIdHex };
  const options = { timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" } as const;
  const reading = account.room.reader.readOrder(account.session, order.instrument, ref, options);
  const read = await within(parts.clock, reading, READ_TIMEOUT_MS);
  const seen = read.done && read.value.ok ? read.value.value : null;
  if (seen === null || isYoungCancel(attempt, seen, account.room.venueClock.nowAtLeastMs())) return;
  if (!(await lookAtOtherIds(parts, account, order, attempt, seen))) return;
  if (wholeOrder(attempt, seen).order.filledLots < filledLots(attempt)) return;
  if (seen.status === "UNKNOWN") applyResolution(parts, attempt, { kind: "unknown", reason: "TIMED_OUT", order: seen });
  else {
    const found = { kind: "found", order: seen } as const;
    const isNew =
      wholeOrder(attempt, seen).order.filledLots > filledLots(attempt) || seen.status !== attempt.order?.status;
    applyResolution(parts, attempt, found);
    if (isNew) readPriceLater(parts.resolver, order, found, () => accounts.another(attempt.venue));
  }
}

/** What ids filled that `seen` is in the place of. Returns false where that cannot be learnt now. */
async function lookAtOtherIds(
  parts: LookParts,
  { room, session }: NonNullable<ReturnType<TradeAccounts["get"]>>,
  { instrument }: UnknownOrder,
  attempt: OrderAttempt,
  seen: VenueOrder,
): Promise<boolean> {
  const options = { timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" } as const;
  for (const venueOrderId of unreadIds(attempt, seen)) {
    const reading = room.reader.readOrder(session, instrument, { venueOrderId }, options);
    const read = await within(parts.clock, reading, READ_TIMEOUT_MS);
    if (!read.done || !read.value.ok) return false;
    const other = read.value.value;
    const isKnown = venueOrderId === attempt.order?.venueOrderId;
    // One that is open is newer than what was found: the next look finds it.
    if (other !== null && !isKnown && !isOver(other)) continue;
    const shown = other === null ? null : asProgress(other);
    if (shown !== null && wholeOrder(attempt, shown, true).order.filledLots > filledLots(attempt))
      applyResolution(parts, attempt, { kind: "found", order: shown, isReplaced: true });
    dropOtherId(attempt, venueOrderId);
  }
  return true;
}

function mayFill(attempt: OrderAttempt): boolean {
  return mayYetFill(attempt) || isOpen(attempt);
}
