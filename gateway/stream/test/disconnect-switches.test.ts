/** Cancel on disconnect on virtual time: the real order desk over fake venues, connections that are open or not. */
import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { ServiceError } from "../../../engine/domain/errors.js";
import { createDesk, CREDENTIALS, type DeskHarness, SECRET } from "../../../engine/orders/single/test/desk-harness.js";
import type { Connection } from "../connection.js";
import {
  DisconnectSwitches,
  type DisconnectWish,
  type HeldSwitch,
  type DisconnectDesk,
} from "../disconnect-switches.js";

const LIMIT = { type: "LIMIT", price: "95000" } as const;
const TIMEOUT_MS = 30_000;

let harness: DeskHarness;
let switches: DisconnectSwitches;
let told: ServiceError[];

beforeEach(async () => {
  harness = await createDesk();
  told = [];
  const { clock, desk } = harness;
  switches = new DisconnectSwitches({ clock, logger: silentLogger, desk }, (_connection, error) => told.push(error));
});

/** The parts of a connection that a switch uses. */
function connection(isOpen = true): Connection & { isOpen: boolean } {
  return { isOpen } as Connection & { isOpen: boolean };
}

function arm(of: Connection, changes: Partial<DisconnectWish> = {}): Promise<readonly HeldSwitch[]> {
  const wish: DisconnectWish = {
    venues: ["venueone"],
    blocks: { venueone: CREDENTIALS, venuetwo: CREDENTIALS },
    timeoutMs: TIMEOUT_MS,
    ownerId: null,
    payer: null,
    graceMs: 0,
    ...changes,
  };
  return harness.run(switches.arm(of, wish));
}

function lose(of: Connection & { isOpen: boolean }): void {
  of.isOpen = false;
  switches.gone(of);
}

const statuses = () => harness.venue.log.map(({ order }) => order?.status);
const openSessions = () =>
  [harness.venue, harness.two].flatMap(({ sessions }) => sessions.filter(({ closed }) => !closed)).length;
const armedCount = () => harness.desk.status().armedSwitchCount;

