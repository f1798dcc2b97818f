import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { HttpResponse } from "../../shared/net/http-pool.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import { readFixture } from "../fixtures/load.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { judgeLimit, readEnvelope, usedCredits, VenuefourRest } from "./rest.js";

const OPTIONS: CallOptions = { timeoutMs: 1_000, lane: "read" };

function setup() {
  const http = new ScriptedHttp(new VirtualClock());
  return { http, rest: new VenuefourRest(http, "/api/v1") };
}

describe("reads", () => {
  it("ask the venue's paths and give the decoded data", async () => {
    const { http, rest } = setup();
    http
      .reply(200, readFixture("info.json"))
      .reply(200, readFixture("book.json"))
      .reply(200, readFixture("doc-trades.json"));
    http.reply(200, { success: true, data: [], error: null, code: null });
    expect(await rest.markets(OPTIONS)).toMatchObject({ ok: true, source: "venue", value: { badCount: 0 } });
    expect(await rest.book("WIF/USDC", OPTIONS)).toMatchObject({ ok: true, value: { s: "BTC" } });
    expect(await rest.trades("kBONK", OPTIONS)).toMatchObject({ ok: true, value: [{ price: "104721" }] });
    expect(await rest.prices(OPTIONS)).toMatchObject({ ok: true, value: [] });
    expect(http.requests.map(({ method, path, weight }) => `${method} ${path} ${weight}`)).toEqual([
      "GET /api/v1/info 1",
      "GET /api/v1/book?symbol=WIF%2FUSDC&agg_level=1 1",
      "GET /api/v1/trades?symbol=kBONK 1",
      "GET /api/v1/info/prices 1",
    ]);
  });

  it.each([
    [400, "Verification failed", { code: "AUTH" }],
    [404, { success: false, data: null, error: "Book not found: X", code: 3 }, { code: "VENUE_ERROR" }],
    [200, { success: false, data: null, error: "Internal server error", code: 500 }, { code: "VENUE_ERROR" }],
    [503, "<html>", { code: "VENUE_ERROR" }],
    [200, "hello", { code: "BAD_RESPONSE" }],
    [200, { success: true, data: { s: "BTC" }, error: null, code: null }, { code: "BAD_RESPONSE" }],
    [200, "[]", { code: "BAD_RESPONSE" }],
  ])("that fail are values (%i %j)", async (status, body, expected) => {
    const { http, rest } = setup();
    http.reply(status, body);
    expect(await rest.book("BTC", OPTIONS)).toMatchObject({ ok: false, ...expected });
  });

  it("refused for the limit say when to come back", async () => {
    const { http, rest } = setup();
    http.reply(429, "", { ratelimit: '"credits";r=0;t=23' }).reply(429, "", { "retry-after": "7" }).reply(429, "");
    expect(await rest.book("BTC", OPTIONS)).toMatchObject({ ok: false, code: "RATE_LIMITED", retryAfterMs: 23_000 });
    expect(await rest.book("BTC", OPTIONS)).toMatchObject({ code: "RATE_LIMITED", retryAfterMs: 7_000 });
    expect(await rest.book("BTC", OPTIONS)).toMatchObject({ code: "RATE_LIMITED", retryAfterMs: null });
  });

  it("say whether the limit is that of one account", () => {
    const limited = { kind: "response", status: 429, headers: {}, body: "", sentAtMs: 0, receivedAtMs: 0 } as const;
    expect(readEnvelope(limited, "/account", () => 0)).not.toHaveProperty("isAccountLimit");
    const named = readEnvelope({ ...limited, isAccountLimit: true }, "/account", () => 0);
    expect(named).toMatchObject({ code: "RATE_LIMITED", isAccountLimit: true });
  });

  it("that never left, or were never answered, are distinguished from refusals", async () => {
    const { http, rest } = setup();
    http
      .step({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 5 })
      .step({ kind: "noResponse", reason: "TIMEOUT" });
    expect(await rest.book("BTC", OPTIONS)).toMatchObject({ code: "RATE_LIMITED", retryAfterMs: 5 });
    expect(await rest.book("BTC", OPTIONS)).toMatchObject({ code: "TIMEOUT" });
  });
});

describe("credits", () => {
  const used = (ratelimit: string | undefined, budget = 100) =>
    usedCredits(ratelimit === undefined ? {} : { ratelimit }, budget);

  it("in the header are tenths, and what is left is all there is", () => {
    expect(used('"credits";r=970;t=23')).toEqual({ weight: 3, resetMs: 23_000 });
    expect(used('"credits"; r=975 ; t=46')).toEqual({ weight: 2.5, resetMs: 46_000 });
    expect(used('"credits";t=5;r=0')).toEqual({ weight: 100, resetMs: 5_000 });
    expect(used('"credits";r=0')).toEqual({ weight: 100, resetMs: 60_000 });
  });

  it("beyond our own budget are nothing used", () => {
    expect(used('"credits";r=3000;t=1')?.weight).toBe(0);
  });

  it.each([undefined, "", '"requests";r=5;t=1', '"credits";t=1', "credits;r=x"])("are unknown in %j", (header) => {
    expect(used(header)).toBeNull();
  });

  it("that are spent limit the address, never ban it", () => {
    expect(judgeLimit(response(200, {}), 0)).toBeNull();
    expect(judgeLimit(response(429, { ratelimit: '"credits";r=0;t=9' }), 0)).toEqual({
      scope: "ip",
      retryAfterMs: 9_000,
      isBan: false,
    });
    expect(judgeLimit(response(429, {}), 0)?.retryAfterMs).toBeNull();
  });

  it("of a caller's own config key are that key's, not those of our address", () => {
    const request: HttpRequest = {
      method: "GET",
      path: "/positions",
      headers: { "pf-api-key": "AbCdEfGh_x" },
      body: null,
      lane: "read",
      weight: 0,
      timeoutMs: 1,
      account: "key:x",
      accountWeight: 1,
    };
    const headers = { ratelimit: '"credits";r=0;t=9' };
    expect(judgeLimit(response(429, headers), 0, request)).toMatchObject({ scope: "account", retryAfterMs: 9_000 });
    expect(judgeLimit(response(429, headers), 0, { ...request, headers: {} })).toMatchObject({ scope: "ip" });
    expect(usedCredits(headers, 100, request)).toBeNull();
    expect(usedCredits(headers, 100, { ...request, headers: {} })).toEqual({ weight: 100, resetMs: 9_000 });
  });
});

function response(status: number, headers: Record<string, string>): HttpResponse {
  return { kind: "response", status, headers, body: "", sentAtMs: 0, receivedAtMs: 0 };
}
