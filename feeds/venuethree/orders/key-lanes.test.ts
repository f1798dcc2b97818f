/** One key's transactions in turn, on a virtual clock and a venue that takes nonces in unbroken order only. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Lane, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { never, nonceRead, settle, submit, take } from "../test/key-turns.js";
import { KeyLanes, type LaneJob, type Turn } from "./key-lanes.js";
import type { Way } from "./nonce-window.js";

describe("KeyLanes", () => {
  it("asks for the nonce once, then counts by itself", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const first = await take(lanes, () => nonceRead(42));
    expect(first.nonce).toBe(42);
    first.end("spent");
    const second = await take(lanes);
    expect(second.nonce).toBe(43);
    second.end("kept");
    expect((await take(lanes)).nonce).toBe(43);
  });

  it("asks again after doubt, and takes what the venue says, lower or higher", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    (await take(lanes, () => nonceRead(10))).end("doubtful");
    const turn = await take(lanes, () => nonceRead(9));
    expect(turn.nonce).toBe(9);
    turn.end("doubtful");
    expect((await take(lanes, () => nonceRead(50))).nonce).toBe(50);
  });

  it("lets the next go only when the turn ended, exits first, then in order of arrival", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const first = await take(lanes, () => nonceRead(1));
    const order: string[] = [];
    const wait = async (name: string, lane: Lane): Promise<void> => {
      const turn = await take(lanes, never, lane);
      order.push(`${name}${turn.nonce}`);
      turn.end("spent");
    };
    const all = [wait("a", "trade"), wait("b", "background"), wait("c", "exit"), wait("d", "exit"), wait("e", "trade")];
    await settle();
    expect(order).toEqual([]);
    first.end("spent");
    await Promise.all(all);
    expect(order).toEqual(["c2", "d3", "a4", "e5", "b6"]);
  });

  it("ignores a second end of one turn", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const first = await take(lanes, () => nonceRead(1));
    first.end("spent");
    const second = await take(lanes);
    first.end("doubtful");
    const third = submit(lanes);
    await settle();
    second.end("spent");
    expect(await third).toMatchObject({ ok: true, turn: { nonce: 3 } });
  });

  it("stops waiting in time, and does not keep the turn from the others", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock });
    const first = await take(lanes, () => nonceRead(1));
    const late = submit(lanes, never, "trade", 100);
    const patient = submit(lanes);
    clock.advance(101);
    expect(await late).toMatchObject({ ok: false, code: "TIMEOUT" });
    first.end("spent");
    expect(await patient).toMatchObject({ ok: true, turn: { nonce: 2 } });
    expect(await submit(lanes, never, "trade", 0)).toMatchObject({ ok: false, code: "TIMEOUT" });
  });

  it("refuses what is too much, and keys do not wait for each other", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock(), maxWaiting: 1 });
    await take(lanes, () => nonceRead(1));
    void submit(lanes);
    expect(await submit(lanes, never, "exit")).toMatchObject({ ok: false, code: "RATE_LIMITED" });
    expect(await submit(lanes, () => nonceRead(5), "trade", 1_000, "2:4")).toMatchObject({ ok: true });
  });

  it.each([
    ["fails", () => Promise.resolve(failedRead("TIMEOUT", "no answer"))],
    ["throws", () => Promise.reject(new Error("broken"))],
  ])("hands the turn on when the nonce's read %s", async (_what, load) => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const failing = submit(lanes, load);
    const next = submit(lanes, () => nonceRead(3));
    expect(await failing).toMatchObject({ ok: false });
    expect(await next).toMatchObject({ ok: true, turn: { nonce: 3 } });
  });

  it("is not held up by a turn that ends within its start", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock });
    lanes.hint("1:4", 7, clock.monoNs());
    const nonces: number[] = [];
    const job: LaneJob = {
      lane: "trade",
      leftMs: () => 1_000,
      load: never,
      start: (turn) => {
        nonces.push(turn.nonce);
        turn.end(nonces.length === 1 ? "kept" : "spent");
      },
      fail: () => nonces.push(-1),
    };
    for (let count = 0; count < 3; count++) lanes.submit("1:4", job);
    await settle();
    expect(nonces).toEqual([7, 7, 8]);
  });

  it("takes no hint that was asked for before its last transaction was over: that one may have spent the nonce", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock });
    const askedNs = clock.monoNs();
    const turn = await take(lanes, () => nonceRead(10));
    clock.advance(2_000);
    turn.end("doubtful");
    lanes.hint("1:4", 10, askedNs);
    expect((await take(lanes, () => nonceRead(11))).nonce).toBe(11);
  });

  it("keeps no nonce for later that was named while a lost transaction may still come to the venue", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock });
    const lost = await take(lanes, () => nonceRead(75));
    lost.end("doubtful");
    clock.advance(100);
    // The venue has not had it yet, and names its nonce.
    lanes.hint("1:4", 75, clock.monoNs());
    let named = (): void => {};
    const slow = () => new Promise<Read<number>>((resolve) => (named = () => resolve(nonceRead(75))));
    const gone = submit(lanes, slow, "trade", 300);
    clock.advance(400);
    expect(await gone).toMatchObject({ ok: false, code: "TIMEOUT" });
    named();
    await settle();
    // By now it has come, and was executed.
    clock.advance(5_000);
    const next = await take(lanes, () => nonceRead(76));
    expect(next.nonce).toBe(76);
    next.end("spent");
    // Once none can come any more a hint is as good as ever.
    clock.advance(120_000);
    (await take(lanes)).end("kept");
    expect((await take(lanes)).nonce).toBe(77);
  });

  it("takes a hint only where it knows nothing better", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock });
    lanes.hint("1:4", 42, clock.monoNs());
    const turn = await take(lanes);
    expect(turn.nonce).toBe(42);
    lanes.hint("1:4", 42, clock.monoNs());
    turn.end("spent");
    lanes.hint("1:4", 42, clock.monoNs());
    expect((await take(lanes)).nonce).toBe(43);
  });

  it("takes no hint of a forgotten key that was asked for before its last transaction was over", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock, maxKeys: 1 });
    const askedNs = clock.monoNs();
    const turn = await take(lanes, () => nonceRead(10));
    clock.advance(2_000);
    turn.end("spent");
    await submit(lanes, () => nonceRead(1), "trade", 1_000, "2:4");
    lanes.hint("1:4", 10, askedNs);
    expect((await take(lanes, () => nonceRead(11))).nonce).toBe(11);
  });

  it("takes a hint of a forgotten key that was asked for since", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock, maxKeys: 1 });
    (await take(lanes, () => nonceRead(10))).end("spent");
    const other = await submit(lanes, () => nonceRead(1), "trade", 1_000, "2:4");
    if (other.ok) other.turn.end("spent");
    clock.advance(1);
    lanes.hint("1:4", 12, clock.monoNs());
    expect((await take(lanes)).nonce).toBe(12);
  });

  it("forgets the key used longest ago, never a busy one", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock(), maxKeys: 2 });
    await submit(lanes, () => nonceRead(1), "trade", 1_000, "busy");
    for (const key of ["a", "b", "c"]) {
      const taken = await submit(lanes, () => nonceRead(1), "trade", 1_000, key);
      if (taken.ok) taken.turn.end("spent");
    }
    expect(lanes.keyCount).toBe(2);
    const waiting = submit(lanes, never, "trade", 10, "busy");
    expect(await Promise.race([waiting, settle().then(() => "waits")])).toBe("waits");
  });
});

describe("several orders at once over one connection:", () => {
  const CONNECTION: Way = { id: 3, width: 4 };
  function wide(clock = new VirtualClock()) {
    let way: Way = CONNECTION;
    const lanes = new KeyLanes({ clock, way: () => way });
    lanes.hint("1:4", 10, clock.monoNs());
    return {
      clock,
      lanes,
      use(next: Way) {
        way = next;
      },
    };
  }

  it("starts as many as the way takes, in order, and the next with each answer", async () => {
    const { lanes } = wide();
    const taken = Array.from({ length: 6 }, () => submit(lanes));
    const turns = await Promise.all(taken.slice(0, 4));
    expect(turns.map((each) => each.ok && each.turn.nonce)).toEqual([10, 11, 12, 13]);
    expect(await Promise.race([taken[4], settle().then(() => "waits")])).toBe("waits");
    const [first] = turns;
    if (first?.ok === true) first.turn.end("spent");
    expect(await taken[4]).toMatchObject({ ok: true, turn: { nonce: 14, wayId: 3 } });
  });

  it("single requests wait until the connection's are answered, and the other way round", async () => {
    const { lanes, use } = wide();
    const [first, second] = [await take(lanes), await take(lanes)];
    use({ id: 0, width: 1 });
    const third = submit(lanes);
    const fourth = submit(lanes);
    first.end("spent");
    expect(await Promise.race([third, settle().then(() => "waits")])).toBe("waits");
    second.end("spent");
    const single = await third;
    expect(single).toMatchObject({ ok: true, turn: { nonce: 12, wayId: 0 } });
    use({ id: 4, width: 4 });
    expect(await Promise.race([fourth, settle().then(() => "waits")])).toBe("waits");
    if (single.ok) single.turn.end("spent");
    expect(await fourth).toMatchObject({ ok: true, turn: { nonce: 13, wayId: 4 } });
  });

  it("a refusal in the midst: those behind come again before what came later, and no question is asked", async () => {
    const { lanes } = wide();
    const log: string[] = [];
    const turns: Turn[] = [];
    const job = (name: string): LaneJob => ({
      lane: "trade",
      leftMs: () => 1_000,
      load: never,
      start: (turn) => {
        log.push(`${name}${turn.nonce}`);
        turns.push(turn);
      },
      fail: (why) => log.push(why.code),
    });
    const jobs = ["a", "b", "c", "d", "e"].map(job);
    for (const each of jobs) lanes.submit("1:4", each);
    expect(log).toEqual(["a10", "b11", "c12", "d13"]);
    turns[0]?.end("spent");
    turns[1]?.end("kept");
    expect(turns[2]?.isBehind()).toBe(true);
    turns[2]?.end("refused", jobs[2]);
    turns[3]?.end("refused", jobs[3]);
    // e had started with the first answer.
    turns[4]?.end("refused", jobs[4]);
    expect(log.slice(4)).toEqual(["e14", "c11"]);
    turns[5]?.end("spent");
    expect(log.slice(6)).toEqual(["d12", "e13"]);
  });

  it("one without an answer in the midst: waited for briefly, then the venue names the nonce", async () => {
    const { clock, lanes } = wide();
    const [, lost, third] = [await take(lanes), await take(lanes), await take(lanes)];
    (await take(lanes)).end("refused");
    third.end("refused");
    const next = submit(lanes, () => nonceRead(11));
    clock.advance(249);
    expect(await Promise.race([next, settle().then(() => "waits")])).toBe("waits");
    clock.advance(1);
    const again = await next;
    expect(again).toMatchObject({ ok: true, turn: { nonce: 11 } });
    // Its answer comes after all: another has the nonce by now, and its refusal asks the venue again.
    lost.end("spent");
    if (again.ok) again.turn.end("refused");
    expect(await submit(lanes, () => nonceRead(12))).toMatchObject({ ok: true, turn: { nonce: 12 } });
  });

  it("a lost connection: nothing more is started before the venue named the nonce", async () => {
    const { lanes, use } = wide();
    const turns = [await take(lanes), await take(lanes), await take(lanes), await take(lanes)];
    const next = submit(lanes, () => nonceRead(12));
    use({ id: 0, width: 1 });
    for (const turn of turns) turn.end("doubtful");
    expect(await next).toMatchObject({ ok: true, turn: { nonce: 12, wayId: 0 } });
  });
});

describe("against a venue of its own mind,", () => {
  const outcomes = fc.constantFrom(
    "taken",
    "taken",
    "taken",
    "refused",
    "lost before",
    "lost after",
    "held",
    "foreign",
  );
  const plans = fc.record({
    outcomes: fc.array(outcomes, { minLength: 1, maxLength: 60 }),
    start: fc.integer({ min: 0, max: 99 }),
    width: fc.integer({ min: 1, max: 8 }),
    /** Which of those written and unanswered the venue takes next: 0 is the oldest. */
    picks: fc.array(fc.nat(7), { maxLength: 40 }),
  });

  it("every nonce is executed once and in order, and every transaction at most once", async () => {
    await fc.assert(
      fc.asyncProperty(plans, async ({ outcomes: kinds, start, width, picks }) => {
        const clock = new VirtualClock();
        const lanes = new KeyLanes({ clock, way: () => ({ id: 1, width }) });
        let venueNext = start;
        const executed = new Map<string, number>();
        const written: { readonly name: string; readonly kind: string; readonly turn: Turn; readonly job: LaneJob }[] =
          [];
        let openCount = kinds.length;
        for (const [index, kind] of kinds.entries()) {
          let isFirst = true;
          const job: LaneJob = {
            lane: "trade",
            leftMs: () => 60_000,
            load: () => nonceRead(venueNext),
            start: (turn) => {
              written.push({ name: `${index}`, kind: isFirst ? kind : "taken", turn, job });
              isFirst = false;
            },
            fail: (why) => {
              throw new Error(`${index}: ${why.code}`);
            },
          };
          lanes.submit("1:4", job);
        }
        const nonces: number[] = [];
        /** On their way for longer than they are waited for; the venue has them after it named their nonce once more. */
        const held: { readonly name: string; readonly nonce: number }[] = [];
        const execute = (name: string): void => {
          nonces.push(venueNext++);
          executed.set(name, (executed.get(name) ?? 0) + 1);
        };
        for (let step = 0; openCount > 0; step++) {
          await settle();
          for (const { name, nonce } of held.splice(0)) if (nonce === venueNext) execute(name);
          if (written.length === 0) {
            clock.advance(250);
            continue;
          }
          const [one] = written.splice((picks[step] ?? 0) % written.length, 1);
          if (one === undefined) continue;
          const { name, turn, job } = one;
          // Another program uses the key in between.
          if (one.kind === "foreign") venueNext++;
          const isHad = !["lost before", "held", "refused"].includes(one.kind);
          const isNext = turn.nonce === venueNext && isHad;
          if (isNext) execute(name);
          if (one.kind === "held") held.push({ name, nonce: turn.nonce });
          if (["lost before", "lost after", "held"].includes(one.kind)) turn.end("doubtful");
          else if (one.kind === "refused") turn.end("kept");
          else if (isNext) turn.end("spent");
          else {
            turn.end("refused", job);
            continue;
          }
          openCount--;
        }
        expect([...executed.values()].every((times) => times === 1)).toBe(true);
        expect(new Set(nonces).size).toBe(nonces.length);
        expect(nonces).toEqual([...nonces].sort((left, right) => left - right));
        for (const [index, kind] of kinds.entries())
          if (kind === "taken" || kind === "foreign") expect(executed.has(`${index}`)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
