/** The trading halves of both rooms against the local venues, over real sockets: signed orders, reads, refusals. */
import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountReader, AccountSession, CallOptions, OpenSession, OrderSender } from "../../../engine/ports.js";
import { HttpPool } from "../../../feeds/shared/net/http-pool.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { createVenueoneTrading } from "../../../feeds/venueone/trading.js";
import { createVenuetwoTrading } from "../../../feeds/venuetwo/trading.js";
import { BTC as STANDING_BTC } from "../../../feeds/venueone/test/trading-harness.js";
import { BTC as DRIVEN_BTC } from "../../../feeds/venuetwo/test/trading-harness.js";
import { startVenueoneSim } from "../../sim/venueone/sim.js";
import { AGENT as ONE_AGENT, ALICE, KEYS } from "../../sim/venueone/test/kit.js";
import {
  AGENT_KEY,
  agentWallet,
  API_KEY,
  API_SECRET,
  mainWallet,
  startTestVenue,
} from "../../sim/venuetwo/test/support.js";

/** No pause of the machine is taken for a venue that does not answer. */
const OPTIONS: CallOptions = { timeoutMs: 20_000, lane: "exit" };

interface Half {
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  openSession(raw: unknown): OpenSession;
}

function deps(baseUrl: string, instrument: Instrument) {
  const clock = createSystemClock();
  const http = new HttpPool({
    name: "local",
    baseUrl,
    clock,
    random: createSeededRandom(3),
    logger: silentLogger,
    budget: 100_000,
    budgetWindowMs: 60_000,
    accountLimits: [],
  });
  return {
    http,
    instruments: () => new Map([[instrument.symbol, instrument]]),
    clock,
    random: createSeededRandom(4),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    clockOffsetMs: () => 0,
    leastOffsetMs: () => 0,
    ackLatency: new LatencyWindow(500),
    isMainnet: true,
  };
}

function open(half: Half, raw: unknown): AccountSession {
  const opened = half.openSession(raw);
  if (!opened.ok) throw new Error(opened.problem);
  return opened.session;
}

let clientIdCount = 0;
function command(instrument: Instrument, changes: Partial<OrderCommand>): OrderCommand {
  return {
    instrument,
    side: "BUY",
    type: "MARKET",
    timeInForce: "IOC",
    priceTicks: 1,
    qtyLots: 1,
    reduceOnly: false,
    positionSide: "BOTH",
    clientIdHex: (++clientIdCount).toString(16).padStart(32, "0"),
    ...changes,
  };
}

/** Buys, sees the position, closes it reduce-only, sees it flat, is refused a second close. */
async function roundTrip(
  half: Half,
  session: AccountSession,
  instrument: Instrument,
  qtyLots: number,
  buyTicks: number,
  sellTicks: number,
): Promise<void> {
  const { orders, reader } = half;
  const buy = command(instrument, { qtyLots, priceTicks: buyTicks });
  const bought = await orders.place(session, buy, OPTIONS);
  expect(bought).toMatchObject({ outcome: "accepted", order: { status: "FILLED", filledLots: qtyLots } });

  const positions = await reader.readPositions(session, instrument, OPTIONS);
  expect(positions).toMatchObject({ ok: true, value: [{ direction: "LONG", qtyLots }] });

  const close = command(instrument, { side: "SELL", qtyLots, priceTicks: sellTicks, reduceOnly: true });
  expect(await orders.place(session, close, OPTIONS)).toMatchObject({
    outcome: "accepted",
    order: {
      status: "FILLED",
      filledLots: qtyLots,
      reduceOnly: true,
      venueClientOrderId: orders.venueClientOrderId(close.clientIdHex),
    },
  });
  expect(await reader.readPositions(session, null, OPTIONS)).toMatchObject({ ok: true, value: [] });

  const again = command(instrument, { side: "SELL", qtyLots, priceTicks: sellTicks, reduceOnly: true });
  expect(await orders.place(session, again, OPTIONS)).toMatchObject({
    outcome: "rejected",
    reason: "REDUCE_ONLY",
    sent: true,
  });

  const resting = command(instrument, { type: "LIMIT", timeInForce: "GTC", qtyLots, priceTicks: sellTicks });
  expect(await orders.place(session, resting, OPTIONS)).toMatchObject({
    outcome: "accepted",
    order: { status: "OPEN" },
  });
  const openOrders = await reader.readOpenOrders(session, instrument, OPTIONS);
  expect(openOrders).toMatchObject({
    ok: true,
    value: [{ venueClientOrderId: orders.venueClientOrderId(resting.clientIdHex), qtyLots, filledLots: 0 }],
  });
  expect(await orders.cancel(session, instrument, { clientIdHex: resting.clientIdHex }, OPTIONS)).toEqual({
    outcome: "accepted",
  });
  expect(await orders.cancel(session, instrument, { clientIdHex: resting.clientIdHex }, OPTIONS)).toMatchObject({
    outcome: "rejected",
    reason: "NOT_FOUND",
  });
  expect(await reader.readOrder(session, instrument, { clientIdHex: "f".repeat(32) }, OPTIONS)).toMatchObject({
    ok: true,
    value: null,
  });
  expect((await reader.readBalances(session, OPTIONS)).ok).toBe(true);
  expect((await reader.readFeeRates(session, instrument, OPTIONS)).ok).toBe(true);
}

