/** Prints as the venue shows them, with the orders and positions behind them where accounts were in them. Key order as recorded. */
import { absBig, moneyText, notionalE12, priceText, qtyText } from "../../core/model/fixed.js";
import type { SimInstrument, SimTrade } from "../../core/model/types.js";
import type { VenueAccount } from "../records/accounts.js";
import { isLiquidation, type VenuethreeContext } from "../orders/context.js";
import { heightAt, houseAccount, microseconds, tradeOrderIds, transactionHash, wireTradeId } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";
import type { TradeSide } from "../orders/trade-sides.js";

const QUOTE_DECIMALS = 6;
/** In 1e-6, of premium accounts with the largest stake; every other one of the crowd is one, the rest trades free. */
const PREMIUM_FEES = { taker: 196, maker: 28 } as const;

export function printTrade(
  context: VenuethreeContext,
  market: VenuethreeMarket,
  instrument: SimInstrument,
  trade: SimTrade,
): Row {
  const sides = context.prints.sidesOf(trade);
  const crowd = tradeOrderIds(market.marketId, trade);
  const askId = sides?.seller?.order.index ?? crowd.askId;
  const bidId = sides?.buyer?.order.index ?? crowd.bidId;
  const id = wireTradeId(market.marketId, trade.tradeId);
  const takerSells = trade.takerSide === "SELL";
  const takerAccount = houseAccount(trade.takerId);
  const makerAccount = houseAccount(trade.tradeId + 1);
  const [taker, maker] = takerSells
    ? [sides?.seller ?? null, sides?.buyer ?? null]
    : [sides?.buyer ?? null, sides?.seller ?? null];
  const askClient = sides?.seller?.order.fields.clientOrderIndex ?? 0;
  const bidClient = sides?.buyer?.order.fields.clientOrderIndex ?? 0;
  return {
    trade_id: id,
    trade_id_str: String(id),
    tx_hash: taker?.order.txHash ?? transactionHash(`${market.symbol}/${trade.takerId}`),
    type: isLiquidation(context, trade) ? "liquidation" : "trade",
    market_id: market.marketId,
    size: qtyText(instrument, trade.qtyLots),
    price: priceText(instrument, trade.priceTicks),
    usd_amount: moneyText(notionalE12(instrument, trade.priceTicks, trade.qtyLots), QUOTE_DECIMALS),
    ask_id: askId,
    ask_id_str: String(askId),
    bid_id: bidId,
    bid_id_str: String(bidId),
    ask_client_id: askClient,
    ask_client_id_str: String(askClient),
    bid_client_id: bidClient,
    bid_client_id_str: String(bidClient),
    ask_account_id: sides?.seller?.order.account.index ?? (takerSells ? takerAccount : makerAccount),
    bid_account_id: sides?.buyer?.order.account.index ?? (takerSells ? makerAccount : takerAccount),
    is_maker_ask: !takerSells,
    block_height: heightAt(trade.tsMs),
    timestamp: trade.tsMs,
    ...sideRow("taker", market, instrument, taker, trade.takerId % 2 === 0 ? PREMIUM_FEES.taker : 0),
    ...sideRow("maker", market, instrument, maker, trade.tradeId % 2 === 0 ? PREMIUM_FEES.maker : 0),
    transaction_time: microseconds(trade.tsMs, trade.tradeId),
    ...pnlRow("bid", sides?.buyer ?? null),
    ...pnlRow("ask", sides?.seller ?? null),
  };
}

/** Fee and position before of one side; `crowdFee` is what someone of the crowd would pay, in 1e-6. */
function sideRow(
  name: "taker" | "maker",
  market: VenuethreeMarket,
  instrument: SimInstrument,
  side: TradeSide | null,
  crowdFee: number,
): Row {
  const fee = side === null ? crowdFee : feeTicks(side);
  const before = side?.fill.positionBeforeLots ?? 0;
  const after = side?.fill.positionAfterLots ?? 0;
  return {
    // Left out when zero; undefined is not printed.
    [`${name}_fee`]: fee === 0 ? undefined : fee,
    [`${name}_position_size_before`]: qtyText(instrument, before),
    [`${name}_entry_quote_before`]: moneyText(absBig(side?.costBeforeE12 ?? 0n), QUOTE_DECIMALS),
    [`${name}_initial_margin_fraction_before`]: marginFractionOf(side?.order.account ?? null, market),
    [`${name}_position_sign_changed`]: side === null ? undefined : before > 0 !== after > 0,
  };
}

function pnlRow(name: "bid" | "ask", side: TradeSide | null): Row {
  return side === null ? {} : { [`${name}_account_pnl`]: moneyText(side.fill.realizedE12, QUOTE_DECIMALS) };
}

/** Rate of a fill in 1e-6 of its value, nearest. */
function feeTicks({ fill, order }: TradeSide): number {
  const value = notionalE12(order.market.instrument, fill.priceTicks, fill.qtyLots);
  return value === 0n ? 0 : Number((fill.feeE12 * 1_000_000n + value / 2n) / value);
}

/** In 1e-4, as set or as the market has it. */
export function marginFractionOf(account: VenueAccount | null, market: VenuethreeMarket): number {
  return account?.marginFractions.get(market.marketId) ?? market.marginFractions[0];
}
