/**
 * The record under kills and faults: kill -9 of the storage sidecar and of the gateway by turns, at seeded moments
 * under closes and market data, on one data folder; and one life of the gateway through every fault of the store.
 *
 * Fills and decisions are counted in the venues' own logs, market rows in the store. The counters of the service must
 * agree with both. It is minutes of load on a quiet machine, so it runs only where `KILLS` sets the number;
 * `STORE_AWAY_S` (default 6) sets how long the store is gone.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "../../../gateway/children/test/sidecar.js";
import { ContractJudge, TestClient } from "../../../gateway/test/client.js";
import type { RecordingStatus } from "../../../schemas/service.js";
import { closeTrial, type CloseTrial, judgeCloses, outcomeOf, sendClose } from "../support/close-judge.js";
import { AMPLE_BUDGETS, GatewayBench, type GatewayProcess, sidecarPid } from "../support/gateway-process.js";
import { credentialsOf, type LocalPair, PAIR_VENUES, startLocalPair, type Trader } from "../support/local-pair.js";
import { countRows, judgeRecords, readRecords } from "../support/record-judge.js";
import { pause, waitUntil } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const KILLS = Number(process.env.KILLS ?? 6);
const STORE_AWAY_MS = Number(process.env.STORE_AWAY_S ?? 6) * 1_000;

/** Average time between two closes, while fewer than MAX_PENDING wait for their end. */
const CLOSE_EVERY_MS = 60;
const MAX_PENDING = 48;
const RETRY_EVERY_MS = 400;
/** A kill comes after this many orders since the system was whole again, plus a moment. */
const ORDERS_BEFORE_KILL = { least: 4, spread: 16 };
const KILL_MOMENT_MS = 600;
/** An order lost in a kill is final once its validity is over and the venue still has no such order. */
const FINAL_DEADLINE_MS = 150_000;
const RECOVERY_MS = 120_000;
const POLL_MS = 50;

const SYMBOLS = ["BTC", "ETH"] as const;
const POSITIONS = { BTC: "40", ETH: "-400" };
const DIRECTIONS = { BTC: "LONG", ETH: "SHORT" } as const;
/** In thousandths, which both venues take; the smallest exceed either venue's minimum. */
const SIZES = { BTC: { least: 2, spread: 20 }, ETH: { least: 20, spread: 400 } };

const RECORDING = { ...AMPLE_BUDGETS, RECORDING: "true", LOG_LEVEL: "warn" };
const MARKET_TABLES = ["ticks", "trades", "book_snapshots"] as const;
const DURABLE_TABLES = ["fills", "order_events", "routing_decisions"] as const;

let gateways: GatewayBench;
let sidecars: SidecarBench;
let judge: ContractJudge;

/** A life under load, at the address where the gateway is now. */
interface Stage {
  readonly pair: LocalPair;
  readonly trader: Trader;
  readonly dataDir: string;
  readonly random: Random;
  readonly trials: CloseTrial[];
  /** Dry runs and refusals with an answer. */
  readonly answered: { dryRuns: number; refusals: number };
  gateway: GatewayProcess;
  client: TestClient;
  /** Orders that reached a venue so far. */
  orders: number;
}

async function withStage<T>(seed: number, run: (stage: Stage) => Promise<T>): Promise<T> {
  const pair = await startLocalPair({ seed, symbols: SYMBOLS, flow: { levelNotional: 400_000 } });
  const dataDir = join(mkdtempSync(join(tmpdir(), "unwind-records-kill-")), "data");
  const trader = pair.addTrader(`records-${seed}`, { positions: POSITIONS });
  // Orders stay in flight for a while, so that a kill finds some between send and answer.
  pair.fault(PAIR_VENUES, { kind: "latency", match: "POST /", delayMs: 5, jitterMs: 20 });
  const gateway = await gateways.start(pair, dataDir, RECORDING);
  const stage: Stage = {
    ...{ pair, trader, dataDir, gateway },
    random: createSeededRandom(seed),
    trials: [],
    answered: { dryRuns: 0, refusals: 0 },
    client: new TestClient(gateway.url, judge),
    orders: 0,
  };
  for (const venue of PAIR_VENUES)
    pair[venue].exchange.addListener({ onOrder: (_order, event) => void (event === "NEW" && stage.orders++) });
  try {
    return await run(stage);
  } finally {
    stage.gateway.child.kill("SIGKILL");
    await stage.gateway.gone;
    await stage.client.stop();
    await pair.stop();
    rmSync(dirname(dataDir), { recursive: true, force: true });
  }
}

