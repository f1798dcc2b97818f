import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EngineError } from "./engine-error.js";
import { Lane } from "./lane.js";

const never = new AbortController().signal;

function held(): { promise: Promise<void>; release: () => void } {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

describe("a lane of jobs", () => {
  it("skips a job whose caller left while it waited, and runs the next one", async () => {
    const lane = new Lane("x", 1, 4);
    const gate = held();
    const ran: string[] = [];
    const first = lane.run(never, () => gate.promise);
    const gone = new AbortController();
    const skipped = lane.run(gone.signal, async () => void ran.push("gone"));
    const after = lane.run(never, async () => void ran.push("after"));
    gone.abort();
    gate.release();
    await first;
    await expect(skipped).rejects.toMatchObject({ code: 236 });
    await after;
    expect(ran).toEqual(["after"]);
    await expect(lane.run(gone.signal, async () => {})).rejects.toBeInstanceOf(EngineError);
  });

  it("continues after a job that fails, and is idle when all have ended", async () => {
    const lane = new Lane("x", 1, 4);
    const failed = lane.run(never, async () => {
      throw new Error("job");
    });
    const next = lane.run(never, async () => 7);
    const idle = lane.idle();
    await expect(failed).rejects.toThrow("job");
    expect(await next).toBe(7);
    await idle;
    await lane.idle();
  });

  it("never runs more than its limit, never lets more wait than its bound, and answers every job", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 0, max: 5 }),
        fc.array(fc.boolean(), { maxLength: 30 }),
        async (runningMax, waitingMax, releases) => {
          const lane = new Lane("x", runningMax, waitingMax);
          const gates: ReturnType<typeof held>[] = [];
          const outcomes: Promise<string>[] = [];
          let running = 0;
          let refused = 0;
          for (const isRelease of releases) {
            if (isRelease) gates.shift()?.release();
            else {
              const job = lane.run(never, async () => {
                running++;
                expect(running).toBeLessThanOrEqual(runningMax);
                const gate = held();
                gates.push(gate);
                await gate.promise;
                running--;
              });
              outcomes.push(
                job.then(
                  () => "ran",
                  (error: EngineError) => {
                    refused++;
                    return String(error.code);
                  },
                ),
              );
            }
            await new Promise((resolve) => setImmediate(resolve));
          }
          while (running > 0) {
            gates.shift()?.release();
            await new Promise((resolve) => setImmediate(resolve));
          }
          await lane.idle();
          const all = await Promise.all(outcomes);
          expect(all.filter((outcome) => outcome === "202").length).toBe(refused);
          expect(all.every((outcome) => outcome === "ran" || outcome === "202")).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });
});