describe("trading against the local venues", () => {
  it("venueone: own key, agent, stranger", async () => {
    const sim = await startVenueoneSim({
      seed: 7,
      symbols: ["BTC"],
      accounts: [{ address: ALICE, deposit: "100000", agents: [{ address: ONE_AGENT, name: "bot" }] }],
      limits: { ipWeightPerMinute: 1_000_000 },
    });
    const parts = deps(sim.restUrl, STANDING_BTC);
    try {
      const meta = (await (
        await fetch(`${sim.restUrl}/info`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"type":"metaAndAssetCtxs"}',
        })
      ).json()) as [{ universe: { name: string; szDecimals: number }[] }, { markPx: string }[]];
      const index = meta[0].universe.findIndex((asset) => asset.name === "BTC");
      const szDecimals = meta[0].universe[index]?.szDecimals ?? 5;
      const instrument: Instrument = {
        ...STANDING_BTC,
        nativeId: index,
        priceDecimals: 6 - szDecimals,
        qtyDecimals: szDecimals,
      };
      const mark = Number(meta[1][index]?.markPx);
      const ticks = (factor: number): number => Math.round(mark * factor) * 10 ** instrument.priceDecimals;
      const half = createVenueoneTrading({ ...parts, instruments: () => new Map([["BTC", instrument]]) });
      for (const privateKey of [KEYS.alice, KEYS.agent]) {
        await roundTrip(half, open(half, { privateKey }), instrument, 1_000, ticks(1.02), ticks(0.98));
      }
      const stranger = open(half, { privateKey: KEYS.stranger });
      expect(await half.reader.readPositions(stranger, instrument, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
      expect(
        await half.orders.place(stranger, command(instrument, { qtyLots: 1_000, priceTicks: ticks(1.02) }), OPTIONS),
      ).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: true });
    } finally {
      await parts.http.close(500);
      await sim.stop();
    }
  });

  it("venuetwo: V1 key, V3 agent, a wrong secret", async () => {
    const sim = await startTestVenue();
    const parts = deps(sim.restUrl, DRIVEN_BTC);
    try {
      const { markPrice } = (await (await fetch(`${sim.restUrl}/fapi/v1/premiumIndex?symbol=BTCUSDT`)).json()) as {
        markPrice: string;
      };
      const ticks = (factor: number): number => Math.round(Number(markPrice) * factor) * 10 ** DRIVEN_BTC.priceDecimals;
      const half = createVenuetwoTrading(parts);
      const v1 = { apiKey: API_KEY, apiSecret: API_SECRET, walletAddress: mainWallet.address };
      const v3 = { apiKey: agentWallet.address, apiSecret: AGENT_KEY, walletAddress: mainWallet.address };
      for (const credentials of [v1, v3]) {
        const session = open(half, credentials);
        await roundTrip(half, session, DRIVEN_BTC, 10, ticks(1.015), ticks(0.985));
        const key = await half.listenKey.create(session, OPTIONS);
        expect(key.ok).toBe(true);
        expect(await half.listenKey.extend(session, OPTIONS)).toMatchObject({ ok: true, value: "extended" });
        expect(await half.listenKey.close(session, OPTIONS)).toMatchObject({ ok: true });
      }
      const wrong = open(half, { ...v1, apiSecret: "wrong" });
      expect(await half.reader.readPositions(wrong, DRIVEN_BTC, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
      expect(
        await half.orders.place(wrong, command(DRIVEN_BTC, { qtyLots: 10, priceTicks: ticks(1.01) }), OPTIONS),
      ).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: true });
    } finally {
      await parts.http.close(500);
      await sim.stop();
    }
  });
});
