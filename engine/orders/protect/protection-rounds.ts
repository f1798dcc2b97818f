/**
 * Rounds of protection for a watched entry: one for what filled, one more for what was refused and may pass, or for a part
 * that is to be closed instead. Each may undo what its venue refuses to guard, and sends nothing else.
 *
 * Bounds: MAX_ROUNDS of protection orders, the last one kept for the entry's end; MAX_RETRIES rounds more for what was
 * refused, FIRST_POLL_MS to MAX_POLL_MS apart. A round that the store refused sent nothing and counts for neither: the next
 * one comes when the store takes what is known of the entry again, or after FIRST_POLL_MS, doubling to MAX_STORE_PAUSE_MS.
 */
import type { Clock } from "../../domain/clock.js";
import { Deadline } from "../../domain/deadline.js";
import { mayFillMore } from "../attempt-figures.js";
import { unprotectedParts } from "../conclude/protection-parts.js";
import type { TradeConclusion } from "../conclude/trade-conclusion.js";
import { lotsOfContract } from "../order-scale.js";
import { giveUpProtection } from "../run-writes.js";
import { protectSafely, type ProtectParts } from "./protect.js";
import { FIRST_POLL_MS, MAX_POLL_MS, withAccounts, type Watched } from "./watched-entry.js";
import { hasWorkLeft, isRetryLeft } from "./work-left.js";

const MAX_ROUNDS = 16;
/** About two minutes: longer than a venue's limits and halts of one market last as a rule. */
export const MAX_RETRIES = 12;
const MAX_STORE_PAUSE_MS = 900_000;
/** For the protection orders of one round. */
const ROUND_MS = 10_000;

export class ProtectionRounds {
  readonly #parts: ProtectParts;
  readonly #conclusion: Pick<TradeConclusion, "followLate">;
  readonly #clock: Clock;

  constructor(parts: ProtectParts, conclusion: Pick<TradeConclusion, "followLate">) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#clock = parts.clock;
  }

  /** A round of protection for what filled, or of another try for what was refused. */
  async protectWhatIsDue(entry: Watched, isLast: boolean): Promise<boolean> {
    const { run } = entry;
    const isOver = !mayFillMore(run);
    const isNew = isOver ? unprotectedParts(run).length > 0 : this.#isDue(entry, isLast);
    const isRetry = isRetryLeft(run);
    const isRetryDue = isRetry && (isLast || this.untilRetryMs(entry) <= 0);
    if (!isNew && !isRetryDue && !(isOver && run.protection?.problem !== null)) return false;
    if (!isLast && entry.storeRefusals > 0 && this.#clock.monoNs() < entry.retryAtNs) return false;
    await this.#protect(entry);
    if (run.protection?.problem === "STORE_UNAVAILABLE") {
      const pauseMs = Math.min(FIRST_POLL_MS * 2 ** entry.storeRefusals++, MAX_STORE_PAUSE_MS);
      entry.retryAtNs = this.#clock.monoNs() + pauseMs * 1e6;
      return true;
    }
    entry.storeRefusals = 0;
    entry.roundCount++;
    if (isRetryDue) entry.retryCount++;
    entry.retryAtNs = this.#clock.monoNs() + Math.min(FIRST_POLL_MS * 2 ** entry.retryCount, MAX_POLL_MS) * 1e6;
    if (run.protection !== undefined && entry.retryCount >= MAX_RETRIES && hasWorkLeft(run)) {
      giveUpProtection(run.protection);
      this.#parts.logger.error("protection_given_up", { routeId: run.routeId });
    }
    return true;
  }

  untilRetryMs({ retryAtNs, run }: Watched): number {
    if (!isRetryLeft(run)) return Number.POSITIVE_INFINITY;
    return Math.max(0, (retryAtNs - this.#clock.monoNs()) / 1e6);
  }

  /** Is there a part to protect now? The last round waits for the end, so that it covers all that is left. */
  #isDue({ roundCount, run }: Watched, isEnd: boolean): boolean {
    return unprotectedParts(run).some(({ attempt, lots, qtyDecimals }) => {
      const instrument = this.#parts.rooms.get(attempt.venue)?.markets.get(run.symbol)?.instrument;
      const isEnough =
        instrument === undefined || lotsOfContract(lots, qtyDecimals, instrument) >= instrument.minQtyLots;
      return isEnd || (roundCount < MAX_ROUNDS - 1 && isEnough);
    });
  }

  async #protect(entry: Watched): Promise<void> {
    const { context, execution, run } = entry;
    const deadline = new Deadline(this.#clock, ROUND_MS);
    await withAccounts(this.#parts, entry, async (accounts) => {
      // Without the ticket: its record is not to be RUNNING again.
      const late = await protectSafely(this.#parts, { ...execution, accounts, deadline, ticket: null }, run);
      if (late.length > 0) entry.isReportedElsewhere = true;
      // An entry that was done at its reply has news: its protection. Once.
      if (!mayFillMore(run)) entry.reportsEnd ||= !entry.isReportedElsewhere;
      if (!mayFillMore(run) && late.length > 0) entry.reportsEnd = false;
      this.#conclusion.followLate({ ...execution, accounts }, context, run, late);
    });
  }
}
