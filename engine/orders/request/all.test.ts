/** ALL and a share of it where a venue with credentials cannot be read: trade path, fake venues, virtual clock. */
import { describe, expect, it } from "vitest";
import { ASKER, closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";

const ALL = { size: "ALL" } as const;
const WHOLE = { state: "COMPLETED", filledSize: "0.4", remainingSize: "0" };

function unread(failure: "TIMEOUT" | "AUTH" | "HANG" = "TIMEOUT"): Harness {
  const harness = createHarness();
  harness.two.positionFailure = () => failure;
  return harness;
}

describe("a close of everything with a venue that cannot be read", () => {
  it.each(["TIMEOUT", "AUTH", "HANG"] as const)("says which, and is not completed: %s", async (failure) => {
    const harness = unread(failure);
    const { execution, routing } = await harness.closeData(ALL);
    expect(execution).toMatchObject({
      state: "PARTIAL",
      final: true,
      note: "POSITION_UNKNOWN",
      requestedSize: "0.4",
      filledSize: "0.4",
      remainingSize: null,
      unreadExchanges: ["venuetwo"],
    });
    expect(routing.candidates[1]).toMatchObject({ reasonCode: "VENUE_UNHEALTHY", positionSize: null });
    expect(harness.two.heldLots("acct-venuetwo", "LONG")).toBe(400);
  });

  it.each([
    [{ size: null, sizePercent: "50" }],
    [{ ...ALL, allowSplit: true }],
    [{ ...ALL, orderType: "LIMIT" as const, limitPrice: "99990" }],
  ])("likewise %j", async (request) => {
    const { execution } = await unread().closeData(request);
    expect(execution).toMatchObject({ remainingSize: null, unreadExchanges: ["venuetwo"] });
    expect(execution.state).not.toBe("COMPLETED");
  });

  it("is not reported as flat either, where the venue that was read had closed meanwhile", async () => {
    const harness = unread();
    harness.one.fate = () => {
      harness.one.setPosition("acct-venueone", "LONG", 0);
      return { kind: "reject", reason: "REDUCE_ONLY" };
    };
    const { execution } = await harness.closeData(ALL);
    expect(execution).toMatchObject({
      state: "PARTIAL",
      filledSize: "0",
      remainingSize: null,
      unreadExchanges: ["venuetwo"],
    });
  });

  it("says so in a dry run, and in what is read of it later", async () => {
    const harness = unread();
    const dryRun = await harness.closeData({ ...ALL, dryRun: true });
    expect(dryRun.execution).toMatchObject({
      state: "SIMULATED",
      remainingSize: null,
      unreadExchanges: ["venuetwo"],
    });
    const { routing, execution } = await harness.closeData(ALL);
    expect((await harness.service.execution(routing.routeId, ASKER))?.execution).toEqual(execution);
  });

  it("counts a venue whose credentials are none, and one that this service has no room for", async () => {
    const harness = createHarness();
    const credentials = {
      ...closeRequest().credentials,
      venuetwo: { account: 7 },
      venuefour: { account: "acct-venuefour", secret: "canary-secret-four-c0ffee" },
    };
    const { execution } = await harness.closeData({ ...ALL, credentials });
    expect(execution).toMatchObject({ state: "PARTIAL", unreadExchanges: ["venuetwo", "venuefour"] });
  });

  it("counts no venue that the caller left out, nor one that does not list the symbol", async () => {
    const excluded = await unread().closeData({ ...ALL, excludeExchanges: ["venuetwo"] });
    expect(excluded.execution).toMatchObject(WHOLE);
    expect(excluded.execution).not.toHaveProperty("unreadExchanges");
    const preferred = await unread().closeData({ ...ALL, preferredExchange: "venueone" });
    expect(preferred.execution).toMatchObject(WHOLE);
    expect(preferred.execution).not.toHaveProperty("unreadExchanges");
    const unlisted = createHarness({ two: { instrument: { symbol: "ETH" } } });
    unlisted.two.positionFailure = () => "TIMEOUT";
    const { execution } = await unlisted.closeData(ALL);
    expect(execution).toMatchObject(WHOLE);
    expect(execution).not.toHaveProperty("unreadExchanges");
  });

  it("after a crash says what the decision knew", async () => {
    const harness = unread();
    const key = { idempotencyKey: "all" };
    harness.one.fate = () => {
      harness.kill();
      return { kind: "fill" };
    };
    void harness.service.trade(closeRequest(ALL), closeContext(harness.clock, key));
    await harness.clock.advanceAsync(2_000);
    const next = await harness.restart();
    harness.two.positionFailure = () => null;
    const again = await harness.run(next.trade(closeRequest(ALL), closeContext(harness.clock, key)));
    expect(again).toMatchObject({
      ok: true,
      data: { execution: { state: "PARTIAL", filledSize: "0.4", remainingSize: null, unreadExchanges: ["venuetwo"] } },
    });
  });

  it("of a size that was named is what it was: the size is known", async () => {
    const { execution } = await unread().closeData({ size: "0.4" });
    expect(execution).toMatchObject(WHOLE);
    expect(execution).not.toHaveProperty("unreadExchanges");
  });
});
