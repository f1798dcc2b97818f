/**
 * Changes of leverage and margin mode of one market, alone and at once, while reads lag behind what the venue took, and
 * some answers are lost and their transactions executed late: the last transaction carries what was wished last of both.
 * `FUZZ_SEED` replays one seed.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { SettingOutcome } from "../../../engine/ports.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import { account, answerOf, position, ready } from "../test/account-rows.js";
import { BTC, OPTIONS, sentTx, settledOver } from "../test/trading-harness.js";
import { marginFractionFor } from "./request.js";

const planted = vi.hoisted(() => ({ forgets: false, isUnordered: false, isBrief: false }));
/** What was sent is remembered by account and market. */
const CHANGED_NAME = /^\d+ \d+$/;
vi.mock(import("lru-cache"), async (load) => {
  const { LRUCache, ...others } = await load();
  const get = LRUCache.prototype.get;
  LRUCache.prototype.get = function (key, options) {
    return planted.forgets && CHANGED_NAME.test(String(key)) ? undefined : get.call(this, key, options);
  };
  return { LRUCache, ...others };
});
vi.mock(import("../../../engine/domain/deadline.js"), async (load) => {
  const original = await load();
  const within: typeof original.within = (clock, promise, timeoutMs) =>
    planted.isUnordered
      ? (Promise.resolve({ done: true }) as unknown as ReturnType<typeof within<Awaited<typeof promise>>>)
      : original.within(clock, promise, timeoutMs);
  return { ...original, within };
});

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 71_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 20);
const STEPS = 10;
/** Of a read behind what the venue took; shorter than the time for which a change is remembered. */
const MAX_LAG_MS = 4_500;
/** Of a transaction without an answer; it expires later. */
const MAX_LATE_MS = 29_000;
/** For which an executed change is remembered. */
const BRIEF_MS = 5_000;
const LEVERAGES = [2, 3, 5, 8, 10, 20];

interface Setting {
  readonly fraction: number;
  readonly isIsolated: boolean;
}

interface Played {
  readonly last: Setting;
  readonly wished: Setting;
  /** After each step. */
  readonly wrongCount: number;
}

async function play(seed: number): Promise<Played> {
  const random = createSeededRandom(seed);
  const { harness, session } = ready();
  const { clock, http, trading } = harness;
  await trading.resolveKey(session, OPTIONS);
  const nowMs = (): number => clock.monoNs() / 1e6;
  const taken: { readonly atMs: number; readonly setting: Setting }[] = [
    { atMs: Number.NEGATIVE_INFINITY, setting: { fraction: 500, isIsolated: false } },
  ];
  const shown = (): Setting => {
    const atMs = nowMs() - random.next() * MAX_LAG_MS;
    return (taken.findLast((entry) => entry.atMs <= atMs) ?? taken[0])?.setting ?? { fraction: 500, isIsolated: false };
  };
  const answer = (request: HttpRequest): HttpResult => {
    if (request.path.startsWith("/api/v1/nextNonce"))
      return http.response(200, { code: 200, nonce: 43 + taken.length });
    if (request.path.startsWith("/api/v1/tx?"))
      return http.response(200, { code: 200, status: 2, event_info: JSON.stringify({ ae: "" }) });
    if (request.path === "/api/v1/sendTx") {
      const tx = sentTx(request);
      const { InitialMarginFraction, MarginMode } = tx.fields as Readonly<Record<string, number>>;
      const setting = { fraction: InitialMarginFraction ?? 0, isIsolated: MarginMode === 1 };
      const isLost = random.next() < 0.3;
      // Nonces go up by one: what comes after it is executed after it, and `shown` finds the later one.
      taken.push({ atMs: nowMs() + (isLost ? random.next() * MAX_LATE_MS : 0), setting });
      if (isLost) return { kind: "noResponse", reason: "TIMEOUT" };
      return http.response(200, { code: 200, message: "{}", tx_hash: tx.hash });
    }
    const { fraction, isIsolated } = shown();
    const row = position({
      initial_margin_fraction: (fraction / 100).toFixed(2),
      margin_mode: isIsolated ? 1 : 0,
    });
    return http.response(200, answerOf(account({ positions: [row] })));
  };
  for (let count = 0; count < STEPS * 12; count++) http.step(answer);

  let wished: Setting = { fraction: 500, isIsolated: false };
  const setLeverage = (): Promise<SettingOutcome> => {
    const leverage = LEVERAGES[Math.floor(random.next() * LEVERAGES.length)] ?? 2;
    wished = { ...wished, fraction: marginFractionFor(leverage) };
    return trading.settings.setLeverage(session, BTC, leverage, OPTIONS);
  };
  const setMode = (): Promise<SettingOutcome> => {
    const isIsolated = random.next() < 0.5;
    wished = { ...wished, isIsolated };
    return trading.settings.setMarginMode(session, BTC, isIsolated ? "isolated" : "cross", OPTIONS);
  };
  const last = (): Setting => taken.at(-1)?.setting ?? wished;
  let wrongCount = 0;
  for (let step = 0; step < STEPS; step++) {
    const which = random.next();
    const changes = which < 0.35 ? [setLeverage()] : which < 0.7 ? [setMode()] : [setLeverage(), setMode()];
    for (const { outcome } of await settledOver(clock, Promise.all(changes)))
      expect(["accepted", "unknown"]).toContain(outcome);
    if (last().fraction !== wished.fraction || last().isIsolated !== wished.isIsolated) wrongCount++;
    clock.advance(random.next() * 6_000);
  }
  return { last: last(), wished, wrongCount };
}

async function wrongRuns(): Promise<number> {
  let count = 0;
  for (let run = 0; run < RUNS; run++) {
    if ((await play(FIRST_SEED + run)).wrongCount > 0) count++;
  }
  return count;
}

beforeEach(() => {
  const { set } = TimedCache.prototype;
  vi.spyOn(TimedCache.prototype, "set").mockImplementation(function (this: TimedCache<string, unknown>, ...args) {
    const [key, value, ttlMs] = args;
    const isShort = planted.isBrief && CHANGED_NAME.test(String(key));
    set.call(this, key, value, isShort ? Math.min(ttlMs, BRIEF_MS) : ttlMs);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  planted.forgets = false;
  planted.isUnordered = false;
  planted.isBrief = false;
});

describe("settings of venuethree that change while reads lag", () => {
  it.each(Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run))(
    "end as both were wished last, seed %i",
    async (seed) => {
      const { last, wished, wrongCount } = await play(seed);
      expect({ last, wrongCount }).toEqual({ last: wished, wrongCount: 0 });
    },
  );

  it.each([
    ["forgets what it sent", "forgets"],
    ["sends them side by side", "isUnordered"],
    ["forgets what may still be executed", "isBrief"],
  ] as const)("take each other back where the room %s: the judge sees that", async (_, mutant) => {
    planted[mutant] = true;
    expect(await wrongRuns()).toBeGreaterThan(RUNS / 10);
  });
});
