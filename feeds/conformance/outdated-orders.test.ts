/**
 * Orders that were formed before the venue's list changed, in every room: none leaves on an old grid. Once no room looks
 * at the present terms, what leaves shows it.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { OrderCommand, PlaceOutcome } from "../../engine/domain/order.js";
import * as four from "../venuefour/test/trading-harness.js";
import * as one from "../venueone/test/trading-harness.js";
import * as three from "../venuethree/test/trading-harness.js";
import * as two from "../venuetwo/test/trading-harness.js";

/** Orders are held to no present terms. */
const planted = vi.hoisted(() => ({ isAnyGridTaken: false }));
vi.mock(import("../shared/room/listing-terms.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    outdatedProblem: (...order) => (planted.isAnyGridTaken ? null : original.outdatedProblem(...order)),
  };
});

afterEach(() => {
  planted.isAnyGridTaken = false;
});

interface Bench {
  readonly close: OrderCommand;
  readonly instruments: Map<string, Instrument>;
  place(command: OrderCommand): Promise<PlaceOutcome>;
  sentCount(): number;
}

const BENCHES: Readonly<Record<string, () => Bench>> = {
  venueone: () => {
    const harness = one.createHarness();
    const session = harness.open();
    return {
      close: one.CLOSE_LONG,
      instruments: harness.instruments,
      place: (command) => harness.trading.orders.place(session, command, one.OPTIONS),
      sentCount: () => harness.http.requests.length,
    };
  },
  venuetwo: () => {
    const harness = two.createHarness();
    const session = harness.open();
    return {
      close: two.CLOSE_LONG,
      instruments: harness.instruments,
      place: (command) => harness.trading.orders.place(session, command, two.OPTIONS),
      sentCount: () => harness.http.requests.length,
    };
  },
  venuethree: () => {
    const harness = three.createHarness();
    const session = harness.open();
    return {
      close: three.CLOSE_LONG,
      instruments: harness.instruments,
      place: (command) => harness.trading.orders.place(session, command, three.OPTIONS),
      sentCount: () => harness.http.requests.length,
    };
  },
  venuefour: () => {
    const harness = four.createHarness();
    const session = harness.open();
    return {
      close: four.CLOSE_LONG,
      instruments: harness.instruments,
      place: (command) => harness.trading.orders.place(session, command, four.OPTIONS),
      sentCount: () => harness.http.requests.length,
    };
  },
};

const ANEW = { reason: "VENUE_STATE", venueCode: "RULES_CHANGED" };
const CHANGES: readonly {
  readonly name: string;
  readonly change: Partial<Instrument>;
  readonly order?: Partial<OrderCommand>;
  readonly refusal: object;
}[] = [
  { name: "a finer tick", change: { priceDecimals: 6 }, refusal: ANEW },
  { name: "a finer lot", change: { qtyDecimals: 6 }, refusal: ANEW },
  { name: "another number", change: { nativeId: 77 }, refusal: ANEW },
  { name: "another contract under its symbol", change: { nativeSymbol: "BTCUSD1" }, refusal: ANEW },
  {
    name: "a coarser lot",
    change: { qtyStepLots: 7_919 },
    refusal: { reason: "SIZE", venueCode: "RULES_CHANGED" },
  },
  { name: "a higher minimum", change: { minQtyLots: 1e9 }, refusal: { reason: "SIZE", venueCode: "RULES_CHANGED" } },
  { name: "a lower maximum", change: { maxQtyLots: 1 }, refusal: { reason: "SIZE", venueCode: "RULES_CHANGED" } },
  {
    name: "a halt, and it opens",
    change: { status: "HALTED" },
    order: { reduceOnly: false },
    refusal: { reason: "VENUE_STATE", venueCode: "HALTED" },
  },
];

describe.each(Object.keys(BENCHES))("an order of %s whose contract meanwhile has", (venue) => {
  it.each(CHANGES)("$name does not leave", async ({ change, order, refusal }) => {
    const bench = BENCHES[venue]?.();
    if (bench === undefined) throw new Error(venue);
    const { symbol } = bench.close.instrument;
    bench.instruments.set(symbol, { ...bench.close.instrument, ...change });
    expect(await bench.place({ ...bench.close, ...order })).toMatchObject({
      outcome: "rejected",
      sent: false,
      ...refusal,
    });
    expect(bench.sentCount()).toBe(0);
  });
});

describe.each(Object.keys(BENCHES))("an order of %s whose contract has other fees or a halt meanwhile", (venue) => {
  it.each([{ takerFeeMilliBps: 9_999 }, { status: "HALTED" as const }])("leaves where it closes", async (change) => {
    const bench = BENCHES[venue]?.();
    if (bench === undefined) throw new Error(venue);
    bench.instruments.set(bench.close.instrument.symbol, { ...bench.close.instrument, ...change });
    // Whether a halted market still takes an exit the venue decides; nothing answers here.
    await bench.place(bench.close).catch(() => null);
    expect(bench.sentCount()).toBeGreaterThan(0);
  });
});

describe.each(Object.keys(BENCHES))("an order of %s that is held to no present terms", (venue) => {
  it.each(CHANGES.filter(({ order }) => order === undefined))("is seen to leave over $name", async ({ change }) => {
    planted.isAnyGridTaken = true;
    const bench = BENCHES[venue]?.();
    if (bench === undefined) throw new Error(venue);
    bench.instruments.set(bench.close.instrument.symbol, { ...bench.close.instrument, ...change });
    // Nothing answers here.
    await bench.place(bench.close).catch(() => null);
    expect(bench.sentCount()).toBeGreaterThan(0);
  });
});
