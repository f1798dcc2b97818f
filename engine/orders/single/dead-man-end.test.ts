/** The end of a dead-man's switch at its venue: it stays known until the venue has confirmed it. */
import { expect, it } from "vitest";
import type { CancelOutcome } from "../../domain/order.js";
import { createDesk, CREDENTIALS, orderContext, orderName, type DeskHarness } from "./test/desk-harness.js";
import type { SwitchFacts } from "./switch-desk.js";

const UNCLEAR = { outcome: "unknown", cause: "TIMEOUT" } as const;
const DONE = { outcome: "accepted" } as const;
const REFUSED = {
  outcome: "rejected",
  reason: "RATE_LIMITED",
  venueCode: "",
  venueText: "",
  sent: true,
} as const;

interface Ending {
  readonly harness: DeskHarness;
  readonly facts: SwitchFacts;
  /** Every time sent to the venue; null for an end. */
  readonly sent: (number | null)[];
}

/** A switch of ten seconds, armed at a venue that answers its ends so; more of them are confirmed. */
async function armed(ends: CancelOutcome[]): Promise<Ending> {
  const sent: (number | null)[] = [];
  const harness = await createDesk({
    mutateRoom: (room) => ({
      ...room,
      orders: {
        ...room.orders,
        scheduleCancel: async (_session, atMs) => {
          sent.push(atMs);
          return atMs === null ? (ends.shift() ?? DONE) : DONE;
        },
      },
    }),
  });
  await harness.order({ type: "LIMIT", price: "95000" });
  return { harness, sent, facts: await arm(harness) };
}

async function arm(harness: DeskHarness): Promise<SwitchFacts> {
  const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs: 10_000 } as const;
  const answer = await harness.run(harness.desk.armSwitch(request, null));
  if (!answer.ok) throw new Error(answer.code);
  return answer.armed;
}

const openSessions = (harness: DeskHarness) => harness.venue.sessions.filter(({ closed }) => !closed).length;

it("a switch that its venue confirms to have ended is gone, and is armed nowhere", async () => {
  const { harness, facts } = await armed([]);
  expect(facts).toMatchObject({ state: "ARMED", venueArmed: true });
  const ended = await harness.desk.disarmSwitch(facts.switchId, null);
  expect(ended).toMatchObject({ ok: true, armed: { state: "ENDED", venueArmed: false } });
  expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
});

it.each([
  ["does not answer", UNCLEAR],
  ["refuses", REFUSED],
])("an end that the venue %s leaves the switch known, says so, and is sent again", async (_fate, fails) => {
  const { harness, facts, sent } = await armed([fails, fails]);
  const first = await harness.desk.disarmSwitch(facts.switchId, null);
  expect(first).toMatchObject({ ok: true, armed: { state: "ENDING", venueArmed: true } });
  expect(harness.desk.status().armedSwitchCount).toBe(1);
  // Nobody keeps it alive any more, and its own cancel is off.
  expect(await harness.desk.heartbeat(facts.switchId, null)).toMatchObject({ code: "SWITCH_NOT_FOUND" });
  await harness.clock.advanceAsync(3_000);
  expect(sent.filter((atMs) => atMs === null)).toHaveLength(3);
  expect([harness.desk.status().armedSwitchCount, openSessions(harness), harness.calls.cancelAll]).toEqual([0, 0, 0]);
  expect(await harness.desk.disarmSwitch(facts.switchId, null)).toMatchObject({ code: "SWITCH_NOT_FOUND" });
});

it("an end asked for again is sent to the venue again at once", async () => {
  const { harness, facts, sent } = await armed([UNCLEAR]);
  await harness.desk.disarmSwitch(facts.switchId, null);
  const second = await harness.desk.disarmSwitch(facts.switchId, null);
  expect(second).toMatchObject({ ok: true, armed: { state: "ENDED", venueArmed: false } });
  await harness.clock.advanceAsync(60_000);
  expect(sent.filter((atMs) => atMs === null)).toHaveLength(2);
});

