/** A streamed account whose frames are lost or late: what its streamed positions prove, and as of when. */
import { describe, expect, it } from "vitest";
import type { AccountEvent, AccountSession, AccountStream } from "../../../engine/ports.js";
import type { HttpResult } from "../../shared/net/http.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";
import { BTC, CLOSE_LONG, createHarness, envelope, type Harness, OPTIONS, WALLET } from "../test/trading-harness.js";

const CHANNELS = ["account_positions", "account_order_updates", "account_trades", "account_leverage", "account_margin"];
/** One that rests: its answer says nothing of fills. */
const BID = { ...CLOSE_LONG, side: "BUY", reduceOnly: false, type: "LIMIT", timeInForce: "GTC" } as const;

interface Scene {
  readonly harness: Harness;
  readonly session: AccountSession;
  readonly stream: AccountStream;
  readonly events: AccountEvent[];
  readonly connection: FakeConnection;
  readonly venue: { amount: string; li: number; isRestDown: boolean };
  /** Reads of positions. */
  readCount(): number;
  send(frame: object): void;
  /** Positions as they are, in a frame. */
  tellPositions(): void;
  tellOrder(clientId: string, status: string, filled: string, atMs?: number): void;
  wait(ms: number): Promise<void>;
  held(): number | null;
}

const lots = (rows: readonly { readonly qtyLots: number }[]): number => rows[0]?.qtyLots ?? 0;

