import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatScaled } from "../../domain/decimal.js";
import type { Instrument } from "../../domain/instrument.js";
import { isPriceOnGrid } from "../../domain/test/price-on-grid.js";
import { checkOrder, checkPrice, checkQuantity, slippedTicks } from "./order-check.js";
import type { PlaceRequest } from "./order-desk.js";
import { placeRequest } from "./test/desk-harness.js";
import { anInstrument } from "../../domain/test/instruments.js";

const instrument = anInstrument({ maxQtyLots: 1_000_000 });
const sigfigs: Instrument = { ...instrument, priceRule: "sigfigs5", priceDecimals: 4, priceStepTicks: 1 };
const kilo: Instrument = { ...instrument, symbol: "PEPE", nativeSymbol: "kPEPE", multiplierExp10: 3, qtyDecimals: 0 };

function refusalOf(request: Partial<PlaceRequest>, of: Instrument = instrument): string {
  const checked = checkOrder(of, placeRequest(request));
  if (checked.ok) return "accepted";
  const { fields } = checked.details as { fields?: { path: string }[] };
  return `${checked.code} ${fields?.map(({ path }) => path).join() ?? ""}`.trim();
}

describe("what a caller asks for", () => {
  it.each<[string, Partial<PlaceRequest>]>([
    ["INVALID_PARAMETERS quantity", { quantity: "NaN" }],
    ["INVALID_PARAMETERS quantity", { quantity: "Infinity" }],
    ["INVALID_PARAMETERS quantity", { quantity: "" }],
    ["INVALID_PARAMETERS quantity", { quantity: "1e3" }],
    ["INVALID_PARAMETERS quantity", { quantity: "0" }],
    ["INVALID_PARAMETERS quantity", { quantity: "0.000" }],
    ["INVALID_PARAMETERS quantity", { quantity: "-1" }],
    ["INVALID_PARAMETERS quantity", { quantity: "-0.0001" }],
    ["OFF_GRID quantity", { quantity: "0.2501" }],
    ["ABOVE_MAX_SIZE", { quantity: "1000.001" }],
    ["ABOVE_MAX_SIZE", { quantity: "99999999999999999999" }],
    ["MISSING_PARAMETERS price", { type: "LIMIT" }],
    ["INVALID_PARAMETERS price", { type: "LIMIT", price: "NaN" }],
    ["INVALID_PARAMETERS price", { type: "LIMIT", price: "0" }],
    ["INVALID_PARAMETERS price", { type: "LIMIT", price: "-5" }],
    ["INVALID_PARAMETERS price", { type: "LIMIT", price: "9999999999999999999999" }],
    ["OFF_GRID price", { type: "LIMIT", price: "100.05" }],
    ["MISSING_PARAMETERS stopPrice", { type: "STOP_MARKET" }],
    ["MISSING_PARAMETERS stopPrice", { type: "STOP_LIMIT", price: "100" }],
    ["MISSING_PARAMETERS price", { type: "TAKE_PROFIT_LIMIT", stopPrice: "100" }],
    ["OFF_GRID stopPrice", { type: "TAKE_PROFIT_MARKET", stopPrice: "100.01" }],
    ["INVALID_PARAMETERS stopPrice", { type: "LIMIT", price: "100", stopPrice: "90" }],
    ["INVALID_PARAMETERS timeInForce", { type: "MARKET", timeInForce: "GTC" }],
    ["INVALID_PARAMETERS timeInForce", { type: "STOP_LIMIT", price: "1", stopPrice: "1", timeInForce: "POST_ONLY" }],
    ["INVALID_PARAMETERS clientOrderId", { clientOrderId: "two words" }],
    ["INVALID_PARAMETERS clientOrderId", { clientOrderId: "x".repeat(65) }],
    ["INVALID_PARAMETERS clientOrderId", { clientOrderId: "" }],
    ["INVALID_PARAMETERS maxSlippageBps", { maxSlippageBps: 0 }],
    ["INVALID_PARAMETERS maxSlippageBps", { maxSlippageBps: 1_001 }],
    ["INVALID_PARAMETERS maxSlippageBps", { maxSlippageBps: Number.NaN }],
    ["INVALID_PARAMETERS reduceOnly", { reduceOnly: true, positionSide: "LONG", side: "BUY" }],
    ["INVALID_PARAMETERS price", { price: "abc" }],
    ["INVALID_PARAMETERS price", { price: "0" }],
  ])("is refused as %s", (expected, request) => {
    expect(refusalOf(request)).toBe(expected);
  });

  it("names the grid", () => {
    const qty = checkQuantity(instrument, "quantity", "0.2505");
    expect(qty).toMatchObject({ ok: false, details: { field: "quantity", step: "0.001" } });
    const price = checkPrice(sigfigs, "price", "12345.6");
    expect(price).toMatchObject({ ok: false, details: { field: "price", step: "1" } });
    expect(checkPrice(sigfigs, "price", "0.12345")).toMatchObject({ ok: false, details: { step: "0.0001" } });
  });

  it("is held to the venue's minimum size and value", () => {
    const least: Instrument = { ...instrument, minQtyLots: 10, minNotional: "10" };
    expect(refusalOf({ quantity: "0.009" }, least)).toBe("BELOW_MIN_SIZE");
    expect(refusalOf({ quantity: "0.01", type: "LIMIT", price: "999.9" }, least)).toBe("BELOW_MIN_SIZE");
    expect(refusalOf({ quantity: "0.01", type: "LIMIT", price: "1000" }, least)).toBe("accepted");
    expect(refusalOf({ quantity: "0.01", type: "LIMIT", price: "1", reduceOnly: true }, least)).toBe("accepted");
  });

  it("is held to what the venue asks of resting orders only where it rests and may open", () => {
    const least: Instrument = { ...instrument, restingMinimum: { qtyLots: 10, notional: "10" } };
    const resting = { quantity: "0.01", type: "LIMIT", price: "1000" } as const;
    expect(refusalOf(resting, least)).toBe("accepted");
    expect(refusalOf({ ...resting, quantity: "0.009" }, least)).toBe("BELOW_MIN_SIZE");
    expect(refusalOf({ ...resting, price: "999.9" }, least)).toBe("BELOW_MIN_SIZE");
    expect(refusalOf({ ...resting, quantity: "0.009", timeInForce: "POST_ONLY" }, least)).toBe("BELOW_MIN_SIZE");
    for (const takes of [
      { quantity: "0.001" },
      { ...resting, quantity: "0.001", timeInForce: "IOC" as const },
      { ...resting, quantity: "0.001", reduceOnly: true },
    ])
      expect(refusalOf(takes, least)).toBe("accepted");
  });

  it("counts in base units where one contract is a thousand", () => {
    expect(checkQuantity(kilo, "quantity", "12000")).toEqual({ ok: true, lots: 12 });
    expect(checkQuantity(kilo, "quantity", "12500")).toMatchObject({ ok: false, details: { step: "1000" } });
    expect(checkPrice(kilo, "price", "0.0123")).toMatchObject({ ok: true, ticks: 123 });
  });

  it("becomes reduce-only on the closing side of a hedge, whatever was asked", () => {
    const checked = checkOrder(instrument, placeRequest({ side: "SELL", positionSide: "LONG" }));
    expect(checked).toMatchObject({ ok: true, order: { reduceOnly: true, direction: "LONG" } });
    const opening = checkOrder(instrument, placeRequest({ side: "BUY", positionSide: "LONG" }));
    expect(opening).toMatchObject({ ok: true, order: { reduceOnly: false, direction: "LONG" } });
  });

  it("bounds a triggered market order from its trigger", () => {
    const stop = { type: "STOP_MARKET", side: "SELL", stopPrice: "100.0", maxSlippageBps: 50 } as const;
    const checked = checkOrder(instrument, placeRequest(stop));
    expect(checked).toMatchObject({
      ok: true,
      order: { priceTicks: 995, timeInForce: "IOC", trigger: { kind: "STOP", priceTicks: 1_000, source: "MARK" } },
    });
    const byPrice = checkOrder(instrument, placeRequest({ type: "TAKE_PROFIT_MARKET", price: "100.0", side: "BUY" }));
    expect(byPrice).toMatchObject({
      ok: true,
      order: { trigger: { kind: "TAKE_PROFIT", priceTicks: 1_000 }, priceTicks: 1_010 },
    });
  });
});

