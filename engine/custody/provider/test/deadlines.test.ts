/** Every flight late by a millisecond, lost, or with the connection cut behind it: then a new session, or the truth. */
import { describe, expect, it, vi } from "vitest";
import type { Party } from "../../mpc/base/parameters.js";
import { CustodyBench } from "./custody-bench.js";
import { madeWallet, SIGNED } from "./made-wallet.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const made = madeWallet();

const senderOf = (flight: number): Party => (flight % 2 === 1 ? 0 : 1);

describe("a flight of a signature", () => {
  const flights = [2, 3, 4, 5, 6];

  it.each(flights)(
    "f%s that is late by a millisecond ends the session, one that is early by one does not",
    async (flight) => {
      for (const [delayMs, sessions] of [
        [1_999, 1],
        [2_001, 2],
      ] as const) {
        const both = await made.up();
        let isFirst = true;
        both.link.fate = (_message, name) => {
          if (name !== `f${flight}` || !isFirst) return "pass";
          isFirst = false;
          return { delayMs };
        };
        expect(await both.sign(made.id)).toMatchObject(SIGNED);
        expect(both.link.log.filter((line) => line === "0 f1").length).toBe(sessions);
        // The wall clock decides nothing.
        expect(both.eventsOf("violation")).toEqual([]);
      }
    },
  );

  it("waits no more than five seconds in all", async () => {
    const both = await made.up();
    both.link.fate = (_message, name) => (/^f\d$/.test(name) ? { delayMs: 1_500 } : "pass");
    both.clock.stepWall(-3_600_000);
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    expect(both.link.log.filter((line) => line === "0 f6").length).toBe(0);
    both.link.fate = () => "pass";
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    "f%s behind which the connection is cut costs a session, not the signature",
    async (flight) => {
      for (const fate of ["cut", "last"] as const) {
        const both = await made.up();
        let isFirst = true;
        both.link.fate = (_message, name) => {
          if (name !== `f${flight}` || !isFirst) return "pass";
          isFirst = false;
          return fate;
        };
        const call = both.signing(made.id);
        call.catch(() => {});
        await both.quiet();
        both.link.connect();
        expect(await both.told(call), fate).toMatchObject(SIGNED);
        const isDone = flight === 6 && fate === "last";
        expect(both.link.log.filter((line) => line === "0 f1").length).toBe(isDone ? 1 : 2);
        const row = both.service.find(made.id, null);
        expect(row?.state).toBe("ACTIVE");
      }
    },
  );

  it("is tried twice more and no oftener", async () => {
    const both = await made.up();
    both.link.fate = (_message, name) => (name === "f2" ? "drop" : "pass");
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    expect(both.link.log.filter((line) => line === "0 f1").length).toBe(3);
    expect(both.service.status().sessions.failed.transport).toBe(3);
  });
});

describe("a flight of a key generation", () => {
  const names = ["kg1", "kg2", "kg3", "kg4", "kg5", "kg6", "kg7", "kg8", "kg9", "kg10", "activate", "activated"];

  it.each(names)("%s that is late leaves one wallet, and nothing of the attempt that it ended", async (name) => {
    const both = await new CustodyBench().up();
    let isFirst = true;
    both.link.fate = (_message, sent) => {
      if (sent !== name || !isFirst) return "pass";
      isFirst = false;
      return { delayMs: 10_001 };
    };
    expect(await both.create()).toMatchObject({ userId: "ada", state: "ACTIVE" });
    for (const party of [0, 1] as const) expect(both.rows[party].wallets.size, `${party}`).toBe(1);
    expect(both.service.list(null, null, 10).wallets.length).toBe(1);
    const [wallet] = both.service.list(null, null, 10).wallets;
    expect(await both.sign(wallet?.walletId ?? "")).toMatchObject(SIGNED);
    expect(senderOf(1)).toBe(0);
  });
});