async function live(): Promise<Scene> {
  const harness = createHarness();
  const { clock, http, network, trading } = harness;
  const venue = { amount: "0", li: 5, isRestDown: false };
  let readCount = 0;
  const row = (names: readonly string[]): object[] => {
    const [symbol = "", side = "", amount = "", entry = ""] = names;
    const common = {
      margin: "0",
      funding: "0",
      isolated: false,
      liquidation_price: null,
      created_at: 1,
      updated_at: 1,
    };
    const pushed = { m: "0", f: "0", i: false, l: null, t: 1 };
    const own = { [symbol]: "BTC", [side]: "bid", [amount]: venue.amount, [entry]: "63441" };
    return venue.amount === "0" ? [] : [{ ...(symbol === "s" ? pushed : common), ...own }];
  };
  const answer = (request: { readonly path: string; readonly method: string }): HttpResult => {
    http.step(answer);
    const path = request.path.slice("/api/v1".length).split("?")[0] ?? "";
    if (request.method === "POST") return http.response(200, envelope({ order_id: 77 }));
    if (path === "/positions") readCount++;
    if (venue.isRestDown) return http.response(503, "");
    if (path === "/positions")
      return http.response(
        200,
        envelope(row(["symbol", "side", "amount", "entry_price"]), { last_order_id: venue.li }),
      );
    return http.response(200, envelope([]));
  };
  http.step(answer);
  const session = harness.open();
  const events: AccountEvent[] = [];
  const opened = trading.streams.openAccountStream(session, (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  const connection = network.last;
  connection.open();
  await clock.advanceAsync(500);
  const scene: Scene = {
    harness,
    session,
    stream: opened.stream,
    events,
    connection,
    venue,
    readCount: () => readCount,
    send: (frame) => connection.receive(JSON.stringify(frame)),
    tellPositions: () => {
      scene.send({ channel: "account_positions", data: row(["s", "d", "a", "p"]), li: ++venue.li });
    },
    tellOrder: (clientId, status, filled, atMs = clock.wallMs()) => {
      const update = { I: clientId, a: "0.0002", ct: 1, d: "bid", f: filled, i: 77, ip: "63500", li: ++venue.li };
      const more = { lp: "63441", oe: "make", os: status, ot: "limit", p: "0", r: false, s: "BTC", si: null };
      const rest = { sp: null, tp: null, u: WALLET.publicKey, ut: atMs };
      scene.send({ channel: "account_order_updates", data: [{ ...update, ...more, ...rest }] });
    },
    async wait(ms) {
      for (let left = ms; left > 0; left -= 250) await clock.advanceAsync(Math.min(250, left));
    },
    held() {
      const read = trading.reader.heldPositions(session, BTC);
      return read?.ok === true ? lots(read.value) : null;
    },
  };
  for (const source of CHANNELS) scene.send({ channel: "subscribe", data: { source, account: WALLET.publicKey } });
  await scene.wait(250);
  expect([opened.stream.state, scene.held()]).toEqual(["LIVE", 0]);
  return scene;
}

const place = ({ harness, session }: Scene) => harness.trading.orders.place(session, BID, OPTIONS);

describe("an account of venuefour whose frames are dropped", () => {
  it("does not read as flat what we have just opened ourselves", async () => {
    const scene = await live();
    expect((await place(scene)).outcome).toBe("accepted");
    scene.venue.amount = "0.0002";
    for (let second = 0; second < 90; second++) {
      await scene.wait(1_000);
      expect([null, 2_000, 20, 2]).toContain(scene.held() === 0 ? "flat" : scene.held());
    }
    expect(scene.held()).not.toBeNull();
  });

  it("is read again surely after a frame that cannot be read: the first answer may lag behind it", async () => {
    const scene = await live();
    scene.send({ channel: "account_positions", data: {} });
    await scene.wait(1_000);
    // Only now the venue's reads show it.
    scene.venue.amount = "0.0002";
    scene.venue.li++;
    await scene.wait(9_000);
    expect([scene.stream.state, scene.held()]).toEqual(["LIVE", 20]);
  });

  it("is not frozen by numbers that begin again on a connection that lives", async () => {
    const scene = await live();
    scene.venue.li = 1_000_000;
    scene.venue.amount = "0.0001";
    scene.tellPositions();
    await scene.wait(5_000);
    expect(scene.held()).toBe(10);
    scene.venue.li = 10;
    scene.venue.amount = "0.0002";
    scene.tellPositions();
    await scene.wait(10_000);
    expect([scene.stream.state, scene.held()]).toEqual(["LIVE", 20]);
    scene.venue.amount = "0.0003";
    scene.tellPositions();
    expect(scene.held()).toBe(30);
  });

  it("is not trusted after an order while the venue can not be asked, and LIVE is withheld", async () => {
    const scene = await live();
    await place(scene);
    scene.venue.isRestDown = true;
    await scene.wait(10_000);
    expect([scene.held(), scene.stream.positions().ok]).toEqual([null, false]);
    scene.venue.isRestDown = false;
    await scene.wait(20_000);
    expect([scene.held(), scene.stream.state]).toEqual([0, "LIVE"]);
  });

  it("is trusted at once, without a read, when the order was streamed as it was answered", async () => {
    const scene = await live();
    const placed = await place(scene);
    const id = placed.outcome === "accepted" ? (placed.order.venueClientOrderId ?? "") : "";
    const before = scene.readCount();
    expect(scene.held()).toBeNull();
    scene.tellOrder(id, "open", "0");
    expect(scene.held()).toBe(0);
    await scene.wait(10_000);
    expect(scene.readCount()).toBe(before);
  });

  it("is read at the venue where an answer turns on it; what contradicts the stream is made true first", async () => {
    const scene = await live();
    const { reader } = scene.harness.trading;
    scene.venue.amount = "0.0002";
    const verify = async () => {
      const read = await reader.verifyPositions(scene.session, BTC, OPTIONS);
      return read.ok ? [read.source, read.value.length] : read.code;
    };
    const before = scene.readCount();
    expect(await Promise.all([verify(), verify()])).toEqual([
      ["venue", 1],
      ["venue", 1],
    ]);
    expect(scene.readCount() - before).toBeLessThanOrEqual(2);
    expect(scene.held()).toBeNull();
    await scene.wait(6_000);
    expect(scene.held()).toBeGreaterThan(0);
  });

  it("says as of when it is proven: not of a pong, nor of an order's frame", async () => {
    const scene = await live();
    const asOfMs = () => {
      const read = scene.stream.positions();
      return read.ok ? read.asOfMs : null;
    };
    const provenMs = asOfMs();
    await scene.wait(30_000);
    scene.tellOrder("8c1f0a52-d9e3-4b77-90aa-000000000000", "open", "0");
    expect(asOfMs()).toBe(provenMs);
    scene.tellPositions();
    expect(asOfMs()).toBe(scene.harness.clock.wallMs());
  });

  it("whose frames are late is not trusted until it was read", async () => {
    const scene = await live();
    scene.tellOrder("8c1f0a52-d9e3-4b77-90aa-000000000000", "open", "0", scene.harness.clock.wallMs() - 8_000);
    expect(scene.held()).toBeNull();
    await scene.wait(6_000);
    expect(scene.held()).toBe(0);
  });
});

describe("an account of venuefour over a connection that falls silent", () => {
  it("is not LIVE, and after that only when it was read", async () => {
    const scene = await live();
    const { network } = scene.harness;
    network.pong = null;
    scene.venue.isRestDown = true;
    await scene.wait(9_000);
    expect([scene.held(), scene.stream.positions().ok]).toEqual([null, false]);
    // What was reported meanwhile is lost.
    scene.venue.amount = "0.0002";
    network.pong = '{"channel":"pong"}';
    await scene.wait(3_000);
    expect([scene.held(), scene.stream.positions().ok]).toEqual([null, false]);
    scene.venue.isRestDown = false;
    await scene.wait(30_000);
    expect([scene.held() === 0, scene.stream.state]).toEqual([false, "LIVE"]);
  });
});
