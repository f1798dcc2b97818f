/** Answers of venuetwo about what an account did, and about it as a whole: JSON → checked wire values. */
import {
  asFields,
  asList,
  booleanField,
  decimalField,
  decimalOrNull,
  idField,
  integerField,
  oneOf,
  textField,
  textOrNull,
} from "../../shared/room/wire-fields.js";
import type { VenuetwoWireSide } from "../market/wire.js";

/** Row of userTrades. */
export interface VenuetwoWireTrade {
  readonly symbol: string;
  /** Exact digits; counted per symbol. */
  readonly id: string;
  readonly orderId: string;
  readonly side: VenuetwoWireSide;
  readonly price: string;
  readonly qty: string;
  readonly realizedPnl: string | null;
  /** Sign differs between documents and live rows. */
  readonly commission: string;
  readonly commissionAsset: string;
  readonly time: number;
  readonly isMaker: boolean;
}

/** Row of income. */
export interface VenuetwoWireIncome {
  /** Null for transfers and the like. */
  readonly symbol: string | null;
  readonly incomeType: string;
  /** Signed: positive was received. */
  readonly income: string;
  readonly asset: string;
  readonly time: number;
  /** Exact digits; 19 of them occur. */
  readonly tranId: string;
}

/** Totals of the account, USD. */
export interface VenuetwoWireAccount {
  readonly totalMarginBalance: string;
  readonly totalInitialMargin: string;
  readonly totalMaintMargin: string;
  readonly availableBalance: string;
  readonly updateTime: number;
}

export function decodeTrades(value: unknown): readonly VenuetwoWireTrade[] {
  return asList(value, "userTrades").map((item) => {
    const row = asFields(item, "trade");
    return {
      symbol: textField(row, "symbol"),
      id: idField(row, "id"),
      orderId: idField(row, "orderId"),
      side: oneOf(row, "side", ["BUY", "SELL"]),
      price: decimalField(row, "price"),
      qty: decimalField(row, "qty"),
      realizedPnl: decimalOrNull(row, "realizedPnl"),
      commission: decimalField(row, "commission"),
      commissionAsset: textField(row, "commissionAsset"),
      time: integerField(row, "time"),
      isMaker: booleanField(row, "maker"),
    };
  });
}

export function decodeIncome(value: unknown): readonly VenuetwoWireIncome[] {
  return asList(value, "income").map((item) => {
    const row = asFields(item, "income");
    return {
      symbol: textOrNull(row, "symbol"),
      incomeType: textField(row, "incomeType"),
      income: decimalField(row, "income"),
      asset: textField(row, "asset"),
      time: integerField(row, "time"),
      tranId: idField(row, "tranId"),
    };
  });
}

export function decodeAccount(value: unknown): VenuetwoWireAccount {
  const row = asFields(value, "account");
  return {
    totalMarginBalance: decimalField(row, "totalMarginBalance"),
    totalInitialMargin: decimalField(row, "totalInitialMargin"),
    totalMaintMargin: decimalField(row, "totalMaintMargin"),
    availableBalance: decimalField(row, "availableBalance"),
    updateTime: row["updateTime"] === undefined ? 0 : integerField(row, "updateTime"),
  };
}
