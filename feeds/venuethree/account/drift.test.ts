/** Account frames that this room cannot read, and words that it does not know: counted, logged once, never guessed. */
import { describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { AccountEvent } from "../../../engine/ports.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { misshapen, withField } from "../../shared/test/misshape.js";
import { account, position } from "../test/account-rows.js";
import { accountStreamsOf } from "../test/account-streams.js";
import { ACCOUNT, accountFixture, API_KEY, createHarness, PUBLIC_KEY } from "../test/trading-harness.js";

type Frame = Readonly<Record<string, unknown>>;

/** As recorded, but for the account's number and the fields in `changes`. */
function recorded(name: string, changes: Frame = {}): Frame {
  const frame = JSON.parse(accountFixture(name)) as Frame;
  return { ...frame, channel: String(frame["channel"]).replace(/\d+$/, String(ACCOUNT)), ...changes };
}
const ORDERS = recorded("live-ws-account-all-orders-subscribed", { type: "update/account_all_orders" });
const POSITIONS = {
  ...recorded("live-ws-account-all-positions-update-flat"),
  positions: { "1": position() },
};
const RECORDED_TRADES = recorded("nt-ws-account-all-trades-update");
/** The account's own, of the market that the harness lists. */
const TRADES = withField(
  withField(
    withField(
      withField(RECORDED_TRADES, ["trades", "0", 0, "bid_account_id"], ACCOUNT),
      ["trades", "0", 0, "market_id"],
      1,
    ),
    ["trades", "0", 0, "size"],
    "0.02500",
  ),
  ["trades", "0", 0, "price"],
  "83100.0",
) as Frame;

async function live() {
  const harness = createHarness();
  const { clock, http } = harness;
  const network = new FakeNetwork();
  network.pong = '{"type":"pong"}';
  const answer = (request: HttpRequest) => {
    http.step(answer);
    const accountIndex = Number(/(?:account_index|value)=(\d+)/.exec(request.path)?.[1]);
    const key = { account_index: accountIndex, api_key_index: API_KEY, nonce: 1, public_key: PUBLIC_KEY };
    const accounts = [account({ index: accountIndex, account_index: accountIndex })];
    return http.response(200, { code: 200, orders: [], trades: [], accounts, api_keys: [key] });
  };
  http.step(answer);
  const lines: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const streams = accountStreamsOf(harness, network, { seed: 9, logger });
  const run = async (ms: number): Promise<void> => {
    for (let left = ms; ; left -= 250) {
      for (let turn = 0; turn < 40; turn++) await Promise.resolve();
      if (left <= 0) return;
      clock.advance(Math.min(250, left));
    }
  };
  const events: AccountEvent[] = [];
  const watched = [];
  for (const accountIndex of [ACCOUNT, 7]) {
    const opened = streams.openAccountStream(harness.open({ accountIndex }), (event) => events.push(event));
    if (!opened.ok) throw new Error(opened.problem);
    watched.push(opened.stream);
  }
  await run(0);
  network.last.open();
  await run(250);
  const push = (frame: unknown): void => network.last.receive(JSON.stringify(frame));
  for (const accountIndex of [ACCOUNT, 7])
    for (const name of ["orders", "trades", "positions"])
      push({ type: `subscribed/account_all_${name}`, channel: `account_all_${name}:${accountIndex}`, [name]: {} });
  await run(250);
  const [stream, other] = watched;
  if (stream === undefined || other === undefined) throw new Error("no stream");
  expect([stream.state, other.state]).toEqual(["LIVE", "LIVE"]);
  lines.length = 0;
  events.length = 0;
  return { run, streams, stream, other, events, lines, push };
}

const ORDER = ["orders", "1", 0] as const;
const TRADE = ["trades", "0", 0] as const;
const HELD = ["positions", "1"] as const;
const ORDER_FIELDS = [
  ...["market_index", "initial_base_amount", "remaining_base_amount", "filled_base_amount"],
  ...["filled_quote_amount", "price", "trigger_price", "is_ask", "type", "time_in_force", "transaction_time"],
];
const TRADE_FIELDS = [
  ...["market_id", "size", "price", "usd_amount", "ask_account_id", "bid_account_id", "is_maker_ask", "timestamp"],
];
const POSITION_FIELDS = ["market_id", "sign", "position", "avg_entry_price", "margin_mode"];
const CASES = [
  ...ORDER_FIELDS.flatMap((name) => misshapen(ORDERS, [...ORDER, name])),
  ...misshapen(ORDERS, [...ORDER, "status"]).slice(0, 2),
  // The number beside the text says the same.
  ...["order_id", "client_order_id"].flatMap((name) => misshapen(ORDERS, [...ORDER, name]).slice(1)),
  // An empty object is an empty map.
  ...misshapen(ORDERS, ["orders"]).filter(({ what }) => !what.endsWith("object")),
  ...TRADE_FIELDS.flatMap((name) => misshapen(TRADES, [...TRADE, name])),
  ...["trade_id_str", "bid_id_str", "bid_client_id_str"].flatMap((name) =>
    misshapen(TRADES, [...TRADE, name]).slice(1),
  ),
  ...misshapen(TRADES, ["trades"]).filter(({ what }) => !what.endsWith("object")),
  ...POSITION_FIELDS.flatMap((name) => misshapen(POSITIONS, [...HELD, name])),
  ...misshapen(POSITIONS, ["positions"]).filter(({ what }) => !what.endsWith("object")),
  { what: "positions are none at all", frame: withField(POSITIONS, ["positions"], null) },
  { what: "an unsigned size has a sign", frame: withField(POSITIONS, [...HELD, "position"], "-0.02500") },
  { what: "neither side of a trade is ours", frame: withField(TRADES, [...TRADE, "bid_account_id"], 3) },
]
  // Words of a state and a time in force are not refused.
  .filter(({ what }) => !/time_in_force is no word/.test(what));

describe("a frame of a known channel", () => {
  it.each(CASES.map(({ what, frame }) => [what, frame] as const))(
    "where %s: the account is untrusted until it is read again, and it is counted",
    async (_what, frame) => {
      const { run, streams, stream, other, push } = await live();
      push(frame);
      expect([stream.state, other.state, streams.stats().decodeErrorCount]).toEqual(["SYNCING", "LIVE", 1]);
      await run(2_000);
      expect(stream.state).toBe("LIVE");
      expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 2_500 }] });
    },
  );

  it("as it was recorded changes nothing of that", async () => {
    for (const frame of [ORDERS, TRADES, POSITIONS]) {
      const { streams, stream, push } = await live();
      push(frame);
      expect([stream.state, streams.stats().decodeErrorCount, streams.stats().driftCount]).toEqual(["LIVE", 0, 0]);
    }
  });

  it("that does not say whose it is may be anybody's", async () => {
    for (const frame of [ORDERS, TRADES, POSITIONS]) {
      const { streams, stream, other, push } = await live();
      push(withField(frame, ["channel"], "account_all_?"));
      expect([stream.state, other.state, streams.stats().decodeErrorCount]).toEqual(["SYNCING", "SYNCING", 1]);
    }
  });
});

