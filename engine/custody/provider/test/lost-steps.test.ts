/** A thread that dies within a step, or a part that gives no result in time: counted, wiped behind it, and a refresh is due after ten. */
import { describe, expect, it, vi } from "vitest";
import { decodeStateRow } from "../../mpc/state/state-row.js";
import { MESSAGE } from "../../mpc/wire/message-types.js";
import type { SessionRunner } from "../session-runner.js";
import { CustodyBench } from "./custody-bench.js";
import { madeWallet, SIGNED } from "./made-wallet.js";
import type { MemoryParty } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** What becomes of the step that judges F2 at S. */
type Fate = "result" | "death" | "silence";

class LosingBench extends CustodyBench {
  fate: Fate = "result";
  readonly open = new Set<number>();

  override mortal<Request>(memory: MemoryParty, runner: SessionRunner<Request>): SessionRunner<Request> {
    const inner = super.mortal(memory, runner);
    if (memory !== this.parties[0]) return inner;
    const seen = <Value extends { readonly effects: readonly { readonly kind: string }[] }>(
      id: number,
      step: Value,
    ) => {
      if (step.effects.some(({ kind }) => kind === "end")) this.open.delete(id);
      return step;
    };
    return {
      ...inner,
      open: async (id, request) => {
        this.open.add(id);
        return seen(id, await inner.open(id, request));
      },
      receive: async (id, message) => {
        if (message.header.type !== MESSAGE.f2 || this.fate === "result")
          return seen(id, await inner.receive(id, message));
        if (this.fate === "death") {
          this.open.delete(id);
          throw new Error("the thread ended");
        }
        await inner.receive(id, message);
        return new Promise(() => {});
      },
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
  it("within ten seconds is a fault that counts, and its session is ended behind it", async () => {
    const both = await bench();
    both.fate = "silence";
    expect(await both.sign(made.id)).toBe("FAILED_TO_SIGN");
    expect(abortsOf(both)).toBe(1);
    await both.quiet();
    expect([...both.open]).toEqual([]);
    both.fate = "result";
    // C waited for F3 in silence, and dropped the connection.
    await both.meet();
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    expect([...both.open]).toEqual([]);
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
