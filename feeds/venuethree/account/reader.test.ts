/** Account reads of venuethree against a scripted venue: recorded answers, traps, and what is refused. Orders apart. */
import { describe, expect, it } from "vitest";
import { ADDRESS, account, answerOf, position, ready } from "../test/account-rows.js";
import {
  ACCOUNT,
  accountFixture,
  BTC,
  createHarness,
  type Harness,
  OPTIONS,
  PEPE,
  PUBLIC_KEY,
  settledOver,
} from "../test/trading-harness.js";

describe("of the positions of venuethree,", () => {
  it("a read takes sign, mode, leverage and mark, and asks without a token", async () => {
    const { harness, session } = ready();
    harness.offsetMs = 300;
    harness.http.reply(
      200,
      answerOf(
        account({
          positions: [
            position(),
            position({
              market_id: 0,
              symbol: "ETH",
              sign: -1,
              position: "0.5000",
              avg_entry_price: "2345.67",
              position_value: "1000.000000",
              margin_mode: 1,
              allocated_margin: "50.000000",
              liquidation_price: "2600.5",
              initial_margin_fraction: "33.34",
            }),
          ],
        }),
      ),
    );
    const read = await harness.trading.reader.readPositions(session, null, OPTIONS);
    expect(harness.http.last).toMatchObject({ path: `/api/v1/account?by=index&value=${ACCOUNT}`, headers: {} });
    expect(read).toMatchObject({ ok: true, source: "venue" });
    expect(read.ok && read.value).toEqual([
      {
        venue: "venuethree",
        symbol: "BTC",
        nativeSymbol: "BTC",
        direction: "LONG",
        positionSide: "BOTH",
        qtyLots: 2_500,
        entryPrice: "83100",
        markPrice: "83160",
        liquidationPrice: null,
        unrealizedPnl: "1.5",
        leverage: 20,
        marginMode: "cross",
        collateral: null,
        tsVenueMs: harness.clock.wallMs() + 20 + 300,
      },
      expect.objectContaining({
        symbol: "ETH",
        direction: "SHORT",
        qtyLots: 5_000,
        markPrice: "2000",
        liquidationPrice: "2600.5",
        leverage: 3,
        marginMode: "isolated",
        collateral: "50",
      }),
    ]);
  });

  it("a market that left the list is held without lots, and not flat", async () => {
    const { harness, session } = ready();
    const gone = position({ market_id: 77, symbol: "GONE", position: "12.50", sign: -1 });
    const flat = position({ market_id: 78, symbol: "FLAT", position: "0.00" });
    harness.http.reply(200, answerOf(account({ positions: [gone, flat] })));
    const read = await harness.trading.reader.readPositions(session, null, OPTIONS);
    expect(read.ok && read.value).toMatchObject([
      { symbol: "GONE", nativeSymbol: "GONE", direction: "SHORT", qtyLots: 0, uncounted: "12.50" },
    ]);
  });

  it("a flat row, recorded with its zero below zero, is no position; a contract of 1000 units is quoted per unit", async () => {
    const { harness, session } = ready();
    const flat = (
      JSON.parse(accountFixture("live-ws-account-all-positions-update-flat")) as { positions: Record<string, unknown> }
    ).positions["1"];
    const pepe = position({
      market_id: 4,
      symbol: "1000PEPE",
      position: "7",
      avg_entry_price: "0.012345",
      position_value: "0.086415",
      sign: -1,
    });
    harness.http.reply(200, answerOf(account({ positions: [flat, pepe] })));
    const read = await harness.trading.reader.readPositions(session, null, OPTIONS);
    expect(read.ok && read.value).toMatchObject([
      { symbol: "PEPE", qtyLots: 7, entryPrice: "0.000012345", markPrice: "0.000012345" },
    ]);
    expect(PEPE.multiplierExp10).toBe(3);
  });

  it.each<[string, Record<string, unknown>]>([
    ["a size finer than a lot", { position: "0.000001" }],
    ["a sign of 2", { sign: 2 }],
    ["an open row without a sign", { sign: 0 }],
    ["an unknown margin mode", { margin_mode: 7 }],
    ["no entry price", { avg_entry_price: null }],
    ["a number for a size", { position: 0.025 }],
  ])("%s fails the whole read: what is left out would look flat", async (_what, changes) => {
    const { harness, session } = ready();
    harness.http.reply(
      200,
      answerOf(account({ positions: [position({ market_id: 0, symbol: "ETH", position: "1" }), position(changes)] })),
    );
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("a read takes no answer about another account for this one", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, answerOf(account({ index: 517, account_index: 517 })));
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("an address has those of all its accounts, over all pages, and none where the venue knows it not", async () => {
    const harness = createHarness();
    const opened = harness.trading.openAddress(ADDRESS, null);
    if (!opened.ok) throw new Error(opened.problem);
    harness.http.reply(200, { ...answerOf(account()), next_cursor: "x/1" });
    harness.http.reply(
      200,
      answerOf(account({ index: 281_474_976_710_600, positions: [position({ position: "1.00000", sign: -1 })] })),
    );
    const read = await harness.trading.reader.readPositions(opened.session, BTC, OPTIONS);
    expect(read.ok && read.value.map(({ qtyLots, direction }) => [direction, qtyLots])).toEqual([
      ["LONG", 2_500],
      ["SHORT", 100_000],
    ]);
    expect(harness.http.last.path).toBe(`/api/v1/account?by=l1_address&value=${ADDRESS}&cursor=x%2F1`);
    harness.http.reply(400, { code: 21100, message: "account not found" });
    expect(await harness.trading.reader.readPositions(opened.session, null, OPTIONS)).toMatchObject({
      ok: true,
      value: [],
    });
  });
});

describe("of tokens and keys of venuethree,", () => {
  it("there is one token per session until shortly before its end, then another; a refused one is made again", async () => {
    const { harness, session } = ready();
    const read = async (): Promise<string> => {
      harness.http.reply(200, { code: 200, orders: [] });
      await harness.trading.reader.readOpenOrders(session, null, OPTIONS);
      return harness.http.last.headers["authorization"] ?? "";
    };
    const first = await read();
    harness.clock.advance(8 * 60_000);
    expect(await read()).toBe(first);
    harness.clock.advance(61_000);
    const second = await read();
    expect(second).not.toBe(first);
    harness.http.reply(401, accountFixture("live-http-auth-deadline-too-far"));
    expect(await harness.trading.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "AUTH",
    });
    harness.confirmKey();
    expect(await read()).not.toBe(second);
    expect(JSON.stringify(harness.logLines)).not.toContain(first.split(":")[3] ?? "none");
  });

  it.each<[string, Record<string, unknown>, unknown[], string]>([
    [
      "another key",
      {},
      [{ account_index: ACCOUNT, api_key_index: 4, nonce: 1, public_key: "00".repeat(40) }],
      "not registered",
    ],
    ["no key", {}, [], "not registered"],
    [
      "another index",
      { apiKeyIndex: 4 },
      [{ account_index: ACCOUNT, api_key_index: 5, nonce: 1, public_key: PUBLIC_KEY }],
      "apiKeyIndex",
    ],
  ])("AUTH for %s, remembered for two seconds", async (_what, extra, keys, text) => {
    const harness = createHarness();
    const session = harness.open(extra);
    harness.http.reply(200, { code: 200, api_keys: keys });
    for (let times = 0; times < 2; times++)
      expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({
        ok: false,
        code: "AUTH",
        message: expect.stringContaining(text) as string,
      });
    expect(harness.http.requests).toHaveLength(1);
  });

  it("a key that was not registered is asked for again two seconds later, also where our wall clock was set back by an hour", async () => {
    const harness = createHarness();
    const session = harness.open();
    harness.http.reply(200, { code: 200, api_keys: [] });
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({ code: "AUTH" });
    harness.clock.stepWall(-3_600_000);
    harness.clock.advance(2_001);
    harness.confirmKey().http.reply(200, answerOf(account()));
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({ ok: true });
  });

  it("a key is asked for once for many calls at a time, and again when the answer is old", async () => {
    const { harness, session } = ready();
    for (let count = 0; count < 3; count++) harness.http.reply(200, answerOf(account()));
    await Promise.all([1, 2, 3].map(() => harness.trading.reader.readPositions(session, null, OPTIONS)));
    expect(harness.http.requests.filter(({ path }) => path.includes("apikeys"))).toHaveLength(1);
    harness.clock.advance(11 * 60_000);
    harness.confirmKey().http.reply(200, answerOf(account()));
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({ ok: true });
  });

  it.each<[string, Parameters<Harness["http"]["reply"]>, string]>([
    ["a limit", [429, { code: 23000, message: "Too Many Requests!" }, { "retry-after": "3" }], "RATE_LIMITED"],
    [
      "a missing token",
      [400, { code: 20001, message: "invalid param : auth query param and Authorization header are empty" }],
      "AUTH",
    ],
    ["another parameter", [400, { code: 20001, message: "invalid param : limit" }], "VENUE_ERROR"],
    ["a server error", [500, "oops"], "VENUE_ERROR"],
    ["half an answer", [200, '{"code":200,"orders":['], "BAD_RESPONSE"],
    ["a refusal under 200", [200, { code: 29500, message: "internal server error" }], "VENUE_ERROR"],
  ])("%s is a failure of its own kind", async (_what, reply, code) => {
    const { harness, session } = ready();
    harness.http.reply(...reply);
    expect(await harness.trading.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({ ok: false, code });
  });
});

describe("balances, fees, summary", () => {
  it("adds collateral and spot balance of one asset, exactly", async () => {
    const { harness, session } = ready();
    const assets = [
      { symbol: "USDC", balance: "10.000001", locked_balance: "4.000000", margin_balance: "1000.000000" },
      { symbol: "ETH", balance: "7.1072", locked_balance: "0.1000" },
      { symbol: "LIT", balance: "0.0000", locked_balance: "0.0000" },
    ];
    harness.http.reply(200, answerOf(account({ assets })));
    const read = await harness.trading.reader.readBalances(session, OPTIONS);
    expect(read.ok && read.value).toEqual([
      { asset: "USDC", total: "1010.000001", available: "906.000001" },
      { asset: "ETH", total: "7.1072", available: "7.0072" },
    ]);
  });

  it("sums margins of isolated positions into what is used", async () => {
    const { harness, session } = ready();
    const isolated = position({ margin_mode: 1, allocated_margin: "25.250000" });
    harness.http.reply(
      200,
      answerOf(account({ positions: [position({ market_id: 0, symbol: "ETH", position: "0.0000" }), isolated] })),
    );
    expect(await harness.trading.reader.readAccount(session, OPTIONS)).toMatchObject({
      ok: true,
      value: { equity: "1001.5", marginUsed: "125.25", free: "900", maintenanceMargin: "60", quoteAsset: "USDC" },
    });
  });

  it("reads fee ticks of 1e-6 as thousandths of a basis point", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, {
      code: 200,
      user_tier: "premium",
      current_maker_fee_tick: 28,
      current_taker_fee_tick: 196,
    });
    expect(await harness.trading.reader.readFeeRates(session, BTC, OPTIONS)).toMatchObject({
      ok: true,
      value: { makerFeeMilliBps: 280, takerFeeMilliBps: 1_960 },
    });
  });
});

