/**
 * Before refused protection, or a refused undo, is sent again: is what it is for still held? Its owner may have closed
 * it meanwhile, and an order for more than is held would close what is opened later.
 *
 * Invariants: less counts only when the venue shows it twice, LAG_MS apart, because a read may lag behind the
 * entry's own fills; a venue that does not say what is held changes nothing: a missing stop is the worse of the two.
 *
 * Bounds: two reads of each venue and round, on the exit lane.
 */
import type { Rooms } from "../accounts.js";
import type { Logger } from "../../domain/logger.js";
import { delay, type Clock } from "../../domain/clock.js";
import { canonicalQtyDecimals } from "../../domain/instrument.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { openLots, readVerified } from "../decide/readings.js";
import { lotsOn } from "../order-scale.js";
import { heldByEntry, lotsToProtect, openedOn, type FilledPart } from "../conclude/protection-parts.js";
import { POSITIONS_DEADLINE_MS } from "../limits.js";
import type { TradeExecution } from "../send/execution.js";
import type { OrderAttempt, TradeRun } from "../run.js";
import { addGone, markReplaced, recordProtectionProblem } from "../run-writes.js";

/** What reads what is still held of an entry. */
interface HeldParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rooms: Rooms;
}

/** Longer than any venue was seen to show an order late. */
const LAG_MS = 2_000;
/** The position is not there any more, so that there is nothing to guard. */
const POSITION_CLOSED = "POSITION_CLOSED";

/** Writes into the run what its owner closed of it, at venues that refused one of `refused`. */
export async function noteClosedByOwner(
  parts: HeldParts,
  execution: TradeExecution,
  run: TradeRun,
  filled: readonly FilledPart[],
  refused: readonly OrderAttempt[],
): Promise<void> {
  const { protection } = run;
  for (const part of filled) {
    const { venue } = part.attempt;
    const own = refused.filter((attempt) => attempt.venue === venue);
    if (protection === undefined || own.length === 0) continue;
    let missing = await missingLots(parts, execution, run, part);
    if (missing > 0) {
      await delay(parts.clock, LAG_MS);
      missing = Math.min(missing, await missingLots(parts, execution, run, part));
    }
    if (missing <= 0) continue;
    parts.logger.warn("protected_position_closed", { routeId: run.routeId, venue });
    const before = run.positionsBefore.find((position) => position.venue === venue);
    const gone = lotsOn(missing, part.qtyDecimals, before?.qtyDecimals ?? part.qtyDecimals);
    addGone(protection, venue, gone);
    for (const attempt of own) {
      const { role } = attempt;
      const isGuard = role === "STOP_LOSS" || role === "TAKE_PROFIT";
      if (isGuard && lotsToProtect(run, part, role) <= 0) markReplaced(attempt);
    }
    if (filled.every((one) => openedOn(run, one.attempt.venue) <= 0))
      recordProtectionProblem(protection, protection.problem ?? POSITION_CLOSED);
  }
}

/** What the entry holds by its own orders and the venue does not show; 0 where the venue does not say. */
async function missingLots(
  { clock, rooms }: Pick<HeldParts, "clock" | "rooms">,
  execution: TradeExecution,
  run: TradeRun,
  { attempt, qtyDecimals }: FilledPart,
): Promise<number> {
  const venue: RoutableVenue = attempt.venue;
  const account = execution.accounts.renew(venue);
  const instrument = rooms.get(venue)?.markets.get(run.symbol)?.instrument;
  if (account === null || instrument === undefined) return 0;
  const { positions } = await readVerified(clock, account, instrument, POSITIONS_DEADLINE_MS);
  if (positions === null) return 0;
  const held = lotsOn(openLots(positions, run.direction), canonicalQtyDecimals(instrument), qtyDecimals, "ceil");
  return heldByEntry(run, venue) - held;
}