// ---------------------------------------------------------------- load

interface Load {
  /** Stops new closes; resolves when all that began are final. */
  end(): Promise<void>;
}

/**
 * Sends closes of both symbols over both venues with a key each, and now and then a dry run or a close to be refused.
 */
function startLoad(stage: Stage): Load {
  const { random } = stage;
  const pending = new Set<Promise<void>>();
  let ended = false;
  let failure: unknown = null;
  const begin = (work: Promise<void>): void => {
    const kept = work
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => pending.delete(kept));
    pending.add(kept);
  };
  const loop = (async (): Promise<void> => {
    while (!ended) {
      await pause(CLOSE_EVERY_MS * (0.5 + random.next()));
      if (ended || pending.size >= MAX_PENDING) continue;
      const dice = random.next();
      if (dice < 0.06) begin(dryRun(stage));
      else if (dice < 0.12) begin(refused(stage));
      else begin(closeToTheEnd(stage, nextTrial(stage)));
    }
  })();
  return {
    async end() {
      ended = true;
      await loop;
      while (pending.size > 0) await Promise.all(pending);
      if (failure !== null) throw failure;
    },
  };
}

function nextTrial(stage: Stage): CloseTrial {
  const { random, trader, trials } = stage;
  const symbol = pick(random, SYMBOLS);
  const { least, spread } = SIZES[symbol];
  const preferred = pick(random, [...PAIR_VENUES, null]);
  const trial = closeTrial(trader, `record-${trials.length}`, {
    symbol,
    direction: DIRECTIONS[symbol],
    size: String((least + Math.floor(random.next() * spread)) / 1_000),
    ...(preferred === null ? {} : { preferredExchange: preferred }),
    routingOptions: { deadlineMs: 3_000 },
  });
  trials.push(trial);
  return trial;
}

/** Repeats the same key until the answer is final, whichever process died meanwhile, as a careful caller does. */
async function closeToTheEnd(stage: Stage, trial: CloseTrial): Promise<void> {
  const untilMs = performance.now() + FINAL_DEADLINE_MS;
  for (;;) {
    const answer = await sendClose(stage.pair, stage.client, trial);
    if (answer.data?.execution.final === true) return;
    if (performance.now() > untilMs) throw new Error(`${trial.key} is not final: ${outcomeOf(answer)}`);
    await pause(RETRY_EVERY_MS);
  }
}

/**
 * Sends each key once more, also the answered ones, as callers do after a crash. A gateway that dies between a reply
 * and the commit beside it knows only that the order may exist; without the caller's credentials it cannot ask.
 */
async function repeatAll(stage: Stage): Promise<void> {
  const left = [...stage.trials];
  const repeat = async (): Promise<void> => {
    for (let trial = left.shift(); trial !== undefined; trial = left.shift()) await closeToTheEnd(stage, trial);
  };
  await Promise.all(Array.from({ length: MAX_PENDING }, repeat));
}

async function dryRun(stage: Stage): Promise<void> {
  const status = await sendOnce(stage, { symbol: "BTC", direction: "LONG", size: "0.01", dryRun: true });
  if (status === 200) stage.answered.dryRuns++;
}

/** Routed and then refused, without another venue. */
async function refused(stage: Stage): Promise<void> {
  const status = await sendOnce(stage, {
    symbol: "BTC",
    direction: "LONG",
    size: "0.01",
    routingOptions: { excludeExchanges: [...PAIR_VENUES] },
  });
  if (status === 400) stage.answered.refusals++;
}

async function sendOnce(stage: Stage, fields: Readonly<Record<string, unknown>>): Promise<number> {
  try {
    return (await stage.client.close({ credentials: credentialsOf(stage.trader), ...fields })).status;
  } catch (error) {
    // The gateway died during the request, and nothing of it must be kept.
    if (error instanceof Error && "code" in error) return 0;
    throw error;
  }
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random.next() * from.length)] as T;
}

