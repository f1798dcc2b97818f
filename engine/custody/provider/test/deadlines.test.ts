/**
 * Every flight late by a millisecond, lost, or with the connection cut behind it: then a new session, or the truth. What
 * comes when its session has ended is nobody's fault (docs/mpc.md, 3.2).
 */
import { describe, expect, it, vi } from "vitest";
import type { Party } from "../../mpc/base/parameters.js";
import type { Message } from "../../mpc/wire/header.js";
import { MESSAGE } from "../../mpc/wire/message-types.js";
import { copyOf } from "../../mpc/test/link.js";
import { abortMessage } from "../host-messages.js";
import { CustodyBench } from "./custody-bench.js";
import { madeWallet, SIGNED } from "./made-wallet.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const made = madeWallet();

const walletIdOf = (id: string) => Buffer.from(id.replaceAll("-", ""), "hex");
const droppedAt = (both: CustodyBench, party: Party) =>
  party === 0 ? both.service.status().sessions.dropped : both.cosigner.host.droppedCount;
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

describe("a late message", () => {
  /** Every message that came to this party while it ran, by name. */
  async function recorded(both: CustodyBench, run: () => Promise<unknown>): Promise<readonly [Message[], Message[]]> {
    const found: [Message[], Message[]] = [[], []];
    both.link.fate = (message, _name, from) => {
      found[from === 0 ? 1 : 0].push(copyOf(message));
      return "pass";
    };
    await run();
    both.link.fate = () => "pass";
    return found;
  }

  it("of a signature does not end the refresh that runs by then, and is no violation", async () => {
    const both = await made.up();
    both.link.fate = ({ header }, name) => {
      if (name === "f2" && header.epoch === 1) return { delayMs: 2_100 };
      return name === "rf2" ? { delayMs: 300 } : "pass";
    };
    const signature = both.sign(made.id);
    const refresh = both.told(both.service.refresh(made.id, 0));
    expect(await signature).toBe("SIGNER_UNAVAILABLE");
    expect(await refresh).toBe(2);
    // The third F2 came when RF2 was awaited.
    const flights = both.link.log.filter((line) => /^\d (f2|rf1|rf2)$/.test(line));
    expect(flights).toEqual(["1 f2", "1 f2", "1 f2", "0 rf1", "1 rf2", "1 f2"]);
    expect(both.eventsOf("violation")).toEqual([]);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });

  it("of a signature of the former epoch does not end one of the next, at either side, and is no violation", async () => {
    const both = await made.up();
    const late = await recorded(both, () => both.sign(made.id));
    expect(await both.told(both.service.refresh(made.id, 0))).toBe(2);
    const walletId = walletIdOf(made.id);
    for (const party of [0, 1] as const)
      late[party].push(abortMessage(party === 0 ? 1 : 0, { walletId, epoch: 1, ctr: 2n }, { class: "transport" }));
    expect(late.map((messages) => messages.length)).toEqual([4, 4]);
    for (const [name, party] of [
      ["f2", 0],
      ["f3", 1],
      ["f4", 0],
      ["f5", 1],
    ] as const) {
      both.link.fate = (_message, sent) => (sent === name ? { delayMs: 100 } : "pass");
      const call = both.signing(made.id, `t:before ${name}`);
      await both.quiet();
      const before = droppedAt(both, party);
      for (const message of late[party]) await both.link.inject(party, message);
      expect(droppedAt(both, party) - before, name).toBe(4);
      expect(await both.told(call), name).toMatchObject(SIGNED);
    }
    expect(both.eventsOf("violation")).toEqual([]);
  });

  it.each([
    ["service", 0, ["rf2", "rf4", "rf6", "rf8", "rf10", "f2", "f4", "f6", "activated"]],
    ["co-signer", 1, ["rf3", "rf5", "rf7", "rf9", "f1", "f3", "f5", "activate"]],
  ] as const)("of a signature does not end a refresh at the %s, whatever that awaits", async (_, party, flights) => {
    for (const awaited of flights) {
      const both = await made.up();
      const late = (await recorded(both, () => both.sign(made.id)))[party].filter(
        ({ header }) => header.type !== MESSAGE.f1,
      );
      const names = { walletId: walletIdOf(made.id), epoch: 1, ctr: 2n };
      late.push(abortMessage(party === 0 ? 1 : 0, names, { class: "transport" }));
      both.link.fate = (_message, sent) => (sent === awaited ? { delayMs: 100 } : "pass");
      const refresh = both.service.refresh(made.id, 0);
      refresh.catch(() => {});
      await both.quiet();
      const before = droppedAt(both, party);
      for (const message of late) await both.link.inject(party, message);
      expect(droppedAt(both, party) - before, awaited).toBe(late.length);
      expect(await both.told(refresh), awaited).toBe(2);
      expect(both.eventsOf("violation")).toEqual([]);
    }
  });

  it("of a refresh ends neither the next one nor a signature, and is no violation", async () => {
    const both = await made.up();
    const late = await recorded(both, () => both.told(both.service.refresh(made.id, 0)));
    both.link.fate = (_message, sent) => (sent === "rf2" ? { delayMs: 100 } : "pass");
    const refresh = both.service.refresh(made.id, 0);
    await both.quiet();
    for (const message of late[0]) await both.link.inject(0, message);
    expect(await both.told(refresh)).toBe(3);
    both.link.fate = (_message, sent) => (sent === "f2" ? { delayMs: 100 } : "pass");
    const call = both.signing(made.id);
    await both.quiet();
    for (const message of late[0]) await both.link.inject(0, message);
    expect(await both.told(call)).toMatchObject(SIGNED);
    expect(both.eventsOf("violation")).toEqual([]);
  });
});

describe("an Abort", () => {
  it.each([
    ["of a later counter", 0, 1n],
    ["of another epoch", 1, 0n],
    ["of a later epoch and counter", 1, 1n],
  ] as const)("%s than the session fits none: it is dropped, and ends nothing", async (_, epochs, ctrs) => {
    const both = await made.up();
    const walletId = walletIdOf(made.id);
    both.link.fate = (_message, sent) => (sent === "f2" ? { delayMs: 100 } : "pass");
    const call = both.signing(made.id);
    await both.quiet();
    const names = { walletId, epoch: 1 + epochs, ctr: 2n + ctrs };
    await both.link.inject(0, abortMessage(1, names, { class: "violation" }));
    expect(await both.told(call)).toMatchObject(SIGNED);
    expect(both.eventsOf("violation")).toEqual([]);
  });
});
