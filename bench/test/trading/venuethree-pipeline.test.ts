/**
 * Many orders of one key over venuethree's socket against its local venue: strict nonces there, several in flight here.
 * The venue's own log and its lists are the judge: no nonce is used twice, no order is doubled or lost, every outcome
 * is true.
 */
import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome } from "../../../engine/domain/order.js";
import { start as startBench } from "../support/trading/bench.js";
import { FIRST_NONCE, VENUETHREE_BY_SOCKET } from "../support/trading/venuethree.js";
import { open, OPTIONS } from "../support/trading-half.js";

const TIMEOUT_MS = OPTIONS.timeoutMs;
const ORDERS = 200;
/** Turns without an answer after which only time brings more. */
const QUIET_MS = 50;
const WINDOW = 8;
const TOO_MANY_LOTS = 100_000_000_000;

type Bench = Awaited<ReturnType<typeof start>>;

async function start() {
  const bench = await startBench(VENUETHREE_BY_SOCKET);
  await bench.parts.connected();
  // Confirms the key, so that what follows starts at once.
  await bench.half.resolveKey(bench.session, OPTIONS);
  return bench;
}

/** An order beyond the account's margin: the API refuses it, and its nonce stays free. */
function tooLarge(on: Bench): OrderCommand {
  return on.resting({ qtyLots: TOO_MANY_LOTS });
}

/** Sends all at once; the clock moves while any is unanswered, as time would. */
async function sendAll(on: Bench, commands: readonly OrderCommand[]): Promise<readonly PlaceOutcome[]> {
  let openCount = commands.length;
  const outcomes = commands.map(async (command) => {
    const outcome = await on.half.orders.place(on.session, command, OPTIONS);
    openCount--;
    return outcome;
  });
  let progressMs = performance.now();
  for (let idleTurns = 0; openCount > 0; ) {
    const before = openCount;
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    idleTurns = openCount === before ? idleTurns + 1 : 0;
    if (idleTurns === 0) progressMs = performance.now();
    // Turns alone prove nothing where the kernel delays what is in flight.
    if (idleTurns >= 3 && performance.now() - progressMs >= QUIET_MS) on.clock.advance(50);
  }
  return Promise.all(outcomes);
}

/** Checks that the venue's lists and log agree with every outcome. */
async function judge(
  on: Bench,
  commands: readonly OrderCommand[],
  outcomes: readonly PlaceOutcome[],
): Promise<Readonly<Record<PlaceOutcome["outcome"], number>>> {
  on.sim.faults.clear();
  on.settle();
  const openOrders = await on.openOrders();
  const atVenue = new Set(openOrders.map((order) => order.venueClientOrderId));
  expect(atVenue.size).toBe(openOrders.length);
  const counts = { accepted: 0, rejected: 0, unknown: 0 };
  for (const [index, outcome] of outcomes.entries()) {
    counts[outcome.outcome]++;
    const id = on.half.orders.venueClientOrderId(commands[index]?.clientIdHex ?? "");
    if (outcome.outcome === "accepted") expect(atVenue.has(id)).toBe(true);
    if (outcome.outcome === "rejected") expect(atVenue.has(id)).toBe(false);
  }
  const taken = on.sim.log.records({ action: "place" }).filter(({ refusal }) => refusal === null);
  expect(new Set(taken.map(({ nonce }) => nonce)).size).toBe(taken.length);
  expect(new Set(taken.map(({ clientId }) => clientId)).size).toBe(taken.length);
  return counts;
}

describe("of 200 orders at once on one key of venuethree,", () => {
  it("each is placed once, over the socket alone, with several in flight", async () => {
    const on = await start();
    const commands = Array.from({ length: ORDERS }, () => on.resting());
    const outcomes = await sendAll(on, commands);
    expect(await judge(on, commands, outcomes)).toEqual({ accepted: ORDERS, rejected: 0, unknown: 0 });
    // In the order of their nonces, none refused on the way.
    const records = on.sim.log.records({ action: "place" });
    expect(records.map(({ nonce }) => Number(nonce))).toEqual(records.map((_, index) => FIRST_NONCE + index));
    expect(on.parts.txSocket?.stats()?.frameCount).toBe(1 + ORDERS);
  });

  it("those that the venue refuses are rejected, and no others", async () => {
    const on = await start();
    const commands = Array.from({ length: ORDERS }, (_, index) => (index % 11 === 5 ? tooLarge(on) : on.resting()));
    const outcomes = await sendAll(on, commands);
    const refusedCount = commands.filter(({ qtyLots }) => qtyLots === TOO_MANY_LOTS).length;
    expect(await judge(on, commands, outcomes)).toEqual({
      accepted: ORDERS - refusedCount,
      rejected: refusedCount,
      unknown: 0,
    });
    for (const [index, outcome] of outcomes.entries())
      if (outcome.outcome === "rejected")
        expect([commands[index]?.qtyLots, outcome.venueCode]).toEqual([TOO_MANY_LOTS, "21739"]);
  });

  it.each([
    ["lost on the way there", { kind: "loss", match: "jsonapi/sendtx" }, false],
    ["answered by nobody", { kind: "loss", match: "txAnswer" }, true],
    ["failed at the server after execution", { kind: "errorAfter", match: "jsonapi/sendtx" }, true],
    ["failed at the server before", { kind: "errorBefore", match: "jsonapi/sendtx" }, false],
  ] as const)("some %s are unknown, and all others true", async (_what, fault, isPlaced) => {
    const on = await start();
    on.sim.faults.add({ ...fault, probability: 0.03 });
    const commands = Array.from({ length: ORDERS }, () => on.resting());
    const outcomes = await sendAll(on, commands);
    const counts = await judge(on, commands, outcomes);
    expect(counts.unknown).toBeGreaterThan(0);
    const openOrders = await on.openOrders();
    expect(openOrders).toHaveLength(counts.accepted + (isPlaced ? counts.unknown : 0));
  });

  it("at most a window is unknown where the connection is cut between execution and answer, and the rest goes on without it", async () => {
    const on = await start();
    on.sim.faults.add({ kind: "disconnect", match: "txAnswer", probability: 0.04 });
    const commands = Array.from({ length: ORDERS }, () => on.resting());
    const outcomes = await sendAll(on, commands);
    const cuts = on.sim.faults.hits().disconnect;
    const counts = await judge(on, commands, outcomes);
    expect(cuts).toBeGreaterThan(0);
    expect(counts.unknown).toBeGreaterThanOrEqual(cuts);
    expect(counts.unknown).toBeLessThanOrEqual(cuts * WINDOW);
  });

  it("each has a true outcome, only later, where the venue takes them in another order than they were written", async () => {
    const on = await start();
    on.sim.room.setQuirks({ unorderedTransactions: true });
    const commands = Array.from({ length: 40 }, () => on.resting());
    const outcomes = await sendAll(on, commands);
    const counts = await judge(on, commands, outcomes);
    expect(counts).toEqual({ accepted: 40, rejected: 0, unknown: 0 });
    // The room noticed the order and adapted: it wasted far fewer than a full window each time.
    const wasted = on.sim.log.records({ action: "place" }).length - 40;
    expect(wasted).toBeGreaterThan(0);
    expect(wasted).toBeLessThan(40);
  });
});

