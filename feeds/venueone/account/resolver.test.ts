/** Whoever asks what an address is has his own time, also where somebody asks already. */
import { expect, it } from "vitest";
import type { HttpResult } from "../../shared/net/http.js";
import { createHarness, PRINCIPAL } from "../test/trading-harness.js";

const AGENT_ROLE = { role: "agent", data: { user: PRINCIPAL } };

it("the resolver of accounts asks again where only another caller's time was over", async () => {
  const harness = createHarness();
  const { http, trading } = harness;
  let timeOut: (result: HttpResult) => void = () => undefined;
  http.step(() => new Promise((resolve) => (timeOut = resolve))).reply(200, AGENT_ROLE);
  const hasty = trading.resolveAccount(harness.open(), { timeoutMs: 100, lane: "exit" });
  const patient = trading.resolveAccount(harness.open(), { timeoutMs: 4_000, lane: "exit" });
  timeOut({ kind: "noResponse", reason: "TIMEOUT" });
  expect(await hasty).toMatchObject({ ok: false, code: "TIMEOUT" });
  expect(await patient).toMatchObject({ ok: true, value: PRINCIPAL });
  expect(http.requests.map(({ timeoutMs }) => timeoutMs)).toEqual([100, 4_000]);
});

it("the resolver of accounts waits for another caller's look-up no longer than its own time", async () => {
  const harness = createHarness();
  harness.http.step(() => new Promise(() => undefined));
  void harness.trading.resolveAccount(harness.open(), { timeoutMs: 60_000, lane: "exit" });
  const hasty = harness.trading.resolveAccount(harness.open(), { timeoutMs: 100, lane: "exit" });
  let answer: unknown = null;
  void hasty.then((read) => (answer = read));
  await harness.clock.advanceAsync(101);
  expect(answer).toMatchObject({ ok: false, code: "TIMEOUT" });
});
