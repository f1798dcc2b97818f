/**
 * What positions and resting orders bind of an account at the current marks: leverage, modes, initial and maintenance
 * margin, liquidation prices. Changes nothing.
 */
import { absBig, maxBig, notionalE12, pow10, valueAtE8 } from "../model/fixed.js";
import { type AccountState, type PositionState, positionKey } from "../model/state.js";
import type { SimBracket, SimInstrument, SimMargin, SimMarginMode, SimPositionFigures } from "../model/types.js";

const PPM = 1_000_000n;

export interface MarginDeps {
  readonly instruments: ReadonlyMap<string, SimInstrument>;
  readonly defaultLeverage: number;
  markE8(symbol: string): number;
}

export class Margins {
  readonly #deps: MarginDeps;

  constructor(deps: MarginDeps) {
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

  /**
   * The price at which the margin of this position (cross: of the account) meets its maintenance, by the venues' common
   * formula.
   */
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
}

function bracketOf(instrument: SimInstrument, notional: bigint): SimBracket {
  const whole = Number(notional / 10n ** 12n);
  const bracket =
    instrument.brackets.find((candidate) => whole < candidate.notionalCap) ??
    instrument.brackets[instrument.brackets.length - 1];
  if (bracket === undefined) throw new RangeError(`no brackets for ${instrument.symbol}`);
  return bracket;
}

function maintenance(instrument: SimInstrument, notional: bigint): bigint {
  const bracket = bracketOf(instrument, notional);
  return maxBig(0n, (notional * BigInt(bracket.maintenancePpm)) / PPM - cumE12(bracket));
}

/** `cum` is quote units with few decimals; E6 first so that the float is exact enough to print. */
function cumE12(bracket: SimBracket): bigint {
  return BigInt(Math.round(bracket.cum * 1e6)) * 1_000_000n;
}
