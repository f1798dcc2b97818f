/** One venueone trading half on a virtual clock and a scripted venue, for tests. */
import { readFileSync } from "node:fs";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions, NonceReservations } from "../../../engine/ports.js";
import { CallerStanding } from "../../shared/net/caller-standing.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import type { AddressBudget } from "../orders/address-budget.js";
import { createVenueoneTrading, type VenueoneTrading } from "../trading.js";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";

/** Published test key, of no value. */
export const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const SIGNER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
export const PRINCIPAL = "0xe7c2adb44064e705a2e955770440c527373967a1";
export const CLIENT_ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";
export const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };

export const BTC = LISTED_BTC.venueone;
export const ETH: Instrument = {
  ...BTC,
  symbol: "ETH",
  nativeSymbol: "ETH",
  nativeId: 1,
  priceDecimals: 2,
  qtyDecimals: 4,
};
/** A contract of 1000 units. */
export const PEPE: Instrument = {
  ...BTC,
  symbol: "PEPE",
  nativeSymbol: "kPEPE",
  nativeId: 15,
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

export interface Harness {
  /** What the venue lists, by canonical symbol. */
  readonly instruments: Map<string, Instrument>;
  /** Numbers of coins that the venue's list has and we cannot trade. */
  readonly numbers: Map<string, number>;
  readonly clock: VirtualClock;
  readonly http: ScriptedHttp;
  readonly trading: VenueoneTrading;
  readonly standing: CallerStanding;
  readonly ackLatency: LatencyWindow;
  readonly logLines: string[];
  readonly reservations: NonceReservations & { readonly calls: string[] };
  clockErrorCount: number;
  offsetMs: number;
  open(extra?: Record<string, unknown>): AccountSession;
}

/** `addressBudget`: what the pool would charge addresses by. */
export function createHarness(isMainnet = true, addressBudget?: AddressBudget): Harness {
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
  const numbers = new Map<string, number>();
  const standing = new CallerStanding(clock);
  const harness: Harness = {
    standing,
    instruments,
    numbers,
    clock,
    http,
    ackLatency,
    logLines,
    reservations,
    clockErrorCount: 0,
    offsetMs: 0,
    trading: createVenueoneTrading({
      http,
      instruments: () => instruments,
      numberOf: (coin) => numbers.get(coin) ?? null,
      clock,
      random: createSeededRandom(1),
      logger,
      nonces: reservations,
      clockOffsetMs: () => harness.offsetMs,
      leastOffsetMs: () => harness.offsetMs,
      ackLatency,
      isMainnet,
      standing,
      ...(addressBudget === undefined ? {} : { addressBudget }),
      onClockError: () => {
        harness.clockErrorCount++;
      },
    }),
    open(extra = {}) {
      const opened = harness.trading.openSession({ privateKey: KEY, ...extra }, null);
      if (!opened.ok) throw new Error(opened.problem);
      return opened.session;
    },
  };
  return harness;
}

/** Fixture file of the room; see fixtures/trading/README.md. */
export function tradingFixture(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(new URL(`../fixtures/trading/${name}`, import.meta.url), "utf8")) as Record<
    string,
    unknown
  >;
}