it("an end that the venue never confirms is forgotten with the venue's own time, its credentials too", async () => {
  const { harness, facts, sent } = await armed(Array.from({ length: 40 }, () => UNCLEAR));
  await harness.desk.disarmSwitch(facts.switchId, null);
  await harness.clock.advanceAsync(10_500);
  expect(harness.desk.status().armedSwitchCount).toBe(1);
  await harness.clock.advanceAsync(2_000);
  expect([harness.desk.status().armedSwitchCount, openSessions(harness), harness.calls.cancelAll]).toEqual([0, 0, 0]);
  const sentCount = sent.length;
  await harness.clock.advanceAsync(120_000);
  expect(sent).toHaveLength(sentCount);
});

it("a switch armed while the one before is ending takes the venue's over, and is not ended with it", async () => {
  const { harness, facts, sent } = await armed([UNCLEAR, UNCLEAR]);
  await harness.desk.disarmSwitch(facts.switchId, null);
  const second = await arm(harness);
  expect(second.switchId).not.toBe(facts.switchId);
  await harness.clock.advanceAsync(5_000);
  expect(sent.at(-1)).toBe(second.expiresAtMs + 1_000);
  expect(await harness.desk.disarmSwitch(facts.switchId, null)).toMatchObject({ code: "SWITCH_NOT_FOUND" });
  expect(await harness.desk.disarmSwitch(second.switchId, null)).toMatchObject({ ok: true });
});

it("a switch whose caller has left, and that is then ended, is known for as long as its venue may fire", async () => {
  const { harness, facts, sent } = await armed(Array.from({ length: 40 }, () => UNCLEAR));
  expect(harness.desk.expireSwitch(facts.switchId, 2_000, null)).toBe(true);
  await harness.clock.advanceAsync(500);
  await harness.desk.disarmSwitch(facts.switchId, null);
  await harness.clock.advanceAsync(9_000);
  expect(sent[0]).toBe(facts.expiresAtMs + 1_000);
  expect(await harness.desk.disarmSwitch(facts.switchId, null)).toMatchObject({ ok: true, armed: { state: "ENDING" } });
  await harness.clock.advanceAsync(2_000);
  expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
});

it("a switch armed before its venue answered the one it replaces ends what the venue has of that one", async () => {
  const sent: (number | null)[] = [];
  let answerFirst = (_outcome: CancelOutcome): void => {};
  const harness = await createDesk({
    mutateRoom: (room) => ({
      ...room,
      orders: {
        ...room.orders,
        scheduleCancel: (_session, atMs) => {
          const isFirst = sent.push(atMs) === 1;
          if (isFirst) return new Promise((resolve) => (answerFirst = resolve));
          return Promise.resolve(atMs === null ? DONE : REFUSED);
        },
      },
    }),
  });
  const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs: 10_000 } as const;
  const first = harness.desk.armSwitch(request, null);
  await harness.clock.advanceAsync(100);
  const second = harness.desk.armSwitch(request, null);
  await harness.clock.advanceAsync(100);
  expect(sent).toHaveLength(1);
  answerFirst(DONE);
  await harness.run(first);
  const armedAgain = await harness.run(second);
  if (!armedAgain.ok) throw new Error(armedAgain.code);
  // The venue took the first time and refused the second one: it would still cancel at the first.
  expect(await harness.desk.disarmSwitch(armedAgain.armed.switchId, null)).toMatchObject({ ok: true });
  expect(sent.slice(2)).toEqual([null]);
});

it("a switch that fires as its caller leaves is known until its venue has ended the later time it has", async () => {
  const { harness, facts, sent } = await armed([REFUSED, UNCLEAR]);
  harness.desk.expireSwitch(facts.switchId, 0, null);
  await harness.clock.advanceAsync(100);
  // The venue would still cancel at the time that it took.
  expect([harness.desk.status().armedSwitchCount, sent.slice(1)]).toEqual([1, [null]]);
  await harness.clock.advanceAsync(3_000);
  expect(sent.slice(1)).toEqual([null, null, null]);
  expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
});