describe("of the settings of venuethree,", () => {
  it("a market without a row has the market's own default, and an unchanged setting sends nothing", async () => {
    const { harness, session } = ready();
    const { settings } = harness.trading;
    const untouched = (): void => {
      harness.http.reply(200, answerOf(account({ positions: [] })));
      harness.http.reply(200, { code: 200, order_book_details: [{ default_initial_margin_fraction: 500 }] });
    };
    untouched();
    expect(await settings.read(session, BTC, OPTIONS)).toMatchObject({
      ok: true,
      value: { leverage: 20, marginMode: "cross" },
    });
    untouched();
    expect(await settings.setLeverage(session, BTC, 20, OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(harness.sent()).toHaveLength(0);
    untouched();
    harness.acceptTx();
    harness.http.reply(200, { code: 200, status: 2, event_info: JSON.stringify({ ae: "" }) });
    const changed = settings.setMarginMode(session, BTC, "isolated", OPTIONS);
    expect(await settledOver(harness.clock, changed)).toMatchObject({
      outcome: "accepted",
      settings: { leverage: 20, marginMode: "isolated" },
    });
    expect(harness.sent()[0]).toMatchObject({
      type: 20,
      isSigned: true,
      fields: { InitialMarginFraction: 500, MarginMode: 1 },
    });
  });

  it("a failed read changes nothing and says so", async () => {
    const { harness, session } = ready();
    harness.http.reply(500, "");
    expect(await harness.trading.settings.setLeverage(session, BTC, 5, OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
    expect(harness.sent()).toHaveLength(0);
  });
});
