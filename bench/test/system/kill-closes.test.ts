/**
 * kill -9 of the gateway in the middle of 200 closes, a restart on the same store, a retry of every close with the same
 * Idempotency-Key: the venues' logs show each exactly once.
 *
 * The gateway is a process of its own, compiled for this test; the venues live here, so that they outlast it. KILLS
 * sets the number of seeds, each with a kill of its own; default one. FUZZ_SEED is the first of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ContractJudge, TestClient } from "../../../gateway/test/client.js";
import {
  closeTrial,
  type CloseTrial,
  closeUntilFinal,
  judgeCloses,
  outcomeOf,
  sendClose,
} from "../support/close-judge.js";
import { AMPLE_BUDGETS, GatewayBench } from "../support/gateway-process.js";
import { type LocalPair, PAIR_VENUES, startLocalPair } from "../support/local-pair.js";
import { pause } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const KILLS = Number(process.env.KILLS ?? 1);
const CLOSES = 200;
/** One close in so many goes to venueone, the others to venuetwo. */
const VENUEONE_EVERY = 2;
const CLOSES_ON = { venueone: CLOSES / VENUEONE_EVERY, venuetwo: CLOSES - CLOSES / VENUEONE_EVERY };
const SIZE = "0.005";
const SIZE_BTC = 0.005;
const FINAL_DEADLINE_MS = 150_000;
/** Pause between two retries of one key: an unknown outcome needs reads of the venue, and those have a budget. */
const RETRY_EVERY_MS = 1_000;
/** Callers that retry at once. */
const RETRIERS = 100;

let gateways: GatewayBench;

beforeAll(() => {
  gateways = new GatewayBench();
}, 240_000);
afterAll(() => {
  gateways.dispose();
});

