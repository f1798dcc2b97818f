/**
 * Cash and positions. Invariant: wallets + spot − entry costs over all accounts, minus the house's entry cost,
 * plus the house's cash and the collected fees, changes by deposits and withdrawals only (`conservedE12`).
 * Costs are exact: a reduction takes the proportional part of the cost, the last one takes the rest.
 */
import { absBig, feeE12, notionalE12, valueAtE8 } from "../model/fixed.js";
import type { Margins } from "./margins.js";
import {
  type AccountState,
  keepBounded,
  type OrderState,
  type PositionState,
  positionKey,
  sideSign,
} from "../model/state.js";
import type { SimFill, SimIncome, SimInstrument, SimPositionSide, SimSide } from "../model/types.js";

export interface LedgerDeps {
  readonly margins: Margins;
  nowMs(): number;
}

export class Ledger {
  readonly accounts = new Map<string, AccountState>();
  readonly #deps: LedgerDeps;
  readonly #houseLots = new Map<string, number>();
  #houseCostE12 = 0n;
  #houseCashE12 = 0n;
  #feesE12 = 0n;
  #incomeId = 1;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** Throws RangeError without such an account. */
  account(accountId: string): AccountState {
    const account = this.accounts.get(accountId);
    if (account === undefined) throw new RangeError("no such account");
    return account;
  }

  position(account: AccountState, symbol: string, side: SimPositionSide): PositionState {
    const key = positionKey(symbol, side);
    let position = account.positions.get(key);
    if (position === undefined) {
      position = {
        accountId: account.accountId,
        symbol,
        positionSide: side,
        qtyLots: 0,
        costE12: 0n,
        isolatedE12: 0n,
        cumFundingE12: 0n,
        cumRealizedE12: 0n,
        updatedMs: this.#deps.nowMs(),
      };
      account.positions.set(key, position);
    }
    return position;
  }

  /** Lots that an order of `side` could take off the position, 0 when it would add. */
  reducibleLots(account: AccountState, symbol: string, side: SimSide, positionSide: SimPositionSide): number {
    const qtyLots = account.positions.get(positionKey(symbol, positionSide))?.qtyLots ?? 0;
    return Math.max(0, -qtyLots * sideSign(side));
  }

  /** Books one side of a trade. The caller books the other side, or the house's with `applyHouse`. */
  applyFill(order: OrderState, tradeId: number, priceTicks: number, qtyLots: number, maker: boolean): SimFill {
    const { account } = order;
    const position = this.position(account, order.symbol, order.positionSide);
    const positionBeforeLots = position.qtyLots;
    const realized = this.#move(account, position, sideSign(order.side), priceTicks, qtyLots);
    const notional = notionalE12(this.#deps.margins.instrument(order.symbol), priceTicks, qtyLots);
    const fee = feeE12(notional, maker ? account.makerFeeMilliBps : account.takerFeeMilliBps);
    account.walletE12 += realized - fee;
    this.#feesE12 += fee;
    const fill: SimFill = {
      tradeId,
      orderId: order.orderId,
      accountId: account.accountId,
      symbol: order.symbol,
      side: order.side,
      positionSide: order.positionSide,
      priceTicks,
      qtyLots,
      maker,
      feeE12: fee,
      realizedE12: realized,
      positionBeforeLots,
      positionAfterLots: position.qtyLots,
      clientId: order.clientId,
      liquidation: order.origin === "LIQUIDATION",
      tsMs: position.updatedMs,
    };
    order.filledLots += qtyLots;
    order.filledNotionalE12 += notional;
    order.feeE12 += fee;
    order.fills.push(fill);
    keepBounded(account.fills, fill);
    if (realized !== 0n) this.#income(account, "REALIZED_PNL", realized, order.symbol, tradeId);
    if (fee !== 0n) this.#income(account, "COMMISSION", -fee, order.symbol, tradeId);
    return fill;
  }

  /** Reduces the position as far as the trade is against it, enlarges it by the rest. Returns the realized profit. */
  #move(account: AccountState, position: PositionState, sign: 1 | -1, priceTicks: number, qtyLots: number): bigint {
    const { margins } = this.#deps;
    const { symbol } = position;
    const instrument = margins.instrument(symbol);
    const reduceLots = position.qtyLots * sign < 0 ? Math.min(qtyLots, Math.abs(position.qtyLots)) : 0;
    const openLots = qtyLots - reduceLots;
    const realized = reduceLots > 0 ? reduce(instrument, position, sign, priceTicks, reduceLots) : 0n;
    if (openLots > 0) {
      const notional = notionalE12(instrument, priceTicks, openLots);
      position.costE12 += BigInt(sign) * notional;
      position.qtyLots += sign * openLots;
      if (margins.marginMode(account, symbol) === "isolated")
        position.isolatedE12 += notional / BigInt(margins.leverage(account, symbol));
    }
    position.cumRealizedE12 += realized;
    position.updatedMs = this.#deps.nowMs();
    return realized;
  }

