/** What people read: formats, ladder and curves, texts of the exit, the event log. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addDecimal, compareDecimal, parseDecimal } from "../decimal.js";
import type { FeedHealth } from "../stream/frames.js";
import type { BookData, VenueBook } from "../stream/topics.js";
import { boundsOf, curvesOf, ladderOf, totalAt } from "./depth.js";
import { EMPTY_LOG, MAX_EVENTS, noteFeeds, noteState } from "./events.js";
import { checkSize, exitView, type RoutingData, refusalRows } from "./exit.js";
import {
  ageText,
  compactText,
  fixedText,
  fundingTexts,
  groupDigits,
  padPlaces,
  placesOf,
  signOf,
  UNKNOWN_TEXT,
} from "./format.js";
import { symbolsOf } from "./symbols.js";
import { badgeState, worseState } from "./venues.js";

describe("a figure on the page", () => {
  it.each([
    ["97421.50", "97,421.50"],
    ["0.0000071237", "0.0000071237"],
    ["1234567", "1,234,567"],
    ["123", "123"],
    ["-1407.4", "−1,407.4"],
  ])("given as %s is shown with every digit as %s", (text, shown) => expect(groupDigits(text)).toBe(shown));

  it("keeps every digit, whatever the text", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat({ max: 9 }), (whole, fraction) => {
        const text = `${whole}.${fraction}0`;
        expect(groupDigits(text).replaceAll(",", "")).toBe(text);
      }),
    );
  });

  it.each([null, "", "NaN", "1e5", "x"])("that is unknown (%s) is a dash, never a number", (text) => {
    for (const shown of [groupDigits(text), fixedText(text, 2), compactText(text)]) expect(shown).toBe(UNKNOWN_TEXT);
    expect(signOf(text)).toBe(0);
  });

  it("is rounded to the nearest, with a sign if requested", () => {
    expect(fixedText("1.4792", 2, true)).toBe("+1.48");
    expect(fixedText("-0.605", 2, true)).toBe("−0.61");
    expect(fixedText("0.001", 2, true)).toBe("0.00");
    expect(fixedText("-0.001", 2, true)).toBe("0.00");
    expect(fixedText("1234.5", 0)).toBe("1,235");
  });

  it.each([
    ["1234567890.12", "1.23B"],
    ["999500", "1.00M"],
    ["999499", "999K"],
    ["12345", "12.3K"],
    ["99950", "100K"],
    ["999.5", "1.00K"],
    ["999.4", "999.40"],
    ["0", "0.00"],
    ["5000000000000", "5.00T"],
  ])("of a volume of %s is shown as %s", (text, shown) => expect(compactText(text)).toBe(shown));

  it.each([
    [-5, "0 ms"],
    [40.4, "40 ms"],
    [999, "999 ms"],
    [1_250, "1.2 s"],
    [47_900, "47 s"],
    [180_000, "3 min"],
    [7_200_000, "2 h"],
    [null, UNKNOWN_TEXT],
  ])("of an age of %s ms is shown as %s", (ms, shown) => expect(ageText(ms)).toBe(shown));

  it("aligns on its decimal point in a column", () => {
    expect(placesOf(["97419", "97418.9", "0.25"])).toBe(2);
    expect(padPlaces("97419", 2)).toBe("97419.00");
    expect(padPlaces("97418.9", 2)).toBe("97418.90");
    expect(padPlaces("97419", 0)).toBe("97419");
  });
});

describe("the funding on the page", () => {
  it("of venues with different intervals is compared per hour", () => {
    expect(fundingTexts("0.0000125", 1)).toEqual({ perHour: "+0.00125 %", apr: "+10.95 %", interval: "1 h" });
    expect(fundingTexts("0.00010000", 8)).toEqual({ perHour: "+0.00125 %", apr: "+10.95 %", interval: "8 h" });
    expect(fundingTexts("-0.0000191", 1)).toMatchObject({ perHour: "−0.00191 %", apr: "−16.73 %" });
  });

  it.each([null, 0, -1, Number.NaN])("without its interval (%s) is not shown", (hours) => {
    expect(fundingTexts("0.0001", hours).perHour).toBe(UNKNOWN_TEXT);
  });
});

describe("the states on the page", () => {
  it("of a venue and its market are the worse one, and no state without a connection", () => {
    const live: FeedHealth = { state: "LIVE", ageMs: 1, breaker: "closed" };
    expect(worseState("LIVE", "STALE")).toBe("STALE");
    expect(worseState("DOWN", "STALE")).toBe("DOWN");
    expect(badgeState(true, live, null)).toBe("LIVE");
    expect(badgeState(true, live, "SYNCING")).toBe("SYNCING");
    expect(badgeState(true, undefined, null)).toBe("OFF");
    expect(badgeState(false, live, "LIVE")).toBe("UNKNOWN");
  });

  it("show that a venue gets no requests while its breaker is open, whatever its feed, unless it is down", () => {
    const held: FeedHealth = { state: "LIVE", ageMs: 1, breaker: "open" };
    expect(badgeState(true, held, null)).toBe("HELD");
    expect(badgeState(true, held, "STALE")).toBe("HELD");
    expect(badgeState(true, { ...held, state: "DOWN" }, null)).toBe("DOWN");
    expect(badgeState(true, { ...held, breaker: "halfOpen" }, null)).toBe("LIVE");
    expect(badgeState(false, held, null)).toBe("UNKNOWN");
    let log = noteFeeds(EMPTY_LOG, new Map([["venueone", { ...held, breaker: "closed" as const }]]), 1);
    log = noteFeeds(log, new Map([["venueone", held]]), 2);
    expect(log.events[0]).toMatchObject({ subject: "venueone", from: "LIVE", to: "HELD" });
  });
});

const level = fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 900 }));
const book = fc.record({ bids: fc.array(level, { maxLength: 20 }), asks: fc.array(level, { maxLength: 20 }) });

/** Distinct prices, best first, as in a live book. */
function bookOf(
  { bids, asks }: { bids: [number, number][]; asks: [number, number][] },
  state: VenueBook["state"],
): VenueBook {
  const side = (levels: [number, number][], sign: 1 | -1) =>
    [...new Map(levels)]
      .sort((a, b) => sign * (a[0] - b[0]))
      .map(([price, size]) => [String(price / 4), String(size / 8)] as const);
  return { bids: side(bids, -1), asks: side(asks, 1), venueSeq: null, state };
}

