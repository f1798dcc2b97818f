/**
 * Long arithmetic that stops now and then, so that the thread may do other work in between: a generator that yields
 * nothing at each stop and returns its result. Slicing changes no byte of the result.
 *
 * Invariant: all that is secret between two stops lies in arenas of whoever holds the slices, or in numbers that die with
 * them; so one that is let go of at a stop leaves nothing that its holder cannot wipe.
 */
export type Slices<Result> = Generator<undefined, Result, undefined>;

/** Runs `run` over the indices below `count`, at most `size` of them between two stops; the last stretch has a stop too. */
export function* stretches(count: number, size: number, run: (from: number, to: number) => void): Slices<void> {
  for (let from = 0; from < count; from += size) {
    run(from, Math.min(from + size, count));
    yield;
  }
}
