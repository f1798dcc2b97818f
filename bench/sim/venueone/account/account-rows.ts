/** Account state in the venue's JSON shapes: margin summaries, positions, what could still be traded. Pure. */
import type { SimPosition } from "../../core/model/types.js";
import { replyTextScaled } from "../wire/decimals.js";
import { instrumentOf, markText, szText } from "../records/rows.js";
import { usdText, type Venue } from "../records/venue.js";

interface MarginSummary {
  readonly accountValue: string;
  readonly totalNtlPos: string;
  readonly totalRawUsd: string;
  readonly totalMarginUsed: string;
}

/** `clearinghouseState` of one account; a stranger gets zeros. */
export function clearinghouseRow(venue: Venue, address: string): Readonly<Record<string, unknown>> {
  const { exchange } = venue;
  const account = exchange.accounts.find(address);
  const time = exchange.nowMs();
  if (account === null) {
    const zero = summary(0n, 0n, 0n, 0n);
    return {
      marginSummary: zero,
      crossMarginSummary: zero,
      crossMaintenanceMarginUsed: "0.0",
      withdrawable: "0.0",
      assetPositions: [],
      time,
    };
  }
  const margin = exchange.accounts.margin(address);
  const open = [...account.positions.values()].filter((position) => position.qtyLots !== 0);
  const rows = open.map((position) => ({ position, figures: exchange.accounts.positionFigures(position) }));
  let netE12 = 0n;
  let grossE12 = 0n;
  let crossNetE12 = 0n;
  let crossGrossE12 = 0n;
  let crossUsedE12 = 0n;
  let isolatedUsedE12 = 0n;
  for (const { position, figures } of rows) {
    const signed = position.qtyLots > 0 ? figures.notionalE12 : -figures.notionalE12;
    netE12 += signed;
    grossE12 += figures.notionalE12;
    if (figures.marginMode === "isolated") isolatedUsedE12 += position.isolatedE12 + figures.unrealizedE12;
    else {
      crossNetE12 += signed;
      crossGrossE12 += figures.notionalE12;
      crossUsedE12 += figures.initialE12;
    }
  }
  const crossValueE12 = margin.crossWalletE12 + margin.crossUnrealizedE12;
  const freeE12 = crossValueE12 - crossUsedE12;
  return {
    marginSummary: summary(margin.equityE12, grossE12, margin.equityE12 - netE12, crossUsedE12 + isolatedUsedE12),
    crossMarginSummary: summary(crossValueE12, crossGrossE12, crossValueE12 - crossNetE12, crossUsedE12),
    crossMaintenanceMarginUsed: usdText(margin.crossMaintenanceE12),
    withdrawable: usdText(freeE12 > 0n ? freeE12 : 0n),
    assetPositions: rows.map(({ position }) => ({ type: "oneWay", position: positionRow(venue, position) })),
    time,
  };
}

function summary(valueE12: bigint, notionalE12: bigint, rawE12: bigint, usedE12: bigint): MarginSummary {
  return {
    accountValue: usdText(valueE12),
    totalNtlPos: usdText(notionalE12),
    totalRawUsd: usdText(rawE12),
    totalMarginUsed: usdText(usedE12),
  };
}

export function positionRow(venue: Venue, position: SimPosition): Readonly<Record<string, unknown>> {
  const { exchange } = venue;
  const instrument = instrumentOf(exchange, position.symbol);
  const figures = exchange.accounts.positionFigures(position);
  const entryMarginE12 = (position.costE12 < 0n ? -position.costE12 : position.costE12) / BigInt(figures.leverage);
  const isolated = figures.marginMode === "isolated";
  // Funding paid is positive here; the exchange counts funding received.
  const funding = usdText(-position.cumFundingE12);
  return {
    coin: position.symbol,
    szi: szText(instrument, position.qtyLots),
    leverage: leverageRow(figures.leverage, isolated, position),
    entryPx: priceE12Text(figures.entryPriceE12, instrument.priceDecimals + 1),
    positionValue: usdText(figures.notionalE12),
    unrealizedPnl: usdText(figures.unrealizedE12),
    returnOnEquity:
      entryMarginE12 === 0n ? "0.0" : replyTextScaled((figures.unrealizedE12 * 10n ** 10n) / entryMarginE12, 10),
    liquidationPx:
      figures.liquidationPriceE12 === null ? null : replyTextScaled(figures.liquidationPriceE12 / 100n, 10),
    marginUsed: usdText(isolated ? position.isolatedE12 + figures.unrealizedE12 : figures.initialE12),
    maxLeverage: instrument.maxLeverage,
    cumFunding: { allTime: funding, sinceOpen: funding, sinceChange: funding },
  };
}

function leverageRow(value: number, isolated: boolean, position: SimPosition): Readonly<Record<string, unknown>> {
  if (!isolated) return { type: "cross", value };
  return { type: "isolated", value, rawUsd: usdText(position.isolatedE12 - position.costE12) };
}

function priceE12Text(priceE12: bigint, decimals: number): string {
  return replyTextScaled(priceE12 / 10n ** BigInt(12 - decimals), decimals);
}

/** `activeAssetData`: what this account could still trade on one coin. */
export function activeAssetRow(venue: Venue, address: string, coin: string): Readonly<Record<string, unknown>> {
  const { exchange } = venue;
  const instrument = instrumentOf(exchange, coin);
  const mark = exchange.market.mark(coin);
  const known = exchange.accounts.find(address) !== null;
  const availableE12 = known ? exchange.accounts.margin(address).availableE12 : 0n;
  const leverage = known ? exchange.accounts.leverage(address, coin) : Math.min(20, instrument.maxLeverage);
  const isolated = known && exchange.accounts.marginMode(address, coin) === "isolated";
  const position = known ? exchange.accounts.position(address, coin, "BOTH") : null;
  // Closing frees the margin of the position, which the other side can then use.
  const heldLots = position?.qtyLots ?? 0;
  const unitE12 = (BigInt(mark.markE8) * 10_000n) / 10n ** BigInt(instrument.qtyDecimals);
  const openLots = unitE12 === 0n ? 0 : Number((availableE12 * BigInt(leverage)) / unitE12);
  const side = (sign: 1 | -1): string =>
    szText(instrument, openLots + (heldLots * sign < 0 ? 2 * Math.abs(heldLots) : 0));
  const freed = position === null || heldLots === 0 ? 0n : 2n * exchange.accounts.positionFigures(position).initialE12;
  return {
    user: address,
    coin,
    leverage: isolated
      ? {
          type: "isolated",
          value: leverage,
          rawUsd: usdText(position === null ? 0n : position.isolatedE12 - position.costE12),
        }
      : { type: "cross", value: leverage },
    maxTradeSzs: [side(1), side(-1)],
    availableToTrade: [
      usdText(availableE12 + (heldLots < 0 ? freed : 0n)),
      usdText(availableE12 + (heldLots > 0 ? freed : 0n)),
    ],
    markPx: markText(instrument, mark.markE8),
  };
}
