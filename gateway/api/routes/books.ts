/** GET /api/trading/{exchange}/book/{symbol} and GET /api/book/{symbol}. */
import type { HttpRequest } from "uWebSockets.js";
import { isRoutableVenue, ROUTABLE_VENUES } from "../../../engine/domain/venue.js";
import { BOOK_DEPTH_BOUNDS, consolidatedBookReplySchema, venueBookReplySchema } from "../../../schemas/book.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { consolidatedBook, venueBook } from "../book-reply.js";
import { decodeComponent, invalidParameters, parseQuery } from "../../http/query.js";
import { venueUnavailable } from "../market-view.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";
import { checkSymbolText } from "./symbol-parameter.js";

export function bookRoutes({ edge, clock, view }: RouteContext): Route[] {
  const serialiseVenue = compileSerialiser(venueBookReplySchema);
  const serialiseConsolidated = compileSerialiser(consolidatedBookReplySchema);
  return [
    {
      operation: OPERATIONS.venueBook,
      handle(response, request) {
        edge.checkTarget(request);
        const exchange = decodeComponent(request.getParameter(0), "exchange");
        if (!isRoutableVenue(exchange)) {
          throw invalidParameters({ path: "exchange", problem: `must be one of ${ROUTABLE_VENUES.join(", ")}` });
        }
        const text = checkSymbolText(decodeComponent(request.getParameter(1), "symbol"));
        const depth = readDepth(request);
        view.requireRoom(exchange);
        const market = view.market(exchange, view.resolveOn(exchange, text));
        if (market === null) throw view.unknownSymbol(text, exchange);
        // A book that was never proven current is refused; a broken one is shown by its `state`, without levels.
        if (market.book.tsProvenNs < 0) throw venueUnavailable(exchange, "NO_DATA_YET");
        const data = venueBook(market, exchange, depth, clock.monoNs());
        edge.ok(response, serialiseVenue({ success: true, data, timestamp: clock.wallMs() }));
      },
    },
    {
      operation: OPERATIONS.consolidatedBook,
      handle(response, request) {
        edge.checkTarget(request);
        const text = checkSymbolText(decodeComponent(request.getParameter(0), "symbol"));
        const depth = readDepth(request);
        const data = consolidatedBook(view, view.resolve(text), depth, clock.monoNs());
        edge.ok(response, serialiseConsolidated({ success: true, data, timestamp: clock.wallMs() }));
      },
    },
  ];
}

function readDepth(request: HttpRequest): number {
  const text = parseQuery(request.getQuery(), ["depth"]).depth;
  if (text === undefined) return BOOK_DEPTH_BOUNDS.default;
  const { min, max } = BOOK_DEPTH_BOUNDS;
  const depth = /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (depth >= min && depth <= max) return depth;
  throw invalidParameters({ path: "depth", problem: `must be a whole number from ${min} to ${max}` });
}
