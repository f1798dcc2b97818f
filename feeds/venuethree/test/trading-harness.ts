/** One venuethree trading half on a virtual clock and a scripted venue, for tests. */
import { readFileSync } from "node:fs";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions } from "../../../engine/ports.js";
import { AccountLimiter } from "../../shared/net/account-limiter.js";
import { CallerStanding } from "../../shared/net/caller-standing.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import { parseJsonExact } from "../../shared/room/wire-fields.js";
import { publicKeyOf, verifySignature } from "../sign/schnorr.js";
import { hashTransaction, type TxFields } from "../sign/tx.js";
import { createVenuethreeTrading, type VenuethreeTrading } from "../trading.js";
import { TxSocket } from "../orders/tx-socket.js";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";

/** Made for these tests, of no value. */
export const KEY = "1f".repeat(40);
export const PUBLIC_KEY = Buffer.from(publicKeyOf(Buffer.from(KEY, "hex"))).toString("hex");
export const ACCOUNT = 516;
export const API_KEY = 5;
export const CLIENT_ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";
/** The low 48 bits of it. */
export const CLIENT_INDEX = 0x41c2d5e6f701;
export const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };
export const CHAIN_ID = 304;

export const BTC = LISTED_BTC.venuethree;
export const ETH: Instrument = {
  ...BTC,
  symbol: "ETH",
  nativeSymbol: "ETH",
  nativeId: 0,
  priceDecimals: 2,
  qtyDecimals: 4,
};
/** A contract of 1000 units. */
export const PEPE: Instrument = {
  ...BTC,
  symbol: "PEPE",
  nativeSymbol: "1000PEPE",
  nativeId: 4,
  multiplierExp10: 3,
  priceDecimals: 6,
  qtyDecimals: 0,
};

export const CLOSE_LONG: OrderCommand = {
  instrument: BTC,
  side: "SELL",
  type: "MARKET",
  timeInForce: "IOC",
  priceTicks: 831_600,
  qtyLots: 25_000,
  reduceOnly: true,
  positionSide: "BOTH",
  clientIdHex: CLIENT_ID,
};

export interface SentTx {
  readonly type: number;
  readonly fields: Readonly<Record<string, number | string>>;
  /** As the venue would return it. */
  readonly hash: string;
  /** By the key of the harness, over the hash of what was sent. */
  readonly isSigned: boolean;
}

/** Reads a posted transaction as the venue does: hash it again and verify. */
export function sentTx(request: HttpRequest): SentTx {
  const form = new URLSearchParams(request.body ?? "");
  return readTx(Number(form.get("tx_type")), parseJsonExact(form.get("tx_info") ?? ""));
}

/** The same of a transaction that was written to a connection, with the id it is answered by. */
export function writtenTx(frame: string): SentTx & { readonly id: string } {
  const { type, data } = parseJsonExact(frame) as { type: string; data: Record<string, unknown> };
  if (type !== "jsonapi/sendtx") throw new Error(`${type} is no transaction`);
  return { ...readTx(Number(data["tx_type"]), data["tx_info"]), id: String(data["id"]) };
}

function readTx(type: number, info: unknown): SentTx {
  const { Sig, L2TxAttributes, ...fields } = info as Record<string, unknown>;
  const attributes = Object.entries((L2TxAttributes ?? {}) as Record<string, number>);
  // Integers beyond a double come as text out of the exact parser.
  const integers = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? BigInt(value) : value]),
  ) as TxFields;
  const message = hashTransaction(
    CHAIN_ID,
    type,
    integers,
    new Map(attributes.map(([code, value]) => [Number(code), value])),
  );
  return {
    type,
    fields: fields as SentTx["fields"],
    hash: Buffer.from(message.buffer).toString("hex"),
    isSigned: verifySignature(message, Buffer.from(String(Sig), "base64"), Buffer.from(PUBLIC_KEY, "hex")),
  };
}

