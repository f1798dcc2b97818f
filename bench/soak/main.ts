/**
 * `npm run soak -- --minutes N`: closes, reads and random faults against the service for N minutes (default 60).
 * Each minute one line: memory and event-loop delay of the service, what was done, and whether the invariants hold by
 * the venues' own books and order logs. Ends with exit code 1 on the first violation or when memory does not stay flat.
 *
 * The service is a process of its own; the venues and the judge are here, so that its memory is its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { ContractJudge, TestClient } from "../../gateway/test/client.js";
import type { FaultKind, FaultSpec } from "../sim/core/fault-types.js";
import { closeTrial, type CloseTrial, closeUntilFinal, judgeCloses } from "../test/support/close-judge.js";
import {
  type LocalPair,
  PAIR_VENUES,
  type PairVenue,
  startLocalPair,
  type Trader,
} from "../test/support/local-pair.js";
import { ShownBookJudge } from "../test/support/shown-book.js";
import { environmentFor, pause } from "../test/support/system.js";

const START_MS = 30_000;
const CLOSERS = 4;
const READ_EVERY_MS = 20;
/** Closes per trader: then its accounts are judged and a new trader comes. Bounds what the judge holds. */
const CLOSES_PER_TRADER = 60;
const FAULT_EVERY_MS = 4_000;
const FAULT_MS_MAX = 2_000;
const FINAL_DEADLINE_MS = 75_000;
/** After this share of the run memory counts as warm; it may then grow by so much, and no more. */
const WARM_SHARE = 0.2;
const RSS_GROWTH_MAX_BYTES = 96 << 20;
const MIB = 2 ** 20;

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

interface Counts {
  closes: number;
  reads: number;
  comparedBooks: number;
  faults: number;
  orders: number;
}

const minutes = readMinutes(process.argv.slice(2));
const seed = Number(process.env["FUZZ_SEED"] ?? 20_261_121);
const random = createSeededRandom(seed);
const violations: string[] = [];
const counts: Counts = { closes: 0, reads: 0, comparedBooks: 0, faults: 0, orders: 0 };
let isOver = false;

const pair = await startLocalPair({ seed });
const books = new ShownBookJudge(pair, ["BTC", "ETH"]);
const dataDir = mkdtempSync(join(tmpdir(), "unwind-soak-"));
const { url, child } = await startService(pair, dataDir);
const client = new TestClient(url, new ContractJudge());
const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
child.once("exit", () => {
  if (!isOver) violations.push("the service ended by itself");
});
process.stdout.write(`soak of ${minutes} min, seed ${seed}, service ${url}\n`);

const startedMs = performance.now();
const endMs = startedMs + minutes * 60_000;
let rssWarm = 0;
const isRunning = (): boolean => !isOver && violations.length === 0 && performance.now() < endMs;
const tasks = [readBooks(), causeFaults(), ...Array.from({ length: CLOSERS }, (_, index) => closeAll(index))];
for (let minute = 1; isRunning(); minute++) {
  const untilMs = Math.min(endMs, startedMs + minute * 60_000);
  while (isRunning() && performance.now() < untilMs) await pause(100);
  await report(minute);
}
isOver = true;
for (const venue of PAIR_VENUES) pair[venue].faults.clear();
for (const result of await Promise.allSettled(tasks))
  if (result.status === "rejected") violations.push(`a task ended: ${problemOf(result.reason)}`);
child.kill("SIGTERM");
await exit;
await client.stop();
await pair.stop();
rmSync(dataDir, { recursive: true, force: true });
for (const violation of violations) process.stdout.write(`VIOLATION ${violation}\n`);
process.stdout.write(`soak ${violations.length === 0 ? "passed" : "failed"}: ${JSON.stringify(counts)}\n`);
process.exit(violations.length === 0 ? 0 : 1);

/** One trader after another: each closes for a while, retries to the end, and is judged by the venues' logs. */
async function closeAll(workerIndex: number): Promise<void> {
  const own = createSeededRandom(seed + 1 + workerIndex);
  for (let round = 0; isRunning(); round++) {
    const trader = pair.addTrader(`soak-${seed}-${workerIndex}-${round}`, { positions: { BTC: "4", ETH: "-60" } });
    const initial = new Map<PairVenue, Readonly<Record<string, number>>>(
      PAIR_VENUES.map((venue) => [
        venue,
        { BTC: pair.positionLots(venue, trader, "BTC"), ETH: pair.positionLots(venue, trader, "ETH") },
      ]),
    );
    const trials: CloseTrial[] = [];
    while (isRunning() && trials.length < CLOSES_PER_TRADER) {
      const trial = nextTrial(trader, own, trials.length);
      trials.push(trial);
      await closeUntilFinal(pair, client, trial, FINAL_DEADLINE_MS);
      counts.closes++;
      await pause(50 + own.next() * 100);
    }
    const judged = judgeCloses(pair, trials, (venue, _trader, symbol) => initial.get(venue)?.[symbol] ?? 0);
    counts.orders += judged.orderCount;
    violations.push(...judged.violations);
  }
}

