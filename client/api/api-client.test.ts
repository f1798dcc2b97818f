/** What the API client sends, sends again and reports, over every fault of the way, in virtual time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Fault, json, KEYS, ModelService, plainMac, refusal } from "../test/api-service.js";
import { createApiTime } from "../test/api-time.js";
import { type ApiClientOptions, createApiClient } from "./api-client.js";
import type { FetchPort } from "./fetch-port.js";

const HOUR_MS = 3_600_000;
const BASE = { baseUrl: "https://unwind.test" } as const;
const BODY = { symbol: "BTC", direction: "LONG", size: "0.01", credentials: {} } as const;

function setUp(options: Partial<ApiClientOptions> = {}, dice = 0.5) {
  const time = createApiTime();
  const service = new ModelService(time);
  const ports = { clock: time, random: () => dice, importSecret: plainMac };
  const api = createApiClient({ ...BASE, ...ports, fetch: service.fetch, keys: KEYS, ...options });
  return { time, service, api };
}

const ANY_FAULT = fc.constantFrom<Fault>(
  "none",
  "lost done",
  "lost undone",
  "silent undone",
  "silent done late",
  "page done",
  "page undone",
  "limited",
  "overloaded",
  "internal done",
  "internal undone",
  "sent twice",
  "sent twice late",
  "refused",
);
const FAULTS = fc.array(ANY_FAULT, { maxLength: 6 });
const SKEW = fc.constantFrom(0, -HOUR_MS, HOUR_MS, -4_000, 4_000, 700, -700);

describe("a write without an Idempotency-Key", () => {
  it("is acted on at most once, and is called refused only where it never was", async () => {
    await fc.assert(
      fc.asyncProperty(FAULTS, SKEW, fc.double({ min: 0, max: 0.99, noNaN: true }), async (faults, jump, dice) => {
        const { time, service, api } = setUp({}, dice);
        // The service's clock steps after it was read.
        await time.settle(api.call("status"));
        service.seen.length = 0;
        service.skewMs = jump;
        service.faults = [...faults];
        const result = await time.settle(api.call("killSwitch", { body: { active: true, reason: "test" } }));
        service.arriveLate();
        expect(service.done.length).toBeLessThanOrEqual(1);
        expect(service.seen.length).toBeLessThanOrEqual(2);
        if (result.ok) expect(service.done).toHaveLength(1);
        else if (result.outcome === "refused") expect(service.done).toEqual([]);
        expect(time.timerCount).toBe(0);
      }),
      { numRuns: 400 },
    );
  });

  it("is sent a second time only where its timestamp was never valid", async () => {
    const { time, service, api } = setUp();
    await time.settle(api.call("status"));
    service.skewMs = HOUR_MS;
    const result = await time.settle(api.call("killSwitch", { body: { active: true } }));
    expect(result.ok).toBe(true);
    expect([service.seen.length, service.done.length]).toEqual([3, 1]);
  });

  it.each<Fault>(["lost undone", "silent undone", "page undone", "internal undone", "sent twice", "sent twice late"])(
    "is of unknown outcome after one request: %s",
    async (fault) => {
      const { time, service, api } = setUp();
      service.faults = [fault, "none"];
      const result = await time.settle(api.call("killSwitch", { body: { active: true } }));
      expect(result).toMatchObject({ ok: false, outcome: "unknown" });
      expect(service.seen).toHaveLength(1);
    },
  );

  it("is refused, and not sent again, where the service limits its rate", async () => {
    const { time, service, api } = setUp();
    service.faults = ["limited"];
    const result = await time.settle(api.call("killSwitch", { body: { active: true } }));
    expect(result).toMatchObject({ ok: false, code: "RATE_LIMITED", outcome: "refused", retryAfterMs: 2_000 });
    expect(service.seen).toHaveLength(1);
  });

  it("is of unknown outcome where the machine slept and a copy was refused after that", async () => {
    const { time, service, api } = setUp({
      fetch: async (url, init) => {
        const reply = await service.fetch(url, init);
        if (service.seen.length !== 1) return reply;
        // Asleep: the wall clock moves, the monotonic one does not. The browser then sends it again by itself.
        time.skewMs += HOUR_MS;
        return refusal(401, "AUTH_TIMESTAMP_OUT_OF_WINDOW", { serverTime: service.nowMs + HOUR_MS });
      },
    });
    const result = await time.settle(api.call("killSwitch", { body: { active: true } }));
    expect(result).toMatchObject({ ok: false, outcome: "unknown" });
    expect([service.seen.length, service.done.length]).toEqual([1, 1]);
  });
});

describe("a write with an Idempotency-Key", () => {
  it("is sent with that key and that body only, at most so often, and never called refused where it was done", async () => {
    await fc.assert(
      fc.asyncProperty(FAULTS, SKEW, fc.integer({ min: 1, max: 5 }), async (faults, jump, attempts) => {
        const { time, service, api } = setUp();
        await time.settle(api.call("status"));
        service.seen.length = 0;
        service.skewMs = jump;
        service.faults = [...faults];
        const request = { body: BODY, idempotencyKey: "k-1", attempts, timeoutMs: 60_000 };
        const result = await time.settle(api.call("positionClose", request));
        service.arriveLate();
        expect(service.done.length).toBeLessThanOrEqual(1);
        // One more after a correction of the clock.
        expect(service.seen.length).toBeLessThanOrEqual(attempts + 1);
        expect(new Set(service.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
        expect(new Set(service.seen.map(({ body }) => body)).size).toBe(1);
        if (result.ok) expect(service.done).toHaveLength(1);
        else if (result.outcome === "refused") expect(service.done).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  it.each<Fault>(["lost done", "lost undone", "page done", "sent twice", "sent twice late", "overloaded"])(
    "is repeated until it is known: %s",
    async (fault) => {
      const { time, service, api } = setUp();
      service.faults = [fault, fault];
      const request = { body: BODY, idempotencyKey: "k-1", timeoutMs: 60_000 };
      expect((await time.settle(api.call("positionClose", request))).ok).toBe(true);
      expect([service.seen.length, service.done.length]).toEqual([3, 1]);
    },
  );

  it("stays unknown where its repetition is refused for another reason", async () => {
    const { time, service, api } = setUp();
    service.faults = ["lost done", "refused"];
    const result = await time.settle(api.call("positionClose", { body: BODY, idempotencyKey: "k-1" }));
    expect(result).toMatchObject({ ok: false, code: "SLIPPAGE_CAP", outcome: "unknown" });
  });

  it("keeps the key of its caller, whoever signs in meanwhile", async () => {
    const { time, service, api } = setUp();
    service.faults = ["lost undone"];
    const call = api.call("positionClose", { body: BODY, idempotencyKey: "k-1" });
    api.signIn({ apiKey: "pk_other", secret: "other" });
    expect((await time.settle(call)).ok).toBe(true);
    expect(service.seen.map(({ headers }) => headers["x-api-key"])).toEqual([KEYS.apiKey, KEYS.apiKey]);
  });

  it("waits out its deadline in one request, since a second would only be told that it is under way", async () => {
    const { time, service, api } = setUp();
    service.faults = ["silent undone"];
    const startMs = time.monoMs();
    const request = { body: BODY, idempotencyKey: "k-1", timeoutMs: 8_000 };
    const result = await time.settle(api.call("positionClose", request));
    expect(result).toMatchObject({ ok: false, code: "TIMEOUT", outcome: "unknown", status: 0 });
    expect([service.seen.length, time.monoMs() - startMs]).toEqual([1, 8_000]);
  });

  it.each([
    ["", "empty"],
    ["a b", "with a blank"],
    ["ä", "beyond ASCII"],
    ["x".repeat(256), "over-long"],
  ])("sends nothing with a key that is %j (%s)", async (idempotencyKey) => {
    const { time, service, api } = setUp();
    const result = await time.settle(api.call("positionClose", { body: BODY, idempotencyKey }));
    expect(result).toMatchObject({ ok: false, code: "CANNOT_SEND", outcome: "refused" });
    expect(service.seen).toEqual([]);
  });
});

describe("the service's clock", () => {
  it.each([-HOUR_MS, HOUR_MS])("is read once where this machine is off by %i ms", async (skewMs) => {
    const { time, service, api } = setUp();
    time.skewMs = skewMs;
    for (let round = 0; round < 3; round++) expect((await time.settle(api.call("status"))).ok).toBe(true);
    expect([service.timeReads, service.seen.length]).toEqual([1, 3]);
  });

  it.each([-HOUR_MS, HOUR_MS])("that steps by %i ms costs one refused request", async (jump) => {
    const { time, service, api } = setUp();
    await time.settle(api.call("status"));
    service.skewMs = jump;
    const close = () => api.call("positionClose", { body: BODY });
    expect((await time.settle(close())).ok).toBe(true);
    expect((await time.settle(close())).ok).toBe(true);
    expect([service.seen.length, service.timeReads]).toEqual([4, 1]);
  });

  it("is not moved by a step of this machine's own clock", async () => {
    const { time, service, api } = setUp();
    await time.settle(api.call("status"));
    time.skewMs = HOUR_MS;
    expect((await time.settle(api.call("positionClose", { body: BODY }))).ok).toBe(true);
    expect([service.seen.length, service.timeReads]).toEqual([2, 1]);
  });

  it("is read once for calls that begin together, and each write gets a time of its own", async () => {
    const { time, service, api } = setUp();
    const calls = Array.from({ length: 20 }, () => api.call("positionClose", { body: BODY }));
    const results = await time.settle(Promise.all(calls));
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(service.timeReads).toBe(1);
    expect(new Set(service.seen.map(({ headers }) => headers["x-api-timestamp"])).size).toBe(20);
  });

  it("is not waited for longer than a call may take, and this machine's is used where it cannot be read", async () => {
    const { time, service, api } = setUp({
      fetch: (url, init) => (url.endsWith("/api/time") ? new Promise(() => {}) : service.fetch(url, init)),
    });
    const short = await time.settle(api.call("positionClose", { body: BODY, timeoutMs: 1_000 }));
    expect(short).toMatchObject({ ok: false, code: "TIMEOUT", outcome: "refused" });
    expect(service.seen).toEqual([]);
    expect((await time.settle(api.call("positionClose", { body: BODY }))).ok).toBe(true);
  });

  it("is not needed by calls without a key", async () => {
    const { time, service, api } = setUp({ keys: null });
    expect((await time.settle(api.call("status"))).ok).toBe(true);
    expect(service.timeReads).toBe(0);
    expect(Object.keys(service.seen[0]?.headers ?? {})).toEqual(["accept"]);
  });
});

describe("a wait between two attempts", () => {
  /** Replies in turn, and when each request came. */
  function script(replies: readonly (() => ReturnType<FetchPort>)[]) {
    const time = createApiTime();
    const atMs: number[] = [];
    const left = [...replies];
    const fetch: FetchPort = () => {
      atMs.push(time.monoMs());
      return (left.shift() ?? (async () => json(200, { success: true, data: 1 })))();
    };
    const api = createApiClient({ ...BASE, clock: time, random: () => 0.5, fetch });
    return { time, atMs, api };
  }
  const limited = (after: string) => async () =>
    refusal(429, "RATE_LIMITED", { retryAfterMs: 10 }, { "retry-after": after });

  it("is at least what the service wants, in seconds or as a date", async () => {
    const { time, atMs, api } = script([limited("3"), limited(new Date(1_790_000_000_000 + 18_000).toUTCString())]);
    expect((await time.settle(api.call("status", { timeoutMs: 60_000 }))).ok).toBe(true);
    const [first = 0, second = 0, third = 0] = atMs;
    expect(second - first).toBe(3_000 + 125);
    expect(third).toBeGreaterThanOrEqual(18_000);
  });

  it("is not begun where it would outlast the deadline: the reason is reported at once", async () => {
    const { time, atMs, api } = script([limited("30")]);
    const startMs = time.monoMs();
    const result = await time.settle(api.call("status", { timeoutMs: 10_000 }));
    expect(result).toMatchObject({ ok: false, code: "RATE_LIMITED", status: 429, retryAfterMs: 30_000 });
    expect([time.monoMs() - startMs, atMs.length]).toEqual([0, 1]);
  });

  it("ends when the caller ends the call, with nothing left behind", async () => {
    const { time, atMs, api } = script([limited("5")]);
    const abort = new AbortController();
    time.after(1_000, () => abort.abort());
    const result = await time.settle(api.call("status", { timeoutMs: 60_000, signal: abort.signal }));
    expect(result).toMatchObject({ ok: false, code: "ABORTED", outcome: "refused" });
    expect([atMs.length, time.timerCount]).toEqual([1, 0]);
  });

  it("is short, random and bounded where the service names none", async () => {
    const lost = async () => {
      throw new TypeError("connection lost");
    };
    const { time, atMs, api } = script(Array.from({ length: 9 }, () => lost));
    const result = await time.settle(api.call("status", { timeoutMs: 60_000, attempts: 9 }));
    expect(result).toMatchObject({ ok: false, code: "UNREACHABLE", outcome: "unknown" });
    const waits = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
    expect(waits).toEqual([125, 250, 500, 1_000, 2_000, 2_000, 2_000, 2_000]);
  });
});