// ---------------------------------------------------------------- what the service says

async function recordingOf(stage: Stage): Promise<RecordingStatus> {
  const reply = await stage.client.get("/api/status");
  expect(reply.status).toBe(200);
  return (reply.body as unknown as { readonly data: { readonly recording: RecordingStatus } }).data.recording;
}

async function untilRecording(
  stage: Stage,
  what: string,
  deadlineMs: number,
  holds: (status: RecordingStatus) => boolean,
): Promise<RecordingStatus> {
  const untilMs = performance.now() + deadlineMs;
  for (;;) {
    const status = await recordingOf(stage);
    if (holds(status)) return status;
    if (performance.now() > untilMs)
      throw new Error(`not within ${deadlineMs} ms: ${what}; ${JSON.stringify(status)}\n${stage.gateway.log()}`);
    await pause(POLL_MS);
  }
}

function tableOf(status: RecordingStatus, name: string): RecordingStatus["tables"][number] {
  const table = status.tables.find(({ table }) => table === name);
  if (table === undefined) throw new RangeError(`no table ${name}`);
  return table;
}

function isEmpty({ state, outbox, spool, tables }: RecordingStatus): boolean {
  return state === "on" && outbox.rows === 0 && spool.files === 0 && tables.every(({ pending }) => pending === 0);
}

/** Every accepted row is accounted for, by the service's own counters. */
function expectBalance(status: RecordingStatus): void {
  for (const { table, accepted, recovered, stored, dropped, pending } of status.tables)
    expect(stored + dropped + pending, table).toBe(accepted + recovered);
}

async function stopGracefully(stage: Stage): Promise<void> {
  stage.gateway.child.kill("SIGTERM");
  expect(await stage.gateway.gone, stage.gateway.log()).toBe(0);
}

// ---------------------------------------------------------------- the kills

interface Kills {
  sidecar: number;
  gateway: number;
  /** Durable rows that a gateway found of the one killed before it. */
  recovered: number;
}

/** Kills at a moment that nothing in the system chooses, once it is whole and loaded again. */
async function killUnderLoad(stage: Stage, kind: "sidecar" | "gateway", kills: Kills): Promise<void> {
  const { random } = stage;
  const killAt = stage.orders + ORDERS_BEFORE_KILL.least + Math.floor(random.next() * ORDERS_BEFORE_KILL.spread);
  const momentMs = random.next() * KILL_MOMENT_MS;
  // Every other gateway dies while its store may still be starting.
  if (kind === "sidecar") await untilRecording(stage, "the store is on", RECOVERY_MS, ({ state }) => state === "on");
  await waitUntil("orders at the venues", RECOVERY_MS, () => stage.orders >= killAt);
  await pause(momentMs);
  kills[kind]++;
  if (kind === "sidecar") {
    await waitUntil("a sidecar to kill", RECOVERY_MS, () => sidecarPid(stage.gateway) !== null);
    process.kill(sidecarPid(stage.gateway) as number, "SIGKILL");
    return;
  }
  stage.gateway.child.kill("SIGKILL");
  await stage.gateway.gone;
  await startAgain(stage);
  const status = await recordingOf(stage);
  for (const name of DURABLE_TABLES) kills.recovered += tableOf(status, name).recovered;
}

async function startAgain(stage: Stage): Promise<void> {
  const before = stage.client;
  stage.gateway = await gateways.start(stage.pair, stage.dataDir, RECORDING);
  stage.client = new TestClient(stage.gateway.url, judge);
  await before.stop();
}

