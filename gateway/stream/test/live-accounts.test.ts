/**
 * Positions and orders over a real socket, with the real rooms of two venues and their local venues behind them: what
 * each caller sees of one wallet, a close, a liquidation, a lost connection, streams that are all taken, and secrets
 * that never leave.
 */
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString, writeHeapSnapshot } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { VenueRoom } from "../../../engine/ports.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../../../bench/test/support/local-pair.js";
import { pause, waitUntil } from "../../../bench/test/support/system.js";
import { addressOfPrivateKey } from "../../../feeds/shared/sign/eip712.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { type Harness, startHarness } from "../../test/harness.js";
import type { Fold, Frame } from "./frame-judge.js";
import { StreamClient } from "./stream-client.js";

const DEADLINE_MS = 30_000;
const RETRY_MS = 50;
const CANARY_KEY = "CANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkey4";
const CANARY_SECRET = "CANARYsecretCANARYsecretCANARYsecretCANARYsecretCANARYsecretCAN4";
const EXCHANGES = ["venueone", "venuetwo"];

let pair: LocalPair;
let rooms: readonly VenueRoom[];
let harness: Harness;
let trader: Trader;
let clients: StreamClient[] = [];
/** Everything that was ever sent to a client of this file. */
const said: string[] = [];

beforeAll(async () => {
  pair = await startLocalPair({ seed: 11 });
  const common = {
    clock: createSystemClock(),
    random: createSeededRandom(3),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    isMainnet: true,
    symbols: ["BTC", "ETH"],
  };
  const one = createVenueoneRoom({
    ...common,
    restUrl: pair.venueone.restUrl,
    wsUrl: pair.venueone.wsUrl,
    limits: { restWeightPerMinute: 1_000_000, maxStreamedUsers: 3 },
  });
  const two = createVenuetwoRoom({
    ...common,
    restUrl: pair.venuetwo.restUrl,
    wsUrl: pair.venuetwo.wsUrl,
    limits: { weightPerMinute: 1_000_000 },
  });
  rooms = [one, two];
  await Promise.all(rooms.map((room) => room.start()));
  trader = pair.addTrader("stream", {
    positions: { BTC: "3", ETH: "-30" },
    apiKey: CANARY_KEY,
    apiSecret: CANARY_SECRET,
  });
  harness = await startHarness({ rooms, withPortfolio: true });
});
afterEach(async () => {
  for (const client of clients) {
    await client.stop();
    said.push(...client.frames.map((frame) => JSON.stringify(frame)));
  }
  clients = [];
  await waitUntil("no account is watched any more", DEADLINE_MS, () => harness.portfolio?.counts().accounts === 0);
});
afterAll(async () => {
  await harness.stop();
  await Promise.all(rooms.map((room) => room.stop()));
  await pair.stop();
});

async function open(): Promise<StreamClient> {
  const client = await StreamClient.open(harness.server.port);
  clients.push(client);
  return client;
}

interface Subscribed {
  readonly client: StreamClient;
  readonly sub: string;
  readonly fold: Fold;
}

async function subscribe(
  topic: "positions" | "orders",
  of: Trader,
  credentials: Record<string, unknown>,
  exchanges = EXCHANGES,
): Promise<Subscribed> {
  const client = await open();
  const answer = await client.subscribe({ topic, walletAddress: of.venueone.address, exchanges, credentials });
  const sub = answer.subs[0]?.sub ?? JSON.stringify(answer);
  return { client, sub, fold: await client.fold(sub) };
}

function coverageOf(fold: Fold): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fold.fields).map(([venue, { state, mode }]) => [venue, `${String(state)} ${String(mode)}`]),
  );
}

function eventsOf({ client, sub }: Subscribed): Record<string, unknown>[] {
  return client.updates(sub).map((frame) => frame.data as unknown as Record<string, unknown>);
}

/** Books are old for a moment after a pause of the machine, and nothing is sent then, so the request is repeated. */
async function close(of: Trader, fields: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  for (;;) {
    const reply = await harness.client.close({ direction: "LONG", credentials: credentialsOf(of), ...fields });
    const body = reply.body as Record<string, unknown>;
    if (body["code"] !== "NO_ELIGIBLE_VENUE") return body;
    await pause(RETRY_MS);
  }
}

