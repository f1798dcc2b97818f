/**
 * Carries a transfer between a venue's accounts on by one round: sends it under its name, or looks for the name, and only
 * then sends it again under the same one. In the turn of its lane (the account at its venue).
 */
import type { AccountSession, CallOptions } from "../ports.js";
import type { InternalTransferAsk, InternalTransferRail, MoneyOutcome } from "../venue-money.js";
import {
  absentPutBack,
  failedAct,
  mayNameAgain,
  NAME_LIFE_MS,
  RESEND_MS,
  sendBegun,
  sentAgain,
  transferAbsent,
  transferFound,
  transferSent,
} from "./act-steps.js";
import {
  answerOf,
  callOptions,
  mayLeave,
  type Mode,
  type TransferParts,
  readValue,
  withSession,
} from "./transfer-parts.js";
import type { TransferPage } from "./transfer-book.js";
import { type InternalRow, isEnded, isPutBack } from "./transfer-row.js";

const UNANSWERED: MoneyOutcome = { kind: "unknown" };
/** What clocks and answers may be off by, where a look begins. */
const OFF_MS = 10_000;
/** Rows of a wallet at a time. */
const PAGE_ROWS = 100;
/** Of a wallet with more transfers than that while a name lives, the name alone says whether one arrived. */
const PAGES_MAX = 20;

interface Look extends Pick<InternalTransferRail, "looksBackMs"> {
  readonly listed: readonly string[];
  readonly lookedAtMs: number;
}

interface AnsweredLike {
  readonly atMost: number;
  readonly atLeast: number;
}

const NONE: AnsweredLike = { atMost: 0, atLeast: 0 };

export class InternalTransfers {
  readonly #parts: TransferParts;

  constructor(parts: TransferParts) {
    this.#parts = parts;
  }

