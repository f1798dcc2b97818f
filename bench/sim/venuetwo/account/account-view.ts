/** Balances, positions and the account as the venue prints them (formats of the captures in fact sheet 5.4). */
import { createHash } from "node:crypto";
import { maxBig, moneyText, qtyText, trimZeros } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type {
  SimAccount,
  SimIncome,
  SimMargin,
  SimPosition,
  SimPositionFigures,
  SimPositionSide,
} from "../../core/model/types.js";
import type { VenuetwoRules } from "../records/listing.js";
import { maxNotional } from "../orders/order-rules.js";

const QUOTE = "USDT";

interface PositionRow {
  readonly rules: VenuetwoRules;
  readonly side: SimPositionSide;
  readonly position: SimPosition | null;
  readonly figures: SimPositionFigures | null;
}

export function printBalances(exchange: SimExchange, account: SimAccount): Record<string, unknown>[] {
  const margin = exchange.accounts.margin(account.accountId);
  return [
    {
      accountAlias: accountAlias(account.accountId),
      asset: QUOTE,
      balance: money(margin.walletE12),
      crossWalletBalance: money(margin.crossWalletE12),
      crossUnPnl: money(margin.crossUnrealizedE12),
      availableBalance: money(margin.availableE12),
      maxWithdrawAmount: money(maxWithdraw(margin.availableE12, margin.crossUnrealizedE12)),
      marginAvailable: true,
      updateTime: exchange.nowMs(),
    },
  ];
}

export function printPositions(
  exchange: SimExchange,
  account: SimAccount,
  listed: readonly VenuetwoRules[],
): Record<string, unknown>[] {
  return positionRows(exchange, account, listed).map(({ rules, side, position, figures }) => {
    const leverage = exchange.accounts.leverage(account.accountId, rules.symbol);
    const isolated = exchange.accounts.marginMode(account.accountId, rules.symbol) === "isolated";
    const isolatedMargin =
      isolated && position !== null && figures !== null ? position.isolatedE12 + figures.unrealizedE12 : 0n;
    return {
      symbol: rules.symbol,
      positionAmt: amountText(rules, position),
      entryPrice: entryText(figures),
      markPrice: money(BigInt(exchange.market.mark(rules.symbol).markE8) * 10_000n),
      unRealizedProfit: money(figures?.unrealizedE12 ?? 0n),
      liquidationPrice: figures?.liquidationPriceE12 == null ? "0" : trimZeros(money(figures.liquidationPriceE12)),
      leverage: String(leverage),
      maxNotionalValue: String(maxNotional(rules, leverage)),
      marginType: isolated ? "isolated" : "cross",
      isolatedMargin: money(isolatedMargin),
      isAutoAddMargin: "false",
      positionSide: side,
      notional: signedNotional(position, figures),
      isolatedWallet: position === null || position.isolatedE12 === 0n ? "0" : money(position.isolatedE12),
      updateTime: position?.updatedMs ?? 0,
    };
  });
}

export function printAccount(
  exchange: SimExchange,
  account: SimAccount,
  listed: readonly VenuetwoRules[],
  feeTier: number,
): Record<string, unknown> {
  const margin = exchange.accounts.margin(account.accountId);
  const fields = marginFields(margin);
  return {
    feeTier,
    canTrade: true,
    canDeposit: true,
    canWithdraw: true,
    updateTime: 0,
    totalInitialMargin: fields.initialMargin,
    totalMaintMargin: fields.maintMargin,
    totalWalletBalance: money(margin.walletE12),
    totalUnrealizedProfit: money(margin.unrealizedE12),
    totalMarginBalance: money(margin.equityE12),
    totalPositionInitialMargin: fields.positionInitialMargin,
    totalOpenOrderInitialMargin: fields.openOrderInitialMargin,
    totalCrossWalletBalance: fields.crossWalletBalance,
    totalCrossUnPnl: fields.crossUnPnl,
    availableBalance: fields.availableBalance,
    maxWithdrawAmount: fields.maxWithdrawAmount,
    assets: [
      {
        asset: QUOTE,
        walletBalance: money(margin.walletE12),
        unrealizedProfit: money(margin.unrealizedE12),
        marginBalance: money(margin.equityE12),
        ...fields,
        marginAvailable: true,
        updateTime: exchange.nowMs(),
      },
    ],
    positions: positionRows(exchange, account, listed).map((row) => printAccountPosition(exchange, account, row)),
  };
}

/** What the account shows of its margin, in total and again of its one asset. */
function marginFields(margin: SimMargin) {
  return {
    maintMargin: money(margin.maintenanceE12),
    initialMargin: money(margin.positionInitialE12 + margin.orderInitialE12),
    positionInitialMargin: money(margin.positionInitialE12),
    openOrderInitialMargin: money(margin.orderInitialE12),
    crossWalletBalance: money(margin.crossWalletE12),
    crossUnPnl: money(margin.crossUnrealizedE12),
    availableBalance: money(margin.availableE12),
    maxWithdrawAmount: money(maxWithdraw(margin.availableE12, margin.crossUnrealizedE12)),
  };
}

