/** Keys that the venue has not answered well: what they cost, what is kept of their refusal, and when they are known. */
import { describe, expect, it } from "vitest";
import { BTC, createHarness, CREDENTIALS, OPTIONS, WALLET } from "./trading-harness.js";
import { VenuefourSession } from "../account/session.js";

const NO_AGENT = { success: false, error: "Agent not authorized for account", code: 400 };
const LATE = { success: false, error: "Invalid message", code: 400 };
const EMPTY = { success: true, data: [], last_order_id: 7 };
const TAKEN = { success: true, data: null, error: null, code: null };
const ORDER = { venueOrderId: "12" };

const callerOf = (session: unknown): string => (session instanceof VenuefourSession ? session.caller : "");

describe("a caller of venuefour", () => {
  it("is known by its key once a signed operation was taken, and by nothing that anybody can read", async () => {
    const { http, open, openAddress, standing, trading } = createHarness();
    const session = open();
    http.reply(200, EMPTY);
    expect((await trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(true);
    expect([http.last.caller, standing.isProven(callerOf(session))]).toEqual([callerOf(session), false]);
    http.reply(200, TAKEN);
    await trading.orders.cancel(session, BTC, ORDER, OPTIONS);
    expect(standing.isProven(callerOf(session))).toBe(true);
    // The wallet's name alone makes nobody known.
    http.reply(200, EMPTY);
    await trading.reader.readPositions(openAddress(), BTC, OPTIONS);
    expect(standing.isProven(http.last.caller ?? "")).toBe(false);
  });

  it("is answered again, unsent, for five seconds", async () => {
    const { clock, http, open, trading } = createHarness();
    http.reply(400, NO_AGENT);
    const first = await trading.orders.cancel(open(), BTC, ORDER, OPTIONS);
    expect(first).toMatchObject({ outcome: "rejected", reason: "AUTH" });
    clock.advance(4_900);
    expect(await trading.orders.cancel(open(), BTC, ORDER, OPTIONS)).toEqual(first);
    expect(http.requests.length).toBe(1);
    // Another key of the same wallet is another caller.
    http.reply(200, TAKEN);
    const own = open({ apiKey: WALLET.publicKey, apiSecret: WALLET.secret, walletAddress: WALLET.publicKey });
    await trading.orders.cancel(own, BTC, ORDER, OPTIONS);
    clock.advance(200);
    http.reply(400, NO_AGENT);
    expect(await trading.orders.cancel(open(), BTC, ORDER, OPTIONS)).toEqual(first);
    expect(http.requests.length).toBe(3);
  });

  it("is asked about again where the time was refused, or where it was once answered well", async () => {
    const { http, open, trading } = createHarness();
    http.reply(400, LATE).reply(400, LATE).reply(200, TAKEN).reply(400, NO_AGENT).reply(200, TAKEN);
    for (let call = 0; call < 4; call++) await trading.orders.cancel(open(), BTC, ORDER, OPTIONS);
    expect([http.requests.length, http.unusedStepCount]).toEqual([5, 0]);
  });

  it("is one, whatever config keys come with its key: it crowds nobody out, and waits as a stranger once", async () => {
    const { http, open, standing, trading } = createHarness();
    http.reply(200, TAKEN).reply(200, TAKEN).reply(200, TAKEN);
    await trading.orders.cancel(open(), BTC, ORDER, OPTIONS);
    const wasKnown: boolean[] = [];
    for (const apiKey of ["AbCdEfGh_1", "AbCdEfGh_2"]) {
      await trading.orders.cancel(open({ ...CREDENTIALS, apiKey }), BTC, ORDER, OPTIONS);
      wasKnown.push(http.last.caller === http.requests[0]?.caller);
    }
    expect(wasKnown).toEqual([true, true]);
    expect(standing.isProven(http.last.caller ?? "")).toBe(true);
  });

  it("keeps no refusal of an agent's key for one with another secret", () => {
    const { open } = createHarness();
    const { secret } = WALLET;
    expect(callerOf(open(CREDENTIALS))).not.toBe(
      callerOf(open({ ...CREDENTIALS, apiKey: "config_1", apiSecret: secret })),
    );
  });
});
