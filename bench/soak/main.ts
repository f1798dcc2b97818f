/**
 * `npm run soak -- --minutes N` (default 60): four local venues in this process, and the service with its record as a
 * process of its own. Traders open, close and cancel; streams and reads are compared with the truth; venues fail at
 * random. It prints one line a minute. It always ends with a summary. The exit code is 0 only without a finding: no
 * violation of the venues' logs, no death of the service, no line of memory that rises (leak-line.ts).
 *
 * The venues and the judge are in this process, so that the service's memory is its own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { MAX_QUOTES } from "../../engine/orders/request/quote-book.js";
import { ContractJudge, TestClient } from "../../gateway/test/client.js";
import type { FaultKind, FaultSpec } from "../sim/core/server/fault-types.js";
import { FOUR_VENUES, type FourVenue, type FourVenues, startFourVenues } from "../test/support/four-venues.js";
import { isNetworkError } from "../test/support/close-judge.js";
import { PAIR_VENUES } from "../test/support/local-pair.js";
import { ShownBookJudge } from "../test/support/shown-book.js";
import { pause } from "../test/support/system.js";
import { fourEnvironment } from "../test/support/trade-system.js";
import { MemoryLines } from "./memory-lines.js";
import { playRounds, SoakCounts, type SoakParts } from "./rounds.js";
import { ServiceProcess } from "./service-process.js";
import { TickerWatch } from "./tickers.js";

const TRADERS = 4;
const SYMBOLS = ["BTC", "ETH"] as const;
/** More levels of its book are read, because it is made of diffs. */
const DEEPER_VENUE = PAIR_VENUES.at(-1);
const READ_EVERY_MS = 100;
const QUOTES_AT_ONCE = 16;
const FAULT_EVERY_MS = 4_000;
const FAULT_MS_MAX = 2_000;
/** Time from the last trade to the end of all work in flight. */
const END_MS = 240_000;
/** Time between the last of its connections and its end, as this process learns of them. */
const GONE_MS = 10_000;

const KINDS: readonly FaultKind[] = [
  "latency",
  "loss",
  "duplicate",
  "reorder",
  "gap",
  "silent",
  "disconnect",
  "rate429",
  "errorBefore",
  "errorAfter",
  "replyLost",
  "clockSkew",
  "refuseHandshake",
];

const minutes = readMinutes(process.argv.slice(2));
const seed = Number(process.env["FUZZ_SEED"] ?? 20_261_121);
const startedMs = performance.now();
const violations: string[] = [];
const counts = new SoakCounts();
const memory = new MemoryLines(minutes);
/** Ends everything; the first reason is the one reported. */
let stopReason: string | null = null;
let stopNow = (): void => {};
/** The service is being stopped. */
let isOver = false;
const stopped = new Promise<void>((resolve) => {
  stopNow = resolve;
});

function stop(reason: string): void {
  stopReason ??= reason;
  stopNow();
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop(signal));
process.on("unhandledRejection", (reason) => fail("an unhandled rejection", reason));
process.on("uncaughtException", (error) => fail("an uncaught exception", error));

function fail(what: string, reason: unknown): void {
  violations.push(`${what}: ${problemOf(reason)}`);
  stop(what);
}

/** A broken connection reports the service's end where that is the cause, and nothing during a shutdown. */
async function taskEnded(service: ServiceProcess, error: unknown): Promise<void> {
  if (isNetworkError(error)) await Promise.race([service.gone, pause(GONE_MS)]);
  if (isOver || stopReason !== null) return;
  fail("a task ended", error);
}

try {
  await soak();
} catch (error) {
  fail("the soak ended early", error);
}
summarise();
process.exit(violations.length === 0 && stopReason === null ? 0 : 1);

