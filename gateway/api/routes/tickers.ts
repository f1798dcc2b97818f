// hot path
/**
 * GET /api/trading/ticker/{symbol} and GET /api/trading/{venue}/ticker/{symbol}. A symbol asked for in its
 * canonical spelling costs one map look-up and a text made at most once per millisecond (ticker-text.ts); any other
 * spelling is resolved first. Nothing a caller sends grows a map: entries exist for listed symbols only.
 */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { FeedState, Market } from "../../../engine/market/market.js";
import { DESCRIPTORS } from "../../../feeds/registry.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { bestTouchSchema, type TickerFailure, tickerFailureSchema } from "../../../schemas/ticker.js";
import { perVenue } from "../../../schemas/venues.js";
import { decodeComponent } from "../../http/query.js";
import { venueUnavailable } from "../market-view.js";
import { type AggregatePart, AggregateText, type PayloadSerialiser, TickerText } from "../ticker-text.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";
import { checkSymbolText } from "./symbol-parameter.js";

type Texts = Readonly<Record<RoutableVenue, TickerTexts>>;

export function tickerRoutes(context: RouteContext): Route[] {
  const texts: Texts = perVenue(({ ticker }, venue) => {
    const serialise = compileSerialiser(ticker.schema);
    const fieldsOf = DESCRIPTORS[venue].ticker;
    return new TickerTexts(context, venue, (market, state) => serialise(fieldsOf(market, state, 0)));
  });
  return [
    aggregatedRoute(context, texts),
    ...ROUTABLE_VENUES.map((venue) => venueRoute(context, texts[venue], OPERATIONS[`${venue}Ticker`])),
  ];
}

/** The texts of one venue by canonical symbol. */
class TickerTexts {
  readonly venue: RoutableVenue;
  readonly #context: RouteContext;
  readonly #serialise: (market: Market, state: FeedState) => string;
  readonly #bySymbol = new Map<string, TickerText>();

  constructor(context: RouteContext, venue: RoutableVenue, serialise: PayloadSerialiser) {
    this.venue = venue;
    this.#context = context;
    this.#serialise = serialise;
  }

  /** Returns undefined when the venue does not list the canonical symbol. A replaced market gets a new text. */
  get(symbol: string): TickerText | undefined {
    const known = this.#bySymbol.get(symbol);
    const market = this.#context.view.market(this.venue, symbol);
    if (known !== undefined && known.market === market) return known;
    if (market === null) {
      this.#bySymbol.delete(symbol);
      return undefined;
    }
    const text = new TickerText(market, this.#context.clock, this.#serialise);
    this.#bySymbol.set(symbol, text);
    return text;
  }
}

/** Interface spec 5.5: the venue's keys are not configured. */
function isRefused(context: RouteContext, venue: RoutableVenue): boolean {
  return context.refusedTickers.has(venue);
}

function venueRoute(context: RouteContext, texts: TickerTexts, operation: Route["operation"]): Route {
  const { edge, view } = context;
  const venue = texts.venue;
  const refused = isRefused(context, venue);
  return {
    operation,
    handle(response, request) {
      if (refused) throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue });
      const raw = request.getParameter(0);
      const text = texts.get(raw) ?? resolve(request, raw);
      if (!text.known) throw venueUnavailable(venue, "NO_DATA_YET");
      edge.ok(response, text.reply());
    },
  };

  function resolve(request: HttpRequest, raw: string): TickerText {
    edge.checkTarget(request);
    const asked = checkSymbolText(decodeComponent(raw, "symbol"));
    view.requireRoom(venue);
    const text = texts.get(view.resolveOn(venue, asked));
    if (text === undefined) throw view.unknownSymbol(asked, venue);
    return text;
  }
}

/** The aggregated texts by canonical symbol. */
class AggregateTexts {
  readonly #context: RouteContext;
  readonly #texts: Texts;
  readonly #failure = compileSerialiser(tickerFailureSchema);
  readonly #best = compileSerialiser(bestTouchSchema);
  readonly #bySymbol = new Map<string, { readonly parts: readonly AggregatePart[]; readonly text: AggregateText }>();

  constructor(context: RouteContext, texts: Texts) {
    this.#context = context;
    this.#texts = texts;
  }

  /** Returns undefined when no venue lists the canonical symbol. Rebuilt when a market behind it was replaced. */
  get(symbol: string): AggregateText | undefined {
    const known = this.#bySymbol.get(symbol);
    if (known !== undefined && this.#isCurrent(known.parts, symbol)) return known.text;
    const parts = ROUTABLE_VENUES.map((venue) => this.#part(venue, symbol, this.#texts[venue].get(symbol) ?? null));
    if (parts.every((each) => each.ticker === null)) return undefined;
    const text = new AggregateText(parts, this.#context.clock, this.#best);
    this.#bySymbol.set(symbol, { parts, text });
    return text;
  }

  #isCurrent(parts: readonly AggregatePart[], symbol: string): boolean {
    for (const { venue, ticker } of parts) if ((this.#texts[venue].get(symbol) ?? null) !== ticker) return false;
    return true;
  }

  #part(venue: RoutableVenue, symbol: string, ticker: TickerText | null): AggregatePart {
    const withheld = isRefused(this.#context, venue);
    return { venue, ticker, withheld, failure: this.#failure(this.#failureOf(venue, symbol, ticker)) };
  }

  #failureOf(venue: RoutableVenue, symbol: string, ticker: TickerText | null): TickerFailure {
    const { view } = this.#context;
    if (isRefused(this.#context, venue)) {
      const { message: error } = new ServiceError("MISSING_CREDENTIALS", { exchange: venue });
      return { error, code: "MISSING_CREDENTIALS", availableSymbols: [] };
    }
    if (view.room(venue) === null)
      return { error: `${venue} is not configured`, code: "NOT_CONFIGURED", availableSymbols: [] };
    if (ticker !== null)
      return { error: `${venue} has sent no ticker yet`, code: "VENUE_UNAVAILABLE", availableSymbols: [] };
    const availableSymbols = view.preview(venue);
    return { error: `${venue} does not list ${symbol}`, code: "UNKNOWN_SYMBOL", availableSymbols };
  }
}

function aggregatedRoute(context: RouteContext, venueTexts: Texts): Route {
  const { edge, view } = context;
  const texts = new AggregateTexts(context, venueTexts);

  function resolve(request: HttpRequest, raw: string): AggregateText {
    edge.checkTarget(request);
    const asked = checkSymbolText(decodeComponent(raw, "symbol"));
    const text = texts.get(view.resolve(asked));
    if (text === undefined) throw view.unknownSymbol(asked, null);
    return text;
  }

  return {
    operation: OPERATIONS.aggregatedTicker,
    handle(response: HttpResponse, request: HttpRequest) {
      const raw = request.getParameter(0);
      edge.ok(response, (texts.get(raw) ?? resolve(request, raw)).reply());
    },
  };
}
