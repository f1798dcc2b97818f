/**
 * Acceptance of the first close: the best exit moves when one venue's price moves, and our reply agrees with the chosen
 * venue's own log: a validly signed reduce-only order and the same fill.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { SimRequestRecord } from "../../sim/core/server/request-log.js";
import { closeTrial, sendClose } from "../support/close-judge.js";
import {
  accountOf,
  agentCredentialsOf,
  credentialsOf,
  type LocalPair,
  PAIR_VENUES,
  type PairVenue,
  startLocalPair,
  type Trader,
} from "../support/local-pair.js";
import { nativeName } from "../support/local-venues.js";
import { pause, startSystem, type System, waitUntil } from "../support/system.js";

/** Half of the age at which a book is too old to trade. */
const FRESH_MS = 1_000;
const RETRY_MS = 50;
const clock = createSystemClock();

let pair: LocalPair;
let system: System;
let trader: Trader;
let hedger: Trader;

beforeAll(async () => {
  pair = await startLocalPair({ seed: 77, cadenceScale: 0.2 });
  trader = pair.addTrader("skew", { positions: { BTC: "4", ETH: "-40" } });
  hedger = pair.addTrader("hedge", { positions: { BTC: "3", ETH: "-30" }, hedgeMode: true });
  system = await startSystem(pair, { environment: { CLOSE_DEADLINE_MS: "30000" } });
});
afterAll(async () => {
  await system.stop();
  system.cleanUp();
  await pair.stop();
});

/** Uses the venue's own control API, as an operator would. */
async function skew(venue: PairVenue, bps: number): Promise<void> {
  const response = await fetch(`${pair[venue].restUrl}/_sim/skew`, { method: "POST", body: JSON.stringify({ bps }) });
  expect(response.status).toBe(200);
  await response.text();
}

function orderRecords(venue: PairVenue, of: Trader): readonly SimRequestRecord[] {
  return pair[venue].log.records({ accountId: accountOf(venue, of), action: "place" });
}

/**
 * Waits until our books, none near its age limit, show that `better` exits better by a margin beyond every tie rule.
 */
async function untilBest(better: PairVenue, side: "BUY" | "SELL", symbol: string): Promise<void> {
  await waitUntil(`${better} best to ${side} ${symbol}`, 8_000, () => {
    const touch = (venue: PairVenue): number => {
      const market = system.service.rooms.find((room) => room.venue === venue)?.markets.get(symbol);
      if (market === undefined || ageMs(market.book.tsProvenNs, clock.monoNs()) > FRESH_MS) return Number.NaN;
      const ticks = side === "SELL" ? market.book.bidTicks(0) : market.book.askTicks(0);
      return ticks / 10 ** market.instrument.priceDecimals;
    };
    const [own, other] = [touch(better), touch(better === "venueone" ? "venuetwo" : "venueone")];
    return side === "SELL" ? own > other * 1.003 : own < other * 0.997;
  });
}

let keyCount = 0;
/** Repeats a close that sent nothing: books are old for a moment after a pause of the machine. */
async function close(fields: Parameters<typeof closeTrial>[2], of: Trader = trader) {
  const trial = closeTrial(of, `skew-${++keyCount}`, fields);
  for (;;) {
    const answer = await sendClose(pair, system.client, trial);
    if (answer.code !== "NO_ELIGIBLE_VENUE") return answer;
    await pause(RETRY_MS);
  }
}

describe("the best exit", () => {
  for (const { direction, symbol, side } of [
    { direction: "LONG", symbol: "BTC", side: "SELL" },
    { direction: "SHORT", symbol: "ETH", side: "BUY" },
  ] as const) {
    it(`of a ${direction} follows the price from one venue to the other, and the venue's log shows the same fill`, async () => {
      const fields = { symbol, direction, size: "0.05" } as const;
      for (const chosen of ["venueone", "venuetwo", "venueone"] as const) {
        // For a sale the dearer venue is better, for a buy the cheaper one.
        await skew(chosen, side === "SELL" ? 60 : -60);
        await skew(chosen === "venueone" ? "venuetwo" : "venueone", 0);
        await untilBest(chosen, side, symbol);
        const before = {
          venueone: orderRecords("venueone", trader).length,
          venuetwo: orderRecords("venuetwo", trader).length,
        };
        const answer = await close(fields);
        expect(answer.status).toBe(200);
        expect(answer.data?.executedOn).toBe(chosen);
        expect(answer.data?.routing.recommended).toBe(chosen);
        expect(answer.data?.execution.state).toBe("COMPLETED");
        expect(answer.data?.order).toMatchObject({ side, reduceOnly: true, status: "FILLED" });
        for (const venue of PAIR_VENUES)
          expect(orderRecords(venue, trader).length - before[venue], venue).toBe(venue === chosen ? 1 : 0);
        // The log has only requests that passed the venue's own signature check.
        const record = orderRecords(chosen, trader).at(-1);
        const leg = answer.data?.execution.legs[0];
        expect(record).toMatchObject({
          symbol: nativeName(chosen, symbol),
          side,
          reduceOnly: true,
          refusal: null,
          status: "FILLED",
        });
        expect(record?.clientId).toBe(leg?.venueClientOrderId);
        expect(String(record?.orderId)).toBe(leg?.orderId);
        expect(Number(record?.filledQty)).toBe(Number(leg?.filledSize));
        expect(Math.abs(Number(record?.averagePrice) / Number(leg?.averagePrice) - 1)).toBeLessThan(1e-6);
      }
    });
  }

  it("by agent key is of the account behind it", async () => {
    const answer = await close({ symbol: "BTC", direction: "LONG", size: "0.01", preferredExchange: "venueone" });
    expect(answer.data?.executedOn).toBe("venueone");
    const record = orderRecords("venueone", trader).at(-1);
    expect(record?.accountId).toBe(trader.venueone.address);
    expect(record?.signer.toLowerCase()).not.toBe(trader.venueone.address);
  });

  it("on venuetwo is signed by an agent too", async () => {
    const answer = await close({
      symbol: "BTC",
      direction: "LONG",
      size: "0.01",
      credentials: agentCredentialsOf(trader),
    });
    expect(answer.status).toBe(200);
    expect(answer.data?.execution.state).toBe("COMPLETED");
    const record = orderRecords("venuetwo", trader).at(-1);
    expect(record?.signer.toLowerCase()).toBe(trader.venuetwo.agentAddress.toLowerCase());
    expect(record).toMatchObject({ reduceOnly: true, side: "SELL", refusal: null, status: "FILLED" });
  });

  it("in a hedge-mode account names the position side instead of the flag the venue forbids", async () => {
    for (const { direction, symbol, side } of [
      { direction: "LONG", symbol: "BTC", side: "SELL" },
      { direction: "SHORT", symbol: "ETH", side: "BUY" },
    ] as const) {
      const answer = await close({ symbol, direction, size: "0.2", preferredExchange: "venuetwo" }, hedger);
      expect(answer.status).toBe(200);
      expect(answer.data?.execution.state).toBe("COMPLETED");
      expect(answer.data?.order).toMatchObject({ side, reduceOnly: true });
      const record = orderRecords("venuetwo", hedger).at(-1);
      expect(record).toMatchObject({ side, positionSide: direction, refusal: null });
      expect(record?.reduceOnly ?? false).toBe(false);
    }
  });
});

