/**
 * The judge itself: orders that the service sends after a reply belong to that reply, and nobody is blamed for them.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { Json } from "../../../gateway/test/client.js";
import { type FourTrader, type FourVenues, startFourVenues } from "../support/four-venues.js";
import type { SimRequestRecord } from "../../sim/core/server/request-log.js";
import { type Baseline, baselineOf, gatherEvidence } from "../support/judge/evidence.js";
import { claims, nonces } from "../support/judge/orders.js";
import { LONG_BTC, Stage } from "../support/scenes/stage.js";
import { pause, waitUntil } from "../support/system.js";
import { type Ask, EVERYTHING } from "../support/trade-ask.js";
import { judgeTrades } from "../support/trade-judge.js";
import { newestWord } from "../support/trade-ends.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";
import { hasEnd, logLengthsOf, type TradeTrial } from "../support/trade-trial.js";

const SEED = 20_261_122;
/** Longer than its caller waits, shorter than an order of venuethree lives. */
const HELD_MS = 1_800;
const LATER_MS = 90_000;

let four: FourVenues;
let system: TradeSystem;

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH"] });
  system = await startTradeSystem(four);
}, 60_000);

afterAll(async () => {
  await system?.stop();
  await four?.stop();
  system?.cleanUp();
});

interface Played {
  readonly stage: Stage;
  readonly trader: FourTrader;
  readonly trials: TradeTrial[];
  readonly asks: Ask[];
  readonly baseline: Baseline;
}

function stageFor(label: string, positions: Readonly<Record<string, string>>): Played {
  const trader = four.addTrader(label, positions);
  const [client] = system.clients;
  if (client === undefined) throw new RangeError("no client");
  const [trials, asks]: [TradeTrial[], Ask[]] = [[], []];
  const random = createSeededRandom(SEED);
  const stage = new Stage({ four, client, trader, random, name: label, down: null, isCalm: true, trials, asks });
  return { stage, trader, trials, asks, baseline: baselineOf(four, [trader]) };
}

function askOf(trader: FourTrader, data: Json): Ask {
  const nowMs = four.nowMs();
  const logLengths = logLengthsOf(four);
  return {
    key: "close-all",
    kind: "CLOSE_ALL",
    trader,
    terms: EVERYTHING,
    status: 200,
    code: null,
    data,
    leakCount: 0,
    askedAtMs: nowMs,
    answeredAtMs: nowMs,
    logLengthsBefore: logLengths,
    logLengths,
    workingAtEnd: null,
  };
}

/** An order that venuethree had after everything else. */
function unclaimedOf(trader: FourTrader, baseline: Baseline, clientId: string) {
  const evidence = gatherEvidence(four, [], baseline, { traders: [trader] });
  const record: SimRequestRecord = {
    index: four.venues.venuethree.log.length,
    receivedMs: four.nowMs(),
    action: "place",
    signer: "",
    accountId: trader.accountIds.venuethree,
    symbol: "BTC",
    clientId,
    side: "SELL",
    type: "LIMIT",
    timeInForce: "IOC",
    reduceOnly: true,
    positionSide: "BOTH",
    price: "90000",
    qty: "0.4",
    nonce: "1",
    agent: null,
    orderId: 1,
    refusal: null,
    status: "FILLED",
    filledQty: "0.4",
    averagePrice: "91000",
    fills: [],
  };
  return { evidence: { ...evidence, unclaimed: [{ venue: "venuethree" as const, record }] }, record };
}

describe("a nonce of venuethree that another order of a close-all has too", () => {
  /** The first executed with the nonce, the second was refused for it. */
  function twice(label: string) {
    const { trader, baseline } = stageFor(label, { BTC: "0.4", ETH: "-5" });
    const { evidence, record: first } = unclaimedOf(trader, baseline, "0xab");
    const refusal = { code: "21104", text: "invalid nonce" };
    const unfilled = { orderId: null, status: null, filledQty: null, averagePrice: null };
    const second: SimRequestRecord = { ...first, ...unfilled, index: first.index + 1, clientId: "0xcd", refusal };
    const placed = { ...evidence.placed, venuethree: [first, second] };
    const lengths = (length: number) => ({ ...logLengthsOf(four), venuethree: length });
    /** Between these two records of the log. */
    const between = (from: number, to: number, status = "CLOSED"): Ask => ({
      ...askOf(trader, { venues: [{ results: [{ exchange: "venuethree", orderId: "0xab", status }] }] }),
      logLengthsBefore: lengths(first.index + from),
      logLengths: lengths(first.index + to),
      answeredAtMs: four.nowMs() + 1,
    });
    const judgedOf = (legs: readonly { readonly record: SimRequestRecord; readonly leg: object }[]) => {
      const sent = legs.map((one) => ({ venue: "venuethree", ...one })) as unknown as typeof evidence.sent;
      const records = legs.map(({ record }) => record);
      return nonces({ ...evidence, placed: { ...evidence.placed, venuethree: records }, sent, asks: [] });
    };
    return {
      judged: (asks: Ask[]) => nonces({ ...evidence, placed, asks }),
      judgedOf,
      between,
      placed: [first, second] as const,
    };
  }

  it("is nobody's fault while the first had no answer: the venue may have named it", () => {
    const { judged, between } = twice("one-close-all");
    expect(judged([between(0, 2)])).toEqual([]);
    expect(judged([between(0, 1, "UNKNOWN"), between(1, 2)])).toEqual([]);
    expect(judged([{ ...between(0, 1), status: 0 }, between(1, 2)])).toEqual([]);
  });

  it("is nobody's fault where the second left before the first, whatever the service's clock was set to between", () => {
    const { placed, judgedOf } = twice("clock-set-back");
    const [first, second] = placed;
    const at = first.receivedMs;
    const late = { ...second, receivedMs: at + 300 };
    const legs = (firstMs: number, secondMs: number) =>
      judgedOf([
        { record: first, leg: { sentAt: firstMs, ackAt: firstMs + 2 } },
        { record: late, leg: { sentAt: secondMs, ackAt: null } },
      ]);
    expect(legs(at - 90_003, at - 1_400)).toEqual([]);
    expect(legs(at - 3, at + 149_000)).toEqual([]);
    expect(legs(at - 90_003, at + 100)).toHaveLength(1);
    expect(legs(at - 3, at + 100)).toHaveLength(1);
  });

  it("is nobody's fault of two protection orders, of which no reply has times, unless they came far apart", () => {
    const { placed, judgedOf } = twice("protection");
    const [first, second] = placed;
    const apart = (ms: number) =>
      judgedOf([
        { record: first, leg: { kind: "STOP_LOSS" } },
        { record: { ...second, receivedMs: first.receivedMs + ms }, leg: { kind: "TAKE_PROFIT" } },
      ]);
    expect(apart(861)).toEqual([]);
    expect(apart(60_000)).toHaveLength(1);
  });

  it("is a fault of two that were both executed, whatever their times", () => {
    const { placed, judgedOf } = twice("protection-twice");
    const [first, second] = placed;
    const executed = { ...second, orderId: first.orderId, refusal: null };
    expect(
      judgedOf([
        { record: first, leg: { kind: "STOP_LOSS" } },
        { record: executed, leg: { kind: "TAKE_PROFIT" } },
      ]),
    ).toHaveLength(1);
  });

  it("is a fault where the first was answered before the second was asked for", () => {
    const { judged, between } = twice("two-close-alls");
    const first = between(0, 1);
    const later = { ...between(1, 2), askedAtMs: first.answeredAtMs + 1, answeredAtMs: first.answeredAtMs + 2 };
    expect(judged([first, later])).toMatchObject([expect.stringContaining("is used again")]);
  });
});

