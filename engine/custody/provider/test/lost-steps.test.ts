/**
 * A thread that dies within a step, or a part that gives no result in time: counted, wiped behind it, and a refresh is due
 * after ten. A slow one is no fault: its caller may ask again, and no operator is called.
 */
import { describe, expect, it, vi } from "vitest";
import type { Party } from "../../mpc/base/parameters.js";
import type { Step } from "../../mpc/sessions/effects.js";
import { decodeStateRow } from "../../mpc/state/state-row.js";
import { MESSAGE, type MessageName } from "../../mpc/wire/message-types.js";
import { NoAnswer, type SessionRunner } from "../session-runner.js";
import { CustodyBench } from "./custody-bench.js";
import { madeWallet, SIGNED } from "./made-wallet.js";
import type { MemoryParty } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** What becomes of the step that judges a message. */
type Fate = "result" | "death" | "silence" | "ended for its silence";

class LosingBench extends CustodyBench {
  fate: Fate = "result";
  /** Whose step, and of which message. */
  loser: Party = 0;
  lost: MessageName = "f2";
  /** Sessions of the service whose end has no step yet. */
  readonly open = new Set<number>();

  override mortal<Request>(memory: MemoryParty, runner: SessionRunner<Request>): SessionRunner<Request> {
    const inner = super.mortal(memory, runner);
    const party = memory === this.parties[0] ? 0 : 1;
    const noted = party === 0 ? this.#noted(inner) : inner;
    return {
      ...noted,
      receive: async (id, message) => {
        const isLost = party === this.loser && message.header.type === MESSAGE[this.lost];
        if (!isLost || this.fate === "result") return noted.receive(id, message);
        if (this.fate === "silence") {
          await inner.receive(id, message);
          return new Promise(() => {});
        }
        this.open.delete(id);
        throw this.fate === "death" ? new Error("the thread ended") : new NoAnswer();
      },
    };
  }

  #noted<Request>(inner: SessionRunner<Request>): SessionRunner<Request> {
    const seen = (id: number, step: Step): Step => {
      if (step.effects.some(({ kind }) => kind === "end")) this.open.delete(id);
      return step;
    };
    return {
      ...inner,
      open: async (id, request) => {
        this.open.add(id);
        return seen(id, await inner.open(id, request));
      },
      receive: async (id, message) => seen(id, await inner.receive(id, message)),
      end: async (id, cause) => seen(id, await inner.end(id, cause)),
    };
  }
}

const made = madeWallet();

async function bench(): Promise<LosingBench> {
  const both = new LosingBench({}, made.rows);
  await both.up();
  return both;
}

const abortsOf = (both: LosingBench): number => {
  const [stored] = [...both.rows[0].wallets.values()];
  return stored === undefined ? -1 : (decodeStateRow(stored.row)?.openAborts ?? -1);
};

describe("a step without a result", () => {
  it("within ten seconds counts, is no fault, and its session is ended behind it", async () => {
    const both = await bench();
    both.fate = "silence";
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    expect(abortsOf(both)).toBe(1);
    expect(both.eventsOf("alert")).toEqual([]);
    expect(both.service.status().sessions.failed).toMatchObject({ transport: 1, fault: 0 });
    await both.quiet();
    expect([...both.open]).toEqual([]);
    both.fate = "result";
    // C waited for F3 in silence, and dropped the connection.
    await both.meet();
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    expect([...both.open]).toEqual([]);
  });

  it("of a thread that was ended for its silence counts, and is no fault", async () => {
    const both = await bench();
    both.fate = "ended for its silence";
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    expect(abortsOf(both)).toBe(1);
    expect(both.eventsOf("alert")).toEqual([]);
    both.fate = "result";
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });

  it.each([
    ["the service", 0, "kg4"],
    ["the service", 0, "kg6"],
    ["the service", 0, "kg8"],
    ["the service", 0, "f2"],
    ["the service", 0, "f4"],
    ["the co-signer", 1, "kg3"],
    ["the co-signer", 1, "kg7"],
    ["the co-signer", 1, "f3"],
  ] as const)("of %s (%s, %s) makes no wallet, and the next request makes it", async (_, loser, lost) => {
    const both = await new LosingBench().up();
    Object.assign(both, { fate: "silence", loser, lost });
    expect(await both.create()).toBe("SIGNER_UNAVAILABLE");
    // Steps of C that lost theirs are given up by then, too.
    await both.pass(60_000);
    await both.quiet();
    expect([both.eventsOf("alert"), both.eventsOf("frozen")]).toEqual([[], []]);
    both.fate = "result";
    await both.meet();
    expect(both.rows.map(({ wallets }) => wallets.size)).toEqual([0, 0]);
    expect(await both.create()).toMatchObject({ userId: "ada", state: "ACTIVE" });
  });

  it("by a death of its thread ten times lets nothing be signed before a refresh, which begins by itself", async () => {
    const both = await bench();
    both.fate = "death";
    both.link.fate = (_message, name) => (name === "rf1" ? "drop" : "pass");
    for (let death = 1; death <= 10; death++) {
      expect(both.link.log).not.toContain("0 rf1");
      expect(await both.sign(made.id)).toBe("FAILED_TO_SIGN");
      expect(abortsOf(both)).toBe(death);
    }
    both.fate = "result";
    const sessions = both.link.log.filter((line) => line === "0 f1").length;
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    expect(both.link.log).toContain("0 rf1");
    expect(both.link.log.filter((line) => line === "0 f1").length).toBe(sessions);
  });
});

it("a backup folder that gives no answer fails the creation, and nothing of it is left", async () => {
  const both = await new CustodyBench().up();
  both.parties[0].write = () => new Promise(() => {});
  expect(await both.create()).toMatch(/^(FAILED_TO_CREATE_WALLET|SIGNER_UNAVAILABLE)$/);
  expect(both.eventsOf("alert")).toContain("0 BACKUP_FAILED");
  await both.pass(60_000);
  await both.quiet();
  expect([both.rows[0].wallets.size, both.rows[1].wallets.size]).toEqual([0, 0]);
  await both.service.stop();
});
