/**
 * Opens and closes through the real gateway over four local venues while these fail at random; the venues' own order
 * logs are the judge. `TRADES=10000 npx vitest run bench/test/trade-simulation.test.ts` is the whole of it, `FUZZ_SEED`
 * replays another run: the workload and the faults' dice follow from the seed, the interleaving from the machine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { createLogger } from "../../gateway/log.js";
import { readConfig } from "../../gateway/config.js";
import { TestClient } from "../../gateway/test/client.js";
import { createService, type Service } from "../../gateway/wiring.js";
import type { FaultSpec } from "../sim/core/types.js";
import { FOUR_VENUES, type FourTrader, type FourVenues, startFourVenues } from "./support/four-venues.js";
import { judgeTrades, sendTrade, tradeOutcome, type TradeTrial, tradeTrial } from "./support/trade-judge.js";
import { pause } from "./support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const TRADES = Number(process.env.TRADES ?? 320);
const PHASES = Math.max(8, Math.ceil(TRADES / 500));
const CONCURRENCY = 16;
const TRADERS = 24;
const FLAT_TRADERS = 2;
/** Beyond the longest validity of an order and the venues' lag. */
const FINAL_DEADLINE_MS = 100_000;
const RETRY_EVERY_MS = 250;
const NO_LIMIT = "1000000000";

/** Routes that carry orders; reads pass. */
const ORDER_ROUTES: readonly string[] = ["POST /exchange", "POST /fapi", "sendTx", "POST /api/v1/orders"];
const onOrders = (spec: FaultSpec): FaultSpec[] => ORDER_ROUTES.map((match) => ({ ...spec, match }));

const PHASE_FAULTS: readonly (readonly FaultSpec[])[] = [
  [],
  onOrders({ kind: "errorAfter", probability: 0.3 }),
  onOrders({ kind: "replyLost", probability: 0.3 }),
  onOrders({ kind: "loss", probability: 0.2 }),
  onOrders({ kind: "errorBefore", probability: 0.3 }),
  onOrders({ kind: "latency", probability: 0.3, delayMs: 900, jitterMs: 400 }),
  onOrders({ kind: "rate429", probability: 0.25, retryAfterS: 1 }),
  [{ kind: "disconnect", probability: 0.01 }, ...onOrders({ kind: "errorAfter", probability: 0.1 })],
];

let four: FourVenues;
let service: Service;
let client: TestClient;
let dataDir = "";
const logLines: string[] = [];

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH"] });
  dataDir = mkdtempSync(join(tmpdir(), "unwind-trades-"));
  const environment: Record<string, string> = { PORT: "0", DATA_DIR: dataDir, SYMBOLS: "BTC,ETH", RECORDING: "false" };
  // The budgets of the real venues would make this a test of waiting; other tests hold the service to them.
  for (const name of ["VENUETWO_ORDERS_PER_MINUTE", "VENUETWO_ORDERS_PER_10_SECONDS"]) environment[name] = NO_LIMIT;
  for (const venue of FOUR_VENUES) {
    environment[`${venue.toUpperCase()}_REST_WEIGHT_PER_MINUTE`] = NO_LIMIT;
    environment[`${venue.toUpperCase()}_REST_URL`] = four.venues[venue].restUrl;
    environment[`${venue.toUpperCase()}_WS_URL`] = four.venues[venue].wsUrl;
  }
  const config = readConfig(environment, () => null);
  if (!config.ok) throw new Error(config.problems.join("; "));
  service = await createService(config.config, {
    logger: createLogger("info", { write: (line: string) => void logLines.push(line) }),
  });
  client = new TestClient(service.url);
});

afterAll(async () => {
  await client?.stop();
  await service?.stop();
  await four?.stop();
  if (dataDir !== "") rmSync(dataDir, { recursive: true, force: true });
});

