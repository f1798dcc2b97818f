/**
 * Payments of withdrawals on the chain, where the venue shows what left the account alone. Each is searched for from the
 * time of its act on, part by part; where a search has got to is in memory, and the next start begins again.
 *
 * Invariants: only what is final is a payment (engine/chain.ts). A read that fails decides nothing: it goes on from the
 * same place.
 */
import type { Chain } from "../chain.js";
import type { CallOptions } from "../ports.js";
import type { PayoutEvent } from "../venue-money.js";
import { searchedFor } from "./act-steps.js";
import { readValue, type TransferParts } from "./transfer-parts.js";
import type { WithdrawalRow } from "./transfer-row.js";

/** Of one look: the lane waits for it. */
const PARTS_MAX = 3;

interface Payment {
  readonly hash: string;
  readonly paid: bigint;
}

export class PayoutSearches {
  readonly #parts: Pick<TransferParts, "chains" | "clock" | "logger" | "rails">;
  /** By row: the height that its search goes on from. */
  readonly #heights = new Map<string, number>();
  /** Rows whose last look ended at its bound, and not at the end of what is final. */
  readonly #behind = new Set<string>();

  constructor(parts: Pick<TransferParts, "chains" | "clock" | "logger" | "rails">) {
    this.#parts = parts;
  }

  /** Null: there is none as far as was looked. */
  async look(row: WithdrawalRow, options: CallOptions): Promise<Payment | null> {
    const chain = this.#parts.chains.get(row.chainId);
    const event = this.#eventOf(row);
    if (chain === undefined || event === null) return null;
    const start = this.#heights.get(row.transferId) ?? (await this.#startOf(chain, event, options));
    if (start === null) return this.#unread(row);
    let fromHeight = start;
    this.#behind.add(row.transferId);
    for (let part = 0; part < PARTS_MAX; part++) {
      const { contract, topics } = event;
      const search = { contract, topics, fromHeight };
      const read = await readValue(this.#parts, () => chain.logs.final(search, options));
      if (read === null) {
        this.#behind.delete(row.transferId);
        this.#unread(row);
        break;
      }
      for (const log of read.value.logs) {
        const paid = event.paid(log);
        if (paid !== null) return { hash: log.hash, paid };
      }
      if (read.value.nextHeight <= fromHeight) {
        this.#behind.delete(row.transferId);
        break;
      }
      fromHeight = read.value.nextHeight;
    }
    this.#heights.set(row.transferId, fromHeight);
    return null;
  }

  isBehind(transferId: string): boolean {
    return this.#behind.has(transferId);
  }

  forget({ transferId }: WithdrawalRow): void {
    this.#behind.delete(transferId);
    this.#heights.delete(transferId);
  }

  /** Also where endpoints refuse such reads for good: nothing else shows that. */
  #unread({ transferId, venue }: WithdrawalRow): null {
    this.#parts.logger.warn("transfers.payout_unread", { name: transferId, venue });
    return null;
  }

  #eventOf(row: WithdrawalRow): PayoutEvent | null {
    const rail = this.#parts.rails.get(row.venue)?.withdrawals;
    const shown = row.paid === null ? null : BigInt(row.paid);
    return rail?.payoutEvent?.({ ...searchedFor(row), shown }) ?? null;
  }

  async #startOf(chain: Chain, { sinceMs }: PayoutEvent, options: CallOptions): Promise<number | null> {
    return (await readValue(this.#parts, () => chain.logs.heightAt(sinceMs, options)))?.value ?? null;
  }
}