describe("an order that comes after the reply", () => {
  it("of a close-all that names it, though the venue had it after the answer, is of that close-all", async () => {
    const { trader, baseline } = stageFor("late-close-all", { BTC: "0.4" });
    const { evidence, record } = unclaimedOf(trader, baseline, "0xab");
    const named = askOf(trader, { venues: [{ results: [{ exchange: "venuethree", orderId: "0xab" }] }] });
    const other = askOf(trader, { venues: [{ results: [{ exchange: "venuethree", orderId: "0xcd" }] }] });
    expect(claims({ ...evidence, asks: [named] })).toEqual([]);
    expect(claims({ ...evidence, asks: [other] })).toMatchObject([expect.stringContaining(`record ${record.index}`)]);
  });

  it("of a close-all whose answer never came is of that close-all where it reduces, and nobody's where it opens", () => {
    const { trader, baseline } = stageFor("cut-close-all", { BTC: "0.4" });
    const { evidence, record } = unclaimedOf(trader, baseline, "0xef");
    const cut = { ...askOf(trader, null), status: 0, code: "NETWORK" };
    expect(claims({ ...evidence, asks: [cut] })).toEqual([]);
    const opening = {
      ...evidence,
      unclaimed: [{ venue: "venuethree" as const, record: { ...record, reduceOnly: false } }],
    };
    expect(claims({ ...opening, asks: [cut] })).toHaveLength(1);
  });

  it("that protects a MARKET entry whose outcome came after the last answer is of that entry", async () => {
    const { stage, trader, trials, asks, baseline } = stageFor("late-protection", {});
    const venue = "venuethree";
    const end = four.fault([venue], [{ kind: "heldRequest", match: "sendTx", delayMs: HELD_MS, count: 1 }]);
    const terms = { takeProfit: stage.price(venue, "BTC", 0.05), stopLoss: stage.price(venue, "BTC", -0.05) };
    const fields = { kind: "OPEN", ...LONG_BTC, size: "0.05", preferred: venue, terms } as const;
    const trial = await stage.trade({ ...fields, routingOptions: { deadlineMs: 1_000 } });
    while (!hasEnd(trial)) {
      await pause(10);
      await stage.again(trial);
    }
    end();
    const { exchange } = four.venues[venue];
    await waitUntil("both stops", LATER_MS, () => exchange.orders.open(trader.accountIds[venue]).length === 2);
    await newestWord(four, system, trials);
    expect(judgeTrades(four, trials, baseline, { asks, traders: [trader] }).violations).toEqual([]);
  }, 60_000);
});

describe("a baseline in the middle of a trader's life", () => {
  it("has positions as they are, and counts the fills after it only", () => {
    const { stage, trader } = stageFor("second-baseline", { BTC: "1" });
    expect(four.outside("venueone", trader, "BTC", "BUY", "0.5")).toBeGreaterThan(0);
    const baseline = baselineOf(four, [trader]);
    const trial = stage.trial({ kind: "OPEN", ...LONG_BTC, size: "0.1" });
    const found = () => judgeTrades(four, [trial], baseline, { traders: [trader] }).byCheck.get("positions") ?? [];
    expect(found()).toEqual([]);
    expect(four.outside("venueone", trader, "BTC", "SELL", "0.2")).toBeGreaterThan(0);
    expect(found()).toEqual([]);
    const lost = new Map(baseline.lots).set(`venueone ${trader.label} BTC`, 0);
    expect(judgeTrades(four, [trial], { ...baseline, lots: lost }, { traders: [trader] }).violations).toHaveLength(1);
  });
});
