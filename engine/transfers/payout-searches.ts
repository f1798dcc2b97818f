/**
 * Payments of withdrawals on the chain, where the venue shows what left the account alone. One search serves all rows of an
 * account at a venue on a chain, from the oldest act of them on, part by part; where it has got to is in memory, and the
 * next start begins again.
 *
 * Invariants: only what is final is a payment (engine/chain.ts). A read that fails decides nothing: the search goes on from
 * the same place. A part that has a payment is passed once that is durable.
 *
 * Bounds: pauses grow to an hour (payout-search.ts). The search for a row ends a week after its act, once all that is final
 * was searched. After that the operator alone has it searched for, once: in a search of its own, so that no other row waits
 * for it.
 */
import type { Chain, LogSearch, LogsFound } from "../chain.js";
import type { CallOptions } from "../ports.js";
import type { PayoutEvent } from "../venue-money.js";
import { isPayoutAwaited, isPayoutUnfound, searchedFor } from "./act-steps.js";
import { PayoutSearch } from "./payout-search.js";
import { readValue, type TransferParts } from "./transfer-parts.js";
import type { WithdrawalRow } from "./transfer-row.js";

/** Of one look: the lane waits for it. */
const PARTS_MAX = 3;
/** From the act on. The venue pays within minutes. */
const SEARCH_MS = 7 * 86_400_000;
/** A clock that jumps ends no search. */
const SERVED_MIN_MS = 3_600_000;

interface AwaitedPayout {
  readonly row: WithdrawalRow;
  readonly event: PayoutEvent;
}

interface FoundPayout {
  readonly row: WithdrawalRow;
  readonly hash: string;
  readonly paid: bigint;
}

interface PayoutLook {
  readonly found: readonly FoundPayout[];
  /** Nobody looks for them any more, but for the operator. */
  readonly unfound: readonly WithdrawalRow[];
}

interface PartsRead {
  readonly found: readonly FoundPayout[];
  readonly isAtEnd: boolean;
}

const NOTHING: PayoutLook = { found: [], unfound: [] };

export class PayoutSearches {
  readonly #parts: Pick<TransferParts, "book" | "chains" | "clock" | "logger" | "rails">;
  readonly #searches = new Map<string, PayoutSearch>();
  /** Rows whose search has ended, and that the operator has searched for. */
  readonly #again = new Set<string>();

  constructor(parts: Pick<TransferParts, "book" | "chains" | "clock" | "logger" | "rails">) {
    this.#parts = parts;
  }

