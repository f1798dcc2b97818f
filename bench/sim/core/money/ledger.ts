/**
 * Cash, positions and margin. Invariant: wallets + spot − entry costs over all accounts, minus the house's entry cost,
 * plus the house's cash and the collected fees, changes by deposits and withdrawals only (`conservedE12`).
 * Costs are exact: a reduction takes the proportional part of the cost, the last one takes the rest.
 */
import { absBig, feeE12, maxBig, notionalE12, pow10, valueAtE8 } from "../model/fixed.js";
import {
  type AccountState,
  keepBounded,
  type OrderState,
  type PositionState,
  positionKey,
  sideSign,
} from "../model/state.js";
import type {
  SimBracket,
  SimFill,
  SimIncome,
  SimInstrument,
  SimMargin,
  SimMarginMode,
  SimPositionFigures,
  SimPositionSide,
  SimSide,
} from "../model/types.js";

const PPM = 1_000_000n;

export interface LedgerDeps {
  readonly instruments: ReadonlyMap<string, SimInstrument>;
  readonly defaultLeverage: number;
  markE8(symbol: string): number;
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

  instrument(symbol: string): SimInstrument {
    const instrument = this.#deps.instruments.get(symbol);
    if (instrument === undefined) throw new RangeError(`no instrument ${symbol}`);
    return instrument;
  }

