/** Keys of wallets at venueone, by its registrar against the local venue: approved, lost on the way, at a limit, revoked. */
import { storedCopy } from "../../../feeds/shared/test/stored-copy.js";
import { describe, expect, it } from "vitest";
import { start } from "../support/trading/bench.js";
import { VENUEONE } from "../support/trading/venueone.js";
import { deposit, stranger, WALLET, WalletKeys } from "../support/trading/wallet-keys.js";
import { open, OPTIONS, untilHolds, unwrapRead } from "../support/trading-half.js";

const DAY_MS = 86_400_000;
const done = { kind: "done" };
const agentOf = (index: number): string => `0x${String(index).repeat(40)}`;

async function scene(funds = "10000") {
  const on = await start(VENUEONE);
  if (funds !== "0") await deposit(on.sim, WALLET, funds);
  const registrar = on.half.keys;
  const keys = new WalletKeys(registrar, on.clock);
  const acts = (action: string) => on.sim.log.records({ action, accountId: WALLET });
  return {
    on,
    keys,
    /** Approvals that the venue executed. */
    approvals: () => acts("approveAgent").filter(({ refusal }) => refusal === null),
    acts,
    session: (key: Parameters<typeof registrar.block>[0], secret: Uint8Array) =>
      open(on.half, registrar.block(key, storedCopy(secret))),
    agents: () => on.sim.room.venue.agents.list(WALLET, on.clock.wallMs()).map(({ name }) => name),
  };
}

