/** Keys that the venue does not list: what they cost, and when a caller is known. */
import { expect, it } from "vitest";
import { answerOf } from "./account-rows.js";
import { ACCOUNT, API_KEY, BTC, createHarness, KEY, OPTIONS, PUBLIC_KEY } from "./trading-harness.js";

const OTHERS = { account_index: ACCOUNT, api_key_index: 7, nonce: 3, public_key: "ab".repeat(40) };
/** As long, and another one. */
const otherKey = (index: number) => `${KEY.slice(0, 12)}${index.toString(16).padStart(4, "0")}${KEY.slice(16)}`;
const REFUSED = { ok: false, code: "AUTH", message: "the key is not registered for this accountIndex" };

it("a caller is known once the venue lists its key, and its account with it; nobody is by naming an account", async () => {
  const { http, open, standing, trading } = createHarness();
  http.reply(200, { code: 200, api_keys: [OTHERS] });
  expect(await trading.reader.readPositions(open(), BTC, OPTIONS)).toMatchObject(REFUSED);
  expect(http.last.caller).toContain(PUBLIC_KEY);
  expect([standing.isProven(http.last.caller ?? ""), standing.isProven(String(ACCOUNT))]).toEqual([false, false]);

  const known = createHarness();
  known.confirmKey();
  known.http.reply(200, answerOf());
  await known.trading.reader.readPositions(known.open(), BTC, OPTIONS);
  const callers = known.http.requests.map(({ caller }) => caller ?? "");
  expect(callers.map((caller) => known.standing.isProven(caller))).toEqual([true, true]);
});

it("a caller is known by the list where its address is asked for next: it waits no second time among strangers", async () => {
  const { http, confirmKey, open, standing, trading } = createHarness();
  confirmKey();
  const known: boolean[] = [];
  http.step((request) => {
    known.push(standing.isProven(request.caller ?? ""));
    return { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 1_000 };
  });
  await trading.reader.readPositions(
    open({ walletAddress: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }),
    BTC,
    OPTIONS,
  );
  expect(known).toEqual([true]);
});

it("a caller is refused without a call where the account's list was read a moment ago, whatever its key", async () => {
  const { clock, http, open, trading } = createHarness();
  http.reply(200, { code: 200, api_keys: [OTHERS] });
  for (let index = 0; index < 50; index++) {
    const session = open({ apiKeyPrivateKey: otherKey(index) });
    expect(await trading.reader.readPositions(session, BTC, OPTIONS)).toMatchObject(REFUSED);
  }
  expect(http.requests.length).toBe(1);
  clock.advance(5_000);
  http.reply(200, { code: 200, api_keys: [OTHERS] });
  expect(await trading.reader.readPositions(open(), BTC, OPTIONS)).toMatchObject(REFUSED);
  expect(http.requests.length).toBe(2);
});

it("a caller is asked about again at once where it was once answered well", async () => {
  const { clock, http, confirmKey, open, trading } = createHarness();
  confirmKey();
  http.reply(200, answerOf());
  await trading.reader.readPositions(open(), BTC, OPTIONS);
  clock.advance(11 * 60_000);
  // A server that lags behind.
  http.reply(200, { code: 200, api_keys: [] });
  expect(await trading.reader.readPositions(open(), BTC, OPTIONS)).toMatchObject(REFUSED);
  http.reply(200, { code: 200, api_keys: [{ ...OTHERS, api_key_index: API_KEY, public_key: PUBLIC_KEY }] });
  expect(await trading.accountNames.read(open(), OPTIONS)).toMatchObject({ ok: true });
});

it("a caller spends no account's share by naming an address, and is no stranger of ours either", async () => {
  const { http, standing, trading } = createHarness();
  const opened = trading.openAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", null);
  if (!opened.ok) throw new Error(opened.problem);
  http.reply(200, answerOf());
  await trading.reader.readPositions(opened.session, BTC, OPTIONS);
  expect([typeof http.last.caller, standing.isProven(http.last.caller ?? "")]).toEqual(["string", false]);
});