function printAccountPosition(
  exchange: SimExchange,
  account: SimAccount,
  { rules, side, position, figures }: PositionRow,
): Record<string, unknown> {
  const leverage = exchange.accounts.leverage(account.accountId, rules.symbol);
  const initialMargin = figures === null ? "0" : money(figures.initialE12);
  return {
    symbol: rules.symbol,
    initialMargin,
    maintMargin: figures === null ? "0" : money(figures.maintenanceE12),
    unrealizedProfit: money(figures?.unrealizedE12 ?? 0n),
    positionInitialMargin: initialMargin,
    openOrderInitialMargin: "0",
    leverage: String(leverage),
    isolated: exchange.accounts.marginMode(account.accountId, rules.symbol) === "isolated",
    entryPrice: entryText(figures),
    maxNotional: String(maxNotional(rules, leverage)),
    positionSide: side,
    positionAmt: position === null || position.qtyLots === 0 ? "0" : qtyText(rules.instrument, position.qtyLots),
    notional: signedNotional(position, figures),
    isolatedWallet: position === null || position.isolatedE12 === 0n ? "0" : money(position.isolatedE12),
    updateTime: position?.updatedMs ?? 0,
  };
}

/** `tranId` has 19 digits and must not pass through a double: the row is printed with it as text. */
export function printIncome(income: SimIncome): Record<string, unknown> {
  return {
    symbol: income.symbol ?? "",
    incomeType: income.type,
    income: money(income.amountE12),
    asset: QUOTE,
    info: income.type,
    time: income.tsMs,
    tranId: transactionId(income.id),
    tradeId: income.tradeId === null ? "" : String(income.tradeId),
  };
}

/** 19 digits, like the venue's own. */
export function transactionId(id: number): string {
  return String(1_100_000_000_000_000_000n + BigInt(id));
}

/** `a` of ACCOUNT_UPDATE. `bc`: balance change except profit and fee. */
export function printAccountUpdate(
  exchange: SimExchange,
  account: SimAccount,
  reason: string,
  positions: readonly SimPosition[],
  balanceChangeE12: bigint,
): Record<string, unknown> {
  const margin = exchange.accounts.margin(account.accountId);
  return {
    m: reason,
    B: [
      {
        a: QUOTE,
        wb: money(margin.walletE12),
        cw: money(margin.crossWalletE12),
        bc: balanceChangeE12 === 0n ? "0" : money(balanceChangeE12),
      },
    ],
    P: positions.map((position) => {
      const instrument = exchange.instruments.get(position.symbol);
      const figures = exchange.accounts.positionFigures(position);
      return {
        s: position.symbol,
        pa: position.qtyLots === 0 || instrument === undefined ? "0" : qtyText(instrument, position.qtyLots),
        ep: money(figures.entryPriceE12),
        cr: money(position.cumRealizedE12),
        up: position.qtyLots === 0 ? "0" : money(figures.unrealizedE12),
        mt: figures.marginMode,
        iw: position.isolatedE12 === 0n ? "0" : money(position.isolatedE12),
        ps: position.positionSide,
        ma: QUOTE,
      };
    }),
  };
}

function positionRows(exchange: SimExchange, account: SimAccount, listed: readonly VenuetwoRules[]): PositionRow[] {
  const sides: readonly SimPositionSide[] = account.hedgeMode ? ["LONG", "SHORT"] : ["BOTH"];
  return listed
    .filter((rules) => exchange.instruments.has(rules.symbol))
    .flatMap((rules) =>
      sides.map((side) => {
        const position = exchange.accounts.position(account.accountId, rules.symbol, side);
        return {
          rules,
          side,
          position,
          figures: position === null || position.qtyLots === 0 ? null : exchange.accounts.positionFigures(position),
        };
      }),
    );
}

function amountText(rules: VenuetwoRules, position: SimPosition | null): string {
  return position === null || position.qtyLots === 0 ? "0.0" : qtyText(rules.instrument, position.qtyLots);
}

/** At least one decimal, as captured: `0.0`, `6563.665`. */
function entryText(figures: SimPositionFigures | null): string {
  if (figures === null) return "0.0";
  const text = trimZeros(money(figures.entryPriceE12));
  return text.includes(".") ? text : `${text}.0`;
}

function signedNotional(position: SimPosition | null, figures: SimPositionFigures | null): string {
  if (position === null || figures === null) return "0";
  return money(position.qtyLots < 0 ? -figures.notionalE12 : figures.notionalE12);
}

function maxWithdraw(availableE12: bigint, crossUnrealizedE12: bigint): bigint {
  return maxBig(0n, availableE12 - maxBig(0n, crossUnrealizedE12));
}

function money(amountE12: bigint): string {
  return moneyText(amountE12, 8);
}

function accountAlias(accountId: string): string {
  return createHash("sha256")
    .update(accountId)
    .digest("base64")
    .replace(/[^A-Za-z]/g, "")
    .slice(0, 16);
}
