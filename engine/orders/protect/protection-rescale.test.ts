/** Protection of an entry whose contract its venue lists on another scale before its stops are all sent. */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../domain/instrument.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { ASKER, createHarness, type Harness } from "../test/harness.js";
import { FakeStreams } from "../test/fake-streams.js";

const ACCOUNT = "acct-venueone";
const MARKET = { preferredExchange: "venueone" } as const;
const RESTS = { orderType: "LIMIT", limitPrice: "99000", ...MARKET } as const;
const STOP = { stopLoss: "95000" };

function flat(guard: (count: number) => PlaceFate): Harness {
  const harness = createHarness({
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  harness.one.fate = (command) => (command.trigger === undefined ? { kind: "fill" } : guard(++count));
  return harness;
}

/** What is held is as much as before, counted again. */
function restate({ one }: Harness, qtyDecimals: number): void {
  const before = one.market.instrument;
  Object.assign(one.market, { instrument: { ...before, qtyDecimals } satisfies Instrument });
  one.setPosition(ACCOUNT, "LONG", one.heldLots(ACCOUNT, "LONG") * 10 ** (qtyDecimals - before.qtyDecimals));
}

/** The market comes to the entry, which the venue shows on the scale that it is asked on. */
function fillEntry({ one }: Harness, filled: number): void {
  const [entry] = one.log;
  if (entry?.order == null) throw new Error("no entry is there");
  const size = entry.command.qtyLots / 10 ** entry.command.instrument.qtyDecimals;
  const status = filled === size ? "FILLED" : "PARTIALLY_FILLED";
  one.shownOrder = (order, { qtyDecimals }) => {
    if (order.reduceOnly) return order;
    const lots = (quantity: number): number => Math.round(quantity * 10 ** qtyDecimals);
    return { ...order, status, averagePrice: "99000", qtyLots: lots(size), filledLots: lots(filled) };
  };
  one.setPosition(ACCOUNT, "LONG", Math.round(filled * 10 ** one.market.instrument.qtyDecimals));
}

const sizes = (harness: Harness): readonly number[] =>
  harness.one.log
    .filter(({ command }) => command.reduceOnly)
    .map(({ command }) => command.qtyLots / 10 ** command.instrument.qtyDecimals);

describe("an entry whose contract is listed on another scale", () => {
  it.each([
    ["finer", 4],
    ["coarser", 2],
  ])("which is %s, has its refused stop sent again in its own size", async (_, qtyDecimals) => {
    const harness = flat((count) => (count === 1 ? { kind: "reject", reason: "RATE_LIMITED" } : { kind: "fill" }));
    const data = await harness.openData(STOP, { ...MARKET, size: "0.25" });
    expect(data.execution).toMatchObject({ protection: "FAILED", protectionReason: "RATE_LIMITED" });
    restate(harness, qtyDecimals);
    await harness.clock.advanceAsync(30_000);
    expect(sizes(harness)).toEqual([0.25, 0.25]);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(now?.execution.protectionOrders?.map(({ size }) => size)).toEqual(["0.25", "0.25"]);
  });

  it.each([
    ["finer", 4],
    ["coarser", 2],
  ])("which is %s, has what fills afterwards protected, each part in its own size", async (_, qtyDecimals) => {
    const harness = flat(() => ({ kind: "fill" }));
    const data = await harness.openData(STOP, { ...RESTS, size: "0.25" });
    expect(data.execution).toMatchObject({ state: "RESTING", protection: "NOT_PLACED" });
    restate(harness, qtyDecimals);
    fillEntry(harness, 0.1);
    await harness.clock.advanceAsync(20_000);
    expect(sizes(harness)).toEqual([0.1]);
    fillEntry(harness, 0.25);
    await harness.clock.advanceAsync(20_000);
    expect(sizes(harness)).toEqual([0.1, 0.15]);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", protection: "PLACED" });
  });

  it.each([
    ["finer", 4],
    ["coarser", 2],
  ])("which is %s, has its own size closed where its stop is refused, no more", async (_, qtyDecimals) => {
    const harness = flat(() => ({ kind: "reject", reason: "PRICE" }));
    const wish = { ...STOP, closeOnProtectionFailure: true };
    await harness.openData(wish, { ...RESTS, size: "0.25" });
    restate(harness, qtyDecimals);
    fillEntry(harness, 0.25);
    // Its owner holds more, by other orders.
    harness.one.setPosition(ACCOUNT, "LONG", 3 * 10 ** qtyDecimals);
    await harness.clock.advanceAsync(20_000);
    expect(sizes(harness)).toEqual([0.25, 0.25]);
  });
});