async function killsUnderLoad(stage: Stage): Promise<string> {
  const { pair, trader, trials } = stage;
  const before = positionsOf(stage);
  const kills: Kills = { sidecar: 0, gateway: 0, recovered: 0 };
  const load = startLoad(stage);
  for (let kill = 0; kill < KILLS; kill++) await killUnderLoad(stage, kill % 2 === 0 ? "sidecar" : "gateway", kills);
  await load.end();
  await repeatAll(stage);
  expect(
    judgeCloses(pair, trials, (venue, _trader, symbol) => before[`${venue} ${symbol}`] as number).violations,
  ).toEqual([]);
  expectBalance(await untilRecording(stage, "everything is in the store", RECOVERY_MS, isEmpty));
  await stopGracefully(stage);
  // The last conclusions are stored beside their replies, perhaps after that read. A life without closes stores what is
  // left of them.
  await startAgain(stage);
  expectBalance(await untilRecording(stage, "everything left is in the store", RECOVERY_MS, isEmpty));
  await stopGracefully(stage);

  const store = await openStore(stage);
  const stored = await readRecords(store);
  const verdict = judgeRecords(pair, [trader], trials, stored);
  expect(verdict.violations).toEqual([]);
  expect(stored.fillsFinal).toBe(verdict.filledOrders);
  expect(verdict.filledOrders).toBeGreaterThan(0);
  // Each killed gateway left durable rows, between the first commit and the last acknowledgement.
  expect(kills.recovered).toBeGreaterThan(0);
  // A decision without an order may be lost in a kill, but must not be doubled or invented.
  const dryRows = stored.decisions.filter((row) => row["dry_run"] === "1").length;
  expect(dryRows).toBeLessThanOrEqual(stage.answered.dryRuns);
  const [ticks, trades] = [await countRows(store, "ticks"), await countRows(store, "trades")];
  expect(ticks).toBeGreaterThan(0);
  return (
    `records, seed ${SEED}: ${kills.sidecar} kills of the sidecar, ${kills.gateway} of the gateway; ` +
    `${trials.length} keys, ${verdict.orders} orders, ${verdict.filledOrders} of them filled: ${stored.fills.length} fill rows, ` +
    `${verdict.routes} routes executed: ${stored.decisions.length - dryRows} decision rows and ${dryRows} of dry runs, ` +
    `${stored.orderEvents.length} order events, ${kills.recovered} durable rows recovered, duplicates ${verdict.duplicates}; ` +
    `${ticks} ticks, ${trades} trades`
  );
}

function positionsOf({ pair, trader }: Stage): Record<string, number> {
  return Object.fromEntries(
    PAIR_VENUES.flatMap((venue) =>
      SYMBOLS.map((symbol) => [`${venue} ${symbol}`, pair.positionLots(venue, trader, symbol)] as const),
    ),
  );
}

/** Opens the store as the service left it, through a sidecar of the test's own. */
async function openStore({ dataDir }: Stage): Promise<RecordsStore> {
  const sidecar = await sidecars.sidecar("", { directory: join(dataDir, "records") });
  await sidecar.settled();
  const store = sidecars.store(sidecar);
  expect(await store.start()).toMatchObject({ state: "on" });
  return store;
}

// ---------------------------------------------------------------- one life

/** The market continues; each fault ends when the store shows that it is over. */
async function faultsOfOneLife(stage: Stage): Promise<string> {
  const load = startLoad(stage);
  await untilRecording(stage, "ticks are stored", RECOVERY_MS, (now) => tableOf(now, "ticks").stored > 0);
  await sidecarKilled(stage);
  await storeSlow(stage);
  const { spooled, dropped } = await storeGone(stage);
  await sidecarKilled(stage);
  await load.end();
  // Without venues nothing more comes, so the accepted count is final.
  await stage.pair.stop();
  const last = await untilRecording(stage, "everything is in the store", RECOVERY_MS, isEmpty);
  expectBalance(last);
  await stopGracefully(stage);

  const store = await openStore(stage);
  const stored = await readRecords(store);
  expect(judgeRecords(stage.pair, [stage.trader], stage.trials, stored).violations).toEqual([]);
  const refusals = stored.decisions.filter(({ kind }) => kind === "refused").length;
  expect(refusals).toBeGreaterThan(0);
  // Dry runs are recorded with the market data; those lost to a full disk are counted.
  const dryRuns = stored.decisions.filter((row) => row["dry_run"] === "1").length;
  const { answered } = stage;
  expect(answered.dryRuns + answered.refusals - dryRuns - refusals).toBe(tableOf(last, "routing_decisions").dropped);
  for (const name of ["fills", "order_events"]) expect(tableOf(last, name).dropped, name).toBe(0);
  for (const name of [...MARKET_TABLES, ...DURABLE_TABLES]) {
    const { accepted, stored: counted, dropped: lost } = tableOf(last, name);
    const count = await countRows(store, name);
    expect(count, name).toBe(counted);
    expect(count + lost, name).toBe(accepted);
  }
  const ticks = tableOf(last, "ticks");
  return (
    `one life, seed ${SEED}: ${ticks.accepted} ticks = ${ticks.stored} stored + ${ticks.dropped} dropped; ` +
    `${tableOf(last, "trades").stored} trades; ${spooled} spool files while the store was gone, ${dropped} ticks dropped where the disk refused the spool`
  );
}

