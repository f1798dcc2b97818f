/**
 * The end of the demo by Ctrl-C and by a supervisor: in order, without a complaint, and with no process left.
 *
 * Each signal, whom it goes to and what has just begun comes once; `ENDS=ALL` plays all of their pairs.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DemoBench } from "../support/demo-process.js";
import { pause } from "../support/system.js";

/** Time in which this process could run: the service's own grace, its stores, and the delay of a shared machine. */
const END_MS = 40_000;
const AGAIN_EVERY_MS = 100;
/** Without anything to end in order. */
const START_END_MS = 5_000;
/** Longer than the time in which two signals count as one. */
const HELD_UP_MS = 1_500;
const CLEAN = { code: 0, signal: null };

let bench: DemoBench;
beforeAll(() => {
  bench = new DemoBench();
});
afterAll(() => bench.dispose());

const IS_WHOLE = process.env["ENDS"] === "ALL";
const ENDS = [
  ["SIGINT", "all of its processes at once"],
  ["SIGTERM", "the launcher alone"],
  ...(IS_WHOLE
    ? ([
        ["SIGINT", "the launcher alone"],
        ["SIGTERM", "all of its processes at once"],
      ] as const)
    : []),
] as const;
const ENDS_AT_START = [
  ["venues", "group"],
  ["sidecar", "main"],
  ...(IS_WHOLE
    ? ([
        ["venues", "main"],
        ["sidecar", "group"],
      ] as const)
    : []),
] as const;

describe("the demo ends without an error", () => {
  for (const [signal, to] of ENDS)
    it(`by ${signal} to ${to}`, async () => {
      const demo = bench.start();
      await demo.shows('"recording.store"');
      await demo.shows("curl -s");
      demo.forgetOutput();
      if (to === "the launcher alone") demo.signalLauncher(signal);
      else demo.signalGroup(signal);
      expect(await demo.gone(END_MS)).toEqual(CLEAN);
      expect(demo.complaints()).toEqual([]);
    });

  it("by Ctrl-C in the moment of its ready line, while its store is still starting", async () => {
    const demo = bench.start();
    await demo.shows("ready http");
    demo.signalGroup("SIGINT");
    expect(await demo.gone(END_MS)).toEqual(CLEAN);
    expect(demo.complaints().filter((line) => /cannot|restarting|ended|Error|^ {4}at /.test(line))).toEqual([]);
  });

  it("by one Ctrl-C that a launcher without a core passes on late", async () => {
    const demo = bench.start();
    await demo.shows('"recording.store"');
    await demo.shows("curl -s");
    // A store that does not answer delays the end for longer than the launcher is stopped.
    process.kill(await demo.pidOf("sidecar"), "SIGSTOP");
    demo.forgetOutput();
    demo.signalLauncher("SIGSTOP");
    demo.signalGroup("SIGINT");
    await demo.shows('"service.stopping"');
    await pause(HELD_UP_MS);
    demo.signalLauncher("SIGCONT");
    expect(await demo.gone(END_MS)).toEqual(CLEAN);
    expect(demo.complaints().filter((line) => line.includes("service."))).toEqual([]);
  });
});

describe("a Ctrl-C again and again", () => {
  it("ends at once what waits for a store that does not answer, and leaves nothing behind", async () => {
    const demo = bench.start();
    await demo.shows('"recording.store"');
    await demo.shows("curl -s");
    const sidecar = await demo.pidOf("sidecar");
    demo.forgetOutput();
    process.kill(sidecar, "SIGSTOP");
    demo.signalGroup("SIGINT");
    const again = setInterval(() => {
      if (!demo.isEnded) demo.signalGroup("SIGINT");
    }, AGAIN_EVERY_MS);
    try {
      await demo.shows('"service.stop_forced"').catch(() => {});
    } finally {
      clearInterval(again);
    }
    process.kill(sidecar, "SIGCONT");
    expect(await demo.gone(END_MS)).toEqual({ code: 130, signal: null });
    // A machine that stands still silences sockets, which is no complaint about the end.
    const others = demo.complaints().filter((line) => !/"service\.stop_forced"|"event":"socket\./.test(line));
    expect(others).toEqual([]);
  });
});

describe("a demo that is ended while it starts", () => {
  for (const [part, to] of ENDS_AT_START)
    it(`with its ${part} just begun, by a signal to the ${to}, says nothing and leaves nothing behind`, async () => {
      const demo = bench.start();
      const main = await demo.pidOf("main");
      await demo.pidOf(part);
      demo.forgetOutput();
      if (to === "group") demo.signalGroup("SIGINT");
      else process.kill(main, "SIGTERM");
      const { code } = await demo.gone(START_END_MS);
      // By the signal itself: nothing has to end in order yet.
      expect([0, 130, 143]).toContain(code);
      expect(demo.complaints().filter((line) => /cannot|restarting|ended|Error|^ {4}at /.test(line))).toEqual([]);
    });
});
