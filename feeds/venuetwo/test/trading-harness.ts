/** One venuetwo trading half on a virtual clock and a scripted venue, for tests. */
import { readFileSync } from "node:fs";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions, NonceReservations } from "../../../engine/ports.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { CallerStanding } from "../../shared/net/caller-standing.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import { createVenuetwoTrading, type VenuetwoTrading } from "../trading.js";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";

/** Printed in the venue's own documentation. */
export const API_KEY = "dbefbc809e3e83c283a984c3a1459732ea7db1360ca80c5c2c8867408d28cc83";
export const API_SECRET = "2b5eb11e18796d12d88f13dc27dbbd02c2cc51ff7059765ed9821957d82bb4d9";
/** The agent key printed in the venue's V3 demo, and its wallet. */
export const AGENT_KEY = "4fd0a42218f3eae43a6ce26d22544e986139a01e5b34a62db53757ffca81bae1";
export const AGENT = "0x21cF8Ae13Bb72632562c6Fff438652Ba1a151bb0";
export const WALLET = "0x63DD5aCC6b1aa0f563956C0e534DD30B6dcF7C4e";
export const CLIENT_ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";
export const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };

export const V1 = { apiKey: API_KEY, apiSecret: API_SECRET, walletAddress: WALLET };
export const V3 = { apiKey: AGENT, apiSecret: `0x${AGENT_KEY}`, walletAddress: WALLET };

export const BTC = LISTED_BTC.venuetwo;
export const ETH: Instrument = { ...BTC, symbol: "ETH", nativeSymbol: "ETHUSDT" };
/** A contract of 1000 units. */
export const PEPE: Instrument = {
  ...BTC,
  symbol: "PEPE",
  nativeSymbol: "1000PEPEUSDT",
  multiplierExp10: 3,
  priceDecimals: 7,
  qtyDecimals: 0,
};

export const CLOSE_LONG: OrderCommand = {
  instrument: BTC,
  side: "SELL",
  type: "MARKET",
  timeInForce: "IOC",
  priceTicks: 8_316_000,
  qtyLots: 250,
  reduceOnly: true,
  positionSide: "BOTH",
  clientIdHex: CLIENT_ID,
};

export interface Harness {
  /** What the venue lists, by canonical symbol. */
  readonly instruments: Map<string, Instrument>;
  readonly clock: VirtualClock;
  readonly http: ScriptedHttp;
  readonly trading: VenuetwoTrading;
  readonly standing: CallerStanding;
  readonly ackLatency: LatencyWindow;
  readonly logLines: string[];
  readonly reservations: NonceReservations & { readonly calls: string[] };
  clockErrorCount: number;
  offsetMs: number;
  onClockError: () => Promise<void>;
  open(credentials?: Record<string, unknown>): AccountSession;
}

export function createHarness(isMainnet = true): Harness {
  const clock = new VirtualClock(1_790_000_000_000);
  const http = new ScriptedHttp(clock);
  const reservations = createMemoryReservations();
  const ackLatency = new LatencyWindow(500);
  const logLines: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    logLines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const instruments = new Map([BTC, ETH, PEPE].map((instrument) => [instrument.symbol, instrument] as const));
  const standing = new CallerStanding(clock);
  const harness: Harness = {
    standing,
    instruments,
    clock,
    http,
    ackLatency,
    logLines,
    reservations,
    clockErrorCount: 0,
    offsetMs: 0,
    onClockError: () => Promise.resolve(),
    trading: createVenuetwoTrading({
      http,
      instruments: () => instruments,
      clock,
      random: createSeededRandom(1),
      logger,
      nonces: reservations,
      clockOffsetMs: () => harness.offsetMs,
      leastOffsetMs: () => harness.offsetMs,
      ackLatency,
      isMainnet,
      standing,
      onClockError: () => {
        harness.clockErrorCount++;
        return harness.onClockError();
      },
    }),
    open(credentials = V1) {
      const opened = harness.trading.openSession(credentials, null);
      if (!opened.ok) throw new Error(opened.problem);
      return opened.session;
    },
  };
  return harness;
}

/** The signed text of a request, wherever it is carried. */
export function signedText(request: HttpRequest): string {
  return request.body ?? request.path.slice(request.path.indexOf("?") + 1);
}

export function paramsOf(request: HttpRequest): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(signedText(request)));
}

/** Fixture body of the room; see fixtures/trading/README.md. */
export function answerFixture(name: string): unknown {
  const url = new URL("../fixtures/trading/answers.json", import.meta.url);
  const answers = JSON.parse(readFileSync(url, "utf8")) as Record<string, { body: unknown }>;
  return answers[name]?.body;
}