function makeTrial(
  random: Random,
  traders: readonly FourTrader[],
  flat: readonly FourTrader[],
  name: string,
): TradeTrial {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const isLong = random.next() < 0.5;
  const market = { symbol: isLong ? "BTC" : "ETH", direction: isLong ? ("LONG" as const) : ("SHORT" as const) };
  const small = (): string =>
    isLong ? `0.0${1 + Math.floor(random.next() * 9)}` : `0.${1 + Math.floor(random.next() * 9)}`;
  const routingOptions = { deadlineMs: 800, allowSplit: random.next() < 0.2 };
  const preferredExchange = random.next() < 0.5 ? pick(FOUR_VENUES) : null;
  const dice = random.next();
  if (dice < 0.07) {
    // Nothing is held there.
    return tradeTrial(pick(flat), "CLOSE", name, { ...market, size: small(), routingOptions });
  }
  if (dice < 0.5) {
    return tradeTrial(pick(traders), "OPEN", name, { ...market, size: small(), preferredExchange, routingOptions });
  }
  if (dice < 0.62) {
    // More than one request closes the same position whole: somebody comes late.
    const trader = traders[Math.floor(random.next() * 3)] as FourTrader;
    return tradeTrial(trader, "CLOSE", name, {
      ...market,
      size: "ALL",
      preferredExchange: preferredExchange ?? pick(FOUR_VENUES),
      routingOptions,
    });
  }
  return tradeTrial(pick(traders), "CLOSE", name, { ...market, size: small(), preferredExchange, routingOptions });
}

async function runAll(trials: readonly TradeTrial[], each: (trial: TradeTrial) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let trial = trials[next++]; trial !== undefined; trial = trials[next++]) await each(trial);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** A refusal that touched nothing stays one; what may have been executed is asked again until its end is known. */
async function untilFinal(trial: TradeTrial): Promise<void> {
  const untilMs = performance.now() + FINAL_DEADLINE_MS;
  for (;;) {
    const last = trial.answers.at(-1);
    if (last !== undefined && last.status >= 400 && last.status < 500 && last.status !== 409) return;
    if (last?.data?.execution.final === true) return;
    if (performance.now() > untilMs)
      throw new Error(`${trial.key} has no end: ${last === undefined ? "" : tradeOutcome(last)}`);
    await pause(RETRY_EVERY_MS);
    await sendTrade(four, client, trial);
  }
}

/** What the first replies said. */
function outcomes(trials: readonly TradeTrial[]): string {
  const counts = new Map<string, number>();
  for (const { answers } of trials) {
    const word = answers[0] === undefined ? "none" : tradeOutcome(answers[0]);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([word, count]) => `${count} ${word}`)
    .join(", ");
}

describe(`${TRADES} opens and closes over four venues under faults`, () => {
  it(
    "do what the venues' order logs say, each key once, whatever fails",
    async () => {
      const positions = { BTC: "3", ETH: "-60" };
      const traders = Array.from({ length: TRADERS }, (_, index) =>
        four.addTrader(`trade-${SEED}-${index}`, positions),
      );
      const flat = Array.from({ length: FLAT_TRADERS }, (_, index) => four.addTrader(`flat-${SEED}-${index}`, {}));
      const initial = new Map<string, number>();
      for (const trader of [...traders, ...flat]) {
        for (const venue of FOUR_VENUES) {
          for (const symbol of ["BTC", "ETH"]) {
            initial.set(`${venue} ${trader.label} ${symbol}`, four.positionLots(venue, trader, symbol));
          }
        }
      }
      const random = createSeededRandom(SEED);
      const trials: TradeTrial[] = [];
      for (let phase = 0; phase < PHASES; phase++) {
        const batch = Array.from({ length: Math.ceil(TRADES / PHASES) }, (_, index) =>
          makeTrial(random, traders, flat, `trade-${SEED}-${phase}-${index}`),
        );
        const endFaults = four.fault(...(PHASE_FAULTS[phase % PHASE_FAULTS.length] ?? []));
        await runAll(batch, (trial) => sendTrade(four, client, trial));
        endFaults();
        await Promise.all(batch.map(untilFinal));
        trials.push(...batch);
        if (process.env.TRADES !== undefined) process.stdout.write(`phase ${phase}: ${outcomes(batch)}\n`);
      }
      const judged = judgeTrades(
        four,
        trials,
        (venue, trader, symbol) => initial.get(`${venue} ${trader.label} ${symbol}`) ?? 0,
      );
      process.stdout.write(
        `seed ${SEED}: ${trials.length} trades, ${judged.orderCount} orders in the venues' logs; first replies: ${outcomes(trials)}\n`,
      );
      expect(judged.violations).toEqual([]);
      expect(judged.orderCount).toBeGreaterThan(trials.length / 4);
      const secrets = [...traders, ...flat].flatMap(({ credentials }) => [
        String(credentials.venueone["privateKey"]),
        String(credentials.venuetwo["apiSecret"]),
        String(credentials.venuethree["apiKeyPrivateKey"]),
        String(credentials.venuefour["apiSecret"]),
      ]);
      const everything = [...logLines, ...trials.flatMap(({ answers }) => answers.map(({ text }) => text))].join("\n");
      expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
    },
    Math.max(600_000, TRADES * 200),
  );
});