async function sidecarKilled(stage: Stage): Promise<void> {
  await waitUntil("a sidecar to kill", RECOVERY_MS, () => sidecarPid(stage.gateway) !== null);
  process.kill(sidecarPid(stage.gateway) as number, "SIGKILL");
  await untilStoring(stage);
}

/** Longer than any wait in the recorder, shorter than an insert may take. */
async function storeSlow(stage: Stage): Promise<void> {
  const pid = sidecarPid(stage.gateway) as number;
  process.kill(pid, "SIGSTOP");
  try {
    const { accepted } = tableOf(await recordingOf(stage), "ticks");
    await untilRecording(stage, "ticks while the store is slow", RECOVERY_MS, (now) => {
      const { accepted: nowAccepted, pending } = tableOf(now, "ticks");
      return nowAccepted > accepted && pending > 0;
    });
    await pause(3_000);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await untilStoring(stage);
}

/**
 * Every new sidecar dies at once, so the store is away for as long as the test wants; in the end the disk refuses the
 * spool too. Returns the files that waited there, and the counted, dropped ticks.
 */
async function storeGone(stage: Stage): Promise<{ readonly spooled: number; readonly dropped: number }> {
  const spool = join(stage.dataDir, "spool");
  const untilMs = performance.now() + STORE_AWAY_MS;
  const whileGone = (what: string, holds: (status: RecordingStatus) => boolean): Promise<RecordingStatus> =>
    untilRecording(stage, what, STORE_AWAY_MS + RECOVERY_MS, (now) => {
      const pid = sidecarPid(stage.gateway);
      if (pid !== null) process.kill(pid, "SIGKILL");
      return holds(now);
    });
  const gone = await whileGone(
    "market data waits on the disk",
    (now) => performance.now() > untilMs && now.spool.files > 0 && tableOf(now, "fills").pending > 0,
  );
  // Its files are still unsent: they come back untouched.
  renameSync(spool, `${spool}-aside`);
  writeFileSync(spool, "");
  const before = tableOf(gone, "ticks").dropped;
  const full = await whileGone("ticks are dropped", (now) => tableOf(now, "ticks").dropped > before);
  rmSync(spool);
  renameSync(`${spool}-aside`, spool);
  await untilStoring(stage);
  return { spooled: gone.spool.files, dropped: tableOf(full, "ticks").dropped - before };
}

/** Waits until the store is on, the disk is empty, and new rows are stored. */
async function untilStoring(stage: Stage): Promise<void> {
  const { stored } = tableOf(await recordingOf(stage), "ticks");
  await untilRecording(
    stage,
    "the store takes ticks again",
    RECOVERY_MS,
    (now) => now.state === "on" && now.spool.files === 0 && tableOf(now, "ticks").stored > stored,
  );
}

describe.skipIf(CHDB_MISSING || process.env.KILLS === undefined)(
  `the record under kills ${NEEDS_CHDB} (minutes of load: set KILLS)`,
  () => {
    beforeAll(() => {
      gateways = new GatewayBench();
      sidecars = new SidecarBench();
      judge = new ContractJudge();
    }, 300_000);
    afterAll(async () => {
      gateways.dispose();
      await sidecars.dispose();
    });

    it(
      `has each fill and decision of the venues' logs once, after ${KILLS} kills of sidecar and gateway`,
      async () => {
        process.stdout.write(`${await withStage(SEED, killsUnderLoad)}\n`);
      },
      120_000 + KILLS * 15_000,
    );

    it(
      "has every tick accepted that it did not count as dropped, through a store killed, slow and gone, and a disk that refuses",
      async () => {
        process.stdout.write(`${await withStage(SEED + 1, faultsOfOneLife)}\n`);
      },
      240_000 + STORE_AWAY_MS,
    );
  },
);
