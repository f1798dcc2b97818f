/**
 * Property tests draw the same cases in every run; `FUZZ_SEED`, `FUZZ_RUNS` and `FUZZ_PATH` draw others, or replay a
 * failure from what it printed.
 */
import fc from "fast-check";

const { FUZZ_SEED, FUZZ_RUNS, FUZZ_PATH } = process.env;

fc.configureGlobal({
  seed: Number(FUZZ_SEED ?? 20_261_121),
  ...(FUZZ_RUNS === undefined ? {} : { numRuns: Number(FUZZ_RUNS) }),
  ...(FUZZ_PATH === undefined ? {} : { path: FUZZ_PATH }),
});