it("a switch that gave up is known for as long as its venue may fire, and the next one ends what the venue has", async () => {
  const timeoutMs = 3_600_000;
  const sent: (number | null)[] = [];
  const harness = await createDesk({
    mutateRoom: (room) => ({
      ...room,
      orders: {
        ...room.orders,
        scheduleCancel: async (_session, atMs) => (sent.push(atMs) === 2 ? REFUSED : DONE),
      },
    }),
  });
  await harness.order({ type: "LIMIT", price: "95000" });
  const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs } as const;
  const first = await harness.run(harness.desk.armSwitch(request, null));
  if (!first.ok) throw new Error(first.code);
  harness.calls.cancelAllFates.push(...Array.from({ length: 20 }, () => "unknown" as const));
  harness.desk.expireSwitch(first.armed.switchId, 0, null);
  await harness.clock.advanceAsync(timeoutMs / 3);
  expect(harness.logLines.join()).toContain("dead_man_gave_up");
  // Its orders are open: the venue's own time is the last that may cancel them, and is not ended.
  expect([sent, harness.desk.status().armedSwitchCount]).toEqual([[first.armed.expiresAtMs + 1_000], 1]);
  // The venue refuses the time of the next switch, and so keeps the first one's.
  const second = await harness.run(harness.desk.armSwitch(request, null));
  if (!second.ok) throw new Error(second.code);
  expect(await harness.desk.disarmSwitch(second.armed.switchId, null)).toMatchObject({ ok: true });
  expect(sent.slice(2)).toEqual([null]);
  expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
});

it("orders that a shutdown left, as their venue was away, are logged, and followed from the next start on", async () => {
  const harness = await createDesk();
  const { orderId } = await harness.order({ type: "LIMIT", price: "95000" });
  const facts = await arm(harness);
  harness.calls.cancelAllFates.push(...Array.from({ length: 40 }, () => "unknown" as const));
  await harness.clock.advanceAsync(facts.timeoutMs + 60_000);
  await harness.run(harness.desk.drain(5_000));
  expect(harness.logLines.filter((line) => line.includes("dead_man_unfinished"))).toHaveLength(1);
  await harness.restart();
  expect(harness.desk.status()).toMatchObject({ followedCount: 1, unattendedCount: 1 });
  // The first request with the account's credentials takes it up.
  await harness.run(harness.desk.orderStatus(orderName(orderId ?? ""), orderContext(harness.clock)));
  expect(harness.desk.status()).toMatchObject({ followedCount: 1, unattendedCount: 0 });
  const [entry] = harness.venue.log;
  if (entry?.order == null) throw new Error("no order");
  entry.order = { ...entry.order, status: "CANCELED" };
  await harness.clock.advanceAsync(5 * 60_000);
  expect(harness.desk.status()).toMatchObject({ followedCount: 0 });
});

it("a switch that gave up is forgotten with its own time, though another owner's beats on for the account", async () => {
  const harness = await createDesk({ knobs: { scheduleCancel: "accept" } });
  await harness.order({ type: "LIMIT", price: "95000" });
  const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs: 60_000 } as const;
  const gone = await harness.run(harness.desk.armSwitch(request, "ow_alice"));
  const other = await harness.run(harness.desk.armSwitch(request, "ow_bob"));
  if (!gone.ok || !other.ok) throw new Error("refused");
  harness.calls.cancelAllFates.push(...Array.from({ length: 40 }, () => "unknown" as const));
  for (let minutes = 0; minutes < 40; minutes += 0.5) {
    await harness.clock.advanceAsync(30_000);
    expect(await harness.desk.heartbeat(other.armed.switchId, "ow_bob")).toMatchObject({ ok: true });
  }
  expect(harness.logLines.join()).toContain("dead_man_gave_up");
  expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([1, 1]);
  // The venue's own is the other's to end.
  const ended = await harness.run(harness.desk.disarmSwitch(other.armed.switchId, "ow_bob"));
  expect(ended).toMatchObject({ ok: true, armed: { state: "ENDED" } });
  expect([harness.calls.scheduled.at(-1), openSessions(harness)]).toEqual([null, 0]);
});

it("a switch that gave up is forgotten with its venue's time", async () => {
  const { harness, facts } = await armed([]);
  harness.calls.cancelAllFates.push(...Array.from({ length: 40 }, () => "unknown" as const));
  harness.desk.expireSwitch(facts.switchId, 0, null);
  await harness.clock.advanceAsync(900_000);
  expect(harness.logLines.join()).toContain("dead_man_gave_up");
  expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
});
