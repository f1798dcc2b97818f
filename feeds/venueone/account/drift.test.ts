/** Account frames that this room cannot read, and words that it does not know: counted, said once, never guessed. */
import { describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { VenueHttp } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { misshapen, withField } from "../../shared/test/misshape.js";
import { VenueoneAccountStreams } from "./streams.js";
import { frameFixture, readFixture } from "../fixtures/market/load.js";
import { VenueoneRest } from "./rest.js";
import { buildInstruments, DEFAULT_FEES } from "../market/symbols.js";

const ALICE = `0x${"a1".repeat(20)}`;
const BOB = `0x${"b0".repeat(20)}`;

/** Bodies and rows as recorded; the envelopes are the fact sheet's (section 6). */
const STATE = {
  channel: "clearinghouseState",
  data: { dex: "", user: ALICE, clearinghouseState: JSON.parse(readFixture("clearinghouse-long.json")) as unknown },
};
const RECORDED_FILL = (
  JSON.parse(frameFixture("bytex_user_fill")) as { data: { fills: readonly Readonly<Record<string, unknown>>[] } }
).data.fills[0];
/** Its start is printed finer than a lot is: spot. The perpetual's is a whole number of lots. */
const FILLS = { channel: "userFills", data: { user: ALICE, fills: [{ ...RECORDED_FILL, startPosition: "4.5" }] } };
const ORDER = {
  coin: "BTC",
  side: "A",
  limitPx: "96161.0",
  sz: "0.00015",
  oid: 59_534_923_953,
  timestamp: 1_788_780_014_874,
  origSz: "0.00015",
  reduceOnly: true,
  isTrigger: true,
  triggerPx: "96200.0",
  orderType: "Stop Limit",
  tif: null,
  cloid: null,
};
const ORDERS = { channel: "openOrders", data: { dex: "", user: ALICE, orders: [ORDER] } };

async function live() {
  const clock = new VirtualClock(1_790_360_865_000);
  const network = new FakeNetwork();
  const lines: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const ends = new Map<number, unknown>();
  const http: VenueHttp = {
    request: ({ body }) => {
      const query = JSON.parse(body ?? "{}") as { type: string; oid?: number };
      const state = { ...(STATE.data.clearinghouseState as object), time: clock.wallMs() };
      const answer =
        query.type === "clearinghouseState" ? state : query.type === "orderStatus" ? ends.get(query.oid ?? 0) : [];
      const sentAtMs = clock.wallMs();
      return Promise.resolve({
        kind: "response",
        status: 200,
        headers: {},
        body: JSON.stringify(answer ?? { status: "unknownOid" }),
        sentAtMs,
        receivedAtMs: sentAtMs,
      });
    },
  };
  const universe = [{ name: "BTC", szDecimals: 5, maxLeverage: 40, isDelisted: false }];
  const { byCoin } = buildInstruments({ universe, collateralToken: 0 }, DEFAULT_FEES);
  const streams = new VenueoneAccountStreams({
    wsUrl: "ws://venue",
    clock,
    random: createSeededRandom(2),
    logger,
    connector: network.connector,
    clockOffset: new ClockOffset(clock),
    budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 30 }),
    messages: new MessagePacer(clock, 2_000, 60_000),
    rest: new VenueoneRest(http),
    instrumentOf: (coin) => byCoin.get(coin) ?? null,
    resolveAccount: (session) => Promise.resolve({ ok: true, value: session.accountId, asOfMs: 0, source: "venue" }),
  });
  const events: AccountEvent[] = [];
  const push = (frame: unknown): void => network.last.receive(JSON.stringify(frame));
  const watched = [];
  for (const user of [ALICE, BOB]) {
    const session = { venue: "venueone", accountId: user, payer: null, close: () => {} } as const;
    const opened = streams.openAccountStream(session, (event) => events.push(event));
    if (!opened.ok) throw new Error(opened.problem);
    watched.push(opened.stream);
  }
  await clock.advanceAsync(0);
  network.last.open();
  await clock.advanceAsync(10);
  for (const user of [ALICE, BOB])
    for (const type of ["clearinghouseState", "openOrders", "userFills"])
      push({ channel: "subscriptionResponse", data: { method: "subscribe", subscription: { type, user } } });
  for (const user of [ALICE, BOB]) push({ channel: "userFills", data: { user, isSnapshot: true, fills: [] } });
  await clock.advanceAsync(10);
  const [stream, other] = watched;
  if (stream === undefined || other === undefined) throw new Error("no stream");
  expect([stream.state, other.state]).toEqual(["LIVE", "LIVE"]);
  lines.length = 0;
  return { clock, streams, stream, other, events, ends, lines, push };
}