describe("a key at venueone", () => {
  it("is refused to a wallet without a deposit, and given to it after one, to trade for its account", async () => {
    const { approvals, keys, on, session } = await scene("0");
    const early = keys.draft();
    expect(await keys.send(await keys.approval(early.key))).toMatchObject({
      kind: "refused",
      reason: "NOT_FUNDED",
      venueText: `Must deposit before performing actions. User: ${WALLET}`,
    });
    expect(await keys.look(early.key, early.secret)).toBe("absent");
    await deposit(on.sim, WALLET, "10000");
    const { key, secret } = await keys.approved();
    expect(await keys.look(key, secret)).toBe("live");
    expect(approvals()).toMatchObject([{ signer: WALLET, agent: key.signer }]);
    const ours = session(key, secret);
    expect(await on.send(on.buy(), ours)).toMatchObject({ outcome: "accepted", order: { status: "FILLED" } });
    const positions = unwrapRead(await on.half.reader.readPositions(ours, null, OPTIONS));
    expect(positions).toMatchObject([{ qtyLots: on.lots }]);
    expect(on.sim.log.records({ action: "place", accountId: WALLET })).toMatchObject([{ signer: key.signer }]);
    expect(on.parts.logLines.join("\n")).not.toContain(Buffer.from(secret).toString("hex"));
  });

  it("counts as funded by an account that the venue has without a deposit just as little", async () => {
    const { keys, on } = await scene("0");
    await deposit(on.sim, WALLET, "0");
    expect(await keys.send(await keys.approval(keys.draft().key))).toMatchObject({ reason: "NOT_FUNDED" });
  });

  it("whose reply is lost is the venue's once, however often the same bytes come", async () => {
    const { approvals, acts, keys, on } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.sim.faults.add({ kind: "replyLost", match: "/exchange", count: 1 });
    expect(await keys.send(act)).toEqual({ kind: "unknown" });
    expect(await keys.look(key, secret)).toBe("live");
    for (let again = 0; again < 3; again++) expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(approvals()).toHaveLength(1);
    expect(acts("approveAgent")).toHaveLength(4);
  });

  it.each([
    [{ kind: "loss", match: "/exchange", count: 1 }, "absent"],
    [{ kind: "errorBefore", match: "/exchange", count: 1 }, "absent"],
    [{ kind: "errorAfter", match: "/exchange", count: 1 }, "live"],
  ] as const)("whose fate is open is looked up, and sent again where it is absent: %j", async (fault, standing) => {
    const { approvals, keys, on } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.sim.faults.add(fault);
    expect(await keys.send(act)).toEqual({ kind: "unknown" });
    expect(await keys.look(key, secret)).toBe(standing);
    expect(await keys.send(act)).toEqual(standing === "absent" ? done : { kind: "repeated" });
    expect(await keys.look(key, secret)).toBe("live");
    expect(approvals()).toHaveLength(1);
  });

  it("held at the venue's door while its sender gives up arrives late, and is then found", async () => {
    const { approvals, keys, on } = await scene();
    const { key, secret } = keys.draft();
    const act = await keys.approval(key);
    on.sim.faults.add({ kind: "heldRequest", match: "/exchange", count: 1, delayMs: 10_000 });
    const sending = keys.send(act);
    await untilHolds("a request at the door", () => on.sim.faults.hits().heldRequest === 1);
    await on.clock.advanceAsync(OPTIONS.timeoutMs);
    expect(await sending).toEqual({ kind: "unknown" });
    expect(await keys.look(key, secret)).toBe("absent");
    await on.clock.advanceAsync(10_000);
    expect(await keys.look(key, secret)).toBe("live");
    expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(approvals()).toHaveLength(1);
  });

  it("past a limit of the venue is refused, and the key is none", async () => {
    const { approvals, keys, on } = await scene();
    const { key, secret } = keys.draft();
    on.sim.faults.add({ kind: "rate429", match: "/exchange", count: 1, retryAfterS: 2 });
    expect(await keys.send(await keys.approval(key))).toEqual({
      kind: "refused",
      reason: "RATE_LIMITED",
      venueText: "HTTP 429",
      retryAfterMs: 2_000,
      isSpent: false,
    });
    // The room's own pause after a limit is longer.
    await on.clock.advanceAsync(60_000);
    expect(await keys.look(key, secret)).toBe("absent");
    expect(approvals()).toHaveLength(0);
  });

  it("is refused where others have all names, and takes the place of one of its own name", async () => {
    const { agents, keys, on, session } = await scene();
    const others = [1, 2, 3].map((index) => ({ address: agentOf(index), name: `bot ${index}` }));
    for (const { address, name } of others.slice(0, 2)) approveOther(on.sim, address, name);
    const first = await keys.approved("unwind-1");
    expect(await keys.send(await keys.approval(keys.draft("unwind-2").key))).toMatchObject({
      kind: "refused",
      reason: "KEY_LIMIT",
    });
    const second = await keys.approved("unwind-1");
    expect(await keys.look(first.key, first.secret)).toBe("absent");
    expect(await on.send(on.resting(), session(first.key, first.secret))).toMatchObject({
      outcome: "rejected",
      venueText: `Must deposit before performing actions. User: ${WALLET}`,
    });
    expect(await keys.look(second.key, second.secret)).toBe("live");
    expect(agents()).toEqual(["bot 1", "bot 2", "unwind-1"]);
  });

  it("of the next name stands beside the one before, and both trade", async () => {
    const { keys, on, session } = await scene();
    for (const name of ["unwind-1", "unwind-2"]) {
      const { key, secret } = await keys.approved(name);
      expect(await on.send(on.resting(), session(key, secret))).toMatchObject({ outcome: "accepted" });
    }
  });

  it("approved under another nonce was had before, by the venue's words for its address", async () => {
    const { approvals, keys } = await scene();
    const { key } = await keys.approved();
    expect(await keys.send(await keys.approval(key))).toEqual({ kind: "repeated" });
    expect(approvals()).toHaveLength(1);
  });

  it("that another wallet signed for is nobody's", async () => {
    const { approvals, keys } = await scene();
    const { key, secret } = keys.draft();
    expect(await keys.send(await keys.approval(key, stranger))).toMatchObject({ kind: "refused", reason: "OTHER" });
    expect(await keys.look(key, secret)).toBe("absent");
    expect(approvals()).toHaveLength(0);
  });

  it("that is revoked trades no more; for five seconds the venue takes no other", async () => {
    const { acts, keys, on, session } = await scene();
    const { key, secret } = await keys.approved();
    const ours = session(key, secret);
    expect(await on.send(on.resting(), ours)).toMatchObject({ outcome: "accepted" });
    const act = await keys.revocation(key);
    on.sim.faults.add({ kind: "replyLost", match: "/exchange", count: 1 });
    expect(await keys.send(act)).toEqual({ kind: "unknown" });
    expect(await keys.send(act)).toEqual({ kind: "repeated" });
    expect(await keys.look(key, secret)).toBe("absent");
    expect(await on.send(on.resting(), ours)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      venueText: `User or API Wallet ${key.signer} does not exist.`,
    });
    const next = keys.draft();
    expect(await keys.send(await keys.approval(next.key))).toEqual({
      kind: "refused",
      reason: "BUSY",
      venueText: "User has pending agent removal",
      retryAfterMs: 5_000,
      isSpent: true,
    });
    on.clock.advance(5_000);
    expect(await keys.send(await keys.approval(next.key))).toEqual(done);
    expect(acts("revokeAgent").filter(({ refusal }) => refusal === null)).toHaveLength(1);
  });

  it("lives for some minutes after its end, which only a revocation makes sure", async () => {
    const { keys, on, session } = await scene();
    const { key, secret } = await keys.approved("unwind-1", 90 * DAY_MS - 1_000);
    expect(key.expiresAtMs).toBe(on.clock.wallMs() + 1_000);
    on.clock.advance(61_000);
    expect(await keys.look(key, secret)).toBe("live");
    expect(await on.send(on.resting(), session(key, secret))).toMatchObject({ outcome: "accepted" });
    expect(await keys.send(await keys.revocation(key))).toEqual(done);
    expect(await keys.look(key, secret)).toBe("absent");
  });

  it("ends with the last funds of its account", async () => {
    const { keys, on } = await scene("100");
    const { key, secret } = await keys.approved();
    on.sim.exchange.desk.adjustWallet(WALLET, -100n * 10n ** 12n, "WITHDRAW");
    expect(await keys.look(key, secret)).toBe("absent");
    await deposit(on.sim, WALLET, "100");
    expect(await keys.look(key, secret)).toBe("absent");
  });
});

function approveOther(
  {
    room,
    exchange,
  }: { readonly room: { readonly venue: { readonly agents: AgentsOf } }; readonly exchange: { nowMs(): number } },
  agentAddress: string,
  agentName: string,
): void {
  const approval = { accountId: WALLET, agentAddress, agentName, subAccountCount: 0, nowMs: exchange.nowMs() };
  expect(room.venue.agents.approve(approval)).toBeNull();
}

interface AgentsOf {
  approve(approval: {
    readonly accountId: string;
    readonly agentAddress: string;
    readonly agentName: string;
    readonly subAccountCount: number;
    readonly nowMs: number;
  }): unknown;
}
