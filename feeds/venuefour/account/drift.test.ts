/** Account frames that this room cannot read, and words that it does not know: counted, logged once, never guessed. */
import { describe, expect, it } from "vitest";
import type { AccountEvent } from "../../../engine/ports.js";
import { misshapen, withField } from "../../shared/test/misshape.js";
import { createHarness, envelope, frameTexts, WALLET } from "../test/trading-harness.js";

const CHANNELS = ["account_positions", "account_order_updates", "account_trades", "account_leverage", "account_margin"];
const frame = (name: string): unknown => JSON.parse(frameTexts(name)[0] ?? "null");
/** Recorded. */
const ORDERS = frame("limit-5");
/** Of the documentation: nobody recorded one with a row. */
const POSITIONS = frame("positions-doc-1");
const TRADES = frame("trades-doc-0");

async function live() {
  const harness = createHarness();
  const { clock, http, logLines: lines, network, trading } = harness;
  const held = {
    symbol: "BTC",
    side: "bid",
    amount: "0.00022",
    entry_price: "87185",
    margin: "0",
    funding: "0",
    isolated: false,
    liquidation_price: null,
    created_at: 1,
    updated_at: 1,
  };
  const answer = (request: { readonly path: string }) => {
    http.step(answer);
    const path = request.path.slice("/api/v1".length).split("?")[0] ?? "";
    return http.response(200, path === "/positions" ? envelope([held], { last_order_id: 5 }) : envelope([]));
  };
  http.step(answer);
  const events: AccountEvent[] = [];
  const opened = trading.streams.openAccountStream(harness.open(), (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  network.last.open();
  await clock.advanceAsync(500);
  const push = (each: unknown): void => network.last.receive(JSON.stringify(each));
  for (const source of CHANNELS) push({ channel: "subscribe", data: { source, account: WALLET.publicKey } });
  await clock.advanceAsync(10);
  expect(opened.stream.state).toBe("LIVE");
  lines.length = 0;
  events.length = 0;
  return { clock, streams: trading.streams, stream: opened.stream, events, lines, push };
}

const CASES = [
  ...["s", "d", "a", "p", "i", "t"].flatMap((name) => misshapen(POSITIONS, ["data", 0, name])),
  ...misshapen(POSITIONS, ["data"]),
  ...misshapen(POSITIONS, ["li"]).slice(1),
  ...["li", "i", "s", "d", "ip", "a", "f", "p", "ot", "r", "ut", "ct"].flatMap((name) =>
    misshapen(ORDERS, ["data", 0, name]),
  ),
  ...["I", "os"].flatMap((name) => misshapen(ORDERS, ["data", 0, name]).slice(0, 2)),
  ...misshapen(ORDERS, ["data"]),
  ...["h", "i", "s", "a", "p", "te", "ts", "f", "n", "t"].flatMap((name) => misshapen(TRADES, ["data", 0, name])),
  ...misshapen(TRADES, ["data", 0, "I"]).slice(0, 2),
  ...misshapen(TRADES, ["data"]),
  { what: "a size of a position has a sign", frame: withField(POSITIONS, ["data", 0, "a"], "-0.00022") },
]
  // A contract that nobody lists is one all the same.
  .filter(({ what }) => !what.endsWith(".s is no word, number or flag"));

describe("a frame of a known channel", () => {
  it.each(CASES.map((each) => [each.what, each.frame] as const))(
    "where %s: the account is untrusted until it is read again, and it is counted",
    async (_what, each) => {
      const { clock, streams, stream, push } = await live();
      push(each);
      expect([stream.state, streams.stats()]).toEqual([
        "SYNCING",
        { decodeErrorCount: 1, unreadFillCount: 0, driftCount: 0 },
      ]);
      await clock.advanceAsync(2_000);
      expect(stream.state).toBe("LIVE");
      expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 22 }] });
    },
  );

  it("as it is changes nothing of that", async () => {
    for (const each of [POSITIONS, ORDERS, TRADES, frame("limit-1"), frame("limit-7"), frame("positions-two-doc-0")]) {
      const { streams, stream, push } = await live();
      push(each);
      expect([stream.state, streams.stats()]).toEqual([
        "LIVE",
        { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 0 },
      ]);
    }
  });
});

describe("a word that nobody knows", () => {
  it("as a status keeps the order open, is counted each time and logged once, cut", async () => {
    const { streams, stream, events, lines, push } = await live();
    const word = `half_filled_${"x".repeat(100)}`;
    const strange = withField(ORDERS, ["data", 0, "os"], word);
    push(strange);
    push(withField(strange, ["data", 0, "i"], 5));
    expect(events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []))).toEqual([
      "UNKNOWN",
      "UNKNOWN",
    ]);
    expect([stream.state, streams.stats()]).toEqual([
      "LIVE",
      { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 2 },
    ]);
    expect(lines).toEqual([`venuefour.account.unknown-word {"field":"status","word":"${word.slice(0, 40)}"}`]);
  });

  it("as a channel is counted", async () => {
    const { streams, stream, lines, push } = await live();
    push({ channel: "account_vaults", data: [] });
    push({ channel: 7, data: [] });
    expect([stream.state, streams.stats()]).toEqual([
      "LIVE",
      { decodeErrorCount: 0, unreadFillCount: 0, driftCount: 2 },
    ]);
    expect(lines).toEqual([
      'venuefour.account.unknown-word {"field":"channel","word":"account_vaults"}',
      'venuefour.account.unknown-word {"field":"channel","word":"(none)"}',
    ]);
  });
});
