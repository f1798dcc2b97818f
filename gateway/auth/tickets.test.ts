import { beforeEach, describe, expect, it } from "vitest";
import type { NewSecret } from "./key-admin.js";
import { type AuthHarness, seededFill, startAuth, WISH } from "./test/auth-harness.js";
import { StreamTickets, TICKET_MS, TICKETS_PER_KEY_MAX } from "./tickets.js";

let harness: AuthHarness;
let key: NewSecret;
let tickets: StreamTickets;
const ADDRESS = "192.0.2.1";

beforeEach(async () => {
  harness = await startAuth();
  key = await harness.keys.create(WISH);
  tickets = new StreamTickets(harness.keys.table, harness.clock, seededFill(5));
});

const issue = (): string => tickets.issue(key.key.keyId, ADDRESS).ticket;

describe("a ticket", () => {
  it("names the caller of its key, once", () => {
    const { ticket, expiresAt } = tickets.issue(key.key.keyId, ADDRESS);
    expect(expiresAt).toBe(harness.clock.wallMs() + TICKET_MS);
    expect(tickets.redeem(ticket, ADDRESS)).toMatchObject({ keyId: key.key.keyId, ownerId: key.key.ownerId });
    expect(tickets.redeem(ticket, ADDRESS)).toBeNull();
  });

  it("ends after 30 s, also where the clock is set back", () => {
    const [last, late] = [issue(), issue()];
    harness.clock.advance(TICKET_MS - 1);
    expect(tickets.redeem(last, ADDRESS)).not.toBeNull();
    harness.clock.stepWall(-3_600_000);
    harness.clock.advance(1);
    expect(tickets.redeem(late, ADDRESS)).toBeNull();
  });

  it("works from its address only, and is used up by another", () => {
    const ticket = issue();
    expect([tickets.redeem(ticket, "192.0.2.2"), tickets.redeem(ticket, ADDRESS)]).toEqual([null, null]);
  });

  it("that does not exist is none, whatever it looks like", () => {
    issue();
    for (const text of ["", "st_", "__proto__", `st_${"0".repeat(43)}`, "x".repeat(1_000_000)])
      expect(tickets.redeem(text, ADDRESS)).toBeNull();
  });

  it("of a revoked key is gone in the turn in which the key is", async () => {
    const ticket = issue();
    const revoked = harness.keys.revoke(key.key.keyId);
    expect([tickets.size, tickets.redeem(ticket, ADDRESS)]).toEqual([0, null]);
    await revoked;
  });

  it("over the bound of its key ends the oldest of that key", async () => {
    const other = await harness.keys.create(WISH);
    const others = tickets.issue(other.key.keyId, ADDRESS).ticket;
    const mine = Array.from({ length: TICKETS_PER_KEY_MAX + 1 }, issue);
    expect(tickets.size).toBe(TICKETS_PER_KEY_MAX + 1);
    expect(tickets.redeem(mine[0] ?? "", ADDRESS)).toBeNull();
    expect(tickets.redeem(mine[1] ?? "", ADDRESS)).not.toBeNull();
    expect(tickets.redeem(others, ADDRESS)).not.toBeNull();
  });

  it("is kept as its digest only, and no longer than it lives", () => {
    for (let round = 0; round < 10_000; round++) {
      issue();
      harness.clock.advance(1_000);
    }
    expect(tickets.size).toBeLessThanOrEqual(TICKETS_PER_KEY_MAX);
  });
});