async function soak(): Promise<void> {
  const dataDir = join(mkdtempSync(join(tmpdir(), "unwind-soak-")), "data");
  const four = await startFourVenues({ seed, symbols: [...SYMBOLS, "SOL"] });
  try {
    const planted = Object.entries(process.env).filter(([name]) => name.startsWith("SOAK_LEAK_"));
    const service = await ServiceProcess.start({
      ...fourEnvironment(four, dataDir),
      LOG_LEVEL: "error",
      // Otherwise memory that grows to a bound beyond ten minutes would count as a leak.
      EXECUTIONS_IN_MEMORY_MAX: "200",
      ...(Object.fromEntries(planted) as Record<string, string>),
    });
    void service.gone.then((end) => {
      if (!isOver) fail("the service ended by itself", new Error(`${end}: ${service.log}`));
    });
    const client = new TestClient(service.url, new ContractJudge());
    try {
      await loadIt(four, service, client);
    } finally {
      isOver = true;
      for (const venue of FOUR_VENUES) four.venues[venue].faults.clear();
      const end = await service.stop();
      if (end !== "code 0" && stopReason === null) violations.push(`the service ended with ${end}: ${service.log}`);
      await client.stop();
    }
  } finally {
    await four.stop();
    rmSync(dirname(dataDir), { recursive: true, force: true });
  }
}

async function loadIt(four: FourVenues, service: ServiceProcess, client: TestClient): Promise<void> {
  process.stdout.write(`soak of ${minutes} min, seed ${seed}, service ${service.url}\n`);
  await Promise.race([fillQuotes(client).catch((error: unknown) => taskEnded(service, error)), stopped]);
  const random = createSeededRandom(seed);
  const loadMs = performance.now();
  const endMs = loadMs + minutes * 60_000;
  const isRunning = (): boolean => stopReason === null && violations.length === 0 && performance.now() < endMs;
  const tickers = new TickerWatch(service.port, SYMBOLS);
  const parts: SoakParts = { four, client, port: service.port, seed, isRunning, violations, counts };
  const tasks = [
    readBooks(parts),
    causeFaults(four, random, isRunning),
    ...Array.from({ length: TRADERS }, (_, worker) => playRounds(parts, worker, createSeededRandom(seed + 1 + worker))),
  ].map((task) => task.catch((error: unknown) => taskEnded(service, error)));
  for (let minute = 1; isRunning(); minute++) {
    const untilMs = Math.min(endMs, loadMs + minute * 60_000);
    while (isRunning() && performance.now() < untilMs)
      await Promise.race([memory.sampleWhenDue(service, performance.now() - loadMs), stopped]);
    const reported = report(client, minute).catch((error: unknown) => taskEnded(service, error));
    await Promise.race([reported, stopped]);
  }
  for (const venue of FOUR_VENUES) four.venues[venue].faults.clear();
  const late = pause(END_MS).then(() => violations.push(`not at an end ${END_MS} ms after the last trade`));
  await Promise.race([Promise.all(tasks), late, stopped]);
  if (stopReason === null) {
    const compared = compareTickers(four, client, tickers).catch((error: unknown) => taskEnded(service, error));
    await Promise.race([compared, stopped]);
  }
  await tickers.stop();
  violations.push(...memory.leaks());
}

/** Requests as many quotes as the service keeps. From then on a new one replaces an old one. */
async function fillQuotes(client: TestClient): Promise<void> {
  let asked = 0;
  const ask = async (): Promise<void> => {
    while (asked++ < MAX_QUOTES && stopReason === null) await client.get("/api/trade/routing/BTC?side=SELL&size=0.25");
  };
  await Promise.all(Array.from({ length: QUOTES_AT_ONCE }, ask));
}

/** Freezes the markets; nobody trades. The fold of the ticker stream must then equal what REST returns. */
async function compareTickers(four: FourVenues, client: TestClient, tickers: TickerWatch): Promise<void> {
  for (const venue of FOUR_VENUES) four.venues[venue].exchange.stop();
  const difference = await tickers.difference(client);
  if (difference !== null) violations.push(difference);
  else counts.comparedStreams++;
  counts.frames += tickers.frames;
}

