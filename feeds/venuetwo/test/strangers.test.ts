/** Keys that the venue has not answered well: what they cost, what is kept of their refusal, and when they are known. */
import { describe, expect, it } from "vitest";
import { credentialTagOf } from "../account/credential-tag.js";
import { AGENT, BTC, CLOSE_LONG, createHarness, OPTIONS, V1, V3, WALLET } from "./trading-harness.js";

const NO_AGENT = { code: -1000, msg: "No agent found" };
const BAD_SIGNATURE = { code: -1022, msg: "Signature for this request is not valid." };
const UNKNOWN_KEY = { code: -2015, msg: "Invalid API-key, IP, or permissions for action" };
const LATE = { code: -1021, msg: "Timestamp for this request is outside of the recvWindow." };

describe("a caller of venuetwo", () => {
  it("is known by whole credentials once a signed call was answered, and by nothing that it only names", async () => {
    const { http, open, standing, trading } = createHarness();
    const session = open(V3);
    const tag = credentialTagOf(session) ?? "";
    http.reply(400, NO_AGENT);
    expect((await trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(false);
    expect([http.last.caller, standing.isProven(tag)]).toEqual([tag, false]);

    const good = open(V1);
    const goodTag = credentialTagOf(good) ?? "";
    http.reply(200, []);
    expect((await trading.reader.readPositions(good, BTC, OPTIONS)).ok).toBe(true);
    expect([http.last.caller, standing.isProven(goodTag)]).toEqual([goodTag, true]);
    // Neither the key's name nor the wallet makes another secret known.
    const other = open({ ...V1, apiSecret: "x".repeat(64) });
    expect(standing.isProven(credentialTagOf(other) ?? "")).toBe(false);
  });

  it("charges an account's orders to the account only where its key is known", async () => {
    const { http, open, trading } = createHarness();
    const session = open(V3);
    http.reply(400, NO_AGENT);
    await trading.orders.place(session, CLOSE_LONG, OPTIONS);
    expect(http.last.account).not.toBe(session.accountId);
    const good = open(V1);
    http.reply(200, []).reply(400, { code: -2022, msg: "ReduceOnly Order is rejected." });
    await trading.reader.readPositions(good, BTC, OPTIONS);
    await trading.orders.place(good, CLOSE_LONG, OPTIONS);
    expect(http.last.account).toBe(good.accountId);
  });

  it.each([
    ["an agent that is none", V3, 400, NO_AGENT],
    ["a wrong signature", V1, 400, BAD_SIGNATURE],
  ])("is answered again, unsent, for five seconds: %s", async (_name, credentials, status, refusal) => {
    const { clock, http, open, trading } = createHarness();
    const session = open(credentials);
    http.reply(status, refusal);
    const first = await trading.reader.readPositions(session, BTC, OPTIONS);
    expect(first).toMatchObject({ ok: false, code: "AUTH" });
    clock.advance(4_900);
    expect(await trading.reader.readPositions(session, BTC, OPTIONS)).toEqual(first);
    expect(await trading.orders.place(session, CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      venueCode: String(refusal.code),
    });
    expect(http.requests.length).toBe(1);
    clock.advance(200);
    http.reply(200, []);
    expect((await trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(true);
  });

  it.each([
    ["a refusal that may mean our address", 401, UNKNOWN_KEY],
    ["a refusal for our clock", 400, LATE],
    ["a limit", 429, { code: -1003, msg: "Too many requests" }],
    ["a fault", 500, { code: -1000, msg: "An unknown error occurred" }],
  ])("is asked about again after %s", async (_name, status, refusal) => {
    const { http, open, trading } = createHarness();
    const session = open(V1);
    http.reply(status, refusal).reply(status, refusal);
    expect((await trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(false);
    while (http.unusedStepCount > 0) await trading.reader.readPositions(session, BTC, OPTIONS);
    http.reply(200, []);
    expect((await trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(true);
  });

  it("is asked about again at once where it was once answered well", async () => {
    const { http, open, trading } = createHarness();
    http.reply(200, []).reply(400, BAD_SIGNATURE).reply(200, []);
    const session = open(V1);
    const reads = [];
    for (let read = 0; read < 3; read++) reads.push((await trading.reader.readPositions(session, BTC, OPTIONS)).ok);
    expect(reads).toEqual([true, false, true]);
  });

  it("is refused where its form cannot be right before anything is asked", () => {
    const { trading } = createHarness();
    const isOpened = (more: Record<string, unknown>) => trading.openSession({ ...V3, ...more }, null).ok;
    expect([isOpened({}), isOpened({ walletAddress: WALLET.toLowerCase() })]).toEqual([true, true]);
    // An agent's address with a text that is no key of the curve is no key of the older kind either.
    expect(isOpened({ apiSecret: "x".repeat(64) })).toBe(false);
    expect(isOpened({ apiKey: AGENT.replace("cF8A", "Cf8A") })).toBe(false);
    expect(isOpened({ walletAddress: WALLET.replace("DD5a", "dD5a") })).toBe(false);
  });
});
