/** Agents of wallets at venuetwo, by its registrar against the local venue: registered, lost on the way, replaced, dropped. */
import { storedCopy } from "../../../feeds/shared/test/stored-copy.js";
import { describe, expect, it } from "vitest";
import type { AgentRegistrar } from "../../../engine/key-registrar.js";
import { createVenuetwoTrading } from "../../../feeds/venuetwo/trading.js";
import { start } from "../support/trading/bench.js";
import { VENUETWO } from "../support/trading/venuetwo.js";
import { deposit, stranger, WALLET, WalletKeys } from "../support/trading/wallet-keys.js";
import { halfDeps, open, OPTIONS, untilHolds, unwrapRead } from "../support/trading-half.js";
import { onTestFinished } from "vitest";

const DAY_MS = 86_400_000;
const done = { kind: "done" };

async function scene({ funds = "10000", ipWhitelist = [] as readonly string[] } = {}) {
  const on = await start(VENUETWO);
  const deps = halfDeps(on.sim.restUrl, on.clock, () => on.parts.instruments);
  onTestFinished(() => deps.http.close(0));
  const half = createVenuetwoTrading({ ...deps, keys: { agentDays: 90, ipWhitelist, webHttp: null } });
  if (funds !== "0") await deposit(on.sim, WALLET, funds);
  const registrar = half.keys as AgentRegistrar;
  const keys = new WalletKeys(registrar, on.clock);
  const acts = (action: string) => on.sim.log.records({ action, accountId: WALLET });
  return {
    on,
    half,
    keys,
    acts,
    registrations: () => acts("registerAgent").filter(({ refusal }) => refusal === null),
    session: (key: Parameters<typeof registrar.block>[0], secret: Uint8Array) =>
      open(half, registrar.block(key, storedCopy(secret))),
  };
}