describe("subscribers of one wallet", () => {
  it("see what their credentials open: everything, what is public, or that other credentials are needed; never each other's frames", async () => {
    const mine = await subscribe("positions", trader, credentialsOf(trader));
    const bare = await subscribe("positions", trader, {});
    const { venuetwo } = credentialsOf(trader);
    const wrong = { venuetwo: { ...venuetwo, apiSecret: CANARY_SECRET.replaceAll("C", "D") } };
    const liar = await subscribe("positions", trader, wrong);
    const all = [mine, bare, liar];
    expect(new Set(all.map(({ sub }) => sub)).size).toBe(3);
    await mine.client.until(() => coverageOf(mine.fold)["venuetwo"] === "LIVE push", "venuetwo is LIVE");
    await mine.client.until(() => coverageOf(mine.fold)["venueone"] === "LIVE push", "venueone is LIVE");
    await bare.client.until(() => coverageOf(bare.fold)["venueone"] === "LIVE push", "venueone is LIVE by address");
    await liar.client.until(() => coverageOf(liar.fold)["venuetwo"]?.startsWith("AUTH_REQUIRED") === true, "refusal");
    const keys = (fold: Fold) => [...fold.rows.keys()].sort();
    const publicKeys = ["venueone|BTC|LONG", "venueone|ETH|SHORT"];
    expect(keys(mine.fold)).toEqual([...publicKeys, "venuetwo|BTC|LONG", "venuetwo|ETH|SHORT"]);
    expect([keys(bare.fold), keys(liar.fold)]).toEqual([publicKeys, publicKeys]);
    expect(coverageOf(bare.fold)["venuetwo"]).toBe("AUTH_REQUIRED request");

    const result = await close(trader, { symbol: "BTC", size: "0.5", preferredExchange: "venuetwo" });
    expect(result).toMatchObject({ success: true, data: { execution: { state: "COMPLETED" } } });
    await mine.client.until(() => mine.fold.rows.get("venuetwo|BTC|LONG")?.["size"] === "2.5", "the new size");
    for (const one of [bare, liar]) {
      await one.client.ask({ op: "ping" });
      const seen = JSON.stringify(one.client.frames);
      for (const other of all) if (other !== one) expect(seen).not.toContain(other.sub);
      const told = one.client.frames.flatMap((frame) => rowsOf(frame));
      expect(told.filter((row) => row["exchange"] === "venuetwo")).toEqual([]);
      // The key's text alone opens nothing.
      const answer = await one.client.ask({ op: "resume", subs: [{ sub: mine.sub, epoch: mine.fold.epoch, seq: 1 }] });
      expect(answer.code).toBe("UNKNOWN_SUBSCRIPTION");
    }
    const row = mine.fold.rows.get("venuetwo|BTC|LONG");
    expect(row).toMatchObject({ walletAddress: trader.venueone.address, source: "stream", markSource: "live" });
    expect(row?.["unrealizedPnl"]).toMatch(/^-?[0-9.]+$/);
  });

  it("can resume with the credentials after a lost connection, and receive everything", async () => {
    const keeper = await subscribe("orders", trader, credentialsOf(trader));
    const { client, sub, fold } = await subscribe("orders", trader, credentialsOf(trader));
    expect(sub).toBe(keeper.sub);
    await keeper.client.until(() => coverageOf(keeper.fold)["venuetwo"] === "LIVE push", "venuetwo is LIVE");
    await client.until(() => fold.seq === keeper.fold.seq, "the same place");
    const { epoch, seq } = fold;
    await client.stop();
    await close(trader, { symbol: "BTC", size: "0.25", preferredExchange: "venuetwo" });
    await keeper.client.until(() => keeper.fold.events.some(([event]) => event === "fill"), "a fill");
    const back = await open();
    back.folds.set(sub, fold);
    const resume = { op: "resume", subs: [{ sub, epoch, seq }], exchanges: EXCHANGES };
    expect((await back.ask(resume)).code).toBe("UNKNOWN_SUBSCRIPTION");
    const answer = await back.ask({ ...resume, credentials: credentialsOf(trader) });
    expect(answer).toMatchObject({ type: "resumed", subs: [{ sub, seq, missed: false }] });
    await back.until(() => fold.seq === keeper.fold.seq, "the missed updates");
    expect(back.updates(sub).map((frame) => frame.data)).toEqual(
      keeper.client
        .updates(sub)
        .filter((frame) => frame.seq > seq)
        .map((frame) => frame.data),
    );
  });
});

