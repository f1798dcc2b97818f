/** Streamed accounts of venueone on a virtual clock, over a network and a REST that answer from what a local venue holds. */
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountEvent, AccountSession, Read } from "../../../engine/ports.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { VenueoneAccountStreams } from "../account/streams.js";
import { VenueoneRest } from "../account/rest.js";
import { buildInstruments, DEFAULT_FEES } from "../market/symbols.js";

export const ALICE = `0x${"a1".repeat(20)}`;
export const addressOf = (index: number): string => `0x${index.toString(16).padStart(40, "0")}`;

interface Held {
  readonly szi: string;
  readonly entryPx: string;
}

/** What the venue knows of its accounts; REST answers from it unless `isDown`. */
export class FakeVenue implements VenueHttp {
  readonly clock: VirtualClock;
  readonly positions = new Map<string, Readonly<Record<string, Held>>>();
  readonly orders = new Map<string, readonly Readonly<Record<string, unknown>>[]>();
  /** What userFillsByTime says, of whatever account. */
  fills: readonly unknown[] = [];
  readonly ends = new Map<number, unknown>();
  readonly calls: string[] = [];
  isDown = false;
  isGarbled = false;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  state(user: string, time = this.clock.trueMs()): unknown {
    const rows = Object.entries(this.positions.get(user) ?? {}).map(([coin, held]) => ({
      type: "oneWay",
      position: {
        coin,
        szi: held.szi,
        entryPx: held.entryPx,
        positionValue: "100.0",
        unrealizedPnl: "0.0",
        returnOnEquity: "0.0",
        liquidationPx: null,
        marginUsed: "5.0",
        maxLeverage: 40,
        leverage: { type: "cross", value: 20 },
      },
    }));
    const summary = { accountValue: "100.0", totalNtlPos: "0.0", totalRawUsd: "100.0", totalMarginUsed: "0.0" };
    return { marginSummary: summary, crossMarginSummary: summary, withdrawable: "50.0", time, assetPositions: rows };
  }

  request(request: HttpRequest): Promise<HttpResult> {
    const query = JSON.parse(request.body ?? "{}") as { type: string; user: string; oid?: number };
    this.calls.push(query.type);
    if (this.isDown) return Promise.resolve({ kind: "noResponse", reason: "TIMEOUT" });
    const nowMs = this.clock.wallMs();
    const body =
      query.type === "clearinghouseState"
        ? this.isGarbled
          ? { assetPositions: [{ type: "oneWay" }] }
          : this.state(query.user)
        : query.type === "frontendOpenOrders"
          ? (this.orders.get(query.user) ?? [])
          : query.type === "userFillsByTime"
            ? this.fills
            : (this.ends.get(query.oid ?? 0) ?? { status: "unknownOid" });
    return Promise.resolve({
      kind: "response",
      status: 200,
      headers: {},
      body: JSON.stringify(body),
      sentAtMs: nowMs,
      receivedAtMs: nowMs,
    });
  }
}

export function sessionOf(accountId: string): AccountSession {
  return { venue: "venueone", accountId, payer: null, close: () => {} };
}

export function setup(
  options: {
    streamsClock?: (clock: VirtualClock) => Clock;
    maxUsers?: number;
    resolve?: (session: AccountSession) => Promise<Read<string>>;
  } = {},
) {
  const clock = new VirtualClock();
  const network = new FakeNetwork();
  const venue = new FakeVenue(clock);
  const clockOffset = new ClockOffset(clock);
  const universe = ["BTC", "ETH"].map((name) => ({ name, szDecimals: 4, maxLeverage: 40, isDelisted: false }));
  const { byCoin } = buildInstruments({ universe, collateralToken: 0 }, DEFAULT_FEES);
  const streams = new VenueoneAccountStreams({
    wsUrl: "ws://venue",
    clock: options.streamsClock?.(clock) ?? clock,
    random: createSeededRandom(2),
    logger: silentLogger,
    connector: network.connector,
    clockOffset,
    budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 30 }),
    messages: new MessagePacer(clock, 2_000, 60_000),
    rest: new VenueoneRest(venue),
    instrumentOf: (coin) => byCoin.get(coin) ?? null,
    resolveAccount:
      options.resolve ??
      ((session) => Promise.resolve({ ok: true, value: session.accountId, asOfMs: 0, source: "venue" })),
    ...(options.maxUsers === undefined ? {} : { maxUsers: options.maxUsers }),
  });
  const events: AccountEvent[] = [];
  const open = (account: string) => {
    const opened = streams.openAccountStream(sessionOf(account), (event) => events.push(event));
    if (!opened.ok) throw new Error(opened.problem);
    return opened.stream;
  };
  const push = (channel: string, data: unknown): void => network.last.receive(JSON.stringify({ channel, data }));
  const acknowledge = (user: string): void => {
    for (const type of ["clearinghouseState", "openOrders", "userFills"]) {
      push("subscriptionResponse", { method: "subscribe", subscription: { type, user } });
    }
    push("userFills", { user, isSnapshot: true, fills: [] });
  };
  /** To LIVE: resolved, connected, acknowledged, reconciled. */
  const live = async (account: string) => {
    const stream = open(account);
    await clock.advanceAsync(0);
    if (network.connections.length > 0 && network.last.sent.length === 0) network.last.open();
    await clock.advanceAsync(10);
    acknowledge(account);
    await clock.advanceAsync(10);
    return stream;
  };
  const states = (): string[] => events.flatMap((event) => (event.kind === "state" ? [event.state] : []));
  /** A round trip that finds the venue's clock so far ahead. */
  const measure = (aheadMs: number): void =>
    clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs() + aheadMs, 1);
  return { clock, measure, network, venue, streams, events, states, open, push, acknowledge, live };
}

export function fill(overrides: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    coin: "BTC",
    px: "50000.0",
    sz: "0.1",
    side: "A",
    time: 1_790_000_005_000,
    startPosition: "0.5",
    dir: "Close Long",
    closedPnl: "0.0",
    hash: "0x0",
    oid: 77,
    crossed: true,
    fee: "2.25",
    tid: 1,
    feeToken: "USDC",
    twapId: null,
    ...overrides,
  };
}

export function orderRow(overrides: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    coin: "BTC",
    side: "A",
    limitPx: "60000.0",
    sz: "0.2",
    origSz: "0.2",
    oid: 5,
    timestamp: 1_790_000_000_000,
    cloid: null,
    triggerCondition: "N/A",
    isTrigger: false,
    triggerPx: "0.0",
    children: [],
    isPositionTpsl: false,
    reduceOnly: true,
    orderType: "Limit",
    tif: "Gtc",
    ...overrides,
  };
}
