/**
 * Opens and closes through the real gateway over four local venues while these fail at random; the venues' own order
 * logs are the judge. `TRADES=10000 npx vitest run bench/test/simulation/trade-simulation.test.ts` runs all of it.
 * `FUZZ_SEED` replays another run: the workload and the faults' dice follow from the seed, the interleaving from the
 * machine. `SCENES`, `SCENES_EACH` and `WEATHERS` play a part of it, for one finding: which scenes, how many of each kind,
 * and under what, in the order of the names.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FOLLOWED, type FourVenues, startFourVenues, UNFOLLOWED } from "../support/four-venues.js";
import { bytesBelow, outageProblems, secretProblems } from "../support/isolation-judge.js";
import { baselineOf } from "../support/judge/evidence.js";
import { judgeTrades } from "../support/trade-judge.js";
import { runWorkload } from "../support/trade-run.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";
import { CALLER_DAILY_MAX } from "../support/scenes/accounts.js";
import { SCENE_KINDS } from "../support/scenes/scenes.js";
import { countOf, countsText, endless, firstOutcomes, type TradeTrial } from "../support/trade-trial.js";
import {
  addTraders,
  MANY_TRADES,
  planWorkload,
  SCENE_WEATHERS,
  WEATHERS as TRADE_WEATHERS,
} from "../support/trade-workload.js";

/** Names of the scenes to play; without it, or with ALL, every kind. */
const { SCENES: WANTED = "ALL" } = process.env;
const SCENES = SCENE_KINDS.filter((kind) => WANTED === "ALL" || WANTED.split(",").includes(kind));

function memoryText(): string {
  const { heapUsed, rss } = process.memoryUsage();
  return `heap ${Math.round(heapUsed / 2 ** 20)} MB, resident ${Math.round(rss / 2 ** 20)} MB`;
}

/** What a finding is looked into with: the answers of its trade, and every line that the service wrote of it. */
function historyText({ answers, key, reached }: TradeTrial): string {
  const routeId = answers.find(({ data }) => data !== null)?.data?.routing.routeId;
  const lines = routeId === undefined ? [] : system.logLines.filter((line) => line.includes(routeId));
  const shown = answers.map(({ answeredAtMs, data, status }) => ({ answeredAtMs, status, ...data?.execution }));
  return `${JSON.stringify({ key, routeId, reached, shown }, null, 1)}\n${lines.join("")}\n`;
}

/** Of each kind, over all phases; without it by the count of trades. */
const SCENES_EACH = process.env.SCENES_EACH === undefined ? undefined : Number(process.env.SCENES_EACH);
/** Names of the weathers to play, in this order; without it all. */
const WEATHERS = process.env.WEATHERS?.split(",");
const IS_PART = WANTED !== "ALL" || WEATHERS !== undefined;
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const TRADES = Number(process.env.TRADES ?? 300);
/** States that a storm must produce, or it proves little; of the first answers, where there are enough to tell. */
const MIX = ["UNKNOWN", "PARTIAL", "REJECTED", "NOOP ALREADY_FLAT"] as const;
const MIX_SHARE = 0.05;

let four: FourVenues;
let system: TradeSystem;

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: [...FOLLOWED, UNFOLLOWED] });
  system = await startTradeSystem(four);
});

afterAll(async () => {
  await system?.stop();
  await four?.stop();
  system?.cleanUp();
});

describe(`${TRADES} opens and closes over four venues under faults`, () => {
  it(
    "do what the venues' order logs say, each key once, whatever fails",
    async () => {
      const all = [...TRADE_WEATHERS, ...SCENE_WEATHERS];
      const weathers = WEATHERS?.flatMap((wanted) => all.filter(({ name }) => name === wanted));
      const options = { scenes: SCENES, scenesEach: SCENES_EACH, ...(weathers === undefined ? {} : { weathers }) };
      const workload = planWorkload(SEED, TRADES, options);
      expect(planWorkload(SEED, TRADES, options).digest).toBe(workload.digest);
      const traders = addTraders(four, workload.traders, String(SEED));
      const baseline = baselineOf(four, traders.values());
      const { trials, asks, recorded } = await runWorkload(four, system, traders, workload, {
        onPhase: (text) =>
          void (process.env.TRADES !== undefined && process.stdout.write(`${text}; ${memoryText()}\n`)),
      });
      const judged = judgeTrades(four, trials, baseline, {
        asks,
        recorded,
        callerDailyMax: CALLER_DAILY_MAX,
      });
      const outcomes = firstOutcomes(trials);
      process.stdout.write(
        `seed ${SEED}, workload ${workload.digest}: ${trials.length} trades, ${judged.orderCount} orders in the venues' logs; first answers: ${countsText(outcomes)}\n`,
      );
      const refusals = trials.flatMap(({ answers, body }) =>
        answers.flatMap(({ status, code, reason, candidates, blames }) => {
          const why = reason ?? candidates.find(({ exchange }) => exchange === blames)?.reasonCode ?? "";
          const { deadlineMs } = (JSON.parse(body) as { readonly routingOptions: { readonly deadlineMs: number } })
            .routingOptions;
          return status >= 500 ? [`${code ?? status} ${why} within ${deadlineMs} ms`] : [];
        }),
      );
      if (refusals.length > 0) process.stdout.write(`refused for now: ${countsText(countOf(refusals))}\n`);
      if (asks.length > 0)
        process.stdout.write(
          `asked beside: ${countsText(countOf(asks.map(({ kind, status }) => `${kind} ${status}`)))}\n`,
        );
      for (const [name, found] of judged.byCheck)
        process.stdout.write(
          `${name}: ${found.length}\n${found
            .slice(0, 12)
            .map((one) => `  ${one}\n`)
            .join("")}`,
        );
      const problems = [...endless(trials), ...judged.violations, ...outageProblems(trials)];
      for (const trial of trials.filter(({ key }) => problems.some((problem) => problem.startsWith(`${key}:`))))
        process.stdout.write(historyText(trial));
      // The findings are the message itself, because readers of a long log see only its closing lines.
      expect(problems, problems.join("; ")).toEqual([]);
      expect(judged.orderCount).toBeGreaterThan(trials.length / 4);
      const enough = TRADES >= MANY_TRADES ? MIX_SHARE * trials.length : 1;
      for (const outcome of IS_PART ? [] : MIX)
        expect([outcome, (outcomes.get(outcome) ?? 0) >= enough]).toEqual([outcome, true]);

      const outputs = new Map<string, string>();
      for (const path of ["/metrics", "/api/status"])
        outputs.set(path, (await system.clients[0]?.send(path))?.text ?? "");
      await system.stop();
      outputs.set("log lines", system.logLines.join("\n"));
      outputs.set("the store", bytesBelow(system.dataDir));
      for (const [name, text] of outputs) expect([name, text.length > 100]).toEqual([name, true]);
      expect(secretProblems(trials, [...traders.values()], outputs)).toEqual([]);
    },
    // Measured: 120 ms a trade with all scenes on a busy machine; the ends may take ten minutes.
    Math.max(900_000, TRADES * 360),
  );
});
