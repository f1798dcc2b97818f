/** The account as text: positions, orders, coverage, the ticket of a close, the form's fields. */
import { describe, expect, it } from "vitest";
import type { OrdersData, PositionsData } from "../stream/topics.js";
import { coverageChips, orderRows, positionRows, totalPnl } from "./account.js";
import { readAccountFields } from "./account-fields.js";
import { type CloseData, closeBody, dryRunBody, outcomeOf, ticketOf } from "./close-ticket.js";

const NOW = 1_790_000_010_000;
const tickOf = (exchange: string) => (exchange === "venueone" ? "0.1" : null);

function position(fields: object): Record<string, unknown> {
  return { symbol: "BTC", exchange: "venueone", direction: "LONG", size: "0.5", entryPrice: "91000", ...fields };
}

function positionsOf(...rows: Record<string, unknown>[]): PositionsData {
  const positions = new Map(rows.map((row, index) => [`${row["exchange"]}|${row["symbol"]}|${index}`, row]));
  return { topic: "positions", symbol: "", positions, coverage: new Map(), events: [] };
}

function ordersOf(...rows: Record<string, unknown>[]): OrdersData {
  const orders = new Map(rows.map((row, index) => [`${row["exchange"]}|${index}`, row]));
  return { topic: "orders", symbol: "", orders, coverage: new Map(), event: null };
}

describe("the position rows", () => {
  it("are shown in steps of their market, with the distance to the liquidation", () => {
    const data = positionsOf(
      position({
        markPrice: "92345.6789",
        liquidationPrice: "83111.11",
        unrealizedPnl: "672.839",
        unrealizedPnlPercent: "14.7877",
        asOf: NOW - 1_250,
      }),
    );
    expect(positionRows(data, NOW, tickOf)).toMatchObject([
      {
        symbol: "BTC",
        direction: "LONG",
        size: "0.5",
        entry: "91,000.0",
        mark: "92,345.7",
        pnl: "+672.84",
        pnlPercent: "+14.79 %",
        sign: 1,
        distance: "10.00 %",
        liquidation: "at 83,111.1",
        age: "1.2 s",
      },
    ]);
  });

  it("leave unknown figures out", () => {
    const [row] = positionRows(positionsOf(position({ markPrice: "abc", asOf: "x" })), NOW, tickOf);
    expect(row).toMatchObject({
      mark: "–",
      pnl: "–",
      sign: 0,
      distance: "–",
      liquidation: "no liquidation price",
      age: "–",
    });
  });

  it("keep their places: by symbol, then by venue", () => {
    const data = positionsOf(
      position({ symbol: "ETH", exchange: "venuetwo" }),
      position({ exchange: "venuefour" }),
      position({ symbol: "ETH" }),
      position({ exchange: "venuetwo" }),
    );
    expect(positionRows(data, NOW, tickOf).map(({ symbol, exchange }) => `${symbol} ${exchange}`)).toEqual([
      "BTC venuetwo",
      "BTC venuefour",
      "ETH venueone",
      "ETH venuetwo",
    ]);
  });

  it("have an exact sum, or none", () => {
    const [a, b] = [position({ unrealizedPnl: "0.1" }), position({ symbol: "ETH", unrealizedPnl: "0.2" })];
    expect(totalPnl(positionsOf(a, b))).toBe("0.3");
    expect(totalPnl(positionsOf(a, position({})))).toBeNull();
    expect(totalPnl(positionsOf())).toBeNull();
  });
});

describe("the rows of open orders", () => {
  it("show what filled and the trigger price", () => {
    const stop = {
      symbol: "BTC",
      exchange: "venueone",
      orderId: "7",
      side: "SELL",
      type: "STOP_MARKET",
      quantity: "0.5",
      filledQuantity: "0.125",
      price: "0",
      triggerPrice: "90000",
      reduceOnly: true,
      timestamp: NOW - 60_000,
    };
    expect(orderRows(ordersOf(stop), NOW, tickOf)).toMatchObject([
      {
        orderId: "7",
        side: "SELL",
        type: "STOP MARKET, reduce only",
        size: "0.5",
        filled: "0.125 filled",
        price: "–",
        trigger: "from 90,000.0",
        age: "60 s",
      },
    ]);
  });
});