describe("in a window of orders on one key of venuethree,", () => {
  it("all are unknown when the socket is lost between send and answer, and each is found at the venue or is not there", async () => {
    const on = await start();
    on.sim.faults.add({ kind: "replyLost", match: "jsonapi/sendtx", count: 1 });
    const commands = Array.from({ length: WINDOW }, () => on.resting());
    const outcomes = await sendAll(on, commands);
    const counts = await judge(on, commands, outcomes);
    expect(counts.unknown).toBeGreaterThan(0);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.outcome !== "unknown") continue;
      expect(outcome.cause).toBe("CONNECTION_LOST");
      const found = await on.find(commands[index] as OrderCommand);
      if (found !== null) expect(found.status).toBe("OPEN");
    }
    // Single requests carry orders until the socket is back, then the socket again.
    const during = on.resting();
    expect(await sendAll(on, [during])).toMatchObject([{ outcome: "accepted" }]);
    for (let turn = 0; turn < 20 && on.parts.txSocket?.way().id === 0; turn++) {
      on.clock.advance(500);
      for (let wait = 0; wait < 200; wait++) await new Promise((resolve) => setImmediate(resolve));
    }
    await on.parts.connected();
    const frames = on.parts.txSocket?.stats()?.frameCount ?? 0;
    const after = Array.from({ length: 20 }, () => on.resting());
    for (const outcome of await sendAll(on, after)) expect(outcome.outcome).toBe("accepted");
    expect(on.parts.txSocket?.stats()?.frameCount).toBe(frames + 20);
  });

  it("a refused one costs those behind it one more try and nothing else", async () => {
    const on = await start();
    const commands = [on.resting(), on.resting(), tooLarge(on), ...Array.from({ length: 5 }, () => on.resting())];
    const outcomes = await sendAll(on, commands);
    expect(outcomes.map(({ outcome }) => outcome === "accepted")).toEqual([
      true,
      true,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(await judge(on, commands, outcomes)).toEqual({ accepted: 7, rejected: 1, unknown: 0 });
  });

  it("a lost one is unknown, never placed, and keeps no other from its outcome", async () => {
    const on = await start();
    const commands = Array.from({ length: WINDOW }, () => on.resting());
    const [first, second] = [commands.slice(0, 2), commands.slice(2)];
    const early = await sendAll(on, first);
    on.sim.faults.add({ kind: "loss", match: "jsonapi/sendtx", count: 1 });
    const late = await sendAll(on, second);
    const outcomes = [...early, ...late];
    expect(await judge(on, commands, outcomes)).toEqual({ accepted: 7, rejected: 0, unknown: 1 });
    const index = outcomes.findIndex(({ outcome }) => outcome === "unknown");
    const outcome = outcomes[index];
    if (outcome?.outcome !== "unknown") return;
    on.clock.advance(TIMEOUT_MS + 10_000);
    expect(on.clock.wallMs()).toBeGreaterThan(outcome.notPlacedAfterMs);
    expect(await on.find(commands[index] as OrderCommand)).toBeNull();
  });

  it("every order goes out although another program uses the key at the same time", async () => {
    const on = await start();
    const other = otherProgram(on);
    const commands = Array.from({ length: 40 }, () => on.resting());
    const foreign = Array.from({ length: 10 }, () => on.resting());
    const [outcomes, others] = await Promise.all([
      sendAll(on, commands),
      Promise.all(foreign.map((command) => other.place(command))),
    ]);
    const accepted = outcomes.filter(({ outcome }) => outcome === "accepted").length;
    expect(accepted + outcomes.filter(({ outcome }) => outcome === "rejected").length).toBe(40);
    expect(accepted).toBeGreaterThan(30);
    await judge(on, [...commands, ...foreign], [...outcomes, ...others]);
    await other.stop();
  });
});

/** A second program without knowledge of the first one's count; single requests. */
function otherProgram(on: Bench) {
  const { half, stop } = on.parts.another();
  const session = open(half, VENUETHREE_BY_SOCKET.credentials);
  return { stop, place: (command: OrderCommand) => half.orders.place(session, command, OPTIONS) };
}
