/**
 * Carries a withdrawal on by one round: signs its act and sends it, or reads the venue's history, and only then sends the
 * same act again. In the turn of its lane (the account at its venue).
 *
 * A venue that shows what left the account alone is followed on the chain (payout-searches.ts).
 *
 * Invariants: one act for a withdrawal, signed once, durable with its signature before it is sent. Without an answer of
 * the history nothing is sent a second time.
 */
import { ServiceError } from "../domain/errors.js";
import type { AccountSession, CallOptions } from "../ports.js";
import type { MoneyOutcome, WithdrawalRail, WithdrawalStanding } from "../venue-money.js";
import {
  actSigned,
  failedAct,
  isOver,
  maySendAgain,
  payoutFound,
  payoutUnfound,
  searchedFor,
  SEND_MARGIN_MS,
  sentAgain,
  withdrawalLooked,
  withdrawalSent,
} from "./act-steps.js";
import {
  answerOf,
  callOptions,
  isSignerAway,
  isUnsettledSigning,
  mayLeave,
  type Mode,
  signatureOf,
  type TransferParts,
  readValue,
  withSession,
} from "./transfer-parts.js";
import { PayoutSearches } from "./payout-searches.js";
import { isEnded, isOpen, isPutBack, type WithdrawalRow } from "./transfer-row.js";

const UNANSWERED: MoneyOutcome = { kind: "unknown" };
const NO_KEY: MoneyOutcome = { kind: "notSent", problem: "NO_KEY", retryAfterMs: null };

export class Withdrawals {
  readonly #parts: TransferParts;
  /** By row that the venue has not shown yet: when it was sent last, or looked for first, on the monotonic clock. */
  readonly #watched = new Map<string, number>();

  readonly #payouts: PayoutSearches;

  constructor(parts: TransferParts) {
    this.#parts = parts;
    this.#payouts = new PayoutSearches(parts);
  }