describe("the grid", () => {
  const rules = fc.constantFrom(instrument, sigfigs, kilo, { ...instrument, priceStepTicks: 5, qtyStepLots: 10 });

  it("takes a price exactly if it is on it, and as it was given", () => {
    fc.assert(
      fc.property(rules, fc.integer({ min: 1, max: 10_000_000 }), (of, ticks) => {
        const text = formatScaled(ticks, of.priceDecimals + of.multiplierExp10);
        const checked = checkPrice(of, "price", text);
        expect(checked.ok).toBe(isPriceOnGrid(of, ticks));
        if (checked.ok) expect(checked.ticks).toBe(ticks);
      }),
    );
  });

  it("takes a size exactly if it is on it, and as it was given", () => {
    fc.assert(
      fc.property(rules, fc.integer({ min: 1, max: 999_999 }), (of, lots) => {
        const checked = checkQuantity(of, "quantity", formatScaled(lots, of.qtyDecimals - of.multiplierExp10));
        expect(checked.ok).toBe(lots % of.qtyStepLots === 0 && lots >= of.minQtyLots);
        if (checked.ok) expect(checked.lots).toBe(lots);
      }),
    );
  });

  it("never answers with anything but a safe positive integer, whatever the text", () => {
    const texts = fc.oneof(fc.string({ maxLength: 70 }), fc.double().map(String), fc.bigInt().map(String));
    fc.assert(
      fc.property(rules, texts, (of, text) => {
        const price = checkPrice(of, "price", text);
        const qty = checkQuantity(of, "quantity", text);
        if (price.ok) expect(Number.isSafeInteger(price.ticks) && price.ticks > 0).toBe(true);
        if (qty.ok) expect(Number.isSafeInteger(qty.lots) && qty.lots > 0).toBe(true);
      }),
    );
  });

  it("bounds slippage on the protective side, on the grid", () => {
    fc.assert(
      fc.property(
        rules,
        fc.integer({ min: 100, max: 10_000_000 }),
        fc.integer({ min: 1, max: 1_000 }),
        (of, ticks, bps) => {
          const sell = slippedTicks(of, "SELL", ticks, bps);
          const buy = slippedTicks(of, "BUY", ticks, bps);
          expect(isPriceOnGrid(of, sell)).toBe(true);
          expect(sell * 10_000).toBeGreaterThanOrEqual(ticks * (10_000 - bps));
          expect(buy * 10_000).toBeLessThanOrEqual(ticks * (10_000 + bps));
        },
      ),
    );
  });
});
