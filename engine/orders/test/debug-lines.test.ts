/** Each debug line of the trade path, written by the real services over fake venues; and none of them while debug is off. */
import { describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../../domain/logger.js";
import { createDesk, CREDENTIALS, orderContext } from "../single/test/desk-harness.js";
import { createHarness, type Harness, type HarnessOptions, SECRET_ONE, SECRET_TWO } from "./harness.js";

type Line = LogFields & { readonly event: string };

/** The debug lines among `logLines`, as objects. */
function debugLines(logLines: readonly string[], event?: string): Line[] {
  const lines = logLines.flatMap((line) => {
    const [, name = "", fields = ""] = /^debug (\S+) (.*)$/.exec(line) ?? [];
    return name === "" ? [] : [{ event: name, ...(JSON.parse(fields) as LogFields) }];
  });
  return event === undefined ? lines : lines.filter((line) => line.event === event);
}

/** A trade that meets each of the things that a line tells of. */
interface Scene {
  readonly name: string;
  readonly options?: HarnessOptions;
  play(harness: Harness): Promise<void>;
}

const unknownAtFirst: Scene = {
  name: "an order of unknown outcome that is found by its second look",
  async play(harness) {
    let reads = 0;
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => (reads++ === 0 ? "TIMEOUT" : null);
    await harness.close();
  },
};
const neverPlaced: Scene = {
  name: "an order that never arrived",
  async play(harness) {
    harness.one.fate = () => ({ kind: "loseRequest" });
    await harness.close({ preferredExchange: "venueone", deadlineMs: 10_000 });
  },
};
const refusedThenRerouted: Scene = {
  name: "a refused order whose size goes to the next-best venue",
  async play(harness) {
    harness.one.fate = () => ({ kind: "reject", reason: "VENUE_STATE", venueText: `no: ${SECRET_ONE}` });
    await harness.close();
  },
};
const unsentThenNowhere: Scene = {
  name: "an order that our own limiter stops, with no other venue left",
  async play(harness) {
    harness.one.fate = () => ({ kind: "notSent", reason: "RATE_LIMITED" });
    await harness.close({ excludeExchanges: ["venuetwo"] });
  },
};
const shrunk: Scene = {
  name: "a position that shrank before its close",
  async play(harness) {
    harness.one.fate = () => {
      harness.one.fate = () => ({ kind: "fill" });
      harness.one.setPosition("acct-venueone", "LONG", 100);
      return { kind: "reject", reason: "REDUCE_ONLY" };
    };
    await harness.close({ preferredExchange: "venueone" });
  },
};
const outsideTheBand: Scene = {
  name: "an order outside the venue's price band, which another mark moves",
  options: {
    one: { instrument: { bandUpPpm: 1_020_000, bandDownPpm: 980_000 }, askedMark: () => "100000" },
  },
  async play(harness) {
    harness.one.fate = () => {
      harness.one.fate = () => ({ kind: "fill" });
      return { kind: "reject", reason: "PRICE_BAND" };
    };
    await harness.close({ preferredExchange: "venueone" });
  },
};
const SCENES = [unknownAtFirst, neverPlaced, refusedThenRerouted, unsentThenNowhere, shrunk, outsideTheBand];

async function play({ options, play: run }: Scene): Promise<Line[]> {
  const harness = createHarness(options);
  await run(harness);
  return debugLines(harness.logLines);
}

/** Of every line that names an order. */
const IDS = {
  routeId: expect.stringMatching(/^(rt|or)_/) as string,
  venueClientOrderId: expect.stringMatching(/^c-[0-9a-f]{32}$/) as string,
  venue: "venueone",
  symbol: "BTC",
};
/** Of a line that tells of a trade as a whole. */
const OF_TRADE = { routeId: IDS.routeId, symbol: "BTC" };
const NOT_GIVEN = "venuethree:NO_CREDENTIALS venuefour:NO_CREDENTIALS";

describe("the debug line of a look at an order of unknown outcome", () => {
  it("says what was asked, what the venue answered and what follows", async () => {
    const asked = { event: "resolver_look", ...IDS, timeoutMs: 3_000 };
    expect(await play(unknownAtFirst)).toEqual([
      { ...asked, answer: "TIMEOUT", outcome: "open", proofInMs: expect.any(Number) as number },
      { ...asked, answer: "FILLED", outcome: "found", proofInMs: null },
      { event: "resolver_ended", ...IDS, outcome: "found", state: "FILLED", reason: null },
    ]);
  });

  it("says how long no such order proves nothing, and when it proved that there never was one", async () => {
    const lines = await play(neverPlaced);
    const looks = lines.filter(({ event }) => event === "resolver_look");
    expect(new Set(looks.map(({ answer }) => answer))).toEqual(new Set(["NO_SUCH_ORDER"]));
    const proofs = looks.map(({ proofInMs }) => Number(proofInMs));
    expect(proofs).toEqual([...proofs].sort((left, right) => right - left));
    expect(looks.at(-1)).toMatchObject({ outcome: "notPlaced", proofInMs: 0 });
    expect(lines).toContainEqual({
      event: "resolver_ended",
      ...IDS,
      outcome: "notPlaced",
      state: null,
      reason: null,
    });
  });

  it("says why it stays unknown, and the code of each read that failed", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "RATE_LIMITED";
    await harness.close();
    await harness.clock.advanceAsync(120_000);
    const lines = debugLines(harness.logLines);
    expect(new Set(lines.map(({ answer }) => answer ?? ""))).toEqual(new Set(["RATE_LIMITED", ""]));
    expect(lines.at(-1)).toEqual({
      event: "resolver_ended",
      ...IDS,
      outcome: "unknown",
      state: null,
      reason: "TIMED_OUT",
    });
  });
});