/**
 * Holds every book that the API shows as LIVE to the venue's own, on the two venues whose books the judge can compare.
 */
async function readBooks({ four, client, counts: done, violations: found, isRunning }: SoakParts): Promise<void> {
  const books = new ShownBookJudge(four.venues, SYMBOLS);
  while (isRunning()) {
    for (const venue of FOUR_VENUES) {
      for (const symbol of SYMBOLS) {
        const reply = await client.get(`/api/trading/${venue}/book/${symbol}?depth=${venue === DEEPER_VENUE ? 20 : 3}`);
        await client.get(`/api/trading/${venue}/ticker/${symbol}`);
        done.reads += 2;
        const judged = PAIR_VENUES.find((one) => one === venue);
        if (reply.status !== 200 || judged === undefined) continue;
        const difference = books.difference(judged, symbol, reply.body);
        if (difference === null) done.comparedBooks++;
        else found.push(difference);
      }
    }
    await client.get("/api/trade/routing/BTC?side=SELL&size=0.25").then(() => done.reads++);
    await pause(READ_EVERY_MS);
  }
}

async function causeFaults(four: FourVenues, random: Random, isRunning: () => boolean): Promise<void> {
  while (isRunning()) {
    await pause(FAULT_EVERY_MS * random.next());
    const venue = FOUR_VENUES[Math.floor(random.next() * FOUR_VENUES.length)] as FourVenue;
    const kind = KINDS[Math.floor(random.next() * KINDS.length)] as FaultKind;
    const end = four.fault([venue], [faultOf(kind, random)]);
    counts.faults++;
    await pause(FAULT_MS_MAX * random.next());
    end();
  }
}

function faultOf(kind: FaultKind, random: Random): FaultSpec {
  switch (kind) {
    case "latency":
      return { kind, delayMs: 20, jitterMs: 400 };
    case "clockSkew":
      return { kind, delayMs: Math.round((random.next() - 0.5) * 1_600) };
    case "rate429":
      return { kind, retryAfterS: 1, count: 2 };
    case "silent":
    case "refuseHandshake":
      return { kind };
    case "disconnect":
      return { kind, probability: 0.01 };
    default:
      return { kind, probability: 0.2 };
  }
}

async function report(client: TestClient, minute: number): Promise<void> {
  const { text } = await client.get("/metrics");
  const number = (name: string): number =>
    Number(new RegExp(`^unwind_${name}(?:\\{[^}]*\\})? (\\S+)`, "m").exec(text)?.[1] ?? Number.NaN);
  const delayMs = number("nodejs_eventloop_lag_p99_seconds") * 1_000;
  const recording = `record ${number("recording_on") === 1 ? "on" : "off"}, ${number("record_outbox_rows")} rows wait`;
  process.stdout.write(
    `minute ${minute}: ${memory.text}; event loop p99 ${delayMs.toFixed(1)} ms; ${recording}; ${counts.text}; ${violations.length} violations\n`,
  );
}

function summarise(): void {
  const took = ((performance.now() - startedMs) / 60_000).toFixed(1);
  const lines = [
    `soak ${violations.length === 0 && stopReason === null ? "passed" : "failed"} after ${took} min, seed ${seed}${stopReason === null ? "" : `, ended by ${stopReason}`}`,
    ...memory.summary().map((line) => `  ${line}`),
    `  ${counts.text}`,
    `  first answers: ${counts.outcomes || "none"}`,
    ...violations.map((violation) => `  VIOLATION ${violation}`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

function readMinutes(args: readonly string[]): number {
  const at = args.indexOf("--minutes");
  const value = at < 0 ? 60 : Number(args[at + 1]);
  if (!(value > 0 && value <= 100_000)) {
    process.stderr.write("usage: npm run soak -- --minutes N\n");
    process.exit(2);
  }
  return value;
}

function problemOf(reason: unknown): string {
  return reason instanceof Error
    ? (reason.stack ?? reason.message).split("\n").slice(0, 4).join(" | ")
    : String(reason);
}
