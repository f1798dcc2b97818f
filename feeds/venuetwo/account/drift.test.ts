/** User events that this room cannot read, and words that it does not know: counted, said once, never guessed. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountEvent, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { misshapen, withField } from "../../shared/test/misshape.js";
import { venuetwoAccountStreams } from "./streams.js";
import { openVenuetwoSession } from "./session.js";
import { normalizeSymbol } from "../market/symbols.js";
import { NO_FILLS } from "../test/account-harness.js";

const RECORDED = JSON.parse(
  readFileSync(new URL("../fixtures/trading/user-events.json", import.meta.url), "utf8"),
) as Record<"accountUpdate" | "trade" | "liquidation", { readonly event: unknown }>;
const ACCOUNT = RECORDED.accountUpdate.event;
const TRADE = RECORDED.trade.event;
const LIQUIDATION = RECORDED.liquidation.event;

function listed(base: string) {
  const made = normalizeSymbol({
    symbol: `${base}USDT`,
    contractType: "PERPETUAL",
    status: "TRADING",
    baseAsset: base,
    quoteAsset: "USDT",
    pricePrecision: 2,
    quantityPrecision: 3,
    filters: [
      { filterType: "PRICE_FILTER", minPrice: "0.01", maxPrice: "1000000", tickSize: "0.01" },
      { filterType: "LOT_SIZE", stepSize: "0.001", maxQty: "1000", minQty: "0.001" },
    ],
  });
  if (typeof made === "string") throw new Error(made);
  return made;
}
const INSTRUMENTS: ReadonlyMap<string, Instrument> = new Map(
  ["BTC", "ETH"].map((base) => [`${base}USDT`, listed(base)] as const),
);

/** What the venue holds after the recorded event. */
const HELD = [
  { positionSide: "LONG", direction: "LONG", qtyLots: 20_000 },
  { positionSide: "SHORT", direction: "SHORT", qtyLots: 10_000 },
].map(
  (row) =>
    ({
      ...row,
      venue: "venuetwo",
      symbol: "BTC",
      nativeSymbol: "BTCUSDT",
      entryPrice: "6563.6",
      markPrice: null,
      liquidationPrice: null,
      unrealizedPnl: null,
      leverage: 5,
      marginMode: "isolated",
      collateral: null,
      tsVenueMs: 1,
    }) as VenuePosition,
);