describe("the ladder on the page", () => {
  const data = (one: VenueBook, two: VenueBook): BookData => ({
    topic: "book",
    symbol: "BTC",
    venues: new Map([
      ["venueone", one],
      ["venuetwo", two],
    ]),
  });

  it("holds each live level once, best first, sums exact", () => {
    fc.assert(
      fc.property(book, book, (a, b) => {
        const one = bookOf(a, "LIVE");
        const two = bookOf(b, "LIVE");
        const ladder = ladderOf(data(one, two), 1000);
        for (const side of ["bids", "asks"] as const) {
          const sums = new Map<number, number>();
          for (const [price, size] of [...one[side], ...two[side]])
            sums.set(Number(price), (sums.get(Number(price)) ?? 0) + Number(size));
          const sorted = [...sums].sort((x, y) => (side === "bids" ? y[0] - x[0] : x[0] - y[0]));
          // Quarters and eighths are exact in binary fractions too.
          expect(ladder[side].map(({ price, size }) => [Number(price), Number(size)])).toEqual(sorted);
          let total = 0;
          for (const [index, [, size]] of sorted.entries()) {
            total += size;
            expect(Number(ladder[side][index]?.total)).toBe(total);
          }
          for (const { size, venues } of ladder[side]) {
            const parts = venues.map((part) => parseDecimal(part.size));
            const sum = parts.reduce((x, y) => (x === null || y === null ? null : addDecimal(x, y)));
            expect(sum !== null && compareDecimal(sum, parseDecimal(size) as NonNullable<typeof sum>)).toBe(0);
          }
        }
      }),
    );
  });

  it("leaves out venues that are not live, and shows what is crossed", () => {
    const one: VenueBook = { bids: [["100", "1"]], asks: [["101", "1"]], venueSeq: null, state: "LIVE" };
    const two: VenueBook = { bids: [["102", "1"]], asks: [["103", "1"]], venueSeq: null, state: "STALE" };
    expect(ladderOf(data(one, two), 5)).toMatchObject({ mid: "100.5", spread: "1", spreadBps: "99.5" });
    expect(ladderOf(data(one, { ...two, state: "LIVE" }), 5)).toMatchObject({ mid: "101.5", spread: "-1" });
    expect(ladderOf(data(two, two), 5)).toMatchObject({ bids: [], asks: [], mid: null, spread: null });
  });
});

