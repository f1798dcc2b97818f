/** Rows of several batches of one run: whoever stores the run waits for all of them. */
import { expect, it } from "vitest";
import { rowsOnTheWay, sendRows } from "./rows-on-the-way.js";

it.each([
  ["first", 0],
  ["last", 1],
])("rows of two batches are on the way until both have arrived, whichever is there %s", async (_, index) => {
  const run = { attempts: [{}] };
  const arrivals = [sendRows(run.attempts), sendRows(run.attempts)];
  arrivals[index]?.();
  expect(rowsOnTheWay(run)).not.toBeNull();
  let isOver = false;
  void rowsOnTheWay(run)?.then(() => (isOver = true));
  await Promise.resolve();
  expect(isOver).toBe(false);
  arrivals[1 - index]?.();
  expect(rowsOnTheWay(run)).toBeNull();
  await Promise.resolve();
  await Promise.resolve();
  expect(isOver).toBe(true);
});
