/** GET /api/instruments: every contract of every venue, optionally one symbol or one venue. */
import { formatScaled } from "../../../engine/domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../../../engine/domain/instrument.js";
import { instrumentsQuerySchema, instrumentsReplySchema, type InstrumentRow } from "../../../schemas/instruments.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { problemsError } from "../close-request.js";
import { parseQuery } from "../../http/query.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";

const QUERY_NAMES = Object.keys(instrumentsQuerySchema.properties);

export function instrumentsRoute({ edge, clock, view }: RouteContext): Route {
  const validate = compileValidator(instrumentsQuerySchema);
  const serialise = compileSerialiser(instrumentsReplySchema);
  return {
    operation: OPERATIONS.instruments,
    handle(response, request) {
      edge.checkTarget(request);
      const query = validate(parseQuery(request.getQuery(), QUERY_NAMES));
      if (!query.ok) throw problemsError(query.problems);
      const { symbol: asked, exchange } = query.value;
      if (exchange !== undefined) view.requireRoom(exchange);
      const symbol =
        asked === undefined ? null : exchange === undefined ? view.resolve(asked) : view.resolveOn(exchange, asked);
      const instruments: InstrumentRow[] = [];
      for (const room of view.rooms) {
        if (exchange !== undefined && room.venue !== exchange) continue;
        for (const market of room.markets.values()) {
          if (symbol === null || market.instrument.symbol === symbol)
            instruments.push(instrumentRow(market.instrument));
        }
      }
      instruments.sort((a, b) =>
        a.symbol === b.symbol ? compare(a.exchange, b.exchange) : compare(a.symbol, b.symbol),
      );
      edge.ok(
        response,
        serialise({ success: true, data: { instruments, total: instruments.length }, timestamp: clock.wallMs() }),
      );
    },
  };
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export function instrumentRow(instrument: Instrument): InstrumentRow {
  const priceDecimals = canonicalPriceDecimals(instrument);
  const qtyDecimals = canonicalQtyDecimals(instrument);
  return {
    exchange: instrument.venue,
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    multiplier: formatScaled(1, -instrument.multiplierExp10),
    tickSize: formatScaled(instrument.priceStepTicks, priceDecimals),
    lotSize: formatScaled(instrument.qtyStepLots, qtyDecimals),
    priceRule: instrument.priceRule,
    minSize: formatScaled(instrument.minQtyLots, qtyDecimals),
    maxSize:
      instrument.maxQtyLots === Number.MAX_SAFE_INTEGER ? null : formatScaled(instrument.maxQtyLots, qtyDecimals),
    minNotional: instrument.minNotional,
    restingMinSize: formatScaled(instrument.restingMinimum?.qtyLots ?? instrument.minQtyLots, qtyDecimals),
    restingMinNotional: instrument.restingMinimum?.notional ?? instrument.minNotional,
    maxLeverage: instrument.maxLeverage,
    quoteAsset: instrument.quoteAsset,
    takerFeeBps: formatScaled(instrument.takerFeeMilliBps, 3),
    makerFeeBps: formatScaled(instrument.makerFeeMilliBps, 3),
    status: instrument.status,
  };
}