  /** In the turn of the row's lane: what there is for all rows of its search, where that is due. */
  async look(row: WithdrawalRow, options: CallOptions): Promise<PayoutLook> {
    const chain = this.#parts.chains.get(row.chainId);
    // Without its chain there is nothing to search.
    const search = chain === undefined ? null : this.#joined(row);
    if (chain === undefined || search === null || !search.isDue) return NOTHING;
    // All rows that it serves join at once: it begins at the oldest.
    const awaited = this.#awaitedLike(row);
    const key = this.#keyOf(row);
    const own = awaited.filter((one) => this.#isSearched(one.row) && this.#keyOf(one.row) === key);
    for (const { row: one, event } of own) search.join(one.transferId, event.sinceMs);
    const { found, isAtEnd } = await this.#read(search, chain, awaited, options);
    return { found, unfound: isAtEnd ? this.#ended(search, own) : [] };
  }

  /**
   * How long the row may rest. Null: as any that does not move, since it has no search, or its last round did not get as far
   * as the search that is due. Infinity: nobody looks for it by the clock.
   */
  restMs(row: WithdrawalRow): number | null {
    if (isPayoutUnfound(row) && !this.#again.has(row.transferId)) return Number.POSITIVE_INFINITY;
    const search = this.#searches.get(this.#keyOf(row));
    return search?.has(row.transferId) === true && !search.isDue ? search.restMs() : null;
  }

  /** For the operator: the next look is at once, also where the search for it has ended. */
  again(row: WithdrawalRow): void {
    if (isPayoutUnfound(row)) this.#again.add(row.transferId);
    this.#searches.get(this.#keyOf(row))?.wake();
  }

  forget(row: WithdrawalRow): void {
    for (const key of [this.#keyOf(row), keyOf(row)]) {
      const search = this.#searches.get(key);
      search?.leave(row.transferId);
      // Where it has got to is of no use to a row that comes much later.
      if (search?.isEmpty === true) this.#searches.delete(key);
    }
    this.#again.delete(row.transferId);
  }

  /** The search of the row, with the row in it; null: nobody searches for it. */
  #joined(row: WithdrawalRow): PayoutSearch | null {
    const event = this.#eventOf(row);
    if (event === null || !this.#isSearched(row)) {
      this.forget(row);
      return null;
    }
    const key = this.#keyOf(row);
    const search = this.#searches.get(key) ?? new PayoutSearch(this.#parts.clock);
    this.#searches.set(key, search);
    search.join(row.transferId, event.sinceMs);
    return search;
  }

  async #read(
    search: PayoutSearch,
    chain: Chain,
    awaited: readonly AwaitedPayout[],
    options: CallOptions,
  ): Promise<PartsRead> {
    if (search.height === null) {
      const start = await readValue(this.#parts, () => chain.logs.heightAt(search.sinceMs, options));
      if (start === null) return this.#unread(search, awaited);
      search.startAt(start.value);
    }
    for (let part = 0; part < PARTS_MAX; part++) {
      const fromHeight = search.height ?? 0;
      const read = await readValue(this.#parts, () => chain.logs.final({ ...logsOf(awaited), fromHeight }, options));
      if (read === null) return this.#unread(search, awaited);
      const { logs, nextHeight, isAtEnd } = read.value;
      const found = paidBy(logs, awaited);
      if (found.length > 0) {
        search.rest(true);
        return { found, isAtEnd: false };
      }
      search.pass(nextHeight);
      if (isAtEnd) {
        search.rest(false);
        return { found, isAtEnd };
      }
      // Endpoints contradict each other there.
      if (nextHeight <= fromHeight) return this.#unread(search, awaited);
    }
    search.rest(true);
    return { found: [], isAtEnd: false };
  }

  /** Also where endpoints refuse such reads for good: nothing else shows that. */
  #unread(search: PayoutSearch, [first]: readonly AwaitedPayout[]): PartsRead {
    search.rest(false);
    const { transferId, venue } = first?.row ?? {};
    this.#parts.logger.warn("transfers.payout_unread", { name: transferId ?? null, venue: venue ?? null });
    return { found: [], isAtEnd: false };
  }

  /** All that is final was searched. */
  #ended(search: PayoutSearch, own: readonly AwaitedPayout[]): readonly WithdrawalRow[] {
    const nowMs = this.#parts.clock.wallMs();
    const unfound: WithdrawalRow[] = [];
    for (const { row } of own) {
      const { transferId, createdAtMs, sentAtMs } = row;
      // The operator's look ends here.
      if (this.#again.has(transferId)) this.forget(row);
      else if (nowMs - (sentAtMs ?? createdAtMs) >= SEARCH_MS && search.servedMs(transferId) >= SERVED_MIN_MS)
        unfound.push(row);
    }
    return unfound;
  }

  #isSearched(row: WithdrawalRow): boolean {
    return isPayoutAwaited(row) && (!isPayoutUnfound(row) || this.#again.has(row.transferId));
  }

  #keyOf(row: WithdrawalRow): string {
    return this.#again.has(row.transferId) ? `${keyOf(row)}/again` : keyOf(row);
  }

  /** Of its account at its venue on its chain: a log that one search reads may be the payment of any of them. */
  #awaitedLike(row: WithdrawalRow): readonly AwaitedPayout[] {
    const awaited: AwaitedPayout[] = [];
    for (const one of this.#parts.book.open(row.account)) {
      if (one.kind !== "withdrawal" || keyOf(one) !== keyOf(row) || !isPayoutAwaited(one)) continue;
      const event = this.#eventOf(one);
      if (event !== null) awaited.push({ row: one, event });
    }
    return awaited;
  }

  #eventOf(row: WithdrawalRow): PayoutEvent | null {
    const rail = this.#parts.rails.get(row.venue)?.withdrawals;
    const shown = row.paid === null ? null : BigInt(row.paid);
    return rail?.payoutEvent?.({ ...searchedFor(row), shown }) ?? null;
  }
}

/** The same for each of them. */
function logsOf([first]: readonly AwaitedPayout[]): Pick<LogSearch, "contract" | "topics"> {
  if (first === undefined) throw new RangeError("a search is for a row");
  return first.event;
}

function paidBy(logs: LogsFound["logs"], awaited: readonly AwaitedPayout[]): readonly FoundPayout[] {
  return awaited.flatMap(({ row, event }) => {
    for (const log of logs) {
      const paid = event.paid(log);
      if (paid !== null) return [{ row, hash: log.hash, paid }];
    }
    return [];
  });
}

function keyOf({ venue, chainId, account }: WithdrawalRow): string {
  return `${venue}/${chainId}/${account}`;
}
