/**
 * Changes of leverage and margin mode: one transaction sets both, none takes back what another set, and what the venue's
 * sequencer refuses is never reported as set.
 */
import { describe, expect, it } from "vitest";
import type { SettingOutcome } from "../../../engine/ports.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { account, answerOf, position, ready } from "../test/account-rows.js";
import { BTC, type Harness, OPTIONS, sentTx, settledOver } from "../test/trading-harness.js";

const UNTOUCHED = position({ initial_margin_fraction: "5.00", margin_mode: 0 });
const FIVEFOLD = 2_000;
const CROSS = 0;
const ISOLATED = 1;

const EXECUTED = { code: 200, ...outcomeOfTx("") };
/** The venue's own text (its error page). */
const HELD_TEXT = "margin mode change on a market with position or open order is not allowed";
const REFUSED = { code: 200, ...outcomeOfTx(JSON.stringify({ code: 21132, message: HELD_TEXT })) };
const UNDECIDED = { code: 200, status: 1, event_info: "" };

function outcomeOfTx(applicationError: string) {
  return { status: 2, event_info: JSON.stringify({ ae: applicationError }) };
}

interface Behind {
  /** How many of the next changes are taken without an answer. */
  readonly lost?: number;
  /** What the venue says of transactions, in order; the last one again and again. */
  readonly decisions?: readonly unknown[];
}

/** A venue whose API takes changes and shows them in no read yet. */
function behind(harness: Harness, { lost = 0, decisions = [EXECUTED] }: Behind = {}): void {
  let left = lost;
  let readCount = 0;
  const answer = (request: HttpRequest): HttpResult => {
    const { path } = request;
    if (path.startsWith("/api/v1/nextNonce")) return harness.http.response(200, { code: 200, nonce: 43 });
    if (path.startsWith("/api/v1/tx?"))
      return harness.http.response(200, decisions[Math.min(readCount++, decisions.length - 1)]);
    if (path !== "/api/v1/sendTx") return harness.http.response(200, answerOf(account({ positions: [UNTOUCHED] })));
    if (left-- > 0) return { kind: "noResponse", reason: "TIMEOUT" };
    return harness.http.response(200, { code: 200, message: "{}", tx_hash: sentTx(request).hash });
  };
  for (let count = 0; count < 40; count++) harness.http.step(answer);
}

/** A venue as above, its key confirmed, and changes that are waited for. */
async function changing(options: Behind = {}) {
  const { harness, session } = ready();
  await harness.trading.resolveKey(session, OPTIONS);
  behind(harness, options);
  const { settings } = harness.trading;
  const settled = (change: Promise<SettingOutcome>) => settledOver(harness.clock, change);
  return {
    harness,
    leverage: () => settled(settings.setLeverage(session, BTC, 5, OPTIONS)),
    mode: (timeoutMs = OPTIONS.timeoutMs) =>
      settled(settings.setMarginMode(session, BTC, "isolated", { ...OPTIONS, timeoutMs })),
    read: () => settings.read(session, BTC, OPTIONS),
    txReadCount: () => harness.http.requests.filter(({ path }) => path.startsWith("/api/v1/tx?")).length,
  };
}

