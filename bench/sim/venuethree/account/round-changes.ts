/** What has happened to each account since the streams last showed it. */
import type { VenueAccount } from "../records/accounts.js";
import type { VenueOrder } from "../orders/orders.js";
import type { TradeSides } from "../orders/trade-sides.js";
import type { StoredTransaction } from "../orders/transactions.js";

/** What happened to one account in a round of events. */
export interface AccountChanges {
  readonly orders: Map<bigint, VenueOrder>;
  readonly prints: Set<TradeSides>;
  readonly positions: Set<number>;
  readonly transactions: StoredTransaction[];
  readonly liquidated: VenueOrder[];
  hasCash: boolean;
}

export class RoundChanges {
  readonly #byAccount = new Map<VenueAccount, AccountChanges>();

  of(account: VenueAccount): AccountChanges {
    let changes = this.#byAccount.get(account);
    if (changes === undefined) {
      changes = {
        orders: new Map(),
        prints: new Set(),
        positions: new Set(),
        transactions: [],
        liquidated: [],
        hasCash: false,
      };
      this.#byAccount.set(account, changes);
    }
    return changes;
  }

  /** Ends the round: what it brought, accounts in the order of their first change. */
  take(): readonly (readonly [VenueAccount, AccountChanges])[] {
    const round = [...this.#byAccount];
    this.#byAccount.clear();
    return round;
  }
}
