import { describe, expect, it } from "vitest";
import { scaleText } from "../../engine/domain/decimal.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { deriveChange } from "../../feeds/shared/room/ticker-fields.js";
import { tickerFields } from "../../feeds/venuetwo/ticker.js";
import { compileSerialiser } from "../../schemas/serialise.js";
import { bestTouchSchema, tickerFailureSchema } from "../../schemas/ticker.js";
import { CONTRACTS } from "../../schemas/venues.js";
import { fakeMarket, loadBook } from "../test/fake-room.js";
import { AggregateText, TICKER_STALE_MS, TickerText } from "./ticker-text.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

const serialise = compileSerialiser(CONTRACTS.venuetwo.ticker.schema);

function setup() {
  const clock = new VirtualClock();
  clock.advance(1000);
  const market = fakeMarket(anInstrument({ venue: "venuetwo" }));
  loadBook(market.book, [[974_100, 5]], [[974_200, 5]], clock.monoNs());
  market.ticker.markPrice = "97421.5";
  market.ticker.stamp(clock.wallMs(), clock.monoNs());
  let count = 0;
  const text = new TickerText(market, clock, (shown, state) => {
    count++;
    return serialise(tickerFields(shown, state, 0));
  });
  return { clock, market, text, serialised: () => count };
}

describe("TickerText", () => {
  it("equals the serialiser's output at every moment", () => {
    const { clock, market, text } = setup();
    for (let step = 0; step < 200; step++) {
      if (step % 7 === 0) {
        market.ticker.markPrice = String(90_000 + step);
        market.ticker.stamp(clock.wallMs(), clock.monoNs());
      }
      if (step % 31 === 0) market.book.invalidate("SEQUENCE_GAP");
      if (step % 31 === 5) loadBook(market.book, [[974_100, 5]], [[974_200, 5]], clock.monoNs());
      const reply = JSON.parse(text.reply()) as { data: { ageMs: number; state: string }; timestamp: number };
      const age = Math.ceil((clock.monoNs() - market.ticker.tsRecvNs) / 1e6);
      const state = market.book.state === 2 ? (age > TICKER_STALE_MS ? "STALE" : "LIVE") : "SYNCING";
      expect(reply).toEqual({
        success: true,
        data: JSON.parse(serialise(tickerFields(market, state, age))),
        timestamp: clock.wallMs(),
      });
      clock.advance(step % 3);
    }
  });

  it("serialises again only when the ticker or the state changed", () => {
    const { clock, text, serialised } = setup();
    for (let step = 0; step < 1000; step++) {
      text.reply();
      clock.advance(1);
    }
    expect(serialised()).toBe(1);
    clock.advance(TICKER_STALE_MS);
    expect(text.reply()).toContain('"state":"STALE"');
    expect(serialised()).toBe(2);
  });

  it("returns the same text within a millisecond", () => {
    const { text } = setup();
    expect(text.reply()).toBe(text.reply());
  });

  it("shows within one millisecond why a book is broken", () => {
    const { clock, market, text } = setup();
    const part = { venue: "venuetwo", ticker: text, failure: "", withheld: false } as const;
    const aggregate = new AggregateText([part], clock, compileSerialiser(bestTouchSchema));
    market.book.invalidate("SEQUENCE_GAP");
    for (const reply of [text, aggregate]) expect(reply.reply()).toContain('"state":"SYNCING"');
    market.book.invalidate("DISCONNECTED");
    for (const reply of [text, aggregate]) expect(reply.reply()).toContain('"state":"DOWN"');
    loadBook(market.book, [[974_100, 5]], [[974_200, 5]], clock.monoNs());
    for (const reply of [aggregate, text]) expect(reply.reply()).toContain('"state":"LIVE"');
  });

  it("is not misled by a mark inside a text field", () => {
    const clock = new VirtualClock();
    clock.advance(5);
    const market = fakeMarket(anInstrument({ venue: "venuetwo", nativeSymbol: '"ageMs":0' }));
    loadBook(market.book, [[1, 1]], [[2, 1]], clock.monoNs());
    market.ticker.stamp(1, clock.monoNs());
    clock.advance(40);
    const text = new TickerText(market, clock, (shown, state) => serialise(tickerFields(shown, state, 0)));
    expect(JSON.parse(text.reply())).toMatchObject({ data: { asterSymbol: '"ageMs":0', ageMs: 40 } });
  });
});

describe("AggregateText", () => {
  it("keeps a stale book out of the best touch, and never mixes one venue's failure into another", () => {
    const clock = new VirtualClock();
    clock.advance(1000);
    const markets = (["venueone", "venuetwo"] as const).map((venue) => fakeMarket(anInstrument({ venue })));
    const [one, two] = markets as [(typeof markets)[0], (typeof markets)[0]];
    loadBook(one.book, [[974_100, 5]], [[974_200, 5]], clock.monoNs());
    clock.advance(1500);
    loadBook(two.book, [[974_000, 5]], [[974_300, 5]], clock.monoNs());
    const failure = compileSerialiser(tickerFailureSchema)({
      error: "e",
      code: "VENUE_UNAVAILABLE",
      availableSymbols: [],
    });
    const text = new AggregateText(
      [
        { venue: "venueone", ticker: new TickerText(one, clock, () => "{}"), failure, withheld: false },
        { venue: "venuetwo", ticker: new TickerText(two, clock, () => "{}"), failure, withheld: false },
        { venue: "venuethree", ticker: null, failure, withheld: false },
      ],
      clock,
      compileSerialiser(bestTouchSchema),
    );
    const best = () => (JSON.parse(text.reply()) as { data: { best: unknown } }).data.best;
    expect(best()).toEqual({ bid: "97410", ask: "97420", venueBid: "venueone", venueAsk: "venueone" });
    clock.advance(501);
    expect(best()).toEqual({ bid: "97400", ask: "97430", venueBid: "venuetwo", venueAsk: "venuetwo" });
    two.book.invalidate("SEQUENCE_GAP");
    expect(best()).toEqual({ bid: null, ask: null, venueBid: null, venueAsk: null });
  });
});

describe("payload numbers", () => {
  it.each([
    ["0.0071237", -3, "0.0000071237"],
    ["700000000", 3, "700000000000"],
    ["12.50", 0, "12.5"],
    ["-0.00010000", 0, "-0.0001"],
    ["0", -3, "0"],
    ["", 0, null],
    ["1e-5", 0, null],
    ["NaN", 0, null],
  ])("%s × 10^%i is %s", (text, exponent, expected) => {
    expect(scaleText(text, exponent)).toBe(expected);
  });

  it("derives the change exactly", () => {
    expect(deriveChange("97420", "96000")).toEqual({ percent: "1.4792", absolute: "1420" });
    expect(deriveChange("0.1", "0.3")).toEqual({ percent: "-66.6667", absolute: "-0.2" });
    expect(deriveChange("1", "0")).toEqual({ percent: null, absolute: "1" });
    expect(deriveChange("", "1")).toEqual({ percent: null, absolute: null });
  });
});
