/**
 * Liquidation and funding over all accounts. Liquidation: orders are cancelled first, then the position is sold into
 * the book by the engine; what the account cannot pay, the insurance fund (the house) pays.
 */
import type { Ledger } from "../money/ledger.js";
import type { Margins } from "../money/margins.js";
import type { Listeners } from "../model/listeners.js";
import type { MarkState } from "../market/marks.js";
import type { Matching } from "./matching.js";
import type { AccountState, PositionState } from "../model/state.js";

export interface RiskDeps {
  readonly ledger: Ledger;
  readonly margins: Margins;
  readonly matching: Matching;
  readonly listeners: Listeners;
  readonly marks: ReadonlyMap<string, MarkState>;
  nowMs(): number;
}

/** Closes what is below its maintenance margin at the current mark. Returns the number of positions sold. */
export function liquidate(deps: RiskDeps): number {
  let count = 0;
  for (const account of deps.ledger.accounts.values()) {
    const open = [...account.positions.values()].filter((position) => position.qtyLots !== 0);
    if (open.length === 0) continue;
    for (const position of open) {
      if (deps.margins.marginMode(account, position.symbol) !== "isolated") continue;
      const figures = deps.margins.figures(account, position);
      if (position.isolatedE12 + figures.unrealizedE12 < figures.maintenanceE12) {
        const before = account.walletE12 - position.isolatedE12;
        sell(deps, account, position);
        count++;
        // An isolated position cannot lose more than its collateral.
        if (position.qtyLots === 0 && account.walletE12 < before) cover(deps, account, before - account.walletE12);
      }
    }
    const margin = deps.margins.margin(account);
    const cross = open.filter(
      (position) => position.qtyLots !== 0 && deps.margins.marginMode(account, position.symbol) === "cross",
    );
    if (cross.length === 0 || margin.crossWalletE12 + margin.crossUnrealizedE12 >= margin.crossMaintenanceE12) continue;
    for (const position of cross) {
      sell(deps, account, position);
      count++;
    }
    if (account.walletE12 < 0n && cross.every((position) => position.qtyLots === 0))
      cover(deps, account, -account.walletE12);
  }
  return count;
}

function sell(deps: RiskDeps, account: AccountState, position: PositionState): void {
  deps.matching.cancelAll(account, position.symbol, "LIQUIDATION");
  deps.matching.place(
    account,
    {
      symbol: position.symbol,
      side: position.qtyLots > 0 ? "SELL" : "BUY",
      type: "MARKET",
      timeInForce: "IOC",
      priceTicks: null,
      qtyLots: Math.abs(position.qtyLots),
      reduceOnly: true,
      positionSide: position.positionSide,
      clientId: `autoclose-${deps.nowMs()}`,
      trigger: null,
      closePosition: false,
    },
    "LIQUIDATION",
  );
}

function cover(deps: RiskDeps, account: AccountState, amountE12: bigint): void {
  deps.ledger.payInsurance(account, amountE12);
  deps.listeners.account(account, "INSURANCE_CLEAR", []);
}

/** Charges every symbol whose funding time has come. */
export function payFunding(deps: RiskDeps): void {
  for (const [symbol, mark] of deps.marks) {
    // A clock that jumped over several settlements charges each of them once.
    for (let settlements = 0; mark.nextFundingMs <= deps.nowMs() && settlements < 1000; settlements++) {
      const point = mark.settle();
      for (const account of deps.ledger.accounts.values()) {
        for (const position of account.positions.values()) {
          if (position.symbol !== symbol || position.qtyLots === 0) continue;
          const income = deps.ledger.payFunding(account, position, point.rateE8, point.markE8);
          deps.listeners.funding(income);
          const isolated = deps.margins.marginMode(account, symbol) === "isolated";
          deps.listeners.account(account, "FUNDING_FEE", isolated ? [position] : []);
        }
      }
    }
  }
}
