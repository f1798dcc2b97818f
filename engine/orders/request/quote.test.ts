/** What a quote binds, how long, and that it is used once: trade path, fake venues, virtual clock. */
import { describe, expect, it } from "vitest";
import { closeContext, closeRequest, createHarness, type Harness, SECRET_ONE } from "../test/harness.js";
import type { Quote, TradeRequest } from "../types.js";

const orders = (harness: Harness) => [...harness.one.log, ...harness.two.log];
const STOP = { orderType: "STOP_MARKET", triggerPrice: "95000", preferredExchange: "venueone" } as const;

async function quoted(harness: Harness, request: Partial<TradeRequest> = {}): Promise<Quote> {
  const { quote } = await harness.closeData({ dryRun: true, ...request });
  if (quote === undefined) throw new Error("a dry run without a quote");
  return quote;
}

function publicQuote(harness: Harness, maxSlippageBps: number, quoteTtlMs = 2_000): Quote {
  const answer = harness.service.quote(
    {
      symbol: "BTC",
      side: "SELL",
      size: "0.25",
      maxSlippageBps,
      maxQuoteAgeMs: 1e9,
      quoteTtlMs,
      preferredExchange: null,
      excludeExchanges: [],
    },
    null,
  );
  if (!answer.ok) throw new Error(answer.code);
  return answer.quote;
}

describe("a quote and maxSlippageBps", () => {
  it.each([
    ["the call's is tighter", 1_000, 10, 999_000],
    ["the quote's is tighter", 10, 1_000, 999_000],
  ])("together: the tighter wins, where %s", async (_, quotedBps, askedBps, ticks) => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { maxSlippageBps: quotedBps });
    const data = await harness.closeData({ quoteId, maxSlippageBps: askedBps });
    expect(harness.one.log[0]?.command.priceTicks).toBe(ticks);
    expect(data.routing.limits.worstPrice).toBe("99900");
  });

  it("of a BUY are held alike", async () => {
    const harness = createHarness();
    harness.one.setPosition("acct-venueone", "SHORT", 400);
    const direction = "SHORT" as const;
    const { quoteId } = await quoted(harness, { direction, maxSlippageBps: 1_000 });
    await harness.closeData({ direction, quoteId, maxSlippageBps: 20 });
    expect(harness.one.log[0]?.command.priceTicks).toBe(1_002_000);
  });

  it("of a public quote are held alike", async () => {
    const harness = createHarness();
    const { quoteId } = publicQuote(harness, 1_000);
    await harness.closeData({ quoteId, maxSlippageBps: 10 });
    expect(harness.one.log[0]?.command.priceTicks).toBe(999_000);
  });

  it("hold every leg of a split and what is sent after a refused order", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { maxSlippageBps: 1_000 });
    harness.one.fate = () => ({ kind: "reject", reason: "VENUE_STATE" });
    await harness.closeData({ quoteId, maxSlippageBps: 10 });
    expect(orders(harness).map(({ command }) => command.priceTicks >= 998_500)).toEqual([true, true]);
    const split = createHarness();
    const wide = { allowSplit: true, size: "0.6", maxSlippageBps: 1_000 };
    const quote = await quoted(split, wide);
    await split.closeData({ ...wide, quoteId: quote.quoteId, maxSlippageBps: 10 });
    expect(orders(split).map(({ command }) => command.priceTicks)).toEqual([999_000, 999_000]);
  });

  it("say which of them refuses: the cap asked for, or the market that left the quote behind", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { maxSlippageBps: 1_000 });
    for (const venue of [harness.one, harness.two]) venue.setBook(998_000, 1_002_000, 1_000);
    expect(await harness.close({ quoteId, maxSlippageBps: 10 })).toMatchObject({ code: "SLIPPAGE_CAP" });
    for (const venue of [harness.one, harness.two]) venue.setBook(880_000, 880_200, 1_000);
    expect(await harness.close({ quoteId, maxSlippageBps: 10 })).toMatchObject({
      code: "QUOTE_EXPIRED",
      details: { reason: "PRICE_MOVED" },
    });
    expect(orders(harness)).toEqual([]);
  });

  it("left out by the call are the quote's own", async () => {
    const harness = createHarness();
    const { quoteId, worstPrice } = await quoted(harness, { maxSlippageBps: 300 });
    const data = await harness.closeData({ quoteId, isSlippageDefault: true });
    expect([worstPrice, data.routing.limits.worstPrice]).toEqual(["97000", "97000"]);
    expect(data.routing.limits.maxSlippageBps).toBe(300);
  });
});