describe("a close on the account topics", () => {
  it.each(["venueone", "venuetwo"] as const)(
    "on %s shows its fills on orders, and the position closed once with size 0",
    async (venue) => {
      const other = pair.addTrader(`closing-${venue}`, { positions: { BTC: "2", ETH: "-7" } });
      const positions = await subscribe("positions", other, credentialsOf(other), [venue]);
      const orders = await subscribe("orders", other, credentialsOf(other), [venue]);
      for (const { client, fold } of [positions, orders])
        await client.until(() => coverageOf(fold)[venue] === "LIVE push", `${venue} is LIVE`);
      const result = await close(other, { symbol: "BTC", size: "ALL", preferredExchange: venue });
      expect(result).toMatchObject({ success: true, data: { execution: { filledSize: "2" } } });
      const gone = `${venue}|BTC|LONG`;
      await positions.client.until(() => !positions.fold.rows.has(gone), "the position gone");
      expect(positions.fold.events.filter(([event, key]) => key === gone && event === "closed")).toHaveLength(1);
      const zeros = positions.client
        .updates(positions.sub)
        .flatMap(rowsOf)
        .filter((row) => row["size"] === "0");
      expect(zeros).toMatchObject([{ exchange: venue, symbol: "BTC", direction: "LONG", size: "0" }]);
      expect([...positions.fold.rows.keys()]).toEqual([`${venue}|ETH|SHORT`]);

      const filled = () => {
        const fills = eventsOf(orders).filter((data) => data["event"] === "fill");
        return fills.reduce((sum, { fill }) => sum + Number((fill as Record<string, unknown>)["quantity"]), 0);
      };
      await orders.client.until(() => filled() > 2 - 1e-9, "all fills");
      expect(filled()).toBeCloseTo(2, 9);
      // The end of an order is sent separately from its fills.
      await orders.client.until(() => orders.fold.rows.size === 0, "no open order");
      const truth = await rooms
        .find((room) => room.venue === venue)
        ?.reader.readPositions(openSession(venue, other), null, { timeoutMs: 20_000, lane: "read" });
      expect(truth).toMatchObject({ ok: true, value: [{ symbol: "ETH", direction: "SHORT" }] });
    },
  );

  it("by the venue itself is reported as a liquidation", async () => {
    const other = pair.addTrader("liquidated", { positions: {} });
    const { exchange } = pair.venueone;
    const accountId = other.venueone.address;
    const { qtyDecimals = 0, priceDecimals = 0 } = exchange.instruments.get("BTC") ?? {};
    const mark = exchange.market.mark("BTC").markE8 / 1e8;
    const equity = Number(exchange.accounts.margin(accountId).equityE12) / 1e12;
    expect(exchange.desk.setLeverage(accountId, "BTC", 40).ok).toBe(true);
    // All of a small account's equity, thirty times over.
    exchange.desk.adjustWallet(accountId, BigInt(Math.round((20_000 - equity) * 1e6)) * 1_000_000n, "ADJUSTMENT");
    exchange.desk.setPosition(
      accountId,
      "BTC",
      "BOTH",
      Math.floor(((20_000 * 30) / mark) * 10 ** qtyDecimals),
      Math.round(mark * 10 ** priceDecimals),
    );
    const { client, fold } = await subscribe("positions", other, credentialsOf(other), ["venueone"]);
    await client.until(() => fold.rows.has("venueone|BTC|LONG"), "the position");
    // Only listeners receive the reason why a position ended.
    await client.until(() => coverageOf(fold)["venueone"] === "LIVE push", "venueone is LIVE");
    exchange.controls.setPriceSkew(-450, 0);
    try {
      await client.until(() => !fold.rows.has("venueone|BTC|LONG"), "the position gone");
    } finally {
      exchange.controls.setPriceSkew(0, 0);
    }
    expect(fold.events.at(-1)).toEqual(["liquidated", "venueone|BTC|LONG"]);
  });
});

