/** LIMIT orders that trade on arrival: what the venue's answer leaves out is looked for before the reply. */
import { describe, expect, it } from "vitest";
import type { PlaceFate } from "../test/fake-matching.js";
import { createHarness, type Harness } from "../test/harness.js";

/** Above the best ask of 100010. */
const MARKETABLE = { orderType: "LIMIT", limitPrice: "100100", preferredExchange: "venueone" } as const;

function flat(entry: PlaceFate): Harness {
  const harness = createHarness();
  harness.one.setPosition("acct-venueone", "LONG", 0);
  harness.one.fate = (command) => (command.reduceOnly ? { kind: "fill" } : entry);
  return harness;
}

describe("a LIMIT entry that the decision saw as marketable", () => {
  it("is looked at where the venue only acknowledges, and what filled is reported and protected", async () => {
    const harness = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 80 });
    const data = await harness.openData({ stopLoss: "95000" }, MARKETABLE);
    expect(data.execution).toMatchObject({
      state: "COMPLETED",
      final: true,
      filledSize: "0.25",
      protection: "PLACED",
      protectionReason: null,
    });
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 250, trigger: { kind: "STOP" } });
    expect(data.position).toMatchObject({ size: "0.25" });
  });

  it("that fills in part rests with the rest, and the part is protected", async () => {
    const harness = flat({ kind: "fill", liquidity: 0.4, ackOnlyMs: 80 });
    const data = await harness.openData({ stopLoss: "95000" }, MARKETABLE);
    expect(data.execution).toMatchObject({ state: "RESTING", final: false, filledSize: "0.1" });
    expect(data.order).toMatchObject({ status: "PARTIALLY_FILLED" });
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 100 });
  });

  it("keeps the fill of its answer where a read shows less", async () => {
    const harness = flat({ kind: "fill", liquidity: 0.4 });
    harness.one.shownOrder = (order) => ({ ...order, status: "OPEN", filledLots: 0, averagePrice: null });
    const data = await harness.openData({ stopLoss: "95000" }, MARKETABLE);
    expect(data.execution).toMatchObject({ state: "RESTING", filledSize: "0.1", protection: "PLACED" });
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 100, trigger: { kind: "STOP" } });
  });

  it("is not taken to rest by two reads soon after each other: both may be older than its fill", async () => {
    const harness = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 1 });
    let firstMs: number | null = null;
    harness.one.shownOrder = (order) => {
      firstMs ??= harness.clock.wallMs();
      const isLagging = harness.clock.wallMs() - firstMs < 1_200;
      return isLagging ? { ...order, status: "OPEN", filledLots: 0, averagePrice: null } : order;
    };
    const data = await harness.openData({ stopLoss: "95000" }, MARKETABLE);
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", protection: "PLACED" });
  });

  it("that turns out to be of an unknown status is unknown, and followed", async () => {
    const harness = flat({ kind: "fill", liquidity: 0.4, ackOnlyMs: 80, shows: { status: "UNKNOWN" } });
    const data = await harness.openData({}, { ...MARKETABLE, deadlineMs: 2_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", final: false, filledSize: "0.1" });
    expect(harness.service.status().resolver.active).toBe(1);
  });

  it("that the venue does not show in time is reported as resting, within the caller's time and a bound of looks", async () => {
    const harness = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 600_000 });
    const startMs = harness.clock.wallMs();
    const data = await harness.openData({}, MARKETABLE);
    expect(data.execution).toMatchObject({ state: "RESTING", filledSize: "0" });
    expect(harness.clock.wallMs() - startMs).toBeLessThan(5_000);
    expect(harness.one.calls.orders).toBeLessThanOrEqual(5);
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
    const brief = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 600_000 });
    const beganMs = brief.clock.wallMs();
    await brief.openData({}, { ...MARKETABLE, deadlineMs: 300 });
    expect(brief.clock.wallMs() - beganMs).toBeLessThanOrEqual(310);
  });

  it("is looked for until a refused read is answered, within the caller's time", async () => {
    const harness = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 80 });
    const answeredFromMs = harness.clock.wallMs() + 4_000;
    harness.one.orderReadFailure = () => (harness.clock.wallMs() < answeredFromMs ? "BREAKER_OPEN" : null);
    const data = await harness.openData({ stopLoss: "95000" }, { ...MARKETABLE, deadlineMs: 8_000 });
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", protection: "PLACED" });
    expect(harness.clock.wallMs() - answeredFromMs).toBeLessThan(1_500);
    const never = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 80 });
    never.one.orderReadFailure = () => "BREAKER_OPEN";
    const beganMs = never.clock.wallMs();
    expect((await never.openData({}, { ...MARKETABLE, deadlineMs: 8_000 })).execution.state).toBe("RESTING");
    expect(never.clock.wallMs() - beganMs).toBeLessThanOrEqual(8_010);
    expect(never.one.calls.orders).toBeLessThanOrEqual(16);
  });

  it("is not looked at where nothing of it is marketable, where the answer says the fill, or after an ACK", async () => {
    const resting = flat({ kind: "fill" });
    await resting.openData({}, { ...MARKETABLE, limitPrice: "99000" });
    expect(resting.one.calls.orders).toBe(0);
    const whole = flat({ kind: "fill", liquidity: 1 });
    expect((await whole.openData({}, MARKETABLE)).execution.state).toBe("COMPLETED");
    expect(whole.one.calls.orders).toBe(0);
    const acked = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 80 });
    expect((await acked.openData({}, { ...MARKETABLE, waitFor: "ACK" })).execution.state).toBe("RESTING");
    expect(acked.one.calls.orders).toBe(0);
  });
});

describe("a LIMIT close that the decision saw as marketable", () => {
  it("is reported with what filled", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 1, ackOnlyMs: 80 });
    const data = await harness.closeData({ ...MARKETABLE, limitPrice: "99900" });
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
    expect(data.position).toMatchObject({ size: "0.15" });
  });
});