describe("a connection that cancels when it is lost", () => {
  it("keeps its orders while it is open, for hours", async () => {
    await harness.order(LIMIT);
    await arm(connection());
    await harness.clock.advanceAsync(3 * 3_600_000);
    expect([statuses(), armedCount(), told]).toEqual([["OPEN"], 1, []]);
  });

  it("cancels at once when it is lost, on every requested venue, and wipes the credentials", async () => {
    await harness.order(LIMIT);
    await harness.order({ ...LIMIT, venue: "venuetwo" });
    const client = connection();
    const held = await arm(client, { venues: ["venueone", "venuetwo"] });
    expect(held.map(({ facts }) => facts.venue)).toEqual(["venueone", "venuetwo"]);
    lose(client);
    await harness.clock.advanceAsync(100);
    expect([...statuses(), harness.two.log[0]?.order?.status]).toEqual(["CANCELED", "CANCELED"]);
    expect([armedCount(), openSessions()]).toEqual([0, 0]);
    expect(harness.logLines.join("\n")).not.toContain(SECRET);
  });

  it("waits for its grace period, in which the next connection takes over", async () => {
    await harness.order(LIMIT);
    const first = connection();
    await arm(first, { graceMs: 10_000 });
    await harness.clock.advanceAsync(25_000);
    lose(first);
    await harness.clock.advanceAsync(9_000);
    expect(statuses()).toEqual(["OPEN"]);
    const second = connection();
    await arm(second, { graceMs: 10_000 });
    await harness.clock.advanceAsync(600_000);
    expect([statuses(), armedCount()]).toEqual([["OPEN"], 1]);
    lose(second);
    await harness.clock.advanceAsync(9_900);
    expect(statuses()).toEqual(["OPEN"]);
    await harness.clock.advanceAsync(200);
    expect(statuses()).toEqual(["CANCELED"]);
  });

  it("also cancels where it was lost while the venue still armed the switch", async () => {
    await harness.order(LIMIT);
    const client = connection();
    const arming = arm(client);
    lose(client);
    expect(await arming).toEqual([]);
    await harness.clock.advanceAsync(100);
    expect([statuses(), armedCount()]).toEqual([["CANCELED"], 0]);
  });

  it("also cancels where it was lost during a second arm", async () => {
    await harness.order(LIMIT);
    const client = connection();
    const { clock, desk } = harness;
    const losing: DisconnectDesk = {
      armSwitches: (requests) => desk.armSwitches(requests, null),
      disarmSwitch: (switchId) => desk.disarmSwitch(switchId, null),
      expireSwitch: (switchId, delayMs) => desk.expireSwitch(switchId, delayMs, null),
      heartbeat(switchId) {
        lose(client);
        return desk.heartbeat(switchId, null);
      },
    };
    switches = new DisconnectSwitches({ clock, logger: silentLogger, desk: losing }, (_of, error) => told.push(error));
    await arm(client);
    expect(await arm(client)).toEqual([]);
    await harness.clock.advanceAsync(100);
    expect([statuses(), armedCount(), openSessions()]).toEqual([["CANCELED"], 0, 0]);
    await harness.clock.advanceAsync(600_000);
    expect(told).toEqual([]);
  });

  it("cancels nothing after its switches were disarmed", async () => {
    await harness.order(LIMIT);
    const client = connection();
    await arm(client);
    expect(await harness.run(switches.disarm(client))).toEqual([]);
    lose(client);
    await harness.clock.advanceAsync(120_000);
    expect([statuses(), armedCount(), openSessions()]).toEqual([["OPEN"], 0, 0]);
  });

  it("has one switch when it arms again for the same account, without a notice", async () => {
    const client = connection();
    await arm(client);
    const held = await arm(client, { timeoutMs: 60_000 });
    expect(held.map(({ facts }) => facts.timeoutMs)).toEqual([60_000]);
    await harness.clock.advanceAsync(300_000);
    expect([armedCount(), told]).toEqual([1, []]);
  });

  it("is notified when one of its switches is ended elsewhere", async () => {
    const client = connection();
    const [held] = await arm(client);
    await harness.run(harness.desk.disarmSwitch(held?.facts.switchId ?? "", null));
    await harness.clock.advanceAsync(60_000);
    expect(told.map(({ code, context }) => [code, context])).toEqual([
      ["SWITCH_NOT_FOUND", { exchange: "venueone", switchId: held?.facts.switchId }],
    ]);
  });

  it("arms all requested venues or none", async () => {
    const client = connection();
    await expect(arm(client, { venues: ["venueone", "venuetwo"], blocks: { venueone: CREDENTIALS } })).rejects.toThrow(
      "Missing or invalid credentials for venuetwo",
    );
    await expect(arm(client, { venues: ["venueone", "venuefour"] })).rejects.toMatchObject({
      code: "MISSING_CREDENTIALS",
    });
    expect([armedCount(), openSessions()]).toEqual([0, 0]);
    expect(await arm(client)).toHaveLength(1);
  });

  it("keeps its earlier switches unchanged when a larger request is refused", async () => {
    await harness.order(LIMIT);
    const client = connection();
    const [stood] = await arm(client);
    const wider = { venues: ["venueone", "venuetwo"] } as const;
    for (const venuetwo of [undefined, { account: "acct-two" }, { account: 7, secret: SECRET }])
      await expect(arm(client, { ...wider, blocks: { venueone: CREDENTIALS, venuetwo } })).rejects.toMatchObject({
        code: "MISSING_CREDENTIALS",
      });
    await expect(arm(client, { venues: ["venueone", "venuefour"] })).rejects.toMatchObject({
      code: "MISSING_CREDENTIALS",
    });
    expect([armedCount(), openSessions()]).toEqual([1, 1]);
    expect(await harness.desk.heartbeat(stood?.facts.switchId ?? "", null)).toMatchObject({ ok: true });
    await harness.clock.advanceAsync(120_000);
    expect([told, statuses()]).toEqual([[], ["OPEN"]]);
    lose(client);
    await harness.clock.advanceAsync(100);
    expect([statuses(), armedCount(), openSessions()]).toEqual([["CANCELED"], 0, 0]);
  });

  it("is limited to one call at a time and sixteen switches", async () => {
    const client = connection();
    const first = arm(client);
    await expect(arm(client)).rejects.toMatchObject({ code: "OVERLOADED" });
    await first;
    for (let account = 1; account < 16; account++)
      await arm(client, { blocks: { venueone: { account: `acct-${account}`, secret: SECRET } } });
    await expect(arm(client)).rejects.toMatchObject({ code: "OVERLOADED", context: { limit: 16 } });
    expect(armedCount()).toBe(16);
  });

  it("leaves its switches to the desk when the service stops", async () => {
    await harness.order(LIMIT);
    const client = connection();
    await arm(client);
    client.isOpen = false;
    switches.leave(client);
    await harness.clock.advanceAsync(1_000);
    expect(statuses()).toEqual(["OPEN"]);
    await harness.run(harness.desk.drain(5_000));
    expect([statuses(), armedCount()]).toEqual([["CANCELED"], 0]);
  });

  it("reports which of its switches the venue has not confirmed to have ended", async () => {
    const { clock, desk } = harness;
    const slow: DisconnectDesk = {
      ...desk,
      armSwitches: (requests) => desk.armSwitches(requests, null),
      heartbeat: (switchId) => desk.heartbeat(switchId, null),
      expireSwitch: (switchId, delayMs) => desk.expireSwitch(switchId, delayMs, null),
      disarmSwitch: async (switchId) => {
        const answer = await desk.disarmSwitch(switchId, null);
        return answer.ok ? { ok: true, armed: { ...answer.armed, state: "ENDING", venueArmed: true } } : answer;
      },
    };
    switches = new DisconnectSwitches({ clock, logger: silentLogger, desk: slow }, () => {});
    const client = connection();
    await arm(client);
    const left = await switches.disarm(client);
    expect(left.map(({ facts }) => [facts.venue, facts.state])).toEqual([["venueone", "ENDING"]]);
    expect(await switches.disarm(client)).toEqual([]);
  });
});