export interface Harness {
  /** What the venue lists, by canonical symbol. */
  readonly instruments: Map<string, Instrument>;
  readonly clock: VirtualClock;
  readonly http: ScriptedHttp;
  readonly trading: VenuethreeTrading;
  readonly standing: CallerStanding;
  readonly ackLatency: LatencyWindow;
  /** Connections that carry transactions; none unless asked for. */
  readonly network: FakeNetwork;
  readonly txSocket: TxSocket | null;
  readonly logLines: string[];
  offsetMs: number;
  isVenueUsable: boolean;
  open(extra?: Record<string, unknown>): AccountSession;
  /** The venue confirms the key. */
  confirmKey(nonce?: number): Harness;
  /** The venue takes the next transaction. */
  acceptTx(): Harness;
  /** Transactions posted so far. */
  sent(): readonly SentTx[];
}

export interface HarnessOptions {
  /** Transactions also go over a connection. */
  readonly hasSocket?: boolean;
  readonly sendsPerMinute?: number;
}

export function createHarness({ hasSocket = false, sendsPerMinute = 10_000 }: HarnessOptions = {}): Harness {
  const clock = new VirtualClock(1_790_000_000_000);
  const http = new ScriptedHttp(clock);
  const ackLatency = new LatencyWindow(500);
  const logLines: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    logLines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const network = new FakeNetwork();
  const txSocket = hasSocket
    ? new TxSocket({
        wsUrl: "ws://venue.test/stream",
        connector: network.connector,
        clock,
        random: createSeededRandom(5),
        logger,
        budget: new ConnectionBudget(clock, { maxConnections: 8, connectsPerMinute: 60 }),
        accounts: new AccountLimiter(clock, [{ limit: sendsPerMinute, windowMs: 60_000 }]),
        isVenueUsable: () => harness.isVenueUsable,
      })
    : null;
  const instruments = new Map([BTC, ETH, PEPE].map((instrument) => [instrument.symbol, instrument] as const));
  const standing = new CallerStanding(clock);
  const harness: Harness = {
    standing,
    instruments,
    clock,
    http,
    ackLatency,
    network,
    txSocket,
    logLines,
    offsetMs: 0,
    isVenueUsable: true,
    trading: createVenuethreeTrading({
      http,
      instruments: () => instruments,
      clock,
      logger,
      clockOffsetMs: () => harness.offsetMs,
      ackLatency,
      standing,
      chainId: CHAIN_ID,
      tier: "standard",
      ...(txSocket === null ? {} : { txSocket }),
    }),
    open(extra = {}) {
      const opened = harness.trading.openSession({ apiKeyPrivateKey: KEY, accountIndex: ACCOUNT, ...extra }, null);
      if (!opened.ok) throw new Error(opened.problem);
      return opened.session;
    },
    confirmKey(nonce = 42) {
      http.reply(200, {
        code: 200,
        api_keys: [{ account_index: ACCOUNT, api_key_index: API_KEY, nonce, public_key: PUBLIC_KEY }],
      });
      return harness;
    },
    acceptTx() {
      http.step((request) => http.response(200, { code: 200, message: "{}", tx_hash: sentTx(request).hash }));
      return harness;
    },
    sent: () => http.requests.filter(({ path }) => path === "/api/v1/sendTx").map(sentTx),
  };
  return harness;
}

/** As often as the room looks for the outcome of a transaction. */
const STEP_MS = 20;
const MAX_STEPS = 3_000;

/** Lets time pass until the promise settles; gives what it gives. */
export async function settledOver<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  promise.then(settled, settled);
  for (let step = 0; step < MAX_STEPS; step++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (isSettled) return promise;
    clock.advance(STEP_MS);
  }
  throw new Error("it never settled");
}

/** Fixture text of the room, exactly as recorded; see fixtures/README.md. */
export function accountFixture(name: string): string {
  return readFileSync(new URL(`../fixtures/account/${name}.json`, import.meta.url), "utf8");
}