describe("a quote of an order with a price of its own", () => {
  it.each(["100000", "99999.9"])("is not for a worse limit: quoted 100000, asked %s", async (limitPrice) => {
    const harness = createHarness();
    const limit = { orderType: "LIMIT", limitPrice: "100000" } as const;
    const { quoteId, worstPrice } = await quoted(harness, limit);
    expect(worstPrice).toBe("100000");
    const result = await harness.close({ ...limit, quoteId, limitPrice });
    if (limitPrice === "100000") expect(result).toMatchObject({ ok: true });
    else
      expect(result).toMatchObject({
        code: "INVALID_PARAMETERS",
        details: { fields: [{ path: "limitPrice", problem: "is beyond the quote's worst price" }] },
      });
    expect(orders(harness)).toHaveLength(limitPrice === "100000" ? 1 : 0);
  });

  it("takes a better limit", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { orderType: "LIMIT", limitPrice: "100000" });
    await harness.closeData({ orderType: "LIMIT", limitPrice: "100001", quoteId });
    expect(orders(harness).map(({ command }) => command.priceTicks)).toEqual([1_000_010]);
  });

  it("holds a stop to the tighter of both bounds, and its limit to the quoted one", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { ...STOP, maxSlippageBps: 100 });
    await harness.closeData({ ...STOP, quoteId, maxSlippageBps: 500 });
    expect(harness.one.log[0]?.command.priceTicks).toBe(940_500);
    const stopLimit = { ...STOP, orderType: "STOP_LIMIT", limitPrice: "94000", size: "0.1" } as const;
    const limited = await quoted(harness, stopLimit);
    expect(await harness.close({ ...stopLimit, limitPrice: "93999", quoteId: limited.quoteId })).toMatchObject({
      code: "INVALID_PARAMETERS",
      details: { fields: [{ path: "limitPrice" }] },
    });
  });
});

describe("a quote", () => {
  it("is used once by a call that sends; the next one gets that it was used", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    await harness.closeData({ quoteId, size: "0.1" });
    expect(await harness.close({ quoteId, size: "0.1" })).toMatchObject({
      ok: false,
      code: "QUOTE_EXPIRED",
      details: { reason: "USED" },
    });
    expect(orders(harness)).toHaveLength(1);
  });

  it.each(["reject", "loseReply"] as const)("is used once also by a call whose order ends as %s", async (kind) => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { preferredExchange: "venueone" });
    harness.one.fate = () => ({ kind, reason: "VENUE_STATE" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    await harness.closeData({ quoteId, preferredExchange: "venueone", deadlineMs: 300 });
    const again = { quoteId, size: "0.1", preferredExchange: "venueone" } as const;
    expect(await harness.close(again)).toMatchObject({ details: { reason: "USED" } });
    expect(orders(harness)).toHaveLength(1);
  });

  it("is used by one of two calls at the same time", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    const { service, clock } = harness;
    const call = () => service.trade(closeRequest({ quoteId, size: "0.1" }), closeContext(clock));
    const results = await harness.run(Promise.all([call(), call()]));
    expect(results.map((result) => (result.ok ? "sent" : result.details["reason"])).sort()).toEqual(["USED", "sent"]);
    expect(orders(harness)).toHaveLength(1);
  });

  it("is not used by a dry run, nor by a call that sends nothing", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    expect((await harness.closeData({ quoteId, dryRun: true })).execution.state).toBe("SIMULATED");
    expect(await harness.close({ quoteId, size: "9" })).toMatchObject({ code: "SIZE_EXCEEDS_POSITION" });
    for (const venue of [harness.one, harness.two]) venue.fate = () => ({ kind: "notSent" });
    expect(await harness.close({ quoteId })).toMatchObject({ code: "VENUE_RATE_LIMITED" });
    for (const venue of [harness.one, harness.two]) venue.fate = () => ({ kind: "fill" });
    expect((await harness.closeData({ quoteId })).execution.state).toBe("COMPLETED");
    expect(await harness.close({ quoteId, dryRun: true })).toMatchObject({ details: { reason: "USED" } });
  });

  it("is used once by a retry with its key: answered while and after it is over", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    const key = { idempotencyKey: "k" };
    const data = await harness.closeData({ quoteId, size: "0.1" }, key);
    const again = await harness.close({ quoteId, size: "0.1" }, key);
    await harness.clock.advanceAsync(60_000);
    const late = await harness.close({ quoteId, size: "0.1" }, key);
    for (const replay of [again, late]) expect(replay).toMatchObject({ ok: true, replayed: true, data });
    expect(orders(harness)).toHaveLength(1);
  });

  it("is used once by a retry after a crash where the record shows it, at the price that was bound", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { maxSlippageBps: 20 });
    const key = { idempotencyKey: "quoted" };
    const request = closeRequest({ quoteId, maxSlippageBps: 1_000 });
    harness.one.fate = () => {
      harness.kill();
      return { kind: "loseRequest" };
    };
    void harness.service.trade(request, closeContext(harness.clock, key));
    await harness.clock.advanceAsync(100);
    const next = await harness.restart();
    harness.one.fate = () => ({ kind: "fill" });
    await harness.clock.advanceAsync(10_000);
    const again = await harness.run(next.trade(request, closeContext(harness.clock, key)));
    expect(again).toMatchObject({ ok: true, data: { execution: { state: "COMPLETED", filledSize: "0.25" } } });
    expect(orders(harness).map(({ command }) => command.priceTicks)).toEqual([998_000, 998_000]);
    // With another key, or none, it is no quote of the process that runs now.
    expect(await harness.run(next.trade(request, closeContext(harness.clock)))).toMatchObject({
      code: "QUOTE_UNKNOWN",
    });
  });

  it("holds a retry after a crash to the quoted venues, which is refused where the market left the price behind", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { excludeExchanges: ["venuetwo"], maxSlippageBps: 20 });
    const key = { idempotencyKey: "quoted" };
    const request = closeRequest({ quoteId });
    harness.one.fate = () => {
      harness.kill();
      return { kind: "loseRequest" };
    };
    void harness.service.trade(request, closeContext(harness.clock, key));
    await harness.clock.advanceAsync(100);
    const next = await harness.restart();
    await harness.clock.advanceAsync(10_000);
    harness.one.setBook(990_000, 990_200, 1_000);
    expect(await harness.run(next.trade(request, closeContext(harness.clock, key)))).toMatchObject({
      code: "QUOTE_EXPIRED",
      details: { reason: "PRICE_MOVED" },
    });
    expect(harness.two.log).toEqual([]);
  });
});

