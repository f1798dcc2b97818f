/** What the venue lists: rows of the captured `/info`, and the engine's instruments read out of them. */
import { parseSafe, trimZeros } from "../../core/model/fixed.js";
import type { ListingChange } from "../../core/engine/listing-change.js";
import type { SimInstrument, SimPolicies } from "../../core/model/types.js";
import captured from "../fixtures/info.json" with { type: "json" };

export type InfoRow = (typeof captured)[number];

export const VENUEFOUR_POLICIES: SimPolicies = {
  reduceOnlyExcess: "reject",
  postOnlyCross: "expire",
  iocNoMatch: "expire",
  selfTrade: "cancelResting",
  triggerAlreadyMet: "fire",
  clientIdReuse: "whenClosed",
  takerFeeMilliBps: 4_000,
  makerFeeMilliBps: 1_500,
  // The venue's default is each market's own maximum.
  defaultLeverage: 1_000,
};

export const DEFAULT_SYMBOLS: readonly string[] = ["BTC", "ETH", "SOL"];

const HOUR_MS = 3_600_000;
const PPM = 1_000_000;

export class Listing {
  /** Rows of `/info` in captured order: the chosen perpetuals and every spot market. */
  readonly rows: readonly InfoRow[];
  readonly instruments: readonly SimInstrument[];
  /** Spot markets: listed, never traded here. Names are case-sensitive. */
  readonly spotSymbols: ReadonlySet<string>;
  /** As `rows`, with those that are not listed now. */
  readonly #known: readonly InfoRow[];
  readonly #rows: InfoRow[];

  constructor(symbols: readonly string[]) {
    for (const symbol of symbols) {
      const row = captured.find((entry) => entry.symbol === symbol);
      if (row?.instrument_type !== "perpetual")
        throw new RangeError(`${symbol} is no perpetual of the captured listing`);
    }
    const chosen = captured.filter((row) => row.instrument_type === "spot" || symbols.includes(row.symbol));
    this.#known = chosen.map((row) => ({ ...row }));
    this.#rows = [...this.#known];
    this.rows = this.#rows;
    this.instruments = this.#known.filter((row) => row.instrument_type === "perpetual").map(instrumentOf);
    this.spotSymbols = new Set(this.#known.filter((row) => row.instrument_type === "spot").map((row) => row.symbol));
  }

  /**
   * Changes the row from the next answer on. Returns the listed instrument. The list has no status: it holds only what
   * trades.
   */
  change(symbol: string, change: ListingChange): SimInstrument {
    const rows = this.#rows;
    const row = this.#known.find((entry) => entry.symbol === symbol);
    if (row === undefined) throw new RangeError(`${symbol} is not in the listing`);
    const { priceStep, qtyStep, minimum } = change;
    const isOpen = change.isListed ?? change.isTrading ?? rows.includes(row);
    Object.assign(row, {
      ...(priceStep === undefined ? {} : { tick_size: priceStep }),
      ...(qtyStep === undefined ? {} : { lot_size: qtyStep }),
      ...(minimum === undefined ? {} : { min_order_size: minimum }),
    });
    // In place: routes and checks hold the array.
    if (!isOpen && rows.includes(row)) rows.splice(rows.indexOf(row), 1);
    else if (isOpen && !rows.includes(row)) rows.push(row);
    return instrumentOf(row);
  }
}

function instrumentOf(row: InfoRow): SimInstrument {
  const priceDecimals = decimalsOf(row.tick_size);
  const qtyDecimals = decimalsOf(row.lot_size);
  const thousand = /^k(?=[A-Z])/.test(row.symbol);
  return {
    symbol: row.symbol,
    base: thousand ? row.symbol.slice(1) : row.base_asset,
    quote: "USDC",
    priceDecimals,
    qtyDecimals,
    priceRule: "step",
    priceStepTicks: parseSafe(row.tick_size, priceDecimals) ?? 1,
    qtyStepLots: parseSafe(row.lot_size, qtyDecimals) ?? 1,
    maxLeverage: row.max_leverage,
    // Maintenance is half of the initial margin at the highest leverage.
    brackets: [
      {
        notionalFloor: 0,
        notionalCap: 1_000_000_000,
        maxLeverage: row.max_leverage,
        maintenancePpm: Math.floor(PPM / row.max_leverage / 2),
        cum: 0,
      },
    ],
    contractSize: thousand ? 1000 : 1,
    fundingIntervalMs: HOUR_MS,
  };
}

/** Of a step like `0.01` or `1.0`. */
function decimalsOf(step: string): number {
  return (trimZeros(step).split(".")[1] ?? "").length;
}
