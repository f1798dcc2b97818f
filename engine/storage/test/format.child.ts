/** Child program of state-format.test.ts: opens the store in argv[2] with a step that ends this process halfway. */
import { createSystemClock } from "../../domain/clock.js";
import { openLmdbStore } from "../lmdb-store.js";
import { FORMAT_STEPS } from "../state-format.js";
import { upperCase } from "./format-step.js";

const step = upperCase((count) => {
  if (count === 500) process.kill(process.pid, "SIGKILL");
});
openLmdbStore({ directory: process.argv[2] ?? "", clock: createSystemClock(), formatSteps: [...FORMAT_STEPS, step] });