describe("a quote lives", () => {
  it.each([1_000, 2_000, 30_000])("as long as was asked: %i ms", async (quoteTtlMs) => {
    const harness = createHarness();
    const { quoteId, expiresAt } = await quoted(harness, { quoteTtlMs });
    expect(expiresAt - harness.clock.wallMs()).toBe(quoteTtlMs);
    const open = publicQuote(harness, 100, quoteTtlMs);
    expect(open.expiresAt - harness.clock.wallMs()).toBe(quoteTtlMs);
    // Others that live for a shorter and a longer time, before and behind it.
    await quoted(harness, { quoteTtlMs: 1_000 });
    await harness.clock.advanceAsync(expiresAt - 1 - harness.clock.wallMs());
    expect(await harness.close({ quoteId, dryRun: true })).toMatchObject({ ok: true });
    await harness.clock.advanceAsync(open.expiresAt - harness.clock.wallMs());
    for (const id of [quoteId, open.quoteId])
      expect(await harness.close({ quoteId: id })).toMatchObject({
        code: "QUOTE_EXPIRED",
        details: { reason: "EXPIRED" },
      });
  });

  it("by the monotonic clock: one set back does not keep it, one set forward does not end it", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    const { clock } = harness;
    const wallMs = clock.wallMs.bind(clock);
    clock.wallMs = () => wallMs() + 3_600_000;
    expect(await harness.close({ quoteId, dryRun: true })).toMatchObject({ ok: true });
    clock.wallMs = () => wallMs() - 3_600_000;
    await clock.advanceAsync(2_000);
    expect(await harness.close({ quoteId })).toMatchObject({ details: { reason: "EXPIRED" } });
  });
});

describe("a quote that was never given", () => {
  it("is unknown: a text of no quote, one changed in a letter, one of the process before", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    const last = quoteId.at(-1) === "0" ? "1" : "0";
    const middle = `${quoteId.slice(0, 6)}${quoteId[6] === "1" ? "0" : "1"}${quoteId.slice(7)}`;
    for (const id of ["qt_NEVER", "", quoteId.toLowerCase(), `${quoteId}0`, `${quoteId.slice(0, -1)}${last}`, middle])
      expect([id, await harness.close({ quoteId: id })]).toMatchObject([id, { ok: false, code: "QUOTE_UNKNOWN" }]);
    const next = await harness.restart();
    const request = closeRequest({ quoteId });
    expect(await harness.run(next.trade(request, closeContext(harness.clock)))).toMatchObject({
      code: "QUOTE_UNKNOWN",
    });
    expect(orders(harness)).toEqual([]);
  });

  it("is what a stranger's quote looks like", async () => {
    const harness = createHarness();
    harness.one.setPosition("someone", "LONG", 400);
    const { quoteId } = await quoted(harness);
    const credentials = { venueone: { account: "someone", secret: SECRET_ONE } };
    expect(await harness.close({ quoteId, credentials })).toMatchObject({ code: "QUOTE_UNKNOWN" });
    // With an account of the quote beside it, it is the owner who asks.
    const mixed = { ...closeRequest().credentials, ...credentials };
    expect(await harness.close({ quoteId, credentials: mixed })).toMatchObject({
      code: "INVALID_PARAMETERS",
      details: { fields: [{ path: "credentials" }] },
    });
    await harness.closeData({ quoteId });
    expect(await harness.close({ quoteId, credentials })).toMatchObject({ code: "QUOTE_UNKNOWN" });
  });
});
