/** Keys of one account, one of another, and orders that rest, with what the venue answers. */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { CLIENT_ID, ETH, V1 } from "./trading-harness.js";

export const OTHER_KEY = { ...V1, apiKey: "another-key", apiSecret: "another-secret" };

export const balancesOf = (accountAlias: string): readonly object[] => [
  { accountAlias, asset: "USDT", balance: "1", availableBalance: "1" },
];

export function restingOrder(instrument: Instrument = ETH, clientIdHex: string = CLIENT_ID): OrderCommand {
  return {
    instrument,
    side: "SELL",
    type: "LIMIT",
    timeInForce: "GTC",
    priceTicks: 400_000,
    qtyLots: 250,
    reduceOnly: false,
    positionSide: "BOTH",
    clientIdHex,
  };
}

export function placedAnswer(symbol = "ETHUSDT", clientOrderId: string = CLIENT_ID): Readonly<Record<string, unknown>> {
  return {
    orderId: 12_345_678,
    symbol,
    status: "NEW",
    clientOrderId,
    price: "4000.00",
    avgPrice: "0.00000",
    origQty: "0.250",
    executedQty: "0",
    cumQuote: "0",
    timeInForce: "GTC",
    type: "LIMIT",
    reduceOnly: false,
    closePosition: false,
    side: "SELL",
    positionSide: "BOTH",
    stopPrice: "0",
    workingType: "CONTRACT_PRICE",
    priceProtect: false,
    origType: "LIMIT",
    updateTime: 1_790_000_000_015,
  };
}
