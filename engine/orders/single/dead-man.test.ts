import { describe, expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import type { CancelOutcome } from "../../domain/order.js";
import { createDesk, CREDENTIALS, SECRET, type DeskHarness, type DeskHarnessOptions } from "./test/desk-harness.js";
import type { SwitchFacts } from "./switch-desk.js";
import type { VenueRoom } from "../../ports.js";

const LIMIT = { type: "LIMIT", price: "95000" } as const;

async function armed(
  options: DeskHarnessOptions = {},
  timeoutMs = 10_000,
): Promise<{ harness: DeskHarness; facts: SwitchFacts }> {
  const harness = await createDesk(options);
  await harness.order(LIMIT);
  return { harness, facts: await arm(harness, timeoutMs) };
}

async function arm(harness: DeskHarness, timeoutMs = 10_000, account = CREDENTIALS): Promise<SwitchFacts> {
  const request = { venue: "venueone", credentials: account, payer: null, timeoutMs } as const;
  const answer = await harness.run(harness.desk.armSwitch(request, null));
  if (!answer.ok) throw new Error(answer.code);
  return answer.armed;
}

const withSchedule = (room: VenueRoom, schedule: (atMs: number | null) => Promise<CancelOutcome>): VenueRoom => ({
  ...room,
  orders: { ...room.orders, scheduleCancel: (_session, atMs) => schedule(atMs) },
});
const statuses = (harness: DeskHarness) => harness.venue.log.map(({ order }) => order?.status);
const openSessions = (harness: DeskHarness) => harness.venue.sessions.filter(({ closed }) => !closed).length;

describe("a dead-man's switch", () => {
  it("cancels everything when no heartbeat comes, and wipes its credentials", async () => {
    const { harness, facts } = await armed();
    expect(facts).toMatchObject({ venue: "venueone", timeoutMs: 10_000, venueArmed: false });
    await harness.clock.advanceAsync(9_900);
    expect(statuses(harness)).toEqual(["OPEN"]);
    expect(openSessions(harness)).toBe(1);
    await harness.clock.advanceAsync(200);
    expect(statuses(harness)).toEqual(["CANCELED"]);
    expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
    expect(await harness.desk.heartbeat(facts.switchId, null)).toMatchObject({ code: "SWITCH_NOT_FOUND" });
  });

  it("waits on with each heartbeat, and ends when it is disarmed", async () => {
    const { harness, facts } = await armed();
    for (let beat = 0; beat < 10; beat++) {
      await harness.clock.advanceAsync(8_000);
      expect(await harness.desk.heartbeat(facts.switchId, null)).toMatchObject({ ok: true });
    }
    expect(await harness.desk.disarmSwitch(facts.switchId, null)).toMatchObject({ ok: true });
    await harness.clock.advanceAsync(60_000);
    expect(statuses(harness)).toEqual(["OPEN"]);
    expect([openSessions(harness), harness.calls.cancelAll]).toEqual([0, 0]);
    expect(await harness.desk.disarmSwitch(facts.switchId, null)).toMatchObject({ code: "SWITCH_NOT_FOUND" });
  });

  it("tries again while the venue gives no answer, a bounded number of times", async () => {
    const { harness } = await armed();
    harness.calls.cancelAllFates.push("unknown", "throw", "unknown");
    await harness.clock.advanceAsync(20_000);
    expect([harness.calls.cancelAll, ...statuses(harness)]).toEqual([4, "CANCELED"]);
    await arm(harness);
    harness.calls.cancelAllFates.push(...Array.from({ length: 30 }, () => "unknown" as const));
    await harness.clock.advanceAsync(900_000);
    expect(harness.calls.cancelAll).toBe(4 + 17);
    expect(openSessions(harness)).toBe(0);
    expect(harness.logLines.join()).toContain("dead_man_gave_up");
  });

  it("that still fires does not cancel what its caller places minutes after arming again", async () => {
    const { harness } = await armed();
    const away = Array.from({ length: 9 }, () => "unknown" as const);
    harness.calls.cancelAllFates.push(...away);
    // Past its ninth try, a minute before the next; the venue is back, and so is the caller.
    await harness.clock.advanceAsync(150_000);
    expect([harness.calls.cancelAll, harness.calls.cancelAllFates.length]).toEqual([9, 0]);
    const again = await arm(harness, 30_000);
    await harness.clock.advanceAsync(5_000);
    await harness.order(LIMIT);
    for (let beat = 0; beat < 10; beat++) {
      await harness.clock.advanceAsync(20_000);
      expect(await harness.desk.heartbeat(again.switchId, null)).toMatchObject({ ok: true });
    }
    expect(statuses(harness)).toEqual(["CANCELED", "OPEN"]);
  });

  it("cancels also where its venue was away for four minutes", async () => {
    const { harness } = await armed();
    await harness.clock.advanceAsync(9_000);
    const away = Array.from({ length: 11 }, () => "unknown" as const);
    harness.calls.cancelAllFates.push(...away);
    await harness.clock.advanceAsync(240_000);
    expect(statuses(harness)).toEqual(["OPEN"]);
    await harness.clock.advanceAsync(75_000);
    expect([harness.calls.cancelAll, ...statuses(harness)]).toEqual([away.length + 1, "CANCELED"]);
    expect([harness.desk.status().armedSwitchCount, openSessions(harness)]).toEqual([0, 0]);
  });

  it("that still fires as a shutdown comes tries on with short pauses, however often it tried before", async () => {
    const { harness } = await armed();
    const away = Array.from({ length: 9 }, () => "unknown" as const);
    harness.calls.cancelAllFates.push(...away);
    await harness.clock.advanceAsync(150_000);
    expect([harness.calls.cancelAll, harness.calls.cancelAllFates.length]).toEqual([away.length, 0]);
    // The venue is not quite back: what comes first is refused, as by a breaker that another call probes.
    harness.calls.cancelAllFates.push("unknown", "unknown");
    await harness.run(harness.desk.drain(5_000));
    expect(statuses(harness)).toEqual(["CANCELED"]);
    expect(harness.logLines.join()).not.toContain("dead_man_gave_up");
  });

  it("tries no more than six times from a shutdown on, or once where another was armed for the account since", async () => {
    for (const end of ["stop", "arm"] as const) {
      const { harness } = await armed();
      harness.calls.cancelAllFates.push(...Array.from({ length: 30 }, () => "unknown" as const));
      await harness.clock.advanceAsync(60_000);
      const before = harness.calls.cancelAll;
      expect(before).toBeGreaterThan(6);
      if (end === "stop") {
        await harness.run(harness.desk.drain(60_000));
        expect(harness.calls.cancelAll).toBe(before + 6);
        expect(harness.logLines.join()).toContain("dead_man_gave_up");
      } else {
        await arm(harness);
        await harness.clock.advanceAsync(9_000);
        expect(harness.calls.cancelAll).toBeLessThanOrEqual(before + 1);
      }
    }
  });

  it("is armed at the venue too, moved with the heartbeat, and ended there", async () => {
    const { harness, facts } = await armed({ knobs: { scheduleCancel: "accept" } });
    expect(facts.venueArmed).toBe(true);
    await harness.clock.advanceAsync(4_000);
    const beaten = await harness.desk.heartbeat(facts.switchId, null);
    await harness.desk.disarmSwitch(facts.switchId, null);
    const second = beaten.ok ? beaten.armed.expiresAtMs : 0;
    expect(harness.calls.scheduled).toEqual([facts.expiresAtMs + 1_000, second + 1_000, null]);
    expect(second - facts.expiresAtMs).toBe(4_000);
  });

  it("works on its own where the venue refuses its own", async () => {
    const { harness, facts } = await armed({ knobs: { scheduleCancel: "reject" } });
    expect(facts.venueArmed).toBe(false);
    await harness.clock.advanceAsync(11_000);
    expect(statuses(harness)).toEqual(["CANCELED"]);
  });

  it.each(["loses", "refuses"])(
    "is moved there by the next heartbeat where the venue %s one, and still ended there",
    async (fate) => {
      const sent: (number | null)[] = [];
      const refused = {
        outcome: "rejected",
        reason: "RATE_LIMITED",
        venueCode: "",
        venueText: "",
        sent: true,
      } as const;
      const fails = fate === "loses" ? ({ outcome: "unknown", cause: "TIMEOUT" } as const) : refused;
      const { harness, facts } = await armed({
        mutateRoom: (room) =>
          withSchedule(room, async (atMs) => (sent.push(atMs) === 2 ? fails : { outcome: "accepted" })),
      });
      const beat = async (): Promise<number> => {
        await harness.clock.advanceAsync(4_000);
        const beaten = await harness.desk.heartbeat(facts.switchId, null);
        return beaten.ok ? beaten.armed.expiresAtMs + 1_000 : 0;
      };
      const times = [facts.expiresAtMs + 1_000, await beat(), await beat()];
      expect(sent).toEqual(times);
      await harness.desk.disarmSwitch(facts.switchId, null);
      expect(sent).toEqual([...times, null]);
    },
  );

  it("that an order of a later time may trust is over at the venue too once it has fired", async () => {
    const { harness, facts } = await armed({ knobs: { scheduleCancel: "accept" } });
    expect(harness.desk.expireSwitch(facts.switchId, 0, null)).toBe(true);
    await harness.clock.advanceAsync(100);
    expect(statuses(harness)).toEqual(["CANCELED"]);
    expect(harness.calls.scheduled).toEqual([facts.expiresAtMs + 1_000, null]);
    expect(openSessions(harness)).toBe(0);
  });

  it("armed while the one before fires keeps the venue's", async () => {
    const { harness, facts } = await armed({ knobs: { scheduleCancel: "accept" } });
    harness.calls.cancelAllFates.push("unknown");
    expect(harness.desk.expireSwitch(facts.switchId, 0, null)).toBe(true);
    const again = await arm(harness, 20_000);
    await harness.clock.advanceAsync(5_000);
    expect([harness.calls.cancelAll, ...statuses(harness)]).toEqual([2, "CANCELED"]);
    expect(harness.calls.scheduled).toEqual([facts.expiresAtMs + 1_000, again.expiresAtMs + 1_000]);
  });

  it("armed while the one before is being ended reaches the venue after that end", async () => {
    const sent: (number | null)[] = [];
    let slowMs = 0;
    const { harness, facts } = await armed({
      mutateRoom: (room) =>
        withSchedule(room, async (atMs) => {
          if (atMs === null) await delay(harness.clock, slowMs);
          sent.push(atMs);
          return { outcome: "accepted" };
        }),
    });
    slowMs = 2_000;
    const ended = harness.desk.disarmSwitch(facts.switchId, null);
    const again = await arm(harness);
    await harness.run(ended);
    expect(sent).toEqual([facts.expiresAtMs + 1_000, null, again.expiresAtMs + 1_000]);
  });

  it("fires sooner once nobody will call: after a while or at once, never later than it would", async () => {
    const { harness, facts } = await armed();
    expect(harness.desk.expireSwitch(facts.switchId, 60_000, null)).toBe(true);
    expect(harness.desk.expireSwitch(facts.switchId, 2_000, null)).toBe(true);
    await harness.clock.advanceAsync(1_900);
    expect(statuses(harness)).toEqual(["OPEN"]);
    await harness.clock.advanceAsync(200);
    expect(statuses(harness)).toEqual(["CANCELED"]);
    expect(harness.desk.expireSwitch(facts.switchId, 0, null)).toBe(false);

    await harness.order(LIMIT);
    const again = await arm(harness);
    expect(harness.desk.expireSwitch(again.switchId, 0, null)).toBe(true);
    await harness.clock.advanceAsync(100);
    expect([...statuses(harness), openSessions(harness)]).toEqual(["CANCELED", "CANCELED", 0]);
  });

  it("fires in time, at its venue too, whatever our wall clock is set to", async () => {
    for (const stepMs of [90_000, -90_000]) {
      const { harness, facts } = await armed({ knobs: { scheduleCancel: "accept" } }, 30_000);
      const { clock, calls } = harness;
      clock.stepWall(stepMs);
      await clock.advanceAsync(4_000);
      // The venue's moves with the heartbeat, by the time that passed.
      const beaten = await harness.desk.heartbeat(facts.switchId, null);
      expect(beaten).toMatchObject({ ok: true, armed: { expiresAtMs: clock.wallMs() + 30_000 } });
      expect(calls.scheduled.slice(1)).toEqual([clock.wallMs() + 31_000]);
      clock.stepWall(-stepMs);
      expect(harness.desk.expireSwitch(facts.switchId, 2_000, null)).toBe(true);
      await clock.advanceAsync(1_900);
      expect(statuses(harness)).toEqual(["OPEN"]);
      await clock.advanceAsync(200);
      expect(statuses(harness)).toEqual(["CANCELED"]);
    }
  });

  it("is not put off by a grace beyond its own time after our wall clock was set back", async () => {
    const { harness, facts } = await armed({}, 10_000);
    harness.clock.stepWall(-90_000);
    expect(harness.desk.expireSwitch(facts.switchId, 60_000, null)).toBe(true);
    await harness.clock.advanceAsync(9_900);
    expect(statuses(harness)).toEqual(["OPEN"]);
    await harness.clock.advanceAsync(200);
    expect(statuses(harness)).toEqual(["CANCELED"]);
  });

  it("names its venue a time from when it is sent, not from when an earlier one was", async () => {
    const sent: number[] = [];
    const harness: DeskHarness = await createDesk({
      mutateRoom: (room) =>
        withSchedule(room, async (atMs) => {
          sent.push((atMs ?? 0) - harness.clock.wallMs());
          // The first word takes a while, and our wall clock is set meanwhile.
          if (sent.length === 2) {
            await delay(harness.clock, 2_000);
            harness.clock.stepWall(90_000);
          }
          return { outcome: "accepted" };
        }),
    });
    const facts = await arm(harness);
    await harness.clock.advanceAsync(2_000);
    const first = harness.desk.heartbeat(facts.switchId, null);
    await harness.clock.advanceAsync(1_500);
    const second = harness.desk.heartbeat(facts.switchId, null);
    await harness.run(Promise.all([first, second]));
    expect(sent[2]).toBeGreaterThan(10_000);
    expect(sent[2]).toBeLessThanOrEqual(11_000);
  });

  it("is one for each account: arming again replaces it", async () => {
    const { harness, facts } = await armed();
    const again = await arm(harness, 20_000);
    expect(await harness.desk.heartbeat(facts.switchId, null)).toMatchObject({ code: "SWITCH_NOT_FOUND" });
    expect(harness.desk.status().armedSwitchCount).toBe(1);
    expect(openSessions(harness)).toBe(1);
    await harness.clock.advanceAsync(15_000);
    expect(statuses(harness)).toEqual(["OPEN"]);
    expect(again.switchId).not.toBe(facts.switchId);
  });

  it("fires at a shutdown, unless its venue has it", async () => {
    const { harness } = await armed();
    await harness.run(harness.desk.drain(5_000));
    expect([...statuses(harness), openSessions(harness)]).toEqual(["CANCELED", 0]);
    const other = await armed({ knobs: { scheduleCancel: "accept" } });
    await other.harness.run(other.harness.desk.drain(5_000));
    expect([...statuses(other.harness), openSessions(other.harness)]).toEqual(["OPEN", 0]);
    expect(other.harness.calls.scheduled).toHaveLength(1);
  });

  it("fires at a shutdown in time to try again, though a call hangs for all of it", async () => {
    const { harness } = await armed();
    harness.venue.fate = () => ({ kind: "fill", latencyMs: 60_000 });
    void harness.place({ type: "MARKET" });
    await harness.clock.advanceAsync(1_000);
    harness.calls.cancelAllFates.push("unknown");
    await harness.run(harness.desk.drain(5_000));
    expect([harness.calls.cancelAll, statuses(harness)[0]]).toEqual([2, "CANCELED"]);
    expect(harness.logLines.join()).not.toContain("dead_man_unfinished");
  });

  it("that has not come to its end when a shutdown does leaves a line for a person", async () => {
    const { harness } = await armed();
    harness.calls.cancelAllFates.push(...Array.from({ length: 20 }, () => "unknown" as const));
    await harness.run(harness.desk.drain(1_500));
    expect(statuses(harness)).toEqual(["OPEN"]);
    const lines = harness.logLines.filter((line) => line.includes("dead_man_unfinished"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("venueone");
    expect(lines[0]?.includes(SECRET)).toBe(false);
    // One that ended leaves none.
    const other = await armed();
    await other.harness.run(other.harness.desk.drain(5_000));
    expect(other.harness.logLines.join()).not.toContain("dead_man_unfinished");
  });

  it("says armed at the venue only of what is armed there, symbol by symbol", async () => {
    const harness = await createDesk({ knobs: { scheduleCancel: "bySymbol" } });
    const before = await arm(harness);
    expect(before).toMatchObject({ venueArmed: false, venueSymbols: [] });
    await harness.order(LIMIT);
    await harness.clock.advanceAsync(2_000);
    const beaten = await harness.desk.heartbeat(before.switchId, null);
    expect(beaten).toMatchObject({ ok: true, armed: { venueArmed: true, venueSymbols: ["BTC"] } });
    const whole = await armed({ knobs: { scheduleCancel: "accept" } });
    expect(whole.facts).toMatchObject({ venueArmed: true, venueSymbols: null });
  });

  it.each([true, false])(
    "fires at a shutdown where its venue's covers single symbols only (beaten after the order: %s)",
    async (isBeaten) => {
      const harness = await createDesk({ knobs: { scheduleCancel: "bySymbol" } });
      const facts = await arm(harness);
      await harness.order(LIMIT);
      if (isBeaten) {
        await harness.clock.advanceAsync(2_000);
        await harness.desk.heartbeat(facts.switchId, null);
        await harness.order(LIMIT);
      }
      await harness.run(harness.desk.drain(5_000));
      expect(new Set(statuses(harness))).toEqual(new Set(["CANCELED"]));
      expect(openSessions(harness)).toBe(0);
    },
  );

  it("fires at a shutdown where nobody calls any more: its venue would wait for the whole time", async () => {
    const { harness, facts } = await armed({ knobs: { scheduleCancel: "accept" } }, 3_600_000);
    expect(harness.desk.expireSwitch(facts.switchId, 10_000, null)).toBe(true);
    await harness.run(harness.desk.drain(5_000));
    expect([...statuses(harness), openSessions(harness)]).toEqual(["CANCELED", 0]);
  });

  it("is bounded in time and number", async () => {
    const harness = await createDesk({ desk: { maxSwitches: 1 } });
    for (const timeoutMs of [4_999, 86_400_001, 5_000.5, Number.NaN]) {
      const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs } as const;
      expect(await harness.run(harness.desk.armSwitch(request, null))).toMatchObject({ code: "INVALID_PARAMETERS" });
    }
    await arm(harness);
    const other = {
      venue: "venueone",
      credentials: { account: "other", secret: SECRET },
      payer: null,
      timeoutMs: 9_000,
    } as const;
    expect(await harness.run(harness.desk.armSwitch(other, null))).toMatchObject({ code: "OVERLOADED" });
    expect(openSessions(harness)).toBe(1);
    expect(harness.logLines.join().includes(SECRET)).toBe(false);
  });

  it("leaves room for other owners: one that arms as many as it may has half of it", async () => {
    const harness = await createDesk({ desk: { maxSwitches: 4 } });
    const armBy = async (ownerId: string | null, account: string): Promise<string> => {
      const credentials = { account, secret: SECRET };
      const request = { venue: "venueone", credentials, timeoutMs: 9_000, payer: null } as const;
      const answer = await harness.run(harness.desk.armSwitch(request, ownerId));
      return answer.ok ? "armed" : answer.code;
    };
    const answers: string[] = [];
    for (const account of ["one", "two", "three", "one"]) answers.push(await armBy("ow_greedy", account));
    expect(answers).toEqual(["armed", "armed", "OVERLOADED", "armed"]);
    // The last one is left to a third.
    expect([await armBy("ow_other", "one"), await armBy("ow_other", "two")]).toEqual(["armed", "OVERLOADED"]);
    expect(await armBy("ow_third", "one")).toBe("armed");
    // All have fired, and their places are free again.
    await harness.clock.advanceAsync(60_000);
    expect([harness.desk.status().armedSwitchCount, await armBy("ow_greedy", "three")]).toEqual([0, "armed"]);
  });
});
