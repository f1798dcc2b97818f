import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { type HttpResponse, localReject } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import type { HttpResult } from "../net/http.js";
import {
  endingAt,
  type ExchangeOutcome,
  failureOf,
  OUT_OF_TIME,
  rejectedExchange,
  sendByClock,
  unansweredExchange,
  unknownExchange,
  unprovenBy,
  wordlessExchange,
} from "./exchange-outcome.js";

function response(status: number, headers: HttpResponse["headers"] = {}): HttpResponse {
  return { kind: "response", status, headers, body: "<html>", sentAtMs: 1_000, receivedAtMs: 1_020 };
}

describe("a request that no answer came to", () => {
  it.each<[Exclude<HttpResult, { readonly kind: "response" }>, string]>([
    [{ kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: null }, "rejected BREAKER_OPEN"],
    [{ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 40 }, "rejected RATE_BUDGET"],
    [{ kind: "noResponse", reason: "TIMEOUT" }, "unknown TIMEOUT"],
    [{ kind: "noResponse", reason: "CONNECTION_LOST" }, "unknown CONNECTION_LOST"],
    [{ kind: "noResponse", reason: "BODY_TOO_LARGE" }, "unknown BODY_TOO_LARGE"],
  ])("is refused only where nothing left this machine (%j)", (result, expected) => {
    const outcome = unansweredExchange(result);
    const code = outcome.kind === "rejected" ? outcome.rejected.venueCode : outcome.cause;
    expect(`${outcome.kind} ${code}`).toBe(expected);
    if (outcome.kind === "rejected") expect(outcome.rejected.sent).toBe(false);
  });
});

describe("a response without the venue's words", () => {
  it("is a refusal by a status that precedes execution alone", () => {
    expect(wordlessExchange(response(403), "AUTH", "blocked")).toEqual(
      rejectedExchange({
        outcome: "rejected",
        reason: "AUTH",
        venueCode: "HTTP_403",
        venueText: "blocked",
        sent: true,
        retryAfterMs: null,
      }),
    );
    for (const status of [200, 204, 302, 408, 409, 500, 502, 503, 504])
      expect(wordlessExchange(response(status), "VENUE_STATE", "")).toEqual(unknownExchange(`HTTP_${status}`));
  });

  it("names the limit and its end where it is one", () => {
    const limited = wordlessExchange(response(429, { "retry-after": "3" }), "AUTH", "");
    expect(limited).toMatchObject({ rejected: { reason: "RATE_LIMITED", retryAfterMs: 3_000, sent: true } });
  });
});

describe("an outcome that is no answer", () => {
  const limited = rejectedExchange({ ...localReject("RATE_LIMITED", "VENUE_LIMIT", "later"), retryAfterMs: 9 });

  it("is reported of a cancel, a change or a setting as refused or as unclear, never as failed", () => {
    expect(failureOf(unknownExchange("TIMEOUT"))).toEqual({ outcome: "unknown", cause: "TIMEOUT" });
    expect(failureOf(limited)).toEqual({
      outcome: "rejected",
      reason: "RATE_LIMITED",
      venueCode: "VENUE_LIMIT",
      venueText: "later",
      sent: false,
      retryAfterMs: 9,
    });
  });

  it("proves nothing of an account, and names why", () => {
    const refused = rejectedExchange(localReject("AUTH", "NO_AGENT", "words of the venue"));
    const other = rejectedExchange(localReject("VENUE_STATE", "HALTED", ""));
    expect(
      [unknownExchange("TIMEOUT"), unknownExchange("HTTP_500"), limited, refused, other].map((outcome) => {
        const { code, message, retryAfterMs } = unprovenBy(outcome, "not proven");
        return [code, message, retryAfterMs];
      }),
    ).toEqual([
      ["TIMEOUT", "TIMEOUT", null],
      ["VENUE_ERROR", "HTTP_500", null],
      ["RATE_LIMITED", "VENUE_LIMIT", 9],
      ["AUTH", "not proven", null],
      ["VENUE_ERROR", "HALTED", null],
    ]);
  });
});

describe("a request that names its own end", () => {
  it("has it with whatever is not a refusal", () => {
    const refused = rejectedExchange(localReject("SIZE", "SIZE", ""));
    expect(endingAt(refused, 7)).toBe(refused);
    expect(endingAt(unknownExchange("TIMEOUT"), 7)).toEqual({ kind: "unknown", cause: "TIMEOUT", notPlacedAfterMs: 7 });
    expect(endingAt({ kind: "answered", answer: "yes" }, 7)).toEqual({
      kind: "answered",
      answer: "yes",
      notPlacedAfterMs: 7,
    });
  });
});

describe("a request that carries a time", () => {
  const late = rejectedExchange({ ...localReject("VENUE_STATE", "CLOCK", "too late"), sent: true });
  const done: ExchangeOutcome<string> = { kind: "answered", answer: "done" };

  /** Each send and each measurement takes `tookMs`. */
  function setUp(answers: readonly ExchangeOutcome<string>[], tookMs = 100, timeoutMs = 1_000) {
    const clock = new VirtualClock();
    const events: string[] = [];
    const script = [...answers];
    const sent = sendByClock<ExchangeOutcome<string>>(new Deadline(clock, { timeoutMs, lane: "trade" }), {
      send: async (left) => {
        events.push(`send ${left.timeoutMs} ${left.lane}`);
        clock.advance(tookMs);
        const next = script.shift();
        if (next === undefined) throw new Error("the script has no further answer");
        return next;
      },
      isClockRefusal: ({ venueCode }) => venueCode === "CLOCK",
      remeasure: async (maxMs) => {
        events.push(`measure ${maxMs}`);
        clock.advance(Math.min(tookMs, maxMs));
      },
    });
    return { events, sent };
  }

  it("is sent once where it is answered, refused for something else, or its outcome is not known", async () => {
    for (const outcome of [done, unknownExchange("TIMEOUT"), rejectedExchange(localReject("SIZE", "SIZE", ""))]) {
      const { events, sent } = setUp([outcome]);
      expect(await sent).toBe(outcome);
      expect(events).toEqual(["send 1000 trade"]);
    }
  });

  it("that is refused for our clock is sent once more after that was measured, within the same time", async () => {
    const { events, sent } = setUp([late, done]);
    expect(await sent).toBe(done);
    expect(events).toEqual(["send 1000 trade", "measure 900", "send 800 trade"]);
  });

  it("is never sent a third time", async () => {
    const { events, sent } = setUp([late, late]);
    expect(await sent).toBe(late);
    expect(events.filter((event) => event.startsWith("send"))).toHaveLength(2);
  });

  it("keeps the venue's refusal where there is no time for a second send, and names it where there is none at all", async () => {
    const { events, sent } = setUp([late], 600);
    expect(await sent).toBe(late);
    expect(events).toEqual(["send 1000 trade", "measure 400"]);
    expect(await setUp([], 0, 0).sent).toBe(OUT_OF_TIME);
  });
});
