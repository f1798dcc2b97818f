/** Whose slice is next: sessions of the real core, whose long step counts its slices. */
import { expect, it } from "vitest";
import type { Slices } from "../mpc/base/slices.js";
import type { Effect, Step } from "../mpc/sessions/effects.js";
import { SessionCore } from "../mpc/sessions/session-core.js";
import { LongSteps } from "./long-steps.js";

class Scene {
  readonly turns: (() => void)[] = [];
  readonly steps = new LongSteps((run) => void this.turns.push(run));
  /** Names of the sessions whose slices ran, in order. */
  readonly log: string[] = [];

  /** A session with a step of `sliceCount` slices, the first of which has run. */
  session(name: string, sliceCount: number, fails = false): SessionCore<"IDLE"> {
    const names = { walletId: Buffer.alloc(16), epoch: 1, ctr: 0n };
    const core = new SessionCore<"IDLE">(0, names, "IDLE", {
      ending: () => ({ effects: [], row: null }),
      wipe: () => void this.log.push(`${name} wiped`),
    });
    const { log } = this;
    function* slices(): Slices<readonly Effect[]> {
      for (let left = sliceCount; left > 1; left--) {
        log.push(name);
        yield;
      }
      if (fails) throw new Error("arithmetic");
      log.push(`${name} done`);
      return [{ kind: "acknowledge", epoch: 1, publicKey: Buffer.from(name) }];
    }
    core.step(slices);
    return core;
  }

  begin(core: SessionCore<"IDLE">): Promise<Step> {
    return this.steps.result({ core });
  }

  /** One turn of the event loop. */
  turn(calls = 0): void {
    for (let call = 0; call < calls; call++) this.steps.called();
    const due = this.turns.splice(0);
    expect(due.length).toBeLessThanOrEqual(1);
    for (const run of due) run();
  }

  since(run: () => void): string[] {
    const from = this.log.length;
    run();
    return this.log.slice(from);
  }
}

it("one slice runs a turn while nothing else is asked for, and the step has its result behind the last", async () => {
  const scene = new Scene();
  const result = scene.begin(scene.session("a", 4));
  for (const ran of [["a"], ["a"], ["a done"]]) expect(scene.since(() => scene.turn())).toEqual(ran);
  expect((await result).effects).toEqual([{ kind: "acknowledge", epoch: 1, publicKey: Buffer.from("a") }]);
  expect(scene.turns.length).toBe(0);
});

it("as many slices run as calls came since the turn before, so that calls in numbers starve no step", () => {
  const scene = new Scene();
  void scene.begin(scene.session("a", 100));
  for (const calls of [0, 1, 2, 32, 1]) expect(scene.since(() => scene.turn(calls)).length).toBe(Math.max(1, calls));
});

it("calls that came while no step was under way count for none", () => {
  const scene = new Scene();
  scene.turn(1_000);
  void scene.begin(scene.session("a", 100));
  expect(scene.since(() => scene.turn()).length).toBe(1);
});

it("steps run one behind the other, in the order in which they began", async () => {
  const scene = new Scene();
  const results = [scene.begin(scene.session("a", 3)), scene.begin(scene.session("b", 3))];
  expect(scene.since(() => scene.turn())).toEqual(["a"]);
  // What is left of a turn is the next one's.
  expect(scene.since(() => scene.turn(3))).toEqual(["a done", "b", "b done"]);
  expect((await Promise.all(results)).map(({ effects }) => effects.length)).toEqual([1, 1]);
});

it("a step that is given up comes to nothing, the next one goes on, and its session ends with everything wiped", async () => {
  const scene = new Scene();
  const [first, second] = [scene.session("a", 9), scene.session("b", 3)];
  const given = { core: first };
  const results = [scene.steps.result(given), scene.begin(second)];
  scene.turn();
  scene.steps.abandon(given);
  scene.steps.abandon(given);
  expect(await results[0]).toEqual({ effects: [], dropped: false });
  expect(scene.since(() => scene.turn())).toEqual(["b"]);
  expect(scene.since(() => first.end("lost"))).toEqual(["a wiped"]);
  expect([first.single.ended, first.isUnfinished]).toEqual([true, false]);
  expect(scene.since(() => scene.turn())).toEqual(["b done"]);
});

it("a step given up before the turn that it waited for leaves one chain of turns", () => {
  const scene = new Scene();
  const given = { core: scene.session("a", 9) };
  void scene.steps.result(given);
  scene.steps.abandon(given);
  void scene.begin(scene.session("b", 9));
  expect(scene.turns.length).toBe(1);
  expect(scene.since(() => scene.turn())).toEqual(["b"]);
  expect(scene.turns.length).toBe(1);
});

it("a slice whose code throws ends its session as a fault, and the next step goes on", async () => {
  const scene = new Scene();
  const [first, second] = [scene.session("a", 2, true), scene.session("b", 2)];
  const result = scene.begin(first);
  void scene.begin(second);
  expect(scene.since(() => scene.turn())).toEqual(["a wiped"]);
  const ended = (await result).effects.at(-1);
  expect(ended).toMatchObject({ kind: "end", end: { kind: "failed", failure: { kind: "fault" } } });
  expect(scene.since(() => scene.turn())).toEqual(["b done"]);
});
