/** Keys that venuetwo makes for a wallet, by its registrar against the local venue's web gateway. */
import { StoredSecret } from "../../../engine/key-registrar.js";
import { storedCopy } from "../../../feeds/shared/test/stored-copy.js";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IssuingRegistrar, WalletText } from "../../../engine/key-registrar.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import { createVenuetwoTrading } from "../../../feeds/venuetwo/trading.js";
import { start } from "../support/trading/bench.js";
import { VENUETWO } from "../support/trading/venuetwo.js";
import { deposit, signText, stranger, WALLET, wallet } from "../support/trading/wallet-keys.js";
import { halfDeps, open, OPTIONS } from "../support/trading-half.js";

const CREATE = "broker-create-api-key";

async function scene(funds = "10000") {
  const on = await start(VENUETWO);
  const deps = halfDeps(on.sim.restUrl, on.clock, () => on.parts.instruments);
  const web = halfDeps(on.sim.restUrl, on.clock, () => on.parts.instruments);
  onTestFinished(() => Promise.all([deps.http.close(0), web.http.close(0)]).then(() => undefined));
  const half = createVenuetwoTrading({ ...deps, keys: { agentDays: 90, ipWhitelist: [], webHttp: web.http } });
  if (funds !== "0") await deposit(on.sim, WALLET, funds);
  const registrar = half.keys as IssuingRegistrar;
  const signed: WalletText[] = [];
  return {
    on,
    half,
    registrar,
    signed,
    issue: (by = wallet) =>
      registrar.issue(
        WALLET,
        (text) => {
          signed.push(text);
          return signText(text, by);
        },
        OPTIONS,
      ),
    created: () => on.sim.log.records({ action: "createKey" }).filter(({ refusal }) => refusal === null),
  };
}

async function control(sim: { readonly restUrl: string }, name: string, body: object): Promise<void> {
  const answer = await fetch(`${sim.restUrl}/_sim/${name}`, { method: "POST", body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}

describe("a key that venuetwo makes", () => {
  it("costs one signature of a text with a nonce where the venue knows the wallet, and trades", async () => {
    const { created, half, issue, on, registrar, signed } = await scene();
    const issued = await issue();
    if (issued.kind !== "done") throw new Error(JSON.stringify(issued));
    expect(signed).toEqual([{ kind: "message", text: expect.stringMatching(/^You are signing into Astherus \d+$/) }]);
    const { key, secret } = issued;
    expect(key).toMatchObject({ account: WALLET, signer: WALLET, expiresAtMs: null });
    expect(key.name).toMatch(/^unwind-\d{13}$/);
    const { apiKey, apiSecret } = JSON.parse(Buffer.from(secret).toString()) as Record<string, string>;
    const block = registrar.block(key, storedCopy(secret)) as { readonly apiSecret: StoredSecret };
    expect(block).toEqual({ apiKey, apiSecret: expect.any(StoredSecret) as unknown, walletAddress: WALLET });
    expect(block.apiSecret.use((bytes) => Buffer.from(bytes).toString())).toBe(apiSecret);
    const session = open(half, block);
    secret.fill(0);
    expect(await half.orders.place(session, on.buy(), OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(on.sim.log.records({ action: "place", accountId: WALLET })).toMatchObject([{ signer: apiKey }]);
    expect(created()).toHaveLength(1);
  });

  it("costs a login besides where the venue never saw the wallet, which has an account then", async () => {
    const { created, issue, on, signed } = await scene("0");
    expect(await issue()).toMatchObject({ kind: "done" });
    expect(signed).toHaveLength(3);
    expect(new Set(signed.map(({ text }) => text)).size).toBe(3);
    expect(on.sim.exchange.accounts.find(WALLET)).not.toBeNull();
    expect(created()).toHaveLength(1);
  });

  it("has a name of its own each time", async () => {
    const { created, issue } = await scene();
    const [first, second] = [await issue(), await issue()];
    if (first.kind !== "done" || second.kind !== "done") throw new Error("not made");
    expect(first.key.name).not.toBe(second.key.name);
    expect(created()).toHaveLength(2);
  });

  it("is refused while the venue makes no new ones", async () => {
    const { created, issue, on } = await scene();
    await control(on.sim, "keyCreation", { isClosed: true });
    expect(await issue()).toMatchObject({
      kind: "refused",
      reason: "OTHER",
      venueText: expect.stringMatching(/^\d+ /),
    });
    expect(created()).toHaveLength(0);
    await control(on.sim, "keyCreation", { isClosed: false });
    expect(await issue()).toMatchObject({ kind: "done" });
  });

  it("is refused to who does not sign for the wallet", async () => {
    const { created, issue } = await scene();
    expect(await issue(stranger)).toMatchObject({ kind: "refused", reason: "OTHER" });
    expect(created()).toHaveLength(0);
  });

  it("is not made with a nonce that is over, and may be asked for again", async () => {
    const { created, on, registrar } = await scene();
    const slow = (text: WalletText) => {
      on.clock.advance(6 * 60_000);
      return signText(text);
    };
    on.sim.exchange.stop();
    expect(await registrar.issue(WALLET, slow, OPTIONS)).toEqual({
      kind: "notSent",
      problem: "NONCE_OVER",
      retryAfterMs: 0,
    });
    expect(created()).toHaveLength(0);
  });

  it.each<[what: string, fault: FaultSpec, outcome: object, made: number]>([
    ["before it is made", { kind: "loss", match: "get-nonce", count: 1 }, { kind: "notSent", problem: "NO_ANSWER" }, 0],
    ["before it is made, by a fault", { kind: "errorBefore", match: "get-nonce", count: 1 }, { kind: "notSent" }, 0],
    ["as it is made", { kind: "loss", match: CREATE, count: 1 }, { kind: "unknown" }, 0],
    ["after it is made", { kind: "replyLost", match: CREATE, count: 1 }, { kind: "unknown" }, 1],
    ["after it is made, by a fault", { kind: "errorAfter", match: CREATE, count: 1 }, { kind: "unknown" }, 1],
    [
      "for a limit",
      { kind: "rate429", match: CREATE, count: 1, retryAfterS: 2 },
      { kind: "refused", reason: "RATE_LIMITED", retryAfterMs: 2_000 },
      0,
    ],
  ])("that is lost %s says so", async (_what, fault, outcome, made) => {
    const { created, issue, on } = await scene();
    on.sim.faults.add(fault);
    expect(await issue()).toMatchObject(outcome);
    expect(created()).toHaveLength(made);
  });

  it("is not made where the login was lost, and may be asked for again", async () => {
    const { created, issue, on } = await scene("0");
    on.sim.faults.add({ kind: "replyLost", match: "ae/login", count: 1 });
    expect(await issue()).toMatchObject({ kind: "notSent", problem: "NO_ANSWER" });
    expect(created()).toHaveLength(0);
    expect(await issue()).toMatchObject({ kind: "done" });
  });

  it("rejects with what its signer rejects with, and nothing is made", async () => {
    const { created, registrar } = await scene();
    const refused = new Error("frozen");
    await expect(registrar.issue(WALLET, () => Promise.reject(refused), OPTIONS)).rejects.toBe(refused);
    expect(created()).toHaveLength(0);
  });
});