describe("the coverage of an account", () => {
  const part = (state: string, errorCode: string | null = null) => ({ state, mode: "push", asOf: NOW, errorCode });
  it("is shown by venue, as the worse of positions and orders", () => {
    const positions = {
      ...positionsOf(),
      coverage: new Map([
        ["venueone", part("LIVE")],
        ["venuetwo", part("AUTH_REQUIRED")],
        ["venuethree", part("LIVE", "POSITION_UNLISTED")],
        ["venuefive", { ...part("LIVE"), mode: "poll" }],
      ]),
    };
    const orders = {
      ...ordersOf(),
      coverage: new Map([
        ["venueone", part("SNAPSHOT")],
        ["venuefour", part("ERROR", "VENUE_UNAVAILABLE")],
        // Its orders are not streamed, which takes nothing from its positions.
        ["venuefive", part("ERROR", "NOT_APPLICABLE")],
      ]),
    };
    expect(coverageChips(positions, orders)).toEqual([
      { venue: "venueone", words: "as last read", isWhole: true },
      { venue: "venuetwo", words: "needs a key to be seen", isWhole: false },
      { venue: "venuethree", words: "streamed and checked, not all of it: position unlisted", isWhole: false },
      { venue: "venuefour", words: "not known now: venue unavailable", isWhole: false },
      { venue: "venuefive", words: "read with each block", isWhole: true },
    ]);
    const none = { ...positionsOf(), coverage: new Map([["venuefive", part("ERROR", "NOT_CONFIGURED")]]) };
    expect(coverageChips(none, null)).toEqual([]);
    expect(coverageChips(null, null)).toEqual([]);
  });
});

describe("a close from the page", () => {
  const ask = { symbol: "BTC", direction: "LONG", size: "0.5", exchange: null } as const;
  const KEYS = { venueone: { privateKey: "0xkey" } };
  const data = (execution: object, more: object = {}) =>
    ({
      executedOn: "venueone",
      routing: {
        routeId: "rt_1",
        recommended: "venueone",
        reason: "BEST_ALL_IN_PRICE",
        price: "92000",
        savings: "3.2",
        candidates: [
          { exchange: "venueone", eligible: true, rank: 1, allInPrice: "91990.5", costBps: "4.5", quoteAsset: "USDC" },
          { exchange: "venuetwo", eligible: true, rank: 2, allInPrice: "91980", costBps: "6.75" },
          { exchange: "venuethree", eligible: false, reasonCode: "NO_POSITION" },
        ],
      },
      execution: {
        filledSize: "0",
        requestedSize: "0.5",
        remainingSize: "0.5",
        adjustments: [],
        legs: [],
        ...execution,
      },
      ...more,
    }) as unknown as CloseData;

  it("begins with a dry run, then sends the quote that was shown, on one venue where one was chosen", () => {
    expect(dryRunBody(ask, KEYS)).toEqual({
      symbol: "BTC",
      direction: "LONG",
      size: "0.5",
      credentials: KEYS,
      dryRun: true,
      quoteTtlMs: 15_000,
    });
    expect(closeBody({ ...ask, exchange: "venuetwo" }, KEYS, "qt_1")).toEqual({
      symbol: "BTC",
      direction: "LONG",
      size: "0.5",
      credentials: KEYS,
      preferredExchange: "venuetwo",
      quoteId: "qt_1",
    });
  });

  it("has a ticket: the venue, the proceeds, the runner-up, the worst price, the time left", () => {
    const quote = { quoteId: "qt_1", expiresAt: NOW + 14_000, worstPrice: "91070.1" };
    const adjustments = [
      { field: "price", from: "91070.07", to: "91070.1", rule: "tick" },
      { field: "size", from: "0.50001", to: "0.5", rule: "lot" },
    ];
    expect(ticketOf(data({ adjustments }, { quote }), NOW)).toEqual({
      quoteId: "qt_1",
      venue: "venueone",
      allIn: "91,990.5",
      cost: "4.50 bps",
      runnerUp: "venuetwo, 2.25 bps worse",
      worst: "91,070.1",
      lifeMs: 14_000,
      changes: ["0.50001 → 0.5"],
    });
    expect(ticketOf(data({}), NOW)).toBeNull();
  });

  it.each([
    ["COMPLETED", { filledSize: "0.5", averagePrice: "92000" }, "good", "Closed 0.5 at 92,000 on venueone."],
    [
      "PARTIAL",
      { filledSize: "0.2", averagePrice: "92000", remainingSize: "0.3" },
      "open",
      "Closed 0.2 at 92,000 on venueone, of 0.5 asked for; 0.3 is still open.",
    ],
    [
      "PARTIAL",
      { filledSize: "0.2", averagePrice: "92000", remainingSize: null },
      "open",
      "Closed 0.2 at 92,000 on venueone, of 0.5 asked for; the rest is not known.",
    ],
    ["NOOP", {}, "good", "Nothing was open any more; nothing was sent."],
    [
      "REJECTED",
      { legs: [{ venueText: "Too fast.", reason: "RATE_LIMITED" }] },
      "bad",
      "Nothing was closed. The venue refused it: Too fast.",
    ],
    ["REJECTED", {}, "bad", "Nothing was closed. The venue refused it."],
    [
      "UNKNOWN",
      {},
      "open",
      "Sent, and not ended yet (unknown): the positions show what comes of it. Its name is rt_1.",
    ],
  ])("is described as text when it is %s", (state, execution, kind, text) => {
    expect(outcomeOf(data({ state, ...execution }))).toEqual({ kind, text });
  });
});