describe("the debug line of what does not leave", () => {
  const refused = { event: "send_refused", ...IDS, retryAfterMs: null };

  it("says of an order what stopped it, with its ids", async () => {
    expect((await play(unsentThenNowhere))[0]).toEqual({ ...refused, what: "order", reason: "RATE_LIMITED", code: "" });
  });

  it("says of an order which guard stopped it", async () => {
    const limited = await createDesk({ limits: { maxOrderNotional: "1" } });
    await limited.place();
    const halted = await createDesk();
    await halted.guards.halt(null, "drill");
    await halted.place();
    const why = (code: string) => [{ ...refused, what: "order", reason: "GUARD", code }];
    expect(debugLines(limited.logLines)).toEqual(why("ORDER_LIMIT"));
    expect(debugLines(halted.logLines)).toEqual(why("TRADING_HALTED"));
  });

  it("says it of cancels and changes too", async () => {
    const stopped = { outcome: "rejected", reason: "RATE_LIMITED", venueCode: "QUEUE_FULL", venueText: "" } as const;
    const unsent = async () => ({ ...stopped, sent: false, retryAfterMs: 40 });
    const desk = await createDesk({
      mutateRoom: (room) => ({
        ...room,
        orders: { ...room.orders, cancel: unsent, amend: unsent, cancelAll: unsent },
      }),
    });
    const resting = await desk.order({ type: "LIMIT", price: "90000" });
    const order = { venue: "venueone", credentials: CREDENTIALS, symbol: "BTC", deadlineMs: 5_000 } as const;
    const orderId = resting.orderId ?? "";
    const context = orderContext(desk.clock);
    await desk.run(desk.desk.cancel({ ...order, orderId }, context));
    await desk.run(desk.desk.amend({ ...order, orderId, price: "91000", quantity: null }, context));
    await desk.run(desk.desk.cancelAll({ ...order, symbol: null }, context));
    const line = {
      event: "send_refused",
      venue: "venueone",
      reason: "RATE_LIMITED",
      code: "QUEUE_FULL",
      retryAfterMs: 40,
    };
    expect(debugLines(desk.logLines, "send_refused")).toEqual([
      { ...line, what: "cancel", symbol: "BTC" },
      { ...line, what: "amend", symbol: "BTC" },
      { ...line, what: "cancel_all", symbol: null },
    ]);
  });
});

describe("the debug line of what a trade does next", () => {
  it("says which venue it goes to, and why not to the others", async () => {
    const leftOut = `venueone:VENUE_STATE ${NOT_GIVEN}`;
    expect(await play(refusedThenRerouted)).toEqual([
      { event: "trade_rerouted", ...OF_TRADE, venue: "venuetwo", leftOut },
    ]);
  });

  it("says why it goes nowhere", async () => {
    const leftOut = `venueone:RATE_LIMITED venuetwo:NOT_PREFERRED ${NOT_GIVEN}`;
    expect((await play(unsentThenNowhere)).at(-1)).toEqual({
      event: "trade_not_rerouted",
      ...OF_TRADE,
      reason: "NO_ELIGIBLE_VENUE",
      leftOut,
    });
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "reject", reason: "VENUE_STATE", latencyMs: 450 });
    await harness.close({ deadlineMs: 500 });
    expect(debugLines(harness.logLines)).toEqual([
      { event: "trade_not_rerouted", ...OF_TRADE, reason: "DEADLINE", leftOut: null },
    ]);
  });

  it("says that it is tried again at its venue, and for what", async () => {
    expect(await play(shrunk)).toEqual([{ event: "order_retried", ...IDS, reason: "POSITION_SIZE" }]);
    expect(await play(outsideTheBand)).toEqual([{ event: "order_retried", ...IDS, reason: "PRICE_BAND" }]);
  });
});

describe("at level info", () => {
  it.each(SCENES)("$name writes none of them", async (scene) => {
    const seen: string[] = [];
    const keep = (event: string): void => void seen.push(event);
    const logger: Logger = { debug: null, info: keep, warn: keep, error: keep };
    const withDebug = await play(scene);
    const quiet = await play({ ...scene, options: { ...scene.options, service: { logger } } });
    expect([withDebug.length > 0, quiet]).toEqual([true, []]);
    for (const { event } of withDebug) expect(seen).not.toContain(event);
  });
});

describe("debug lines", () => {
  it("hold no credential and no word of a venue", async () => {
    for (const scene of SCENES) {
      const text = JSON.stringify(await play(scene));
      expect(text).not.toContain(SECRET_ONE);
      expect(text).not.toContain(SECRET_TWO);
      expect(text).not.toContain("no: ");
    }
  });
});
