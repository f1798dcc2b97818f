/**
 * kill -9 of the gateway in the middle of 200 closes, a restart on the same store, a retry of every close with the
 * same Idempotency-Key: the venues' logs show each exactly once.
 *
 * The gateway is a process of its own, compiled for this test; the venues live here, so that they outlast it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../engine/domain/random.js";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { ContractJudge, TestClient } from "../../gateway/test/client.js";
import {
  closeTrial,
  type CloseTrial,
  closeUntilFinal,
  judgeCloses,
  outcomeOf,
  sendClose,
} from "./support/close-judge.js";
import { type LocalPair, PAIR_VENUES, startLocalPair } from "./support/local-pair.js";
import { environmentFor, pause } from "./support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const CLOSES = 200;
/** One close in so many goes to venueone, the others to venuetwo. */
const VENUEONE_EVERY = 2;
/**
 * Judged is that each close happens once, not the pace that a venue's request budget allows: finding 200 orders again
 * takes more requests than a minute of the venues' own limits.
 */
const AMPLE_BUDGETS = {
  VENUEONE_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUETWO_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUETWO_ORDERS_PER_MINUTE: "1000000",
  VENUETWO_ORDERS_PER_10_SECONDS: "1000000",
};
const CLOSES_ON = { venueone: CLOSES / VENUEONE_EVERY, venuetwo: CLOSES - CLOSES / VENUEONE_EVERY };
const SIZE = "0.005";
const SIZE_BTC = 0.005;
const START_MS = 20_000;
const FINAL_DEADLINE_MS = 75_000;
/** Between two retries of one key: what is unknown needs reads of the venue, and those have a budget. */
const RETRY_EVERY_MS = 1_000;
/** Callers that retry at the same time. */
const RETRIERS = 100;

const children = new Set<ChildProcess>();
let outDirectory: string;
let mainPath: string;

beforeAll(() => {
  outDirectory = mkdtempSync(join(tmpdir(), "unwind-kill-"));
  mainPath = compileChild("gateway/main.ts", outDirectory);
}, 60_000);
afterAll(() => {
  // A test that ran out of time has not come to its own end: no gateway may outlive it.
  for (const child of children) child.kill("SIGKILL");
  rmSync(outDirectory, { recursive: true, force: true });
});

interface Gateway {
  readonly url: string;
  readonly child: ChildProcess;
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
}

function startGateway(pair: LocalPair, dataDir: string): Promise<Gateway> {
  const environment = environmentFor(pair, dataDir, {
    LOG_LEVEL: "error",
    SHUTDOWN_GRACE_MS: "0",
    ...AMPLE_BUDGETS,
  });
  const child = spawn(process.execPath, [mainPath], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  const gone = new Promise<void>((resolve) =>
    child.once("exit", () => {
      children.delete(child);
      resolve();
    }),
  );
  return new Promise((resolve, reject) => {
    let out = "";
    let problems = "";
    const timer = setTimeout(
      () => reject(new Error(`the gateway said nothing for ${START_MS} ms: ${problems.slice(-2000)}`)),
      START_MS,
    );
    child.stderr?.on("data", (chunk: Buffer) => {
      problems = `${problems}${chunk.toString()}`.slice(-20_000);
    });
    child.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const url = /^ready (\S+)/m.exec(out)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve({ url, child, gone });
    });
    void gone.then(() => {
      clearTimeout(timer);
      reject(new Error(`the gateway ended: ${problems.slice(-2000)}`));
    });
  });
}