const POSITION = ["data", "clearinghouseState", "assetPositions", 0, "position"] as const;
const FILL = ["data", "fills", 0] as const;
const OPEN_ORDER = ["data", "orders", 0] as const;
const CASES = [
  ...["coin", "szi", "entryPx"].flatMap((name) => misshapen(STATE, [...POSITION, name])),
  ...misshapen(STATE, ["data", "clearinghouseState", "assetPositions"]),
  ...misshapen(STATE, ["data", "clearinghouseState", "time"]),
  ...["coin", "px", "sz", "side", "time", "startPosition", "oid", "tid", "fee"].flatMap((name) =>
    misshapen(FILLS, [...FILL, name]),
  ),
  ...misshapen(FILLS, [...FILL, "feeToken"]).slice(0, 2),
  ...misshapen(FILLS, ["data", "fills"]),
  ...["coin", "side", "limitPx", "sz", "origSz", "oid", "timestamp", "reduceOnly", "isTrigger", "triggerPx"].flatMap(
    (name) => misshapen(ORDERS, [...OPEN_ORDER, name]),
  ),
  ...misshapen(ORDERS, ["data", "orders"]),
]
  // A coin that nobody lists is a coin all the same.
  .filter(({ what }) => !what.endsWith("coin is no word, number or flag"))
  .filter(({ what }) => !what.endsWith("feeToken is no word, number or flag"));

describe("a frame of a known channel", () => {
  it.each(CASES.map(({ what, frame }) => [what, frame] as const))(
    "where %s: the account is untrusted until it is read again, and it is counted",
    async (_what, frame) => {
      const { clock, streams, stream, other, push } = await live();
      push(frame);
      expect([stream.state, other.state, streams.stats().decodeErrorCount]).toEqual(["SYNCING", "LIVE", 1]);
      await clock.advanceAsync(2_000);
      expect(stream.state).toBe("LIVE");
      expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 450_000 }] });
    },
  );

  it("as it was recorded changes nothing of that", async () => {
    for (const frame of [STATE, FILLS, ORDERS]) {
      const { streams, stream, push } = await live();
      push(frame);
      expect([stream.state, streams.stats().decodeErrorCount, streams.stats().driftCount]).toEqual(["LIVE", 0, 0]);
    }
  });

  it("that does not say whose it is may be anybody's", async () => {
    for (const frame of [STATE, FILLS, ORDERS]) {
      const { streams, stream, other, push } = await live();
      push(withField(frame, ["data", "user"], null));
      expect([stream.state, other.state, streams.stats().decodeErrorCount]).toEqual(["SYNCING", "SYNCING", 1]);
    }
  });
});

describe("an unknown word", () => {
  it("as the end of an order leaves it open, is counted each time and logged once, cut", async () => {
    const { clock, streams, events, ends, lines, push } = await live();
    const word = `halfFilled${"x".repeat(100)}`;
    for (const oid of [5, 6])
      ends.set(oid, { status: "order", order: { order: { ...ORDER, oid }, status: word, statusTimestamp: 9 } });
    push(
      withField(
        ORDERS,
        ["data", "orders"],
        [
          { ...ORDER, oid: 5 },
          { ...ORDER, oid: 6 },
        ],
      ),
    );
    push(withField(ORDERS, ["data", "orders"], []));
    await clock.advanceAsync(10);
    expect(events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []))).toEqual([
      ...["OPEN", "OPEN", "UNKNOWN", "UNKNOWN"],
    ]);
    expect(streams.stats().driftCount).toBe(2);
    const said = lines.filter((line) => line.startsWith("venueone.account.unknown-word"));
    expect(said).toEqual([`venueone.account.unknown-word {"field":"status","word":"${word.slice(0, 40)}"}`]);
  });

  it("as a channel is counted", async () => {
    const { streams, stream, lines, push } = await live();
    push({ channel: "openOrdersV2", data: {} });
    expect([stream.state, streams.stats().driftCount]).toEqual(["LIVE", 1]);
    expect(lines).toEqual(['venueone.account.unknown-word {"field":"channel","word":"openOrdersV?"}']);
  });
});

it("an end that does not fit its contract ends the order as unknown, and is counted", async () => {
  const { clock, streams, events, ends, push } = await live();
  ends.set(5, {
    status: "order",
    order: { order: { ...ORDER, oid: 5, origSz: "0.000000001" }, status: "filled", statusTimestamp: 9 },
  });
  push(withField(ORDERS, ["data", "orders"], [{ ...ORDER, oid: 5 }]));
  push(withField(ORDERS, ["data", "orders"], []));
  await clock.advanceAsync(10);
  expect(events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []))).toEqual(["OPEN", "UNKNOWN"]);
  expect(streams.stats().decodeErrorCount).toBe(1);
});