describe("leverage and margin mode of venuethree", () => {
  it("that are changed at once are both kept, whichever goes first", async () => {
    for (const isModeFirst of [false, true]) {
      const { harness, leverage, mode } = await changing();
      const changes = isModeFirst ? [mode(), leverage()] : [leverage(), mode()];
      for (const change of changes) expect(await change).toMatchObject({ outcome: "accepted" });
      expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: ISOLATED });
    }
  });

  it("keep a change whose end is not known when the next one is sent", async () => {
    const { harness, leverage, mode } = await changing({ lost: 1 });
    expect(await leverage()).toMatchObject({ outcome: "unknown" });
    expect(await mode()).toMatchObject({ outcome: "accepted" });
    expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: ISOLATED });
  });

  it("keep a change of unknown outcome for as long as its transaction may still be executed", async () => {
    const { harness, leverage, mode } = await changing({ lost: 1 });
    expect(await leverage()).toMatchObject({ outcome: "unknown" });
    const [unknown] = harness.sent();
    harness.clock.advance(Number(unknown?.fields["ExpiredAt"]) - harness.clock.wallMs() - 1_000);
    expect(await mode()).toMatchObject({ outcome: "accepted" });
    expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: ISOLATED });
  });

  it.each([
    [0, 5_001],
    [1, 35_001],
  ])(
    "are not known until a read shows them, so that an entry sets its own (%i unanswered, %i ms)",
    async (lost, untilMs) => {
      const { harness, leverage, read } = await changing({ lost });
      const startMs = harness.clock.wallMs();
      await leverage();
      expect(await read()).toMatchObject({ value: { leverage: null, marginMode: "cross" } });
      harness.clock.advance(untilMs - 1_000 - (harness.clock.wallMs() - startMs));
      expect(await read()).toMatchObject({ value: { leverage: null, marginMode: "cross" } });
      harness.clock.advance(1_000 + OPTIONS.timeoutMs);
      expect(await read()).toMatchObject({ value: { leverage: 20, marginMode: "cross" } });
    },
  );
});

describe("a change of settings that the API of venuethree took", () => {
  it("is accepted once its transaction says that it was executed", async () => {
    const { mode, txReadCount } = await changing({ decisions: [UNDECIDED, EXECUTED] });
    expect(await mode()).toEqual({
      outcome: "accepted",
      settings: { leverage: 20, marginMode: "isolated", maxNotionalValue: null },
    });
    expect(txReadCount()).toBe(2);
  });

  it("is rejected in the sequencer's words, and the next change does not carry it along", async () => {
    const { harness, leverage, mode, read } = await changing({ decisions: [REFUSED, EXECUTED] });
    expect(await mode()).toEqual({
      outcome: "rejected",
      reason: "VENUE_STATE",
      venueCode: "21132",
      venueText: HELD_TEXT,
      sent: true,
    });
    expect(await read()).toMatchObject({ value: { leverage: 20, marginMode: "cross" } });
    expect(await leverage()).toMatchObject({ outcome: "accepted", settings: { marginMode: "cross" } });
    expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: CROSS });
  });

  it("that is refused does not undo the change before it", async () => {
    const { leverage, mode, harness } = await changing({ decisions: [EXECUTED, REFUSED, EXECUTED] });
    expect(await leverage()).toMatchObject({ outcome: "accepted" });
    expect(await mode()).toMatchObject({ outcome: "rejected" });
    expect(await mode()).toMatchObject({ outcome: "accepted" });
    expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: ISOLATED });
  });

  it("that is refused keeps an unknown change before it in mind for no longer than its own time", async () => {
    const { leverage, mode, harness } = await changing({ decisions: [UNDECIDED, UNDECIDED, UNDECIDED, REFUSED] });
    expect(await mode()).toMatchObject({ outcome: "unknown" });
    harness.clock.advance(3_000);
    expect(await leverage()).toMatchObject({ outcome: "rejected" });
    expect(harness.sent().at(-1)?.fields).toMatchObject({ MarginMode: ISOLATED });
    harness.clock.advance(33_000);
    await leverage();
    expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: CROSS });
  });

  it("is unknown while its transaction is not decided, and while nobody can read it", async () => {
    const undecided = await changing({ decisions: [UNDECIDED] });
    expect(await undecided.mode()).toEqual({ outcome: "unknown", cause: "TX_PENDING" });
    const unread = await changing({ decisions: [{ code: 23000, message: "too many requests" }] });
    expect(await unread.mode()).toEqual({ outcome: "unknown", cause: "TX_PENDING" });
    expect(unread.txReadCount()).toBe(1);
  });

  it("is unknown when the caller's time is over before the sequencer decides", async () => {
    const { mode, harness, txReadCount } = await changing();
    const startMs = harness.clock.wallMs();
    expect(await mode(300)).toEqual({ outcome: "unknown", cause: "TX_PENDING" });
    expect(harness.clock.wallMs() - startMs).toBeLessThanOrEqual(300);
    expect(txReadCount()).toBe(0);
  });
});