  applyHouse(symbol: string, side: SimSide, priceTicks: number, qtyLots: number): void {
    const sign = sideSign(side);
    this.#houseLots.set(symbol, (this.#houseLots.get(symbol) ?? 0) + sign * qtyLots);
    this.#houseCostE12 += BigInt(sign) * notionalE12(this.#deps.margins.instrument(symbol), priceTicks, qtyLots);
  }

  setPosition(
    account: AccountState,
    symbol: string,
    side: SimPositionSide,
    qtyLots: number,
    entryTicks: number,
  ): PositionState {
    const position = this.position(account, symbol, side);
    const cost = notionalE12(this.#deps.margins.instrument(symbol), entryTicks, qtyLots);
    this.#houseLots.set(symbol, (this.#houseLots.get(symbol) ?? 0) - (qtyLots - position.qtyLots));
    this.#houseCostE12 -= cost - position.costE12;
    position.qtyLots = qtyLots;
    position.costE12 = cost;
    const isolated = this.#deps.margins.marginMode(account, symbol) === "isolated";
    position.isolatedE12 = isolated ? absBig(cost) / BigInt(this.#deps.margins.leverage(account, symbol)) : 0n;
    position.updatedMs = this.#deps.nowMs();
    return position;
  }

  /** Cash from outside (deposit, withdrawal). */
  addCash(account: AccountState, amountE12: bigint, type: SimIncome["type"] = "TRANSFER"): void {
    account.walletE12 += amountE12;
    this.#income(account, type, amountE12, null, null);
  }

  /** Cash paid by the house: insurance, funding. */
  payFromHouse(account: AccountState, amountE12: bigint): void {
    account.walletE12 += amountE12;
    this.#houseCashE12 -= amountE12;
  }

  payInsurance(account: AccountState, amountE12: bigint): void {
    this.payFromHouse(account, amountE12);
    this.#income(account, "INSURANCE_CLEAR", amountE12, null, null);
  }

  /** Longs pay when the rate is positive: value at mark × rate. */
  payFunding(account: AccountState, position: PositionState, rateE8: number, markE8: number): SimIncome {
    const value = valueAtE8(this.#deps.margins.instrument(position.symbol), markE8, position.qtyLots);
    const amount = -(value * BigInt(rateE8)) / 100_000_000n;
    this.payFromHouse(account, amount);
    if (this.#deps.margins.marginMode(account, position.symbol) === "isolated") position.isolatedE12 += amount;
    position.cumFundingE12 += amount;
    const income = this.#income(account, "FUNDING_FEE", amount, position.symbol, null, rateE8, position.qtyLots);
    return income;
  }

  conservedE12(): bigint {
    let total = this.#houseCashE12 - this.#houseCostE12 + this.#feesE12;
    for (const account of this.accounts.values()) {
      total += account.walletE12 + account.spotE12;
      for (const position of account.positions.values()) total -= position.costE12;
    }
    return total;
  }

  netLots(symbol: string): number {
    let total = this.#houseLots.get(symbol) ?? 0;
    for (const account of this.accounts.values()) {
      for (const position of account.positions.values()) if (position.symbol === symbol) total += position.qtyLots;
    }
    return total;
  }

  /** Long lots of all accounts; the house's own inventory is not interest. */
  openInterestLots(symbol: string): number {
    let total = 0;
    for (const account of this.accounts.values()) {
      for (const position of account.positions.values())
        if (position.symbol === symbol) total += Math.abs(position.qtyLots);
    }
    return total;
  }

  #income(
    account: AccountState,
    type: SimIncome["type"],
    amountE12: bigint,
    symbol: string | null,
    tradeId: number | null,
    fundingRateE8: number | null = null,
    positionLots: number | null = null,
  ): SimIncome {
    const income: SimIncome = {
      id: this.#incomeId++,
      accountId: account.accountId,
      symbol,
      type,
      amountE12,
      tradeId,
      fundingRateE8,
      positionLots,
      tsMs: this.#deps.nowMs(),
    };
    keepBounded(account.income, income);
    return income;
  }
}

/** Takes lots off the position at a price, with their share of its cost and collateral. Returns the realized profit. */
function reduce(
  instrument: SimInstrument,
  position: PositionState,
  sign: 1 | -1,
  priceTicks: number,
  lots: number,
): bigint {
  const heldLots = Math.abs(position.qtyLots);
  const shareOf = (wholeE12: bigint): bigint =>
    lots === heldLots ? wholeE12 : (wholeE12 * BigInt(lots)) / BigInt(heldLots);
  const costPart = shareOf(position.costE12);
  position.costE12 -= costPart;
  position.isolatedE12 -= shareOf(position.isolatedE12);
  position.qtyLots += sign * lots;
  return -BigInt(sign) * notionalE12(instrument, priceTicks, lots) - costPart;
}