  /** In the turn of the lane. Returns the row as it is then. Rejects with STORE_UNAVAILABLE. */
  async round(row: InternalRow, mode: Mode): Promise<InternalRow> {
    const rail = this.#parts.rails.get(row.venue)?.internal ?? null;
    if (rail === null || isEnded(row)) return row;
    const options = callOptions(mode, row);
    const after = await withSession(this.#parts, row, options, async (session) => {
      if (session !== null)
        return row.sentAtMs === null && !isPutBack(row)
          ? this.#begin(row, rail, session, options)
          : this.#settle(row, rail, session, options);
      if (row.sentAtMs !== null || isPutBack(row) || mode === "kept") return row;
      return this.#save(row, (one) => failedAct(one, "VENUE_UNREACHED", "NO_KEY", this.#now()));
    });
    return after ?? row;
  }

  async #begin(
    row: InternalRow,
    rail: InternalTransferRail,
    session: AccountSession,
    options: CallOptions,
  ): Promise<InternalRow> {
    const begun = await this.#save(row, (one) => sendBegun(one, this.#now()));
    return this.#send(begun, rail, session, { options, isFirst: true });
  }

  async #settle(
    row: InternalRow,
    rail: InternalTransferRail,
    session: AccountSession,
    options: CallOptions,
  ): Promise<InternalRow> {
    const lookedAtMs = this.#now();
    const sentAtMs = row.sentAtMs ?? row.createdAtMs;
    const read = await readValue(this.#parts, () => rail.look(askOf(row), sentAtMs, session, options));
    if (read === null) return row;
    const found = await this.#parts.book.unclaimed(row, read.value);
    const [venueId] = found;
    // With fewer than there are of one amount, only the name says which of them arrived.
    const look = { listed: read.value, lookedAtMs, looksBackMs: rail.looksBackMs };
    const answered = venueId === undefined ? NONE : await this.#answeredLike(row, look);
    if (venueId !== undefined && found.length > this.#twinsOf(row) + answered.atMost)
      return this.#save(row, (one) => transferFound(one, venueId, this.#now()));
    // One of those that the list has may be this one.
    const mayBeListed = found.length > answered.atLeast;
    if (isPutBack(row))
      return mayBeListed ? row : this.#save(row, (one) => absentPutBack(one, lookedAtMs, this.#now()));
    const next = await this.#save(row, (one) => transferAbsent(one, { lookedAtMs, mayBeListed }, this.#now()));
    if (!mayNameAgain(next, lookedAtMs)) return next;
    const begun = await this.#save(next, (one) => sentAgain(one, this.#now()));
    return this.#send(begun, rail, session, { options, isFirst: false });
  }

  /** Other transfers that the venue's list does not tell from this one, and of which nothing is known. */
  #twinsOf(self: InternalRow): number {
    const { account, amount, asset, kindType, transferId, venue } = self;
    let count = 0;
    for (const row of this.#parts.book.open(account)) {
      if (row.kind !== "internal" || row.transferId === transferId) continue;
      // What the lost life sent is older than what this one sends, and whatever it did stops the like of it.
      if (row.sentAtMs === null && !(isPutBack(row) && isPutBack(self))) continue;
      if (row.venue !== venue || row.kindType !== kindType) continue;
      if (row.asset === asset && row.amount === amount) count++;
    }
    return count;
  }

  /**
   * Transfers that the list does not tell from this one and that the venue answered with an id which is not in the list:
   * whether it lists them under another one is not known, so each has one of the list's. `atLeast`: without those that
   * may have come too early or too late for the list.
   */
  async #answeredLike(row: InternalRow, { listed, lookedAtMs, looksBackMs }: Look): Promise<AnsweredLike> {
    const { account, amount, asset, kindType, transferId, venue, walletId } = row;
    const sentAtMs = row.sentAtMs ?? row.createdAtMs;
    const sinceMs = sentAtMs - looksBackMs - OFF_MS;
    const surelyMs = sentAtMs - looksBackMs + OFF_MS;
    let [atMost, atLeast] = [0, 0];
    let after: string | null = null;
    for (let page = 0; page < PAGES_MAX; page++) {
      const { rows, next }: TransferPage = await this.#parts.book.page(walletId, after, PAGE_ROWS);
      for (const one of rows) {
        if (one.kind !== "internal" || one.state !== "confirmed" || one.transferId === transferId) continue;
        if (one.venue !== venue || one.account !== account || one.kindType !== kindType) continue;
        if (one.asset !== asset || one.amount !== amount || (one.lastSentAtMs ?? 0) < sinceMs) continue;
        if (one.venueId !== null && listed.includes(one.venueId)) continue;
        atMost++;
        const oneSentMs = one.lastSentAtMs ?? 0;
        if (oneSentMs >= surelyMs && oneSentMs <= lookedAtMs - RESEND_MS) atLeast++;
      }
      if (next === null || (rows.at(-1)?.createdAtMs ?? 0) < sinceMs - NAME_LIFE_MS) return { atMost, atLeast };
      after = next;
    }
    this.#parts.logger.warn("transfers.too_many_alike", { name: transferId, venue });
    return { atMost: Number.POSITIVE_INFINITY, atLeast: 0 };
  }

  async #send(
    row: InternalRow,
    rail: InternalTransferRail,
    session: AccountSession,
    { options, isFirst }: { readonly options: CallOptions; readonly isFirst: boolean },
  ): Promise<InternalRow> {
    await mayLeave(this.#parts, false);
    const outcome = await answerOf(this.#parts, () => rail.send(askOf(row), session, options), UNANSWERED);
    return this.#save(row, (one) => transferSent(one, outcome, isFirst, this.#now()));
  }

  #save(row: InternalRow, change: (row: InternalRow) => InternalRow): Promise<InternalRow> {
    return this.#parts.book.update(row, change);
  }

  #now(): number {
    return this.#parts.clock.wallMs();
  }
}

function askOf({ account, asset, amount, kindType, clientTranId }: InternalRow): InternalTransferAsk {
  return { account, asset, amount, kindType, clientTranId };
}