describe("the depth curves on the page", () => {
  it("grow with depth and stop where the book ends", () => {
    const venues = new Map([
      [
        "venueone",
        bookOf(
          {
            bids: [
              [8, 8],
              [4, 16],
            ],
            asks: [
              [12, 8],
              [16, 8],
            ],
          },
          "LIVE",
        ),
      ],
    ]);
    const [curve] = curvesOf({ topic: "book", symbol: "BTC", venues });
    expect(curve?.bids).toEqual([
      { price: 2, total: 1 },
      { price: 1, total: 3 },
    ]);
    expect(totalAt(curve?.bids ?? [], 2.5, true)).toBe(0);
    expect(totalAt(curve?.bids ?? [], 1.5, true)).toBe(1);
    expect(totalAt(curve?.asks ?? [], 9, false)).toBe(2);
    const bounds = boundsOf(curve === undefined ? [] : [curve]);
    expect(bounds?.totalMax).toBe(3);
    expect((bounds?.low ?? 0) + (bounds?.high ?? 0)).toBeCloseTo(5);
  });

  it("have no bounds without two sides", () => {
    expect(boundsOf([])).toBeNull();
    expect(boundsOf([{ venue: "venueone", bids: [{ price: 1, total: 1 }], asks: [] }])).toBeNull();
  });

  it("contain only valid numbers for any books", () => {
    fc.assert(
      fc.property(book, book, (a, b) => {
        const venues = new Map([
          ["venueone", bookOf(a, "LIVE")],
          ["venuefour", bookOf(b, "LIVE")],
        ]);
        const bounds = boundsOf(curvesOf({ topic: "book", symbol: "BTC", venues }));
        if (bounds === null) return;
        expect(bounds.high).toBeGreaterThan(bounds.low);
        for (const one of Object.values(bounds)) expect(Number.isFinite(one)).toBe(true);
      }),
    );
  });
});

describe("a size typed by a person", () => {
  it.each([
    ["0.25", "0.25"],
    [" 1 ", "1"],
    ["1,000.5", "1000.5"],
    [".5", "0.5"],
  ])("as %j is read as %s", (typed, size) => expect(checkSize(typed)).toEqual({ ok: true, size }));

  it.each(["", "0", "0.000", "-1", "1e9", "abc", "1,5", "١", `0.${"1".repeat(19)}`, "9".repeat(41)])(
    "as %j is refused before anything is sent",
    (typed) => expect(checkSize(typed).ok).toBe(false),
  );

  // A comma before three digits does not always mark thousands: read so, the size would be a thousand times as large.
  it.each(["0,125", "00,125", "1234,567", "0.125,000", ",125", "1.000,125"])(
    "as %j may have a decimal comma, and is refused",
    (typed) => expect(checkSize(typed).ok).toBe(false),
  );

  it.each([
    ["12,345,678.25", "12345678.25"],
    ["999,000", "999000"],
  ])("as %j is read in thousands", (typed, size) => expect(checkSize(typed)).toEqual({ ok: true, size }));
});