describe("a venue on the account topics", () => {
  it("is reconciled after its connections were lost: what happened meanwhile is sent, and it is LIVE again", async () => {
    const other = pair.addTrader("cut", { positions: { BTC: "1" } });
    const { client, fold } = await subscribe("positions", other, credentialsOf(other));
    for (const venue of EXCHANGES)
      await client.until(() => coverageOf(fold)[venue] === "LIVE push", `${venue} is LIVE`);
    // No new connection opens until it has happened.
    const endRefusal = pair.fault(["venuetwo"], { kind: "refuseHandshake" });
    for (const { restUrl } of [pair.venueone, pair.venuetwo])
      await fetch(`${restUrl}/_sim/disconnect`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
    // No stream is open, and no event comes later: only a new read shows it.
    pair.venuetwo.exchange.desk.setPosition(other.venuetwo.accountId, "BTCUSDT", "BOTH", 0, 1);
    endRefusal();
    await client.until(() => !fold.rows.has("venuetwo|BTC|LONG"), "the position gone");
    for (const venue of EXCHANGES)
      await client.until(() => coverageOf(fold)[venue] === "LIVE push", `${venue} is LIVE again`);
    expect([...fold.rows.keys()]).toEqual(["venueone|BTC|LONG"]);
    const states = client.frames.flatMap(({ data }) => JSON.stringify(data ?? {}).match(/"state":"[A-Z]+"/g) ?? []);
    expect(new Set(states)).toContain('"state":"SNAPSHOT"');
  });

  it("with all streams taken is polled for the next account, and shown as such", async () => {
    const wallets = Array.from({ length: 4 }, (_, index) =>
      pair.addTrader(`many-${index}`, { positions: { BTC: "1" } }),
    );
    const held: Subscribed[] = [];
    for (const wallet of wallets) held.push(await subscribe("positions", wallet, credentialsOf(wallet), ["venueone"]));
    for (const { client, fold } of held.slice(0, 3))
      await client.until(() => coverageOf(fold)["venueone"] === "LIVE push", "LIVE");
    const last = held[3] as Subscribed;
    await last.client.until(() => coverageOf(last.fold)["venueone"] === "SNAPSHOT poll", "polled");
    expect(last.fold.fields["venueone"]).toMatchObject({ source: "venue", intervalMs: 5_000 });
    expect([...last.fold.rows.keys()]).toEqual(["venueone|BTC|LONG"]);
    // A place becomes free and is used.
    await held[0]?.client.stop();
    await last.client.until(() => coverageOf(last.fold)["venueone"] === "LIVE push", "pushed");
  });
});

describe("the secrets of callers", () => {
  it("are in no frame and no log line of all tests above", () => {
    const seen = [...harness.logLines, ...said].join("\n");
    expect(said.length).toBeGreaterThan(100);
    for (const secret of [
      CANARY_KEY,
      CANARY_SECRET,
      trader.venueone.agentKey.slice(2),
      trader.venueone.privateKey.slice(2),
    ])
      for (const text of [secret, Buffer.from(secret).toString("base64"), Buffer.from(secret).toString("hex")])
        expect(seen.toLowerCase()).not.toContain(text.toLowerCase());
  });

  it("are in no heap snapshot after a request and after the unsubscribe", async () => {
    // Never a string in this process: bytes outside the heap, written into the frame digit by digit.
    const keys = { one: Buffer.alloc(32, 0x5a), two: Buffer.alloc(32, 0x6b) };
    for (const [index, key] of Object.values(keys).entries()) key.writeUInt32BE(0xc0ffee00 + index, 4);
    const wallet = `0x${"77".repeat(20)}`;
    const signer = addressOfPrivateKey(keys.two);
    pair.venueone.addAccount({
      address: wallet,
      deposit: "100000",
      agents: [{ address: addressOfPrivateKey(keys.one), name: "heap" }],
      positions: [{ coin: "BTC", size: "1", entryPx: "91000" }],
    });
    pair.venuetwo.addAccount({
      accountId: "heap",
      apiKey: "unused",
      apiSecret: "unused",
      wallet,
      agents: [signer],
      deposit: "100000",
      positions: [{ symbol: "ETHUSDT", qty: "2" }],
    });
    const client = await open();
    const withSecrets = (head: string): Buffer =>
      Buffer.concat([
        Buffer.from(`${head},"credentials":{"venueone":{"privateKey":"0x`),
        hexDigits(keys.one),
        Buffer.from(`"},"venuetwo":{"apiKey":"${signer}","walletAddress":"${wallet}","apiSecret":"0x`),
        hexDigits(keys.two),
        Buffer.from('"}}}'),
      ]);
    const send = () =>
      harness.client.send("/api/trade/position/close", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: withSecrets('{"symbol":"BTC","direction":"LONG","size":"0.1"'),
      });
    let closed = await send();
    while (closed.text.includes("NO_ELIGIBLE_VENUE")) closed = await send();
    expect(closed.text).toContain('"state":"COMPLETED"');
    const frame = withSecrets(
      `{"op":"subscribe","id":"heap","topic":"positions","walletAddress":"${wallet}","exchanges":["venueone","venuetwo"]`,
    );
    client.socket.send(frame, { binary: false });
    const answer = await client.next((one) => one.id === "heap");
    const { sub } = answer.subs[0] as { readonly sub: string };
    const fold = await client.fold(sub);
    await client.until(() => fold.rows.size === 2, "both positions");
    await client.ask({ op: "unsubscribe", subs: [sub] });
    expect(harness.portfolio?.counts().accounts).toBe(0);
    await client.stop();

    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    // A regular expression or a parser keeps its last input until its next one.
    for (let round = 0; round < 5; round++) {
      /x/.test(`x${round}`);
      await harness.client.get("/health");
      collect();
    }
    const directory = mkdtempSync(join(tmpdir(), "unwind-heap-"));
    const decoyBytes = Buffer.from(`decoy${"z".repeat(40)}${process.pid}`);
    // One flat string: the parts of a joined one are stored apart. (Strings beyond 1024 characters are cut; a frame is
    // shorter.)
    const decoy = decoyBytes.toString("latin1");
    try {
      const path = writeHeapSnapshot(join(directory, "after.heapsnapshot"));
      const needles = [hexDigits(keys.one), hexDigits(keys.two), base64Of(keys.one), base64Of(keys.two), decoyBytes];
      const found = await searchFile(path, needles);
      // The search does find what is there.
      expect(found).toEqual([false, false, false, false, true]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
    expect(decoy.length).toBeGreaterThan(40);
  }, 300_000);
});

function rowsOf(frame: Frame): Record<string, unknown>[] {
  const data = (frame.data ?? {}) as unknown as { readonly positions?: Record<string, unknown>[] };
  return data.positions ?? [];
}

function openSession(venue: "venueone" | "venuetwo", of: Trader) {
  const room = rooms.find((one) => one.venue === venue) as VenueRoom;
  const opened = room.openSession(credentialsOf(of)[venue], null);
  if (!opened.ok) throw new Error(opened.problem);
  return opened.session;
}

const DIGITS = Buffer.from("0123456789abcdef");

/** As ASCII, without an intermediate string. */
function hexDigits(bytes: Buffer): Buffer {
  const digits = Buffer.alloc(bytes.length * 2);
  for (const [index, byte] of bytes.entries()) {
    digits[2 * index] = DIGITS[byte >> 4] as number;
    digits[2 * index + 1] = DIGITS[byte & 15] as number;
  }
  return digits;
}

const BASE64 = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** Base64 of the first 30 bytes, for the same reason. */
function base64Of(bytes: Buffer): Buffer {
  const digits = Buffer.alloc(40);
  for (let group = 0; group < 10; group++) {
    const word = bytes.readUIntBE(3 * group, 3);
    for (let place = 0; place < 4; place++)
      digits[4 * group + place] = BASE64[(word >> (18 - 6 * place)) & 63] as number;
  }
  return digits;
}

async function searchFile(path: string, needles: readonly Buffer[]): Promise<boolean[]> {
  const found = needles.map(() => false);
  const overlap = Math.max(...needles.map((needle) => needle.length)) - 1;
  let tail = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    const text = Buffer.concat([tail, chunk as Buffer]);
    for (const [index, needle] of needles.entries()) if (text.includes(needle)) found[index] = true;
    tail = Buffer.from(text.subarray(Math.max(0, text.length - overlap)));
  }
  return found;
}