function nextTrial(trader: Trader, own: Random, index: number): CloseTrial {
  const isLong = own.next() < 0.5;
  const preferredExchange = [null, "venueone", "venuetwo"][Math.floor(own.next() * 3)] ?? null;
  return closeTrial(trader, `${trader.label}-${index}`, {
    symbol: isLong ? "BTC" : "ETH",
    direction: isLong ? "LONG" : "SHORT",
    size: isLong ? "0.02" : "0.4",
    preferredExchange,
    routingOptions: { deadlineMs: 1_500 },
  });
}

/** Every book the API shows as LIVE is the venue's own. */
async function readBooks(): Promise<void> {
  while (isRunning()) {
    for (const venue of PAIR_VENUES) {
      for (const symbol of ["BTC", "ETH"]) {
        const reply = await client.get(`/api/trading/${venue}/book/${symbol}?depth=${venue === "venueone" ? 3 : 20}`);
        counts.reads++;
        if (reply.status !== 200) continue;
        const difference = books.difference(venue, symbol, reply.body);
        if (difference === null) counts.comparedBooks++;
        else violations.push(difference);
      }
    }
    await client.get("/api/trade/routing/BTC?side=SELL&size=0.25").then(() => counts.reads++);
    await pause(READ_EVERY_MS);
  }
}

async function causeFaults(): Promise<void> {
  while (isRunning()) {
    await pause(FAULT_EVERY_MS * random.next());
    const venue = PAIR_VENUES[Math.floor(random.next() * PAIR_VENUES.length)] as PairVenue;
    const kind = KINDS[Math.floor(random.next() * KINDS.length)] as FaultKind;
    const end = pair.fault([venue], faultOf(kind));
    counts.faults++;
    if (random.next() < 0.2) pair[venue].exchange.setPriceSkew(Math.round((random.next() - 0.5) * 60), 1_000);
    await pause(FAULT_MS_MAX * random.next());
    end();
  }
}

function faultOf(kind: FaultKind): FaultSpec {
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

async function report(minute: number): Promise<void> {
  if (child.exitCode !== null) return;
  const rss = rssOf(child);
  const metrics = await client.get("/metrics").then(
    ({ text }) => text,
    () => "",
  );
  const delayMs =
    Number(/^unwind_nodejs_eventloop_lag_p99_seconds(?:\{[^}]*\})? (\S+)/m.exec(metrics)?.[1] ?? Number.NaN) * 1_000;
  if (rssWarm === 0 && performance.now() - startedMs >= WARM_SHARE * minutes * 60_000) rssWarm = rss;
  const growth = rssWarm === 0 ? 0 : rss - rssWarm;
  if (growth > RSS_GROWTH_MAX_BYTES)
    violations.push(`memory grew by ${(growth / MIB).toFixed(0)} MiB since it was warm`);
  const status = (await client.get("/api/status")).status;
  process.stdout.write(
    `minute ${minute}: RSS ${(rss / MIB).toFixed(0)} MiB (${growth >= 0 ? "+" : ""}${(growth / MIB).toFixed(1)}), event loop p99 ${delayMs.toFixed(1)} ms, status ${status}, ${JSON.stringify(counts)}, ${violations.length} violations\n`,
  );
}

function rssOf(process: ChildProcess): number {
  const text = readFileSync(`/proc/${process.pid ?? 0}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}

function startService(
  local: LocalPair,
  directory: string,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const main = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "gateway", "main.js");
  const environment = environmentFor(local, directory, { LOG_LEVEL: "error" });
  const service = spawn(process.execPath, [main], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.on("exit", () => service.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the service said nothing for ${START_MS} ms`)), START_MS);
    let out = "";
    service.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const ready = /^ready (\S+)/m.exec(out)?.[1];
      if (ready === undefined) return;
      clearTimeout(timer);
      resolve({ url: ready, child: service });
    });
    service.once("exit", (code) => reject(new Error(`the service ended with code ${code ?? "none"}`)));
  });
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
  return reason instanceof Error ? reason.message : String(reason);
}
