/** The data that the page shows, gathered in one place: parts draw from it and write only their own choice to it. */
import type { StreamClient, SubscriptionView } from "../stream/stream-client.js";
import type { InstrumentRow } from "../../schemas/instruments.js";
import type { BookData, StatusData, TickerData } from "../stream/topics.js";

/** Levels per venue and side, for the chart and the ladder. */
const BOOK_DEPTH = 100;
const BOOK_INTERVAL_MS = 250;
const TICKER_INTERVAL_MS = 100;

export interface Board {
  readonly client: StreamClient;
  symbol: string;
  ticker: TickerData | null;
  tickerIsCurrent: boolean;
  book: BookData | null;
  bookIsCurrent: boolean;
  status: StatusData | null;
  /** All symbols and venues; empty until the list arrives. */
  instruments: readonly InstrumentRow[];
}

export function createBoard(client: StreamClient, symbol: string): Board {
  return {
    client,
    symbol,
    ticker: null,
    tickerIsCurrent: false,
    book: null,
    bookIsCurrent: false,
    status: null,
    instruments: [],
  };
}

/** Subscribes to ticker and book of the board's symbol; the returned function ends both. */
export function followSymbol(board: Board, changed: (part: "ticker" | "book") => void): () => void {
  board.ticker = null;
  board.book = null;
  board.tickerIsCurrent = false;
  board.bookIsCurrent = false;
  const symbols = [board.symbol];
  const take = (view: SubscriptionView) => {
    const { data, current } = view;
    if (data?.topic === "ticker") {
      board.ticker = data;
      board.tickerIsCurrent = current;
      changed("ticker");
    } else if (data?.topic === "book") {
      board.book = data;
      board.bookIsCurrent = current;
      changed("book");
    }
  };
  const ends = [
    board.client.subscribe({ topic: "ticker", symbols, intervalMs: TICKER_INTERVAL_MS }, { changed: take }),
    board.client.subscribe(
      { topic: "book", symbols, depth: BOOK_DEPTH, intervalMs: BOOK_INTERVAL_MS },
      { changed: take },
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}

export function followStatus(board: Board, changed: () => void): void {
  board.client.subscribe(
    { topic: "status" },
    {
      changed: ({ data }) => {
        if (data?.topic === "status") board.status = data;
        changed();
      },
    },
  );
}

/** What a venue lists under a symbol; undefined if nothing, or if the list has not arrived. */
export function instrumentOf(board: Board, venue: string, symbol: string): InstrumentRow | undefined {
  return board.instruments.find((one) => one.exchange === venue && one.symbol === symbol);
}

export function isConnected(board: Board): boolean {
  return board.client.status.phase === "open";
}