async function killAndRetry(seed: number): Promise<string> {
  const random = createSeededRandom(seed);
  const pair = await startLocalPair({ seed, symbols: ["BTC", "ETH"], flow: { levelNotional: 200_000 } });
  const dataDir = join(mkdtempSync(join(tmpdir(), "unwind-kill-data-")), "data");
  const trader = pair.addTrader(`kill-${seed}`, { positions: { BTC: "2" } });
  const before = {
    venueone: pair.positionLots("venueone", trader, "BTC"),
    venuetwo: pair.positionLots("venuetwo", trader, "BTC"),
  };
  let gateway = await gateways.start(pair, dataDir, AMPLE_BUDGETS);
  try {
    // Orders stay in flight for a while, so that the kill finds many between send and answer.
    const endDelay = pair.fault(PAIR_VENUES, { kind: "latency", match: "POST /", delayMs: 5, jitterMs: 20 });
    const trialOf = (index: number, again = ""): CloseTrial =>
      closeTrial(trader, `kill-${seed}-${index}${again}`, {
        symbol: "BTC",
        direction: "LONG",
        size: SIZE,
        preferredExchange: index % VENUEONE_EVERY === 0 ? "venueone" : "venuetwo",
        routingOptions: { deadlineMs: 3_000 },
      });
    const trials = Array.from({ length: CLOSES }, (_, index) => trialOf(index));
    const killAfterOrders = Math.floor(CLOSES * (0.05 + 0.2 * random.next()));
    let orderCount = 0;
    const killWhenDue = (): void => {
      if (orderCount++ === killAfterOrders) gateway.child.kill("SIGKILL");
    };
    const stopListening = PAIR_VENUES.map((venue) =>
      pair[venue].exchange.addListener({ onOrder: (_order, event) => void (event === "NEW" && killWhenDue()) }),
    );
    // A client holds 16 connections: these are enough for all closes to be in flight at once.
    const judge = new ContractJudge();
    const first = Array.from({ length: Math.ceil(CLOSES / 16) }, () => new TestClient(gateway.url, judge));
    const callers = trials.map(async (trial, index) => {
      const client = first[index % first.length] as TestClient;
      // Without a timely read of the venue nothing is sent: the caller repeats, until an order or the kill.
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
    const sentBefore = new Set(PAIR_VENUES.flatMap((venue) => placedIds(pair, venue)));
    const answeredFirst = trials.filter(({ answers }) =>
      answers.some(({ data }) => data?.execution.final === true),
    ).length;
    endDelay();

    gateway = await gateways.start(pair, dataDir, AMPLE_BUDGETS);
    const second = new TestClient(gateway.url);
    const queue = [...trials.entries()];
    const refused: CloseTrial[] = [];
    const retrier = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [index, trial] = next;
        const answer = await closeUntilFinal(pair, second, trial, FINAL_DEADLINE_MS, RETRY_EVERY_MS);
        if (outcomeOf(answer) !== "REJECTED") continue;
        // Stored and not sent before the kill, and proven absent at the venue while nobody waited: that is the key's
        // end. Its caller closes again, under a new key.
        refused.push(trial);
        const again = trialOf(index, `-${refused.length}`);
        trials.push(again);
        queue.push([index, again]);
      }
    };
    await Promise.all(Array.from({ length: RETRIERS }, retrier));
    await second.stop();

    const { violations } = judgeCloses(pair, trials, (venue) => before[venue]);
    expect(violations).toEqual([]);
    expect(
      trials
        .filter((trial) => !refused.includes(trial))
        .map((trial) => outcomeOf(trial.answers.at(-1) as CloseTrial["answers"][0]))
        .filter((outcome) => outcome !== "COMPLETED"),
    ).toEqual([]);
    // A reply reports what the first use of a key sent as that use.
    const afterKill = trials.map(({ answers }) => answers.at(-1) as CloseTrial["answers"][0]);
    const carriedOn = afterKill.filter(({ data }) => data?.execution.legs.some((leg) => sentBefore.has(nameOf(leg))));
    expect(carriedOn.length).toBeGreaterThan(0);
    expect(carriedOn.filter(({ isReplayed }) => !isReplayed).map(outcomeOf)).toEqual([]);
    const reasons = refused.map(({ answers }) => answers.at(-1)?.data?.execution.legs.at(-1)?.reason ?? "none");
    expect(reasons.filter((reason) => reason !== "NOT_PLACED")).toEqual([]);
    // Each key's order exists once: as many filled orders as keys, all client ids different, and the closed size is
    // theirs.
    for (const venue of PAIR_VENUES) {
      const places = pair[venue].log.records({ action: "place" }).filter(({ filledQty }) => Number(filledQty ?? 0) > 0);
      expect(places.length, venue).toBe(CLOSES_ON[venue]);
      expect(new Set(places.map(({ clientId }) => clientId)).size, venue).toBe(CLOSES_ON[venue]);
      const lotsPerBtc =
        10 ** (pair[venue].exchange.instruments.get(venue === "venueone" ? "BTC" : "BTCUSDT")?.qtyDecimals ?? 0);
      expect(before[venue] - pair.positionLots(venue, trader, "BTC"), venue).toBe(
        Math.round(CLOSES_ON[venue] * SIZE_BTC * lotsPerBtc),
      );
    }
    // The kill came in the middle: some closes were answered or executed, some not.
    expect(executedAtKill).toBeGreaterThan(0);
    expect(executedAtKill).toBeLessThan(CLOSES);
    const inDoubt = executedAtKill - answeredFirst;
    return `seed ${seed}: killed at order ${killAfterOrders + 1}, ${executedAtKill} executed by then, ${answeredFirst} answered, ${inDoubt} executed and unanswered; after the retries ${CLOSES} orders filled for ${trials.length} keys, ${refused.length} of them proven never placed`;
  } finally {
    gateway.child.kill("SIGKILL");
    await gateway.gone;
    await pair.stop();
    rmSync(dirname(dataDir), { recursive: true, force: true });
  }
}

function placedIds(pair: LocalPair, venue: (typeof PAIR_VENUES)[number]): string[] {
  return pair[venue].log.records({ action: "place" }).map(({ clientId }) => `${venue} ${clientId ?? ""}`);
}

function nameOf(leg: { readonly exchange: string; readonly venueClientOrderId: string }): string {
  return `${leg.exchange} ${leg.venueClientOrderId}`;
}

function executedCount(pair: LocalPair): number {
  return PAIR_VENUES.reduce(
    (count, venue) =>
      count + pair[venue].log.records({ action: "place" }).filter(({ orderId }) => orderId !== null).length,
    0,
  );
}

describe("kill -9 during 200 closes in flight", () => {
  for (const seed of Array.from({ length: KILLS }, (_, kill) => SEED + kill)) {
    it(`executes each key exactly once after a restart (seed ${seed})`, async () => {
      process.stdout.write(`${await killAndRetry(seed)}\n`);
    }, 400_000);
  }
});
