/** Small instruments and policies for the engine's own tests. */
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { type ExchangeOptions, SimExchange } from "../engine/exchange.js";
import type { SimInstrument, SimOrderRequest, SimPolicies } from "../model/types.js";

export const BTC: SimInstrument = {
  symbol: "BTCUSDT",
  base: "BTC",
  quote: "USDT",
  priceDecimals: 1,
  qtyDecimals: 3,
  priceRule: "step",
  priceStepTicks: 1,
  qtyStepLots: 1,
  maxLeverage: 100,
  brackets: [
    { notionalFloor: 0, notionalCap: 50_000, maxLeverage: 100, maintenancePpm: 4_000, cum: 0 },
    { notionalFloor: 50_000, notionalCap: 1e12, maxLeverage: 50, maintenancePpm: 10_000, cum: 300 },
  ],
  contractSize: 1,
  fundingIntervalMs: 8 * 3600 * 1000,
};

export const ETH: SimInstrument = { ...BTC, symbol: "ETHUSDT", base: "ETH", priceDecimals: 2 };

export const REJECTING: SimPolicies = {
  reduceOnlyExcess: "reject",
  postOnlyCross: "expire",
  iocNoMatch: "expire",
  selfTrade: "allow",
  triggerAlreadyMet: "reject",
  clientIdReuse: "whenClosed",
  takerFeeMilliBps: 3_500,
  makerFeeMilliBps: 1_000,
  defaultLeverage: 20,
};

export const CLAMPING: SimPolicies = {
  ...REJECTING,
  reduceOnlyExcess: "clamp",
  postOnlyCross: "reject",
  iocNoMatch: "reject",
  selfTrade: "cancelResting",
  triggerAlreadyMet: "fire",
  clientIdReuse: "always",
};

export function testExchange(options: Partial<ExchangeOptions> = {}): { exchange: SimExchange; clock: VirtualClock } {
  const clock = new VirtualClock();
  const exchange = new SimExchange({
    venue: "venuex",
    seed: 7,
    clock,
    instruments: [BTC],
    policies: REJECTING,
    flow: null,
    ...options,
  });
  return { exchange, clock };
}

/** A limit order in BTCUSDT with the usual fields; override what matters. */
export function limit(
  side: "BUY" | "SELL",
  priceTicks: number,
  qtyLots: number,
  overrides: Partial<SimOrderRequest> = {},
): SimOrderRequest {
  return {
    symbol: "BTCUSDT",
    side,
    type: "LIMIT",
    timeInForce: "GTC",
    priceTicks,
    qtyLots,
    reduceOnly: false,
    positionSide: "BOTH",
    clientId: null,
    trigger: null,
    closePosition: false,
    ...overrides,
  };
}

export function market(
  side: "BUY" | "SELL",
  qtyLots: number,
  overrides: Partial<SimOrderRequest> = {},
): SimOrderRequest {
  return limit(side, 1, qtyLots, { type: "MARKET", priceTicks: null, timeInForce: "IOC", ...overrides });
}
