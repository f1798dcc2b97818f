/** Accounts as anybody may read them: cash, positions, margin, settings, histories. Changes nothing. */
import type { Ledger } from "./ledger.js";
import type { Margins } from "./margins.js";
import { positionKey } from "../model/state.js";
import type {
  SimAccount,
  SimFill,
  SimIncome,
  SimMargin,
  SimMarginMode,
  SimPosition,
  SimPositionFigures,
  SimPositionSide,
} from "../model/types.js";

export class AccountReads {
  readonly #ledger: Ledger;
  readonly #margins: Margins;

  constructor(ledger: Ledger, margins: Margins) {
    this.#ledger = ledger;
    this.#margins = margins;
  }

  find(accountId: string): SimAccount | null {
    return this.#ledger.accounts.get(accountId) ?? null;
  }

  all(): readonly SimAccount[] {
    return [...this.#ledger.accounts.values()];
  }

  margin(accountId: string): SimMargin {
    return this.#margins.margin(this.#ledger.account(accountId));
  }

  position(accountId: string, symbol: string, side: SimPositionSide): SimPosition | null {
    return this.#ledger.account(accountId).positions.get(positionKey(symbol, side)) ?? null;
  }

  positionFigures(position: SimPosition): SimPositionFigures {
    return this.#margins.figures(this.#ledger.account(position.accountId), position);
  }

  leverage(accountId: string, symbol: string): number {
    return this.#margins.leverage(this.#ledger.account(accountId), symbol);
  }

  marginMode(accountId: string, symbol: string): SimMarginMode {
    return this.#margins.marginMode(this.#ledger.account(accountId), symbol);
  }

  income(accountId: string): readonly SimIncome[] {
    return this.#ledger.account(accountId).income;
  }

  fills(accountId: string): readonly SimFill[] {
    return this.#ledger.account(accountId).fills;
  }

  /** Cash + entry costs over all accounts and the house plus collected fees: constant but for deposits (conservation checks). */
  conservedE12(): bigint {
    return this.#ledger.conservedE12();
  }

  /** Sum of signed positions incl. the house: always 0. */
  netLots(symbol: string): number {
    return this.#ledger.netLots(symbol);
  }
}