describe("a key at venuetwo", () => {
  it("is registered with its wallet, which the venue never saw, and trades for it once it is funded", async () => {
    const { half, keys, on, registrations, session } = await scene({ funds: "0" });
    const { key, secret } = keys.draft();
    expect(await keys.look(key, secret)).toBe("absent");
    expect(await keys.send(await keys.approval(key))).toEqual(done);
    expect(await keys.look(key, secret)).toBe("live");
    expect(registrations()).toMatchObject([{ signer: WALLET, agent: key.signer }]);
    const ours = session(key, secret);
    expect(await half.orders.place(ours, on.buy(), OPTIONS)).toMatchObject({ reason: "INSUFFICIENT_MARGIN" });
    await deposit(on.sim, WALLET, "10000");
    expect(await half.orders.place(ours, on.buy(), OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(unwrapRead(await half.reader.readPositions(ours, null, OPTIONS))).toMatchObject([{ qtyLots: on.lots }]);
    expect(on.sim.log.records({ action: "place", accountId: WALLET }).at(-1)).toMatchObject({ signer: key.signer });
  });

  it("has the rights to trade on both markets and none to withdraw, an end, and its name", async () => {
    const { keys, on } = await scene();
    const { key } = await keys.approved();
    expect(on.sim.room.keys.agent(key.signer)).toMatchObject({
      user: WALLET,
      name: "unwind-1",
      expiresMs: on.clock.wallMs() + 90 * DAY_MS,
      canPerpTrade: true,
      canSpotTrade: true,
      canWithdraw: false,
      ipWhitelist: "",
    });
  });

  it.each(["unwind-1", "unwind-2"])("may withdraw from the addresses that the operator names: %s", async (name) => {
    const { keys, on } = await scene({ ipWhitelist: ["192.0.2.10", "198.51.100.0/24", "2001:db8::/32"] });
    const { key } = await keys.approved(name);
    expect(on.sim.room.keys.agent(key.signer)).toMatchObject({
      canWithdraw: true,
      ipWhitelist: "192.0.2.10 198.51.100.0/24 2001:db8::/32",
    });
  });

  it("whose reply is lost is the venue's once, however often the same bytes come", async () => {
    const { acts, keys, on, registrations } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.sim.faults.add({ kind: "replyLost", match: "registerAndApproveAgent", count: 1 });
    expect(await keys.send(act)).toEqual({ kind: "unknown" });
    expect(await keys.look(key, secret)).toBe("live");
    for (let again = 0; again < 3; again++) expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(registrations()).toHaveLength(1);
    expect(acts("registerAgent")).toHaveLength(4);
    expect(on.sim.room.keys.agentsOf(WALLET)).toHaveLength(1);
  });

  it.each([
    [{ kind: "loss", match: "registerAndApproveAgent", count: 1 }, "absent"],
    [{ kind: "errorBefore", match: "registerAndApproveAgent", count: 1 }, "absent"],
    [{ kind: "errorAfter", match: "registerAndApproveAgent", count: 1 }, "live"],
  ] as const)("whose fate is open is looked up, and sent again where it is absent: %j", async (fault, standing) => {
    const { keys, on, registrations } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.sim.faults.add(fault);
    expect(await keys.send(act)).toEqual({ kind: "unknown" });
    expect(await keys.look(key, secret)).toBe(standing);
    expect(await keys.send(act)).toEqual(standing === "absent" ? done : { kind: "repeated" });
    expect(await keys.look(key, secret)).toBe("live");
    expect(registrations()).toHaveLength(1);
  });

  it("held at the venue's door while its sender gives up arrives late, and is then found", async () => {
    const { keys, on, registrations } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.sim.faults.add({ kind: "heldRequest", match: "registerAndApproveAgent", count: 1, delayMs: 8_000 });
    const sending = keys.send(act);
    await untilHolds("a request at the door", () => on.sim.faults.hits().heldRequest === 1);
    await on.clock.advanceAsync(OPTIONS.timeoutMs);
    expect(await sending).toEqual({ kind: "unknown" });
    expect(await keys.look(key, secret)).toBe("absent");
    await on.clock.advanceAsync(8_000);
    expect(await keys.look(key, secret)).toBe("live");
    expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(registrations()).toHaveLength(1);
  });

  it("that comes after the venue's window acts no more, within the time that it is waited for", async () => {
    const { keys, on, registrations } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.clock.advance(11_000);
    expect(act.validUntilMs).toBeGreaterThan(on.clock.wallMs());
    expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(await keys.look(key, secret)).toBe("absent");
    expect(registrations()).toHaveLength(0);
  });

  it("past a limit of the venue is refused, and the key is none", async () => {
    const { keys, on } = await scene();
    const { key, secret } = keys.draft();
    on.sim.faults.add({ kind: "rate429", match: "registerAndApproveAgent", count: 1, retryAfterS: 2 });
    const act = await keys.approval(key);
    expect(await keys.send(act)).toMatchObject({ kind: "refused", reason: "RATE_LIMITED", retryAfterMs: 2_000 });
    await on.clock.advanceAsync(60_000);
    expect(await keys.look(key, secret)).toBe("absent");
  });

  it("that another wallet signed for is nobody's", async () => {
    const { keys, on } = await scene();
    const { key, secret } = keys.draft();
    expect(await keys.send(await keys.approval(key, stranger))).toMatchObject({
      kind: "refused",
      venueText: "-1022 Signature for this request is not valid.",
    });
    expect(await keys.look(key, secret)).toBe("absent");
    expect(on.sim.room.keys.agentsOf(WALLET)).toEqual([]);
  });

  it("of the next name is approved beside the one before, and both trade", async () => {
    const { acts, half, keys, on, session } = await scene();
    for (const name of ["unwind-1", "unwind-2"]) {
      const { key, secret } = await keys.approved(name);
      expect(await half.orders.place(session(key, secret), on.resting(), OPTIONS)).toMatchObject({
        outcome: "accepted",
      });
    }
    expect([acts("registerAgent").length, acts("approveAgent").length]).toEqual([1, 1]);
    expect(on.sim.room.keys.agentsOf(WALLET).map(({ name }) => name)).toEqual(["unwind-1", "unwind-2"]);
  });

  it("that is dropped trades no more, and dropping it again finds nothing", async () => {
    const { acts, half, keys, on, session } = await scene();
    const { key, secret } = await keys.approved();
    const ours = session(key, secret);
    expect(await half.orders.place(ours, on.resting(), OPTIONS)).toMatchObject({ outcome: "accepted" });
    const act = await keys.revocation(key);
    on.sim.faults.add({ kind: "replyLost", match: "DELETE /fapi/v3/agent", count: 1 });
    expect(await keys.send(act)).toEqual({ kind: "unknown" });
    expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(await keys.look(key, secret)).toBe("absent");
    expect(await half.orders.place(ours, on.resting(), OPTIONS)).toMatchObject({ outcome: "rejected", reason: "AUTH" });
    on.clock.advance(1);
    expect(await keys.send(await keys.revocation(key))).toMatchObject({
      kind: "refused",
      reason: "OTHER",
      venueText: "-1000 No agent found",
    });
    expect(acts("revokeAgent").filter(({ refusal }) => refusal === null)).toHaveLength(1);
  });

  it("past its end is known to the venue in no look, and is dropped all the same", async () => {
    const { keys, on } = await scene();
    const { key, secret } = await keys.approved("unwind-1", 90 * DAY_MS - 1_000);
    on.clock.advance(1_000);
    await expect(keys.look(key, secret)).rejects.toThrow("Agent expired");
    expect(await keys.send(await keys.revocation(key))).toEqual(done);
    expect(await keys.look(key, secret)).toBe("absent");
  });
});