describe("a word that nobody knows", () => {
  it("as a status keeps the order open, is counted each time and logged once, cut", async () => {
    const { streams, stream, events, lines, push } = await live();
    const word = `half-filled-${"x".repeat(100)}`;
    const strange = withField(ORDERS, [...ORDER, "status"], word);
    push(strange);
    push(withField(withField(strange, [...ORDER, "order_id"], "5"), [...ORDER, "client_order_id"], "6"));
    expect(events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []))).toEqual([
      "UNKNOWN",
      "UNKNOWN",
    ]);
    expect([stream.state, streams.stats().decodeErrorCount, streams.stats().driftCount]).toEqual(["LIVE", 0, 2]);
    expect(lines.filter((line) => line.startsWith("venuethree.account.unknown-word"))).toEqual([
      `venuethree.account.unknown-word {"field":"status","word":"${word.slice(0, 40)}"}`,
    ]);
  });

  it("as a frame is counted", async () => {
    const { streams, stream, lines, push } = await live();
    push({ type: "update/account_all_vaults", channel: `account_all_vaults:${ACCOUNT}` });
    expect([stream.state, streams.stats().driftCount]).toEqual(["LIVE", 1]);
    expect(lines).toEqual(['venuethree.account.unknown-word {"field":"frame","word":"update?account_all_vaults"}']);
  });
});
