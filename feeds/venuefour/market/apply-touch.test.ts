import { describe, expect, it } from "vitest";
import { isTouchNewer } from "../../../engine/market/touch.js";
import { frameFixtures } from "../fixtures/load.js";
import { bboBytes, GOOD, NEXT, setup } from "../test/applier-harness.js";
import { APPLIED, DRIFT, OUTDATED, REFUSED } from "./applied.js";
import { decodeFrame } from "./decode.js";

describe("the touch", () => {
  it("is seeded from the book, which decides at equal times", () => {
    const { market, book } = setup();
    book(GOOD, 5);
    expect(market.touch).toMatchObject({ present: true, bidTicks: 63_515, bidLots: 15_744, askTicks: 63_529 });
    expect(market.touch).toMatchObject({ askLots: 13_874, tsVenueMs: 1_000, tsRecvNs: 5 });
    expect(isTouchNewer(market.touch, market.book)).toBe(false);
  });

  it("of a one-sided book has one side, and an empty book seeds none", () => {
    const { market, book } = setup();
    book({ t: 1_000, bids: [], asks: [] });
    expect(market.touch.present).toBe(false);
    book({ t: 1_001, bids: [["63515", "1"]], asks: [] });
    expect(market.touch).toMatchObject({ present: true, bidTicks: 63_515, askLots: 0 });
  });

  it("of the stream is newer than the book while its time is, and a tie goes to the book", () => {
    const { market, book, touch } = setup();
    book(GOOD);
    expect(touch(bboBytes(1_010, ["63516", "0.5"], ["63529", "0.1"]), 6)).toBe(APPLIED);
    expect(market.touch).toMatchObject({ bidTicks: 63_516, bidLots: 50_000, tsVenueMs: 1_010, tsRecvNs: 6 });
    expect(isTouchNewer(market.touch, market.book)).toBe(true);
    book({ ...NEXT, t: 1_010 });
    expect(isTouchNewer(market.touch, market.book)).toBe(false);
    expect(market.touch.bidTicks).toBe(63_516);
  });

  it("older by time changes nothing; of one millisecond the higher sequence counts, and an equal one", () => {
    const { market, touch } = setup();
    touch(bboBytes(2_000, ["63500", "1"], ["63510", "1"], 50));
    expect(touch(bboBytes(1_999, ["1", "1"], ["2", "1"], 60))).toBe(OUTDATED);
    expect(touch(bboBytes(2_000, ["1", "1"], ["2", "1"], 49))).toBe(OUTDATED);
    expect(touch(bboBytes(2_000, ["63501", "1"], ["63510", "1"], 50))).toBe(APPLIED);
    expect(market.touch.bidTicks).toBe(63_501);
  });

  it("of the recording is taken frame by frame, as its sequence never falls", () => {
    const { market, touch } = setup();
    for (const { text } of frameFixtures("bbo-")) expect(touch(Buffer.from(text))).toBe(APPLIED);
    expect(market.touch).toMatchObject({ bidTicks: 63_458, askTicks: 63_474 });
  });

  it("too fine or crossed is cleared: then the book alone counts, and nothing older comes back", () => {
    const { market, touch } = setup();
    touch(bboBytes(1_000, ["63500", "1"], ["63510", "1"]));
    expect(touch(bboBytes(2_000, ["63500.5", "1"], ["63510", "1"]))).toBe(DRIFT);
    expect(market.touch.present).toBe(false);
    touch(bboBytes(3_000, ["63500", "1"], ["63510", "1"]));
    expect(touch(bboBytes(4_000, ["63510", "1"], ["63510", "1"]))).toBe(REFUSED);
    expect(market.touch.present).toBe(false);
    expect(touch(bboBytes(3_500, ["63500", "1"], ["63510", "1"]))).toBe(OUTDATED);
  });

  it("comes out the same by the reference decoder, an absent side and a zero one alike", () => {
    const fast = setup();
    const slow = setup();
    const frame = bboBytes(1_000, ["0", "0"], ["63510", "0.5"], 7);
    const absent = decodeFrame(
      Buffer.from(JSON.stringify({ channel: "bbo", data: { A: "0.5", a: "63510", li: 7, s: "BTC", t: 1_000 } })),
    );
    if (absent.kind !== "bbo") throw new Error("not a touch");
    expect(fast.touch(frame, 3)).toBe(APPLIED);
    expect(slow.applier.touch.applyDecoded(absent.bbo, 3)).toBe(APPLIED);
    const { onChange: _fastListener, ...fastTouch } = fast.market.touch;
    const { onChange: _slowListener, ...slowTouch } = slow.market.touch;
    expect(slowTouch).toEqual(fastTouch);
  });
});
