/**
 * Deposits, withdrawals and transfers of server wallets over three local chains and the two venues that take and pay money,
 * while endpoints, chains, venues, the signer and the store fail, and the service dies and begins again. The chains' blocks
 * and the venues' books are the judge. `TRANSFERS=2000 npx vitest run bench/test/simulation/money-simulation.test.ts` runs
 * all of it; `FUZZ_SEED` replays another run: asks and faults follow from the seed, the order of what happens in one moment
 * from the machine.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MoneyWorld, startMoneyWorld } from "../support/money/money-world.js";
import { type MoneyRun, runMoney } from "../support/money/money-run.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_128);
const TRANSFERS = Number(process.env.TRANSFERS ?? 60);
/** Where there are enough to tell, a run without one of these proves little. */
const MANY = 1_000;
const STRUCK_IN_MANY = [
  ...["kill", "commit refused", "gas raised", "reorg", "pool dropped", "outside send", "act late", "act lost"],
  ...["endpoint unheard", "endpoint lost", "endpoint slow", "endpoint lagging", "endpoint behind"],
  ...["endpoint liesOfBalances", "endpoint liesOfReceipts", "endpoint otherChain", "signer SIGNER_UNAVAILABLE"],
  ...[
    "payouts late",
    "payouts dearer",
    "payouts keeps",
    "venueone rate429",
    "venuetwo replyLost",
    "venueone replyLost",
  ],
];

let world: MoneyWorld;
beforeAll(async () => {
  world = await startMoneyWorld(SEED);
}, 240_000);
afterAll(() => world?.stop());

function countsText(names: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

function told({ intents, rows, struck }: MoneyRun): string {
  const network = (one: MoneyRun["rows"][number]) => (one.kind === "internal" ? "" : ` on ${one.chainId}`);
  return [
    `seed ${SEED}: ${intents.length} transfers asked for, ${intents.flatMap(({ outcomes }) => outcomes).length} times`,
    `rows: ${countsText(rows.map((row) => `${row.kind} at ${row.venue}${network(row)} ${row.state} ${row.reason ?? ""}`.trim()))}`,
    `answers: ${countsText(intents.flatMap(({ kind, outcomes }) => outcomes.map((one) => `${kind} ${one}`)))}`,
    `struck: ${[...struck].map(([name, count]) => `${name} ${count}`).join(", ")}`,
  ].join("\n");
}

describe(`${TRANSFERS} transfers of server wallets under faults`, () => {
  it(
    "agree to the unit with what the chains and the venues did, each once",
    async () => {
      const onStep = (text: string) => void (TRANSFERS >= MANY && process.stdout.write(`${text}\n`));
      const run = await runMoney(world, { seed: SEED, transfers: TRANSFERS, onStep });
      process.stdout.write(`${told(run)}\n`);
      expect(run.findings.map(({ check, text }) => `seed ${SEED}, ${check}: ${text}`)).toEqual([]);
      for (const kind of ["deposit", "withdrawal", "internal"])
        expect(run.rows.filter((row) => row.kind === kind && row.state !== "failed").length, kind).toBeGreaterThan(
          TRANSFERS / 20,
        );
      expect(run.struck.get("kill"), "kills").toBeGreaterThan(0);
      if (TRANSFERS >= MANY) expect(STRUCK_IN_MANY.filter((name) => !run.struck.has(name))).toEqual([]);
    },
    20_000 + TRANSFERS * 10_000,
  );
});
