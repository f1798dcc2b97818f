/**
 * What the venue does by itself after a fill: charges the builder's share and, after a liquidation, writes the ledger
 * row and the user's event. Follows the journal.
 */
import type { SimFill, SimOrder } from "../../core/model/types.js";
import type { Commit, Journal } from "./journal.js";
import { builderFeeE12, instrumentOf, szText } from "../records/rows.js";
import { fillNotionalE12, hash64, tagOf, usdText, type Venue } from "../records/venue.js";

export function keepAccounts(venue: Venue, journal: Journal): void {
  journal.addFollower((changes: Commit) => {
    for (const fills of changes.fills.values()) for (const fill of fills) chargeBuilder(venue, fill);
    for (const [accountId, orders] of changes.orders) recordLiquidation(venue, journal, accountId, orders);
  });
}

function chargeBuilder(venue: Venue, fill: SimFill): void {
  const { exchange } = venue;
  const order = exchange.orders.find(fill.orderId);
  const builder = order === null ? null : (tagOf(order)?.builder ?? null);
  const account = venue.account(fill.accountId);
  if (builder === null || account === null) return;
  const feeE12 = builderFeeE12(instrumentOf(exchange, fill.symbol), fill, builder.feeTenthsBps);
  if (feeE12 > 0n) venue.moveCash(account, -feeE12, "ADJUSTMENT");
}

function recordLiquidation(venue: Venue, journal: Journal, accountId: string, orders: readonly SimOrder[]): void {
  const { exchange } = venue;
  const account = venue.account(accountId);
  const sold = orders.filter((order) => order.origin === "LIQUIDATION" && order.filledLots > 0);
  if (account === null || sold.length === 0) return;
  const notionalE12 = sold.reduce(
    (sum, order) =>
      sum +
      order.fills.reduce(
        (part, fill) => part + fillNotionalE12(exchange, fill.symbol, fill.priceTicks, fill.qtyLots),
        0n,
      ),
    0n,
  );
  const equity = usdText(exchange.accounts.margin(accountId).equityE12);
  const ofIsolated = sold.every((order) => exchange.accounts.marginMode(accountId, order.symbol) === "isolated");
  venue.addLedgerRow(account, {
    type: "liquidation",
    liquidatedNtlPos: usdText(notionalE12),
    accountValue: equity,
    leverageType: ofIsolated ? "Isolated" : "Cross",
    liquidatedPositions: sold.map((order) => ({
      coin: order.symbol,
      szi: szText(instrumentOf(exchange, order.symbol), order.side === "SELL" ? order.filledLots : -order.filledLots),
    })),
  });
  journal.noteLiquidation(accountId, {
    lid: sold[0]?.orderId ?? 0,
    liquidator: `0x${hash64("liquidator").slice(2, 42)}`,
    liquidated_user: accountId,
    liquidated_ntl_pos: usdText(notionalE12),
    liquidated_account_value: equity,
  });
}
