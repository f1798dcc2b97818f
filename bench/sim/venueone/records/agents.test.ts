import { describe, expect, it } from "vitest";
import { AgentRegistry } from "./agents.js";

const NOW = 1_790_000_000_000;
const DAY_MS = 86_400_000;
const MASTER = `0x${"aa".repeat(20)}`;
const ZERO = `0x${"00".repeat(20)}`;
const agent = (index: number): string => `0x${index.toString(16).padStart(40, "1")}`;

function registryWith() {
  const registry = new AgentRegistry((address) => address === MASTER);
  const approve = (agentAddress: string, agentName = "", nowMs = NOW, subAccountCount = 0) =>
    registry.approve({ accountId: MASTER, agentAddress, agentName, subAccountCount, nowMs });
  return { registry, approve };
}

describe("agent registry", () => {
  it("holds one unnamed and three named agents, two more per sub-account", () => {
    const { registry, approve } = registryWith();
    expect(approve(agent(1))).toBeNull();
    for (const index of [2, 3, 4]) expect(approve(agent(index), `bot ${index}`)).toBeNull();
    expect(approve(agent(5), "bot 5")).toEqual({ kind: "tooMany", limit: 3 });
    expect(approve(agent(5), "bot 5", NOW, 1)).toBeNull();
    expect(registry.list(MASTER, NOW)).toHaveLength(5);
  });

  it("replaces by name at once, and remembers whom it replaced", () => {
    const { registry, approve } = registryWith();
    approve(agent(1), "bot");
    approve(agent(2), "bot");
    expect(registry.find(agent(1), NOW)).toBeNull();
    expect(registry.former(agent(1))).toEqual({ accountId: MASTER, ended: "replaced" });
    expect(registry.find(agent(2), NOW)?.accountId).toBe(MASTER);
  });

  it("revokes by the zero address and then refuses approvals for five seconds", () => {
    const { registry, approve } = registryWith();
    approve(agent(1), "bot");
    expect(approve(ZERO, "bot")).toBeNull();
    expect(registry.former(agent(1))?.ended).toBe("revoked");
    expect(approve(agent(2), "bot", NOW + 4_999)).toEqual({ kind: "removalPending" });
    expect(approve(agent(2), "bot", NOW + 5_000)).toBeNull();
  });

  it("drops all agents of an account that has nothing left, and no other's", () => {
    const { registry, approve } = registryWith();
    approve(agent(1));
    approve(agent(2), "bot");
    registry.approve({ accountId: ZERO, agentAddress: agent(3), agentName: "", subAccountCount: 0, nowMs: NOW });
    registry.prune(MASTER);
    expect([agent(1), agent(2), agent(3)].map((address) => registry.find(address, NOW)?.accountId)).toEqual([
      undefined,
      undefined,
      ZERO,
    ]);
    expect(registry.former(agent(1))).toEqual({ accountId: MASTER, ended: "pruned" });
    expect(approve(agent(1))).toEqual({ kind: "used" });
  });

  it("never takes an address twice, nor an account as an agent", () => {
    const { approve } = registryWith();
    approve(agent(1), "bot");
    approve(agent(2), "bot");
    expect(approve(agent(1), "other")).toEqual({ kind: "used" });
    expect(approve(agent(2), "other")).toEqual({ kind: "used" });
    expect(approve(MASTER, "other")).toEqual({ kind: "used" });
  });

  it("reads the expiry out of the name: past or beyond 180 days is refused, 90 days is the default", () => {
    const { registry, approve } = registryWith();
    expect(approve(agent(1), `bot valid_until ${NOW - 1}`)).toEqual({ kind: "expired" });
    expect(approve(agent(1), `bot valid_until ${NOW + 181 * DAY_MS}`)).toEqual({ kind: "expired" });
    expect(approve(agent(1), `bot valid_until ${NOW + DAY_MS}`)).toBeNull();
    expect(registry.find(agent(1), NOW)).toMatchObject({ name: "bot", validUntilMs: NOW + DAY_MS });
    approve(agent(2));
    expect(registry.find(agent(2), NOW)).toMatchObject({ name: "", validUntilMs: NOW + 90 * DAY_MS });
    expect(approve(agent(3), "seventeen letters")).toEqual({ kind: "name" });
  });

  it("enforces expiry lazily", () => {
    const { registry, approve } = registryWith();
    approve(agent(1), `bot valid_until ${NOW + 1000}`);
    expect(registry.find(agent(1), NOW + 1000 + 15 * 60_000)).not.toBeNull();
    expect(registry.find(agent(1), NOW + 1000 + 31 * 60_000)).toBeNull();
    expect(registry.former(agent(1))?.ended).toBe("expired");
  });
});