async function killAndRetry(seed: number): Promise<string> {
  const random = createSeededRandom(seed);
  const pair = await startLocalPair({ seed, symbols: ["BTC", "ETH"], flow: { levelNotional: 200_000 } });
  const dataDir = mkdtempSync(join(tmpdir(), "unwind-kill-data-"));
  const trader = pair.addTrader(`kill-${seed}`, { positions: { BTC: "2" } });
  const before = {
    venueone: pair.positionLots("venueone", trader, "BTC"),
    venuetwo: pair.positionLots("venuetwo", trader, "BTC"),
  };
  let gateway = await startGateway(pair, dataDir);
  try {
    // Orders are under way for a while, so that the kill finds many between send and answer.
    const endDelay = pair.fault(PAIR_VENUES, { kind: "latency", match: "POST /", delayMs: 5, jitterMs: 20 });
    const trials = Array.from({ length: CLOSES }, (_, index) =>
      closeTrial(trader, `kill-${seed}-${index}`, {
        symbol: "BTC",
        direction: "LONG",
        size: SIZE,
        preferredExchange: index % VENUEONE_EVERY === 0 ? "venueone" : "venuetwo",
        routingOptions: { deadlineMs: 3_000 },
      }),
    );
    const killAfterOrders = Math.floor(CLOSES * (0.05 + 0.2 * random.next()));
    let orderCount = 0;
    const killWhenDue = (): void => {
      if (orderCount++ === killAfterOrders) gateway.child.kill("SIGKILL");
    };
    const stopListening = PAIR_VENUES.map((venue) =>
      pair[venue].exchange.addListener({ onOrder: (_order, event) => void (event === "NEW" && killWhenDue()) }),
    );
    // A client holds 16 connections: enough of them that all closes are in flight at once.
    const judge = new ContractJudge();
    const first = Array.from({ length: Math.ceil(CLOSES / 16) }, () => new TestClient(gateway.url, judge));
    const callers = trials.map(async (trial, index) => {
      const client = first[index % first.length] as TestClient;
      // A venue that could not be read in time was sent nothing: the caller asks again, until an order or the kill.
      for (
        let answer = await sendClose(pair, client, trial);
        answer.status >= 400;
        answer = await sendClose(pair, client, trial)
      )
        await pause(RETRY_EVERY_MS);
    });
    await Promise.all(callers);
    for (const stop of stopListening) stop();
    if (orderCount <= killAfterOrders)
      throw new Error(
        `only ${orderCount} orders came, ${killAfterOrders + 1} were to: ${[...new Set(trials.map(({ answers }) => outcomeOf(answers[0] as CloseTrial["answers"][0])))].join(", ")}`,
      );
    await gateway.gone;
    await Promise.all(first.map((client) => client.stop()));
    const executedAtKill = executedCount(pair);
    const answeredFirst = trials.filter(({ answers }) =>
      answers.some(({ data }) => data?.execution.final === true),
    ).length;
    endDelay();

    gateway = await startGateway(pair, dataDir);
    const second = new TestClient(gateway.url);
    const queue = [...trials];
    const retrier = async (): Promise<void> => {
      for (let trial = queue.shift(); trial !== undefined; trial = queue.shift())
        await closeUntilFinal(pair, second, trial, FINAL_DEADLINE_MS, RETRY_EVERY_MS);
    };
    await Promise.all(Array.from({ length: RETRIERS }, retrier));
    await second.stop();

    const { violations, orderCount: ordersInLogs } = judgeCloses(pair, trials, (venue) => before[venue]);
    expect(violations).toEqual([]);
    expect(
      trials
        .map((trial) => outcomeOf(trial.answers.at(-1) as CloseTrial["answers"][0]))
        .filter((outcome) => outcome !== "COMPLETED"),
    ).toEqual([]);
    // Each key's order exactly once: as many orders as keys, all client ids apart, and the size closed is theirs.
    expect(ordersInLogs).toBe(CLOSES);
    for (const venue of PAIR_VENUES) {
      const places = pair[venue].log.records({ action: "place" }).filter(({ orderId }) => orderId !== null);
      expect(new Set(places.map(({ clientId }) => clientId)).size, venue).toBe(CLOSES_ON[venue]);
      const lotsPerBtc =
        10 ** (pair[venue].exchange.instruments.get(venue === "venueone" ? "BTC" : "BTCUSDT")?.qtyDecimals ?? 0);
      expect(before[venue] - pair.positionLots(venue, trader, "BTC"), venue).toBe(
        Math.round(CLOSES_ON[venue] * SIZE_BTC * lotsPerBtc),
      );
    }
    // The kill struck in the middle: some had been answered or executed, some not.
    expect(executedAtKill).toBeGreaterThan(0);
    expect(executedAtKill).toBeLessThan(CLOSES);
    const inDoubt = executedAtKill - answeredFirst;
    return `seed ${seed}: killed at order ${killAfterOrders + 1}, ${executedAtKill} executed by then, ${answeredFirst} answered, ${inDoubt} executed and unanswered; after the retries ${ordersInLogs} orders for ${CLOSES} keys`;
  } finally {
    gateway.child.kill("SIGKILL");
    await gateway.gone;
    await pair.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function executedCount(pair: LocalPair): number {
  return PAIR_VENUES.reduce(
    (count, venue) =>
      count + pair[venue].log.records({ action: "place" }).filter(({ orderId }) => orderId !== null).length,
    0,
  );
}

describe("kill -9 during 200 closes in flight", () => {
  for (const seed of [SEED, SEED + 1, SEED + 2]) {
    it(`executes each key exactly once after a restart (seed ${seed})`, async () => {
      process.stdout.write(`${await killAndRetry(seed)}\n`);
    }, 120_000);
  }
});
