/** Limits and switches count by the account behind the keys: agents of one account share what it has. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { GuardBook, NO_LIMITS } from "../../guards/guard-book.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { createDesk, SECRET, type DeskHarness } from "../single/test/desk-harness.js";
import type { FakeVenue } from "../test/fake-venue.js";
import { createHarness } from "../test/harness.js";

/** Each order is worth some 25,000. */
const EACH = { ...NO_LIMITS, maxDailyNotional: "30000" };
const POLICY = { global: NO_LIMITS, byOwner: new Map<string, never>(), each: EACH };
const AGENTS = ["agent-a", "agent-b", "agent-c"] as const;
/** Without API keys a caller is its account. */
const PUBLIC = { ownerId: null } as const;
const block = (account: string) => ({ account, secret: SECRET });

/** All keys act for one account, but for `alone`. */
const behind = (account: string) => (account === "alone" ? "alone" : "master");

async function desk(prepare: (venue: FakeVenue) => void): Promise<DeskHarness> {
  return createDesk({ policy: POLICY, prepareVenue: prepare });
}

describe("the daily limit of a caller", () => {
  it("is one for all agents of an account, on one venue's own route", async () => {
    const harness = await desk((venue) => {
      venue.behind = behind;
    });
    const ends: string[] = [];
    for (const agent of AGENTS) {
      const answer = await harness.place({ credentials: block(agent) }, PUBLIC);
      ends.push(answer.ok ? "sent" : answer.code);
    }
    expect(ends).toEqual(["sent", "DAILY_LIMIT", "DAILY_LIMIT"]);
    expect(harness.venue.log).toHaveLength(1);
    expect(await harness.place({ credentials: block("alone") }, PUBLIC)).toMatchObject({ ok: true });
  });

  it("is one for all agents of an account, through the router", async () => {
    const store = createMemoryStore();
    const guards = new GuardBook({ store, clock: new VirtualClock(), logger: silentLogger, policy: POLICY });
    await guards.start();
    const harness = createHarness({
      store,
      service: { guards },
      prepareVenue: (venue) => {
        venue.behind = behind;
      },
    });
    const ends: string[] = [];
    for (const agent of AGENTS) {
      const answer = await harness.open(
        {},
        { preferredExchange: "venueone", credentials: { venueone: block(agent) }, deadlineMs: 5_000 },
        PUBLIC,
      );
      ends.push(answer.ok ? "sent" : answer.code);
    }
    expect(ends).toEqual(["sent", "DAILY_LIMIT", "DAILY_LIMIT"]);
    expect(harness.one.log).toHaveLength(1);
  });

  it("lets nothing open while the account behind a key is not known, and every exit pass", async () => {
    const harness = await desk((venue) => {
      venue.behind = () => "TIMEOUT";
    });
    expect(await harness.place({}, PUBLIC)).toMatchObject({
      ok: false,
      code: "VENUE_UNAVAILABLE",
      details: { exchange: "venueone", reason: "ACCOUNT_UNKNOWN" },
    });
    expect(harness.venue.log).toHaveLength(0);
    harness.venue.setPosition("acct", "LONG", 400);
    expect(await harness.place({ side: "SELL", reduceOnly: true }, PUBLIC)).toMatchObject({ ok: true });
  });

  it("asks the venue for the account once, and never where nothing is counted", async () => {
    const harness = await desk((venue) => {
      venue.behind = behind;
    });
    await harness.place({}, PUBLIC);
    await harness.place({ quantity: "0.01" }, PUBLIC);
    expect(harness.venue.behindAsked).toEqual(["acct"]);
    const free = await createDesk({
      prepareVenue: (venue) => {
        venue.behind = behind;
      },
    });
    await free.place({}, PUBLIC);
    expect(free.venue.behindAsked).toEqual([]);
  });
});

describe("the switch of an account", () => {
  it("is one for all its agents: who arms later has it", async () => {
    const harness = await desk((venue) => {
      venue.behind = behind;
    });
    const ids: string[] = [];
    for (const agent of [...AGENTS, "alone"]) {
      const request = { venue: "venueone", credentials: block(agent), payer: null, timeoutMs: 60_000 } as const;
      const answer = await harness.run(harness.desk.armSwitch(request, null));
      if (answer.ok) ids.push(answer.armed.switchId);
    }
    expect(harness.desk.status().armedSwitchCount).toBe(2);
    const alive: boolean[] = [];
    for (const id of ids) alive.push((await harness.desk.heartbeat(id, null)).ok);
    expect(alive).toEqual([false, false, true, true]);
  });

  it("is refused, and leaves what was armed, where the account behind the key is not known", async () => {
    const failing = new Set<string>();
    const harness = await desk((venue) => {
      venue.behind = (account) => (failing.has(account) ? "TIMEOUT" : behind(account));
    });
    const arm = (agent: string) =>
      harness.run(
        harness.desk.armSwitch({ venue: "venueone", credentials: block(agent), payer: null, timeoutMs: 60_000 }, null),
      );
    const before = await arm("agent-a");
    failing.add("agent-b");
    expect(await arm("agent-b")).toMatchObject({ code: "VENUE_UNAVAILABLE", details: { reason: "ACCOUNT_UNKNOWN" } });
    expect(await harness.desk.heartbeat(before.ok ? before.armed.switchId : "", null)).toMatchObject({ ok: true });
    expect(harness.venue.sessions.filter(({ closed }) => !closed)).toHaveLength(1);
  });

  it("keeps neither its place nor its credentials where the room of another of its request fails", async () => {
    const harness = await createDesk({
      desk: { maxSwitches: 1 },
      mutateRoom: (room) => {
        if (room.venue === "venueone") return room;
        const read = async () => Promise.reject(new Error("a fault of ours"));
        return { ...room, accountNames: { known: () => null, read } };
      },
    });
    const request = { venue: "venueone", credentials: block("acct"), payer: null, timeoutMs: 60_000 } as const;
    const both = await harness.run(
      harness.desk.armSwitches([request, { ...request, venue: "venuetwo", payer: null }], null),
    );
    expect(both).toMatchObject({ ok: false, code: "INTERNAL" });
    const sessions = [...harness.venue.sessions, ...harness.two.sessions];
    expect(sessions.filter(({ closed }) => !closed)).toEqual([]);
    expect(await harness.run(harness.desk.armSwitch(request, null))).toMatchObject({ ok: true });
  });
});