async function live() {
  const clock = new VirtualClock(1_759_347_763_300);
  const network = new FakeNetwork();
  network.pong = "";
  const lines: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const read = <T>(value: T): Promise<Read<T>> =>
    Promise.resolve({ ok: true, value, asOfMs: clock.wallMs(), source: "venue" });
  const streams = venuetwoAccountStreams({
    wsUrl: "ws://venue",
    layout: "single",
    connector: network.connector,
    clock,
    random: createSeededRandom(3),
    logger,
    budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute: 300 }),
    reader: {
      readPositions: () => read(HELD),
      readOpenOrders: () => read([]),
      readOrder: () => read(null),
      readBalances: () => read([]),
      readFeeRates: () => Promise.resolve(failedRead("VENUE_ERROR", "not here")),
    },
    history: NO_FILLS,
    listenKeys: { create: () => read("key"), extend: () => read("extended" as const) },
    instrumentOf: (nativeSymbol) => INSTRUMENTS.get(nativeSymbol) ?? null,
    clockOffsetMs: () => 0,
    latestVenueMs: () => Number.POSITIVE_INFINITY,
  });
  const events: AccountEvent[] = [];
  const session = openVenuetwoSession({ apiKey: "key", apiSecret: "s" });
  if (!session.ok) throw new Error(session.problem);
  const opened = streams.openAccountStream(session.session, (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  await clock.advanceAsync(10);
  network.last.open();
  await clock.advanceAsync(10);
  expect(opened.stream.state).toBe("LIVE");
  lines.length = 0;
  const push = (event: unknown): void => network.last.receive(JSON.stringify(event));
  return { clock, streams, stream: opened.stream, events, lines, push };
}

const POSITION = ["a", "P", 1] as const;
const CASES = [
  ...["s", "pa", "ep", "ps"].flatMap((name) => misshapen(ACCOUNT, [...POSITION, name])),
  ...misshapen(ACCOUNT, ["E"]),
  ...misshapen(ACCOUNT, ["a", "P"]),
  ...misshapen(ACCOUNT, ["a"]),
  ...["s", "S", "o", "q", "p", "X", "x", "i", "l", "z", "L", "T", "t", "R", "ot", "ps"].flatMap((name) =>
    misshapen(TRADE, ["o", name]),
  ),
  ...misshapen(TRADE, ["o", "c"]).slice(0, 2),
  // Both are absent where nothing was paid.
  ...["n", "N"].flatMap((name) => misshapen(TRADE, ["o", name]).slice(1, 2)),
  { what: "o.t of a trade is no id", frame: withField(TRADE, ["o", "t"], 0) },
  { what: "o.L of a trade is no price", frame: withField(TRADE, ["o", "L"], "0") },
  { what: "o.x of what was filled is no known word", frame: withField(TRADE, ["o", "x"], "SETTLED") },
]
  // A contract that nobody lists is one all the same; and words of a state and a type are judged further down.
  .filter(({ what }) => !/\bs is no word|X is no word|o\.o is no word/.test(what));

describe("an event of a known type", () => {
  it.each(CASES.map(({ what, frame }) => [what, frame] as const))(
    "where %s: the account is untrusted until it is read again, and it is counted",
    async (_what, frame) => {
      const { clock, streams, stream, push } = await live();
      push(frame);
      expect([stream.state, streams.stats().decodeErrorCount]).toEqual(["SYNCING", 1]);
      await clock.advanceAsync(2_000);
      expect(stream.state).toBe("LIVE");
      expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 20_000 }, { qtyLots: 10_000 }] });
    },
  );

  it("as it was recorded changes nothing of that", async () => {
    for (const frame of [ACCOUNT, TRADE, LIQUIDATION]) {
      const { streams, stream, push } = await live();
      push(frame);
      expect([stream.state, streams.stats()]).toEqual([
        "LIVE",
        { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 0 },
      ]);
    }
  });

  it("of money alone has no positions", async () => {
    const { streams, stream, push } = await live();
    push({ e: "ACCOUNT_UPDATE", E: 1_759_347_763_400, T: 1, a: { m: "FUNDING_FEE", B: [] } });
    expect([stream.state, streams.stats()]).toEqual([
      "LIVE",
      { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 0 },
    ]);
  });
});

describe("an unknown word", () => {
  it("as a status leaves the order open, is counted each time and logged once, cut", async () => {
    const { streams, stream, events, lines, push } = await live();
    const word = `HALF_FILLED_${"X".repeat(100)}`;
    push(withField(TRADE, ["o", "X"], word));
    push(withField(withField(TRADE, ["o", "X"], word), ["o", "i"], 5));
    expect(events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []))).toEqual([
      "UNKNOWN",
      "UNKNOWN",
    ]);
    expect([stream.state, streams.stats()]).toEqual([
      "LIVE",
      { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 2 },
    ]);
    expect(lines.filter((line) => line.startsWith("venuetwo.account.unknown-word"))).toEqual([
      `venuetwo.account.unknown-word {"field":"status","word":"${word.slice(0, 40)}"}`,
    ]);
  });

  it("as a margin mode or an event is counted", async () => {
    const { streams, stream, lines, push } = await live();
    push(withField(ACCOUNT, [...POSITION, "mt"], "portfolio"));
    push({ e: "VAULT_UPDATE", E: 1_759_347_763_400 });
    expect([stream.state, streams.stats()]).toEqual([
      "LIVE",
      { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 2 },
    ]);
    expect(lines.filter((line) => line.startsWith("venuetwo.account.unknown-word"))).toEqual([
      'venuetwo.account.unknown-word {"field":"margin type","word":"portfolio"}',
      'venuetwo.account.unknown-word {"field":"event","word":"VAULT_UPDATE"}',
    ]);
  });
});