describe("the account form", () => {
  const walletAddress = `0x${"aB".repeat(20)}`;
  it("reads fields that belong together", () => {
    expect(readAccountFields({ walletAddress: ` ${walletAddress} ` })).toEqual({
      ok: true,
      account: { walletAddress, credentials: {} },
    });
    const fields = {
      walletAddress,
      "venueone.privateKey": "0x1",
      "venuetwo.apiKey": "k",
      "venuetwo.apiSecret": "s",
      "venuethree.apiKeyPrivateKey": "p",
      "venuethree.accountIndex": "501",
      "venuethree.apiKeyIndex": "5",
      "venuefour.apiKey": "a",
      "venuefour.apiSecret": "b",
    };
    expect(readAccountFields(fields)).toEqual({
      ok: true,
      account: {
        walletAddress,
        credentials: {
          venueone: { privateKey: "0x1" },
          venuetwo: { apiKey: "k", apiSecret: "s" },
          venuethree: { apiKeyPrivateKey: "p", accountIndex: 501, apiKeyIndex: 5 },
          venuefour: { apiKey: "a", apiSecret: "b" },
        },
      },
    });
  });

  it.each([
    [{}, "The wallet address is 0x and 40 hex digits."],
    [{ walletAddress, "venuetwo.apiSecret": "s3cret" }, "venuetwo needs its key and its secret."],
    [{ walletAddress, "venuethree.accountIndex": "1" }, "venuethree needs its key and its account index."],
    [
      { walletAddress, "venuethree.apiKeyPrivateKey": "s3cret", "venuethree.accountIndex": "-1" },
      "The account index of venuethree is a whole number.",
    ],
    [
      {
        walletAddress,
        "venuethree.apiKeyPrivateKey": "s3cret",
        "venuethree.accountIndex": "1",
        "venuethree.apiKeyIndex": "256",
      },
      "The API key index of venuethree is a whole number up to 255.",
    ],
    [{ walletAddress, "venuefour.apiKey": "s3cret" }, "venuefour needs its key and its secret."],
  ])("refuses incomplete fields, without showing their content", (fields, problem) => {
    expect(readAccountFields(fields)).toEqual({ ok: false, problem });
  });
});