describe("the best exit as text", () => {
  const candidate = (exchange: string, more: object) => ({ exchange, positionSize: null, ...more });
  const reply = (more: object, candidates: object[]) =>
    ({
      routing: {
        reason: "BEST_ALL_IN_PRICE",
        recommended: "venuetwo",
        price: "97418.4",
        savings: "1.08",
        candidates,
        ...more,
      },
    }) as unknown as RoutingData;
  const CANDIDATES = [
    candidate("venuefour", { eligible: false, reasonCode: "SYMBOL_NOT_LISTED" }),
    candidate("venueone", {
      eligible: true,
      rank: 2,
      allInPrice: "97369.6",
      vwap: "97418",
      feeBps: "5",
      costBps: "5.4",
      quoteAsset: "USDC",
    }),
    candidate("venuetwo", {
      eligible: true,
      rank: 1,
      selected: true,
      allInPrice: "97373.92",
      vwap: "97418.4",
      feeBps: "4.5",
      costBps: "4.6",
      quoteAsset: "USDT",
    }),
    candidate("venuethree", { eligible: false, reasonCode: "SOMETHING_NEW" }),
    candidate("venuefive", { eligible: false, reasonCode: "CLIENT_SIDE_ONLY" }),
  ];

  it("names the winner first, and the reason why each other lost", () => {
    const view = exitView(reply({}, CANDIDATES));
    expect(view.winner).toEqual({
      venue: "venuetwo",
      price: "97,418.4",
      allIn: "97,373.92",
      cost: "4.60",
      saves: "1.08 USDT",
    });
    expect(view.rows.map((row) => [row.venue, row.why])).toEqual([
      ["venuetwo", "Best all-in price"],
      ["venueone", "0.80 bps worse"],
      ["venuethree", "Something new"],
      ["venuefour", "Not listed here"],
    ]);
  });

  it("has no winner where there is none", () => {
    expect(
      exitView(reply({ recommended: null, reason: null, price: null, savings: "0" }, CANDIDATES.slice(0, 1))).winner,
    ).toBeNull();
  });

  it("reads the candidates of a refusal, and nothing else", () => {
    expect(refusalRows({ candidates: CANDIDATES.slice(0, 1) })).toMatchObject([
      { venue: "venuefour", why: "Not listed here" },
    ]);
    for (const details of [null, undefined, 7, {}, { candidates: "x" }, { candidates: [null, 7, {}] }])
      expect(refusalRows(details)).toEqual([]);
  });
});

describe("the log of status changes", () => {
  const feeds = (state: FeedHealth["state"]) =>
    new Map([["venueone", { state, ageMs: 1, breaker: "closed" as const }]]);

  it("has each once, newest first, with the state before", () => {
    let log = noteFeeds(EMPTY_LOG, feeds("LIVE"), 1);
    const same = noteFeeds(log, feeds("LIVE"), 2);
    expect(same).toBe(log);
    log = noteFeeds(log, feeds("DOWN"), 3);
    expect(log.events).toMatchObject([
      { subject: "venueone", from: "LIVE", to: "DOWN", atMs: 3 },
      { subject: "venueone", from: null, to: "LIVE", atMs: 1 },
    ]);
  });

  it("never grows beyond its bound", () => {
    let log = EMPTY_LOG;
    for (let index = 0; index < 500; index++)
      log = noteState(log, "service", index % 2 === 0 ? "open" : "waiting", index);
    expect(log.events).toHaveLength(MAX_EVENTS);
    expect(log.events[0]?.id).toBe(500);
  });
});

describe("the list of symbols", () => {
  it("begins with the majors, then what most venues list", () => {
    const rows = [
      ["AVAX", "venueone"],
      ["PEPE", "venueone"],
      ["PEPE", "venuetwo"],
      ["ETH", "venueone"],
      ["BTC", "venueone"],
      ["AAVE", "venueone"],
    ].map(([symbol = "", exchange = ""]) => ({ symbol, exchange }));
    expect(symbolsOf(rows)).toEqual(["BTC", "ETH", "PEPE", "AAVE", "AVAX"]);
  });
});
