/** The ledger after runs of anything. Seeds: TRANSFER_MODEL_RUNS of them from TRANSFER_MODEL_SEED. */
import { describe, expect, it } from "vitest";
import { runModel } from "./transfer-model.js";

const RUNS = Number(process.env["TRANSFER_MODEL_RUNS"] ?? 60);
const SEED = Number(process.env["TRANSFER_MODEL_SEED"] ?? 1);

describe("the ledger", () => {
  it(`is to the unit what the chain and the venues did, after ${RUNS} runs of anything`, async () => {
    const total: Record<string, number> = {};
    const wrongs: string[] = [];
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const run = await runModel(seed);
      for (const wrong of run.wrongs) wrongs.push(`seed ${seed}: ${wrong}`);
      for (const [name, count] of Object.entries(run.counts)) total[name] = (total[name] ?? 0) + count;
    }
    process.stdout.write(`transfers: ${JSON.stringify(total)}\n`);
    expect(wrongs).toEqual([]);
    for (const name of ["deposits", "payouts", "moves", "deaths"]) expect(total[name], name).toBeGreaterThan(RUNS / 4);
  }, 300_000);
});