describe("a close", () => {
  it("with a limit price rests, reduce-only, until cancelled by its owner", async () => {
    const bid = pair.venueone.exchange.market.bestBid("BTC");
    const priceDecimals = pair.venueone.exchange.instruments.get("BTC")?.priceDecimals ?? 0;
    const limitPrice = String(Math.round(((bid?.priceTicks ?? 0) / 10 ** priceDecimals) * 1.02));
    const answer = await close({ symbol: "BTC", direction: "LONG", size: "0.02", orderType: "LIMIT", limitPrice });
    expect(answer.status).toBe(200);
    expect(answer.data?.execution).toMatchObject({ state: "RESTING", filledSize: "0" });
    const venue = answer.data?.executedOn as PairVenue;
    const record = orderRecords(venue, trader).at(-1);
    expect(record).toMatchObject({ reduceOnly: true, side: "SELL", status: "NEW", timeInForce: "GTC" });
    const open = pair[venue].exchange.orders.open(accountOf(venue, trader));
    expect(open).toHaveLength(1);
    for (const order of open) pair[venue].exchange.orders.cancel(order.accountId, order.orderId);
  });

  it("as a dry run sends nothing and uses no nonce", async () => {
    const before = PAIR_VENUES.map((venue) => pair[venue].log.records().length);
    const answer = await close({ symbol: "BTC", direction: "LONG", size: "0.05", dryRun: true });
    expect(answer.status).toBe(200);
    expect(answer.data?.order).toBeNull();
    expect(answer.data?.execution.state).toBe("SIMULATED");
    expect(PAIR_VENUES.map((venue) => pair[venue].log.records().length)).toEqual(before);
  });

  it("of a percentage closes that part, rounded down to the lot", async () => {
    const lots = pair.positionLots("venuetwo", trader, "ETH");
    const answer = await close({
      symbol: "ETH",
      direction: "SHORT",
      sizePercent: "12.5",
      preferredExchange: "venuetwo",
    });
    expect(answer.data?.execution.state).toBe("COMPLETED");
    expect(pair.positionLots("venuetwo", trader, "ETH") - lots).toBe(Math.floor(Math.abs(lots) / 8));
  });

  it("of ALL leaves the venue flat, and the next one is refused", async () => {
    const flattened = pair.addTrader("all", { positions: { BTC: "0.3" } });
    for (const venue of PAIR_VENUES) {
      const answer = await close(
        { symbol: "BTC", direction: "LONG", size: "ALL", preferredExchange: venue },
        flattened,
      );
      expect(answer.data?.execution.state).toBe("COMPLETED");
      expect(answer.data?.execution.filledSize).toBe("0.3");
      expect(pair.positionLots(venue, flattened, "BTC")).toBe(0);
    }
    const again = await close({ symbol: "BTC", direction: "LONG", size: "0.1" }, flattened);
    expect(again).toMatchObject({ status: 400, code: "SIZE_EXCEEDS_POSITION" });
    expect(orderRecords("venueone", flattened)).toHaveLength(1);
    expect(orderRecords("venuetwo", flattened)).toHaveLength(1);
  });

  it("with another's credentials for one venue uses the other alone", async () => {
    const credentials = { ...credentialsOf(trader), venueone: { privateKey: `0x${"5a".repeat(32)}` } };
    const count = orderRecords("venueone", trader).length;
    const answer = await close({ symbol: "BTC", direction: "LONG", size: "0.01", credentials });
    expect(answer.data?.executedOn).toBe("venuetwo");
    expect(orderRecords("venueone", trader)).toHaveLength(count);
  });
});
