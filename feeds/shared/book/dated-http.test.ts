import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { HttpRequest } from "../net/http.js";
import { ScriptedHttp } from "../test/scripted-http.js";
import { ClockOffset } from "./clock-offset.js";
import { withDatedAnswers } from "./dated-http.js";

const REQUEST: HttpRequest = {
  method: "GET",
  path: "/time",
  headers: {},
  body: null,
  lane: "read",
  weight: 1,
  timeoutMs: 1_000,
  account: null,
  accountWeight: 0,
};

function setUp() {
  const clock = new VirtualClock();
  const clockOffset = new ClockOffset(clock);
  const script = new ScriptedHttp(clock);
  const dateAhead = (ms: number): string => new Date(clock.wallMs() + ms).toUTCString();
  return { clock, clockOffset, script, dateAhead, http: withDatedAnswers(script, clockOffset) };
}

describe("HTTP with dated answers", () => {
  it("proves the venue's clock to the second, by whatever is asked, and hands the answer on as it is", async () => {
    const { clockOffset, dateAhead, http, script } = setUp();
    const answer = script.response(200, "{}", { date: dateAhead(90_000) });
    script.step(answer);
    expect(await http.request(REQUEST)).toBe(answer);
    expect([clockOffset.isProven, Math.abs(clockOffset.offsetMs - 90_000) <= 1_000]).toEqual([true, true]);
    expect(script.last).toBe(REQUEST);
  });

  it("proves nothing by an answer without a readable date, or where none came", async () => {
    const { clockOffset, http, script } = setUp();
    script.reply(200, "{}").reply(200, "{}", { date: "yesterday" }).step({ kind: "noResponse", reason: "TIMEOUT" });
    for (let count = 0; count < 3; count++) await http.request(REQUEST);
    expect([clockOffset.isProven, clockOffset.offsetMs]).toEqual([false, 0]);
  });

  it("proves nothing by an answer in the middle of which our wall clock was set", async () => {
    const { clock, clockOffset, dateAhead, http, script } = setUp();
    script.step(() => {
      clock.stepWall(-60_000);
      return script.response(200, "{}", { date: dateAhead(0) });
    });
    await http.request(REQUEST);
    expect(clockOffset.isProven).toBe(false);
  });
});
