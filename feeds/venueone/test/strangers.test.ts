/** Keys that the venue has not answered well: what they cost, what is kept of their refusal, and when they are known. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { AddressBudget } from "../orders/address-budget.js";
import { BTC, CLOSE_LONG, createHarness, KEY, OPTIONS, PRINCIPAL, SIGNER } from "./trading-harness.js";

const VAULT = "0x1719884eb866cb12b2287399b15f7db5e7d775ea";
const AGENT_ROLE = { role: "agent", data: { user: PRINCIPAL } };
const FLAT = {
  assetPositions: [],
  marginSummary: { accountValue: "0.0", totalNtlPos: "0.0", totalRawUsd: "0.0", totalMarginUsed: "0.0" },
  crossMarginSummary: { accountValue: "0.0", totalNtlPos: "0.0", totalRawUsd: "0.0", totalMarginUsed: "0.0" },
  crossMaintenanceMarginUsed: "0.0",
  withdrawable: "0.0",
  time: 1_790_000_000_000,
};
const NO_SUCH_SIGNER = { status: "err", response: `User or API Wallet ${SIGNER} does not exist.` };
const TAKEN = { status: "ok", response: { type: "order", data: { statuses: [{ resting: { oid: 77 } }] } } };
const LIMIT = { cumVlm: "0.0", nRequestsUsed: 3, nRequestsCap: 10_000 };

describe("a caller of venueone", () => {
  it("is known once the venue says whose its key is, and its principal with it", async () => {
    const { http, open, standing, trading } = createHarness();
    http.reply(200, AGENT_ROLE).reply(200, FLAT);
    expect((await trading.reader.readPositions(open(), BTC, OPTIONS)).ok).toBe(true);
    expect([standing.isProven(SIGNER), standing.isProven(PRINCIPAL)]).toEqual([true, true]);
    expect(http.requests.map(({ caller }) => caller)).toEqual([SIGNER, PRINCIPAL]);
  });

  it("is judged by its credentials alone where an API key pays", async () => {
    const { http, standing, trading } = createHarness();
    const opened = trading.openSession({ privateKey: KEY }, "pk_one");
    if (!opened.ok) throw new Error(opened.problem);
    http.reply(200, AGENT_ROLE).reply(200, FLAT).reply(200, TAKEN);
    expect((await trading.reader.readPositions(opened.session, BTC, OPTIONS)).ok).toBe(true);
    await trading.orders.place(opened.session, CLOSE_LONG, OPTIONS);
    expect(http.requests.map(({ payer }) => payer)).toEqual(["pk_one", "pk_one", "pk_one"]);
    expect(http.requests.map(({ caller }) => caller)).toEqual([SIGNER, PRINCIPAL, PRINCIPAL]);
    expect(standing.isProven("pk_one")).toBe(false);
  });

  it("is none by an address, nor by a vault, that it only names", async () => {
    const { http, open, standing, trading } = createHarness();
    http.reply(200, { role: "vault" }).reply(200, FLAT);
    expect((await trading.reader.readPositions(open({ vaultAddress: VAULT }), BTC, OPTIONS)).ok).toBe(true);
    const address = trading.openAddress(PRINCIPAL, null);
    if (!address.ok) throw new Error(address.problem);
    http.reply(200, { role: "user" }).reply(200, FLAT);
    expect((await trading.reader.readPositions(address.session, BTC, OPTIONS)).ok).toBe(true);
    const callers = http.requests.map(({ caller }) => caller ?? "");
    expect(callers.filter((caller) => standing.isProven(caller))).toEqual([]);
    // Nobody spends the share of an account by naming it.
    expect(callers.filter((caller) => [SIGNER, VAULT, PRINCIPAL].includes(caller))).toEqual([]);
  });

  it("is answered again what the venue said of its signer, unsent, for five seconds", async () => {
    const { clock, http, open, trading } = createHarness();
    const session = open({ vaultAddress: VAULT });
    http.reply(200, NO_SUCH_SIGNER);
    const first = await trading.orders.place(session, CLOSE_LONG, OPTIONS);
    expect(first).toMatchObject({ outcome: "rejected", reason: "AUTH" });
    clock.advance(4_900);
    expect(await trading.orders.place(session, CLOSE_LONG, OPTIONS)).toEqual(first);
    expect(http.requests.length).toBe(1);
    clock.advance(200);
    http.reply(200, NO_SUCH_SIGNER);
    expect(await trading.orders.place(session, CLOSE_LONG, OPTIONS)).toEqual(first);
    expect(http.requests.length).toBe(2);
  });

  it("is asked about again at once where it was once answered well", async () => {
    const { clock, http, open, trading } = createHarness();
    http.reply(200, { role: "user" }).reply(200, FLAT);
    expect((await trading.reader.readPositions(open(), BTC, OPTIONS)).ok).toBe(true);
    clock.advance(11 * 60_000);
    // A server that lags behind.
    http.reply(200, { role: "missing" });
    expect(await trading.reader.readPositions(open(), BTC, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    http.reply(200, { role: "user" }).reply(200, FLAT);
    expect((await trading.reader.readPositions(open(), BTC, OPTIONS)).ok).toBe(true);
  });

  it("spends nothing of the budget of a vault that it only names", async () => {
    const { http, open, trading } = createHarness();
    const session = open({ vaultAddress: VAULT });
    http.reply(200, TAKEN).reply(200, TAKEN);
    await trading.orders.place(session, CLOSE_LONG, OPTIONS);
    await trading.orders.place(session, CLOSE_LONG, OPTIONS);
    // The venue takes the first, and says so whose the vault is.
    expect(http.requests.map(({ account }) => account === VAULT)).toEqual([false, true]);
  });

  it("has its account's budget read however many made-up keys came before", async () => {
    const clock = new VirtualClock();
    const { http, open, trading } = createHarness(true, new AddressBudget(clock));
    http.reply(200, { role: "user" }).reply(200, FLAT);
    expect((await trading.reader.readPositions(open(), BTC, OPTIONS)).ok).toBe(true);
    const asked: string[] = [];
    const answer = (request: HttpRequest) => {
      asked.push(request.body ?? "");
      const isRole = request.body?.includes("userRole") === true;
      const isLimit = request.body?.includes("userRateLimit") === true;
      return http.response(200, isRole ? { role: "missing" } : isLimit ? LIMIT : NO_SUCH_SIGNER);
    };
    for (let call = 0; call < 60; call++) http.step(answer);
    for (let junk = 1; junk <= 20; junk++)
      await trading.orders.place(open({ privateKey: `0x${String(junk).padStart(64, "0")}` }), CLOSE_LONG, OPTIONS);
    await trading.orders.place(open(), CLOSE_LONG, OPTIONS);
    expect(asked.filter((body) => body.includes("userRateLimit")).length).toBe(1);
  });

  it("is refused for an address whose checksum is wrong before anything is asked", () => {
    const { trading } = createHarness();
    const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    const wrong = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed";
    const open = (walletAddress: string) => trading.openSession({ privateKey: KEY, walletAddress }, null).ok;
    expect([right, right.toLowerCase(), `0x${right.slice(2).toUpperCase()}`, wrong].map(open)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