describe("a call", () => {
  it("that is ended before it begins sends nothing", async () => {
    const { time, service, api } = setUp();
    const signal = AbortSignal.abort();
    const result = await time.settle(api.call("positionClose", { body: BODY, signal }));
    expect(result).toMatchObject({ ok: false, code: "ABORTED", outcome: "refused" });
    expect(service.seen).toEqual([]);
  });

  it("that is ended after its write was sent is of unknown outcome", async () => {
    const { time, service, api } = setUp({ keys: null });
    const abort = new AbortController();
    time.after(25, () => abort.abort());
    service.faults = ["silent done late"];
    const result = await time.settle(api.call("positionClose", { body: BODY, signal: abort.signal }));
    expect(result).toMatchObject({ ok: false, code: "ABORTED", outcome: "unknown" });
  });

  it("cannot be signed where the runtime cannot, and then sends nothing", async () => {
    const { time, service, api } = setUp({
      importSecret: async () => {
        throw new Error("no WebCrypto here");
      },
    });
    const result = await time.settle(api.call("positionClose", { body: BODY }));
    expect(result).toMatchObject({ ok: false, code: "CANNOT_SIGN", outcome: "refused" });
    expect(service.seen).toEqual([]);
  });

  it("ends by its deadline though the body of its reply never ends", async () => {
    const time = createApiTime();
    const fetch: FetchPort = async () => ({
      status: 200,
      headers: { get: () => null },
      text: () => new Promise(() => {}),
    });
    const api = createApiClient({ ...BASE, clock: time, fetch });
    const startMs = time.monoMs();
    const result = await time.settle(api.call("status", { timeoutMs: 4_000, attempts: 1 }));
    expect(result).toMatchObject({ ok: false, code: "TIMEOUT" });
    expect(time.monoMs() - startMs).toBe(4_000);
  });

  it.each(["https://unwind.test/prefix", "https://a:b@unwind.test", "https://unwind.test/?x=1", "ftp://unwind.test"])(
    "is not made of an address that is more than an origin: %s",
    (baseUrl) => {
      expect(() => createApiClient({ baseUrl })).toThrow(TypeError);
    },
  );
});
