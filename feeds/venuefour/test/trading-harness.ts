/** One venuefour trading half on a virtual clock, a scripted venue and fake connections, for tests. */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions } from "../../../engine/ports.js";
import { CallerStanding } from "../../shared/net/caller-standing.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import { encodeBase58 } from "../sign/base58.js";
import { readFixture } from "../fixtures/load.js";
import { openVenuefourAddress, openVenuefourSession } from "../account/session.js";
import { createVenuefourTrading, type VenuefourTrading } from "../trading.js";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";

/** Made for these tests: keys of nothing. */
function keyPair(name: string): { readonly publicKey: string; readonly secret: string } {
  const seed = createHash("sha256").update(name).digest();
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const key = createPrivateKey({ key: Buffer.concat([prefix, seed]), format: "der", type: "pkcs8" });
  const bytes = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  return { publicKey: encodeBase58(bytes), secret: encodeBase58(Buffer.concat([seed, bytes])) };
}

export const WALLET = keyPair("wallet");
export const AGENT = keyPair("agent");
export const CREDENTIALS = { apiKey: AGENT.publicKey, apiSecret: AGENT.secret, walletAddress: WALLET.publicKey };
export const CLIENT_ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";
export const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };

export const BTC = LISTED_BTC.venuefour;
/** A contract of 1000 units. */
export const PEPE: Instrument = {
  ...BTC,
  symbol: "PEPE",
  nativeSymbol: "kPEPE",
  multiplierExp10: 3,
  priceDecimals: 6,
  qtyDecimals: 0,
};

export const CLOSE_LONG: OrderCommand = {
  instrument: BTC,
  side: "SELL",
  type: "MARKET",
  timeInForce: "IOC",
  priceTicks: 63_000,
  qtyLots: 20,
  reduceOnly: true,
  positionSide: "BOTH",
  clientIdHex: CLIENT_ID,
};

export interface Harness {
  /** What the venue lists, by canonical symbol. */
  readonly instruments: Map<string, Instrument>;
  readonly clock: VirtualClock;
  readonly http: ScriptedHttp;
  readonly network: FakeNetwork;
  readonly trading: VenuefourTrading;
  readonly standing: CallerStanding;
  readonly logLines: string[];
  offsetMs: number;
  clockErrorCount: number;
  onClockError: () => Promise<void>;
  open(credentials?: Record<string, unknown>): AccountSession;
  openAddress(): AccountSession;
}

export function createHarness(): Harness {
  const clock = new VirtualClock(1_790_000_000_000);
  const http = new ScriptedHttp(clock);
  const network = new FakeNetwork();
  network.pong = '{"channel":"pong"}';
  const logLines: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    logLines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const instruments = new Map([BTC, PEPE].map((instrument) => [instrument.symbol, instrument] as const));
  const standing = new CallerStanding(clock);
  const harness: Harness = {
    standing,
    instruments,
    clock,
    http,
    network,
    logLines,
    offsetMs: 0,
    clockErrorCount: 0,
    onClockError: () => Promise.resolve(),
    trading: createVenuefourTrading({
      http,
      root: "/api/v1",
      wsUrl: "ws://venue/ws",
      connector: network.connector,
      budget: new ConnectionBudget(clock, { maxConnections: 100, connectsPerMinute: 100 }),
      instruments: () => instruments,
      clock,
      random: createSeededRandom(1),
      logger,
      ackLatency: new LatencyWindow(500),
      standing,
      clockOffsetMs: () => harness.offsetMs,
      onClockError: () => {
        harness.clockErrorCount++;
        return harness.onClockError();
      },
    }),
    open(credentials = CREDENTIALS) {
      const opened = openVenuefourSession(credentials);
      if (!opened.ok) throw new Error(opened.problem);
      return opened.session;
    },
    openAddress() {
      const opened = openVenuefourAddress(WALLET.publicKey);
      if (!opened.ok) throw new Error(opened.problem);
      return opened.session;
    },
  };
  return harness;
}

export function bodyOf(request: HttpRequest): Readonly<Record<string, unknown>> {
  return JSON.parse(request.body ?? "{}") as Record<string, unknown>;
}

/** An envelope of success. */
export function envelope(data: unknown, more: object = {}): object {
  return { success: true, data, error: null, code: null, ...more };
}

/** Body of fixtures/trading/answers.json. */
export function answerFixture(name: string): { readonly data: unknown } & Readonly<Record<string, unknown>> {
  const answers = JSON.parse(readFixture("trading/answers.json")) as Record<string, { body: { data: unknown } }>;
  const found = answers[name];
  if (found === undefined) throw new Error(`no answer fixture ${name}`);
  return { ...(name.endsWith("Recorded") ? (integersBack(found.body) as { data: unknown }) : found.body) };
}

/** Frames of fixtures/trading/frames.json whose name begins so. */
export function frameTexts(prefix: string): readonly string[] {
  const frames = JSON.parse(readFixture("trading/frames.json")) as readonly { name: string; frame: unknown }[];
  return frames.filter(({ name }) => name.startsWith(prefix)).map(({ frame }) => JSON.stringify(frame));
}

const INTEGER_NAMES = /(?:_at|_id|_level|_count)$/;

/** Undoes what that recorder did to integers. */
export function integersBack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(integersBack);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      name,
      INTEGER_NAMES.test(name) && typeof entry === "string" ? Number(entry) : integersBack(entry),
    ]),
  );
}

export function orderRow(changes: object = {}): Readonly<Record<string, unknown>> {
  return {
    order_id: 336_542_133,
    client_order_id: "8c1f0a52-d9e3-4b77-90aa-41c2d5e6f701",
    symbol: "BTC",
    side: "ask",
    initial_price: "63000",
    average_filled_price: "0",
    amount: "0.0002",
    filled_amount: "0",
    order_status: "open",
    order_type: "limit",
    stop_price: null,
    stop_parent_order_id: null,
    reduce_only: true,
    reason: null,
    created_at: 1_790_000_000_000,
    updated_at: 1_790_000_000_000,
    ...changes,
  };
}

export function eventRow(changes: object = {}): Readonly<Record<string, unknown>> {
  return {
    history_id: 1,
    order_id: 336_542_133,
    client_order_id: "8c1f0a52-d9e3-4b77-90aa-41c2d5e6f701",
    symbol: "BTC",
    side: "ask",
    price: "63000",
    initial_amount: "0.0002",
    filled_amount: "0",
    cancelled_amount: "0",
    event_type: "make",
    order_type: "limit",
    order_status: "open",
    stop_price: null,
    stop_parent_order_id: null,
    reduce_only: true,
    created_at: 1_790_000_000_100,
    ...changes,
  };
}

export const FILLED_EVENTS = [
  eventRow({
    history_id: 3,
    event_type: "fulfill_limit",
    order_status: "filled",
    filled_amount: "0.0002",
    price: "63434",
  }),
  eventRow({
    history_id: 2,
    event_type: "fulfill_limit",
    order_status: "partially_filled",
    filled_amount: "0.0001",
    price: "63433",
  }),
  eventRow(),
];