  /** In the turn of the lane. Returns the row as it is then. Rejects with what the signer refuses and STORE_UNAVAILABLE. */
  async round(row: WithdrawalRow, mode: Mode): Promise<WithdrawalRow> {
    const rail = this.#parts.rails.get(row.venue)?.withdrawals;
    if (rail === undefined || isEnded(row)) return row;
    const options = callOptions(mode, row);
    if (row.act.signature === null && row.state === "created") return this.#begin(row, rail, { mode, options });
    // Its venue says no more of it than it has.
    if (row.payout === "pending" && rail.payoutEvent !== null) return this.#searchPayout(row, options);
    const after = await withSession(this.#parts, row, options, async (session) => {
      const lookedAtMs = this.#now();
      const watchedMs = this.#watchedMs(row);
      const read = await this.#look(row, rail, session, options);
      if (read === null) return row;
      const isByNumber = rail.isMatchedById || row.venueId !== null;
      const standing = this.#followed(row, rail, read.value);
      const look = { standing, lookedAtMs, lagMs: rail.historyLagMs, watchedMs, isByNumber };
      const next = await this.#save(row, (one) => withdrawalLooked(one, look, this.#now()));
      if (isPutBack(next) || !rail.actsOnce || !maySendAgain(next, look) || (rail.needsKey && session === null))
        return next;
      const begun = await this.#save(next, (one) => sentAgain(one, this.#now()));
      return this.#send(begun, { rail, session, options, isFirst: false });
    });
    return after ?? row;
  }

  /** Of a row whose payment is searched for: how long it may rest, Infinity where nobody looks for it by the clock. */
  restMs(row: WithdrawalRow): number | null {
    return this.#payouts.restMs(row);
  }

  /** The operator wants its payment looked for at once. */
  lookAgain(row: WithdrawalRow): void {
    this.#payouts.again(row);
  }

  async #begin(
    row: WithdrawalRow,
    rail: WithdrawalRail,
    { mode, options }: { readonly mode: Mode; readonly options: CallOptions },
  ): Promise<WithdrawalRow> {
    if (isOver(row, this.#now() + SEND_MARGIN_MS)) {
      // An earlier start made it: whether that has sent it, the co-signer knows where the store was put back.
      await this.#parts.instance?.witnessed();
      return this.#save(row, (one) => failedAct(one, "EXPIRED_UNSENT", "", this.#now()));
    }
    const signature = await this.#sign(row, mode);
    if (isOver(row, this.#now() + SEND_MARGIN_MS))
      return this.#save(row, (one) => failedAct(one, "EXPIRED_UNSENT", "", this.#now()));
    const next = await this.#save(row, (one) => actSigned(one, signature, this.#now()));
    const sent = await withSession(this.#parts, next, options, async (session) =>
      this.#send(next, { rail, session, options, isFirst: true }),
    );
    // Without a session nothing was sent, and nothing will be before the history is read.
    return sent ?? this.#save(next, (one) => withdrawalSent(one, NO_KEY, true, this.#now()));
  }

  async #sign(row: WithdrawalRow, mode: Mode): Promise<string> {
    const { kind, text } = row.act.toSign;
    const request = kind === "typedData" ? { kind, text } : { kind, bytes: new TextEncoder().encode(text) };
    try {
      const { signature } = await signatureOf(this.#parts, row.walletId, request);
      return signature;
    } catch (error) {
      const isKept = isUnsettledSigning(error) || (isSignerAway(error) && mode === "kept");
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      if (!isKept) await this.#save(row, (one) => failedAct(one, "NOT_SIGNED", code, this.#now()));
      throw error;
    }
  }

  async #send(
    row: WithdrawalRow,
    how: {
      readonly rail: WithdrawalRail;
      readonly session: AccountSession | null;
      readonly options: CallOptions;
      readonly isFirst: boolean;
    },
  ): Promise<WithdrawalRow> {
    const { rail, session, options, isFirst } = how;
    const { signature } = row.act;
    this.#watched.set(row.transferId, this.#parts.clock.monoNs());
    if (signature === null) throw new ServiceError("INTERNAL", { problem: "transfers: NOT_SIGNED" });
    await mayLeave(this.#parts, isFirst);
    const outcome =
      rail.needsKey && session === null
        ? NO_KEY
        : await answerOf(this.#parts, () => rail.send(row.act, signature, session, options), UNANSWERED);
    return this.#save(row, (one) => withdrawalSent(one, outcome, isFirst, this.#now()));
  }

  async #look(row: WithdrawalRow, rail: WithdrawalRail, session: AccountSession | null, options: CallOptions) {
    const withdrawal = {
      ...searchedFor(row),
      isOthers: async (id: string) => (await this.#parts.book.unclaimed(row, [id])).length === 0,
    };
    return readValue(this.#parts, () => rail.look(withdrawal, session, options));
  }

  /** What has left is under way as long as there is a chain to ask for its payment. */
  #followed({ chainId }: WithdrawalRow, rail: WithdrawalRail, standing: WithdrawalStanding): WithdrawalStanding {
    const isFollowed = rail.payoutEvent !== null && this.#parts.chains.has(chainId);
    return standing.kind === "left" && isFollowed ? { ...standing, kind: "pending" } : standing;
  }

  async #searchPayout(row: WithdrawalRow, options: CallOptions): Promise<WithdrawalRow> {
    const { found, unfound } = await this.#payouts.look(row, options);
    let next = row;
    // All of them are of this lane.
    const ended = [
      ...found.map((one) => ({ before: one.row, after: payoutFound(one.row, one, this.#now()) })),
      ...unfound.map((before) => ({ before, after: payoutUnfound(before, this.#now()) })),
    ];
    for (const { before, after } of ended) {
      const saved = await this.#save(before, () => after);
      if (before === row) next = saved;
    }
    return next;
  }

  #watchedMs({ transferId }: WithdrawalRow): number {
    const nowNs = this.#parts.clock.monoNs();
    const sinceNs = this.#watched.get(transferId) ?? nowNs;
    this.#watched.set(transferId, sinceNs);
    return (nowNs - sinceNs) / 1e6;
  }

  async #save(row: WithdrawalRow, change: (row: WithdrawalRow) => WithdrawalRow): Promise<WithdrawalRow> {
    const next = await this.#parts.book.update(row, change);
    if (!isOpen(next)) {
      this.#watched.delete(next.transferId);
      this.#payouts.forget(next);
    }
    return next;
  }

  #now(): number {
    return this.#parts.clock.wallMs();
  }
}
