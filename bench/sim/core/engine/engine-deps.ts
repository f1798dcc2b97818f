/** What the parts of the order engine share: one record per symbol, and the neighbours they call. */
import type { Ledger } from "../money/ledger.js";
import type { Margins } from "../money/margins.js";
import type { OrderBook } from "../market/order-book.js";
import type { Listeners } from "../model/listeners.js";
import type { OrderState } from "../model/state.js";
import type { Tape } from "../market/tape.js";
import type { SimInstrument, SimPolicies } from "../model/types.js";

export interface SymbolState {
  readonly instrument: SimInstrument;
  readonly book: OrderBook;
  readonly tape: Tape;
  /** Not yet fired. */
  readonly triggers: Set<OrderState>;
  halted: boolean;
}

export interface MatchingDeps {
  readonly symbols: ReadonlyMap<string, SymbolState>;
  readonly ledger: Ledger;
  readonly margins: Margins;
  readonly listeners: Listeners;
  readonly policies: SimPolicies;
  readonly firstOrderId: number;
  /** Set where order ids come from another counter. */
  nextOrderId?(): number;
  nowMs(): number;
  markE8(symbol: string): number;
}