  leverage(account: AccountState, symbol: string): number {
    return account.leverages.get(symbol) ?? Math.min(this.#deps.defaultLeverage, this.instrument(symbol).maxLeverage);
  }

  marginMode(account: AccountState, symbol: string): SimMarginMode {
    return account.marginModes.get(symbol) ?? "cross";
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
    const instrument = this.instrument(order.symbol);
    const position = this.position(account, order.symbol, order.positionSide);
    const before = position.qtyLots;
    const sign = sideSign(order.side);
    const reduceLots = before * sign < 0 ? Math.min(qtyLots, Math.abs(before)) : 0;
    const openLots = qtyLots - reduceLots;
    let realized = 0n;
    if (reduceLots > 0) {
      const all = reduceLots === Math.abs(before);
      const costPart = all ? position.costE12 : (position.costE12 * BigInt(reduceLots)) / BigInt(Math.abs(before));
      const isolatedPart = all
        ? position.isolatedE12
        : (position.isolatedE12 * BigInt(reduceLots)) / BigInt(Math.abs(before));
      realized = -BigInt(sign) * notionalE12(instrument, priceTicks, reduceLots) - costPart;
      position.costE12 -= costPart;
      position.isolatedE12 -= isolatedPart;
      position.qtyLots += sign * reduceLots;
    }
    if (openLots > 0) {
      const notional = notionalE12(instrument, priceTicks, openLots);
      position.costE12 += BigInt(sign) * notional;
      position.qtyLots += sign * openLots;
      if (this.marginMode(account, order.symbol) === "isolated") {
        position.isolatedE12 += notional / BigInt(this.leverage(account, order.symbol));
      }
    }
    position.cumRealizedE12 += realized;
    position.updatedMs = this.#deps.nowMs();
    const rate = maker ? account.makerFeeMilliBps : account.takerFeeMilliBps;
    const notional = notionalE12(instrument, priceTicks, qtyLots);
    const fee = feeE12(notional, rate);
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
      positionBeforeLots: before,
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

  applyHouse(symbol: string, side: SimSide, priceTicks: number, qtyLots: number): void {
    const sign = sideSign(side);
    this.#houseLots.set(symbol, (this.#houseLots.get(symbol) ?? 0) + sign * qtyLots);
    this.#houseCostE12 += BigInt(sign) * notionalE12(this.instrument(symbol), priceTicks, qtyLots);
  }

  setPosition(
    account: AccountState,
    symbol: string,
    side: SimPositionSide,
    qtyLots: number,
    entryTicks: number,
  ): PositionState {
    const position = this.position(account, symbol, side);
    const cost = notionalE12(this.instrument(symbol), entryTicks, qtyLots);
    this.#houseLots.set(symbol, (this.#houseLots.get(symbol) ?? 0) - (qtyLots - position.qtyLots));
    this.#houseCostE12 -= cost - position.costE12;
    position.qtyLots = qtyLots;
    position.costE12 = cost;
    const isolated = this.marginMode(account, symbol) === "isolated";
    position.isolatedE12 = isolated ? absBig(cost) / BigInt(this.leverage(account, symbol)) : 0n;
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
    const value = valueAtE8(this.instrument(position.symbol), markE8, position.qtyLots);
    const amount = -(value * BigInt(rateE8)) / 100_000_000n;
    this.payFromHouse(account, amount);
    if (this.marginMode(account, position.symbol) === "isolated") position.isolatedE12 += amount;
    position.cumFundingE12 += amount;
    const income = this.#income(account, "FUNDING_FEE", amount, position.symbol, null, rateE8, position.qtyLots);
    return income;
  }

  figures(account: AccountState, position: PositionState): SimPositionFigures {
    const instrument = this.instrument(position.symbol);
    const leverage = this.leverage(account, position.symbol);
    const marginMode = this.marginMode(account, position.symbol);
    const { qtyLots } = position;
    if (qtyLots === 0) {
      return {
        notionalE12: 0n,
        unrealizedE12: 0n,
        initialE12: 0n,
        maintenanceE12: 0n,
        entryPriceE12: 0n,
        liquidationPriceE12: null,
        leverage,
        marginMode,
      };
    }
    const value = valueAtE8(instrument, this.#deps.markE8(position.symbol), qtyLots);
    const notional = absBig(value);
    return {
      notionalE12: notional,
      unrealizedE12: value - position.costE12,
      initialE12: notional / BigInt(leverage),
      maintenanceE12: maintenance(instrument, notional),
      entryPriceE12: (position.costE12 * pow10(instrument.qtyDecimals)) / BigInt(qtyLots),
      liquidationPriceE12: this.#liquidationPrice(account, position, notional),
      leverage,
      marginMode,
    };
  }

  margin(account: AccountState): SimMargin {
    let unrealized = 0n;
    let crossUnrealized = 0n;
    let isolatedCash = 0n;
    let positionInitial = 0n;
    let crossInitial = 0n;
    let maintenanceTotal = 0n;
    let crossMaintenance = 0n;
    for (const position of account.positions.values()) {
      if (position.qtyLots === 0) continue;
      const instrument = this.instrument(position.symbol);
      const value = valueAtE8(instrument, this.#deps.markE8(position.symbol), position.qtyLots);
      const notional = absBig(value);
      const profit = value - position.costE12;
      const initial = notional / BigInt(this.leverage(account, position.symbol));
      const needed = maintenance(instrument, notional);
      unrealized += profit;
      positionInitial += initial;
      maintenanceTotal += needed;
      if (this.marginMode(account, position.symbol) === "isolated") isolatedCash += position.isolatedE12;
      else {
        crossUnrealized += profit;
        crossInitial += initial;
        crossMaintenance += needed;
      }
    }
    const orderInitial = this.#orderInitial(account);
    const crossWallet = account.walletE12 - isolatedCash;
    return {
      walletE12: account.walletE12,
      unrealizedE12: unrealized,
      equityE12: account.walletE12 + unrealized,
      crossWalletE12: crossWallet,
      crossUnrealizedE12: crossUnrealized,
      positionInitialE12: positionInitial,
      orderInitialE12: orderInitial,
      maintenanceE12: maintenanceTotal,
      crossMaintenanceE12: crossMaintenance,
      availableE12: maxBig(0n, crossWallet + crossUnrealized - crossInitial - orderInitial),
    };
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

  /** Margin held by resting orders: the worse of both directions beyond the position, at the orders' prices. */
  #orderInitial(account: AccountState): bigint {
    if (account.openOrders.size === 0) return 0n;
    const openBySymbol = new Map<string, { bid: bigint; ask: bigint }>();
    for (const order of account.openOrders.values()) {
      if (order.resting === null || order.reduceOnly) continue;
      const entry = openBySymbol.get(positionKey(order.symbol, order.positionSide)) ?? { bid: 0n, ask: 0n };
      const notional = notionalE12(this.instrument(order.symbol), order.resting.priceTicks, order.resting.lots);
      if (order.side === "BUY") entry.bid += notional;
      else entry.ask += notional;
      openBySymbol.set(positionKey(order.symbol, order.positionSide), entry);
    }
    let total = 0n;
    for (const [key, entry] of openBySymbol) {
      const position = account.positions.get(key);
      const symbol = key.slice(0, key.lastIndexOf("|"));
      const value =
        position === undefined ? 0n : valueAtE8(this.instrument(symbol), this.#deps.markE8(symbol), position.qtyLots);
      const worst = maxBig(absBig(value + entry.bid), absBig(value - entry.ask));
      total += maxBig(0n, worst - absBig(value)) / BigInt(this.leverage(account, symbol));
    }
    return total;
  }

  /** The venues' common formula: where the margin of this position (cross: of the account) meets its maintenance. */
  #liquidationPrice(account: AccountState, position: PositionState, notional: bigint): bigint | null {
    const instrument = this.instrument(position.symbol);
    const bracket = bracketOf(instrument, notional);
    let cash = position.isolatedE12;
    if (this.marginMode(account, position.symbol) === "cross") {
      const margin = this.margin(account);
      const own = valueAtE8(instrument, this.#deps.markE8(position.symbol), position.qtyLots) - position.costE12;
      const ownMaintenance = maintenance(instrument, notional);
      cash = margin.crossWalletE12 - (margin.crossMaintenanceE12 - ownMaintenance) + (margin.crossUnrealizedE12 - own);
    }
    const side = position.qtyLots > 0 ? 1n : -1n;
    const numerator = (cash + cumE12(bracket) - position.costE12) * pow10(instrument.qtyDecimals) * PPM;
    const denominator = BigInt(Math.abs(position.qtyLots)) * (BigInt(bracket.maintenancePpm) - side * PPM);
    const price = numerator / denominator;
    return price > 0n ? price : null;
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

export function bracketOf(instrument: SimInstrument, notional: bigint): SimBracket {
  const whole = Number(notional / 10n ** 12n);
  const bracket =
    instrument.brackets.find((candidate) => whole < candidate.notionalCap) ??
    instrument.brackets[instrument.brackets.length - 1];
  if (bracket === undefined) throw new RangeError(`no brackets for ${instrument.symbol}`);
  return bracket;
}

export function maintenance(instrument: SimInstrument, notional: bigint): bigint {
  const bracket = bracketOf(instrument, notional);
  return maxBig(0n, (notional * BigInt(bracket.maintenancePpm)) / PPM - cumE12(bracket));
}

/** `cum` is quote units with few decimals; E6 first so that the float is exact enough to print. */
function cumE12(bracket: SimBracket): bigint {
  return BigInt(Math.round(bracket.cum * 1e6)) * 1_000_000n;
}
