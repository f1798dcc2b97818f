/** A freeze and its exit, notices of the peer, and the refresh that is due. */
import { describe, expect, it, vi } from "vitest";
import { type Party, SESSIONS_PER_EPOCH } from "../../mpc/base/parameters.js";
import { PROTOCOL_VERSION } from "../../mpc/wire/header.js";
import { CustodyBench, flipped, walletOf } from "./custody-bench.js";
import { madeWallet, SIGNED, storedAs, storedRow } from "./made-wallet.js";
import { copyOfRows, emptyRows, type MemoryRows } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const made = madeWallet();

/** `party`'s peer sends one bit that no honest one does. */
function cheated(bench: CustodyBench, party: Party): void {
  const name = party === 0 ? "f2" : "f3";
  bench.link.fate = (message, sent) => (sent === name ? [flipped(message)] : "pass");
}

describe("a failed check", () => {
  for (const party of [0, 1] as const)
    it(`at party ${party} freezes both before anybody is told, and after a restart too`, async () => {
      const both = await made.up();
      cheated(both, party);
      let atTold: (string | undefined)[] = [];
      const call = both.signing(made.id).catch((error: { code: string }) => {
        atTold = both.rows.map((rows) => storedRow(rows)?.status);
        return error.code;
      });
      expect(await both.told(call)).toBe("WALLET_FROZEN");
      expect(atTold).toEqual(["frozen", "frozen"]);
      const notice = both.link.log.indexOf(`${party} freeze`);
      expect(both.link.log.slice(notice)).toEqual([`${party} freeze`, `${1 - party} frozen`]);
      expect(both.eventsOf("frozen")).toEqual([`${party} cheat`, `${1 - party} peer`]);
      expect(both.service.status()).toMatchObject({ frozen: 1 });
      both.link.fate = () => "pass";
      for (const restarted of [0, 1] as const) {
        await both.restart(restarted);
        const sent = both.link.log.filter((line) => line === "0 f1").length;
        expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
        expect(both.link.log.filter((line) => line === "0 f1").length).toBe(sent);
      }
      expect(both.service.find(made.id, null)?.state).toBe("FROZEN");
    });

  it.each(["f2", "f3"])("right behind which (%s) the connection is closed freezes all the same", async (name) => {
    const both = await made.up();
    both.link.fate = (message, sent) => {
      if (sent !== name) return "pass";
      queueMicrotask(() => queueMicrotask(() => both.link.cut()));
      return [flipped(message)];
    };
    const told = await both.sign(made.id);
    expect(storedRow(both.rows[name === "f2" ? 0 : 1])?.status).toBe("frozen");
    expect(["WALLET_FROZEN", "SIGNER_UNAVAILABLE"]).toContain(told);
    both.link.fate = () => "pass";
    await both.meet();
    expect(both.rows.map((rows) => storedRow(rows)?.status)).toEqual(["frozen", "frozen"]);
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
  });

  it("is answered after two seconds where the peer gives no answer", async () => {
    const both = await made.up();
    const startMs = both.clock.trueMs();
    both.link.fate = (message, name) => (name === "f2" ? [flipped(message)] : name === "freeze" ? "drop" : "pass");
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
    const waitedMs = both.clock.trueMs() - startMs;
    expect(waitedMs).toBeGreaterThanOrEqual(2_000);
    expect(waitedMs).toBeLessThan(2_200);
    expect(storedRow(both.rows[1])?.status).toBe("active");
    both.link.fate = () => "pass";
    both.link.cut();
    await both.meet();
    expect(storedRow(both.rows[1])?.status).toBe("frozen");
  });

  it("whose freeze the store does not take signs nothing, forgets nothing, and tells nobody before it is durable", async () => {
    const both = await made.up();
    const memory = both.parties[0];
    both.link.fate = (message, name) => {
      if (name !== "f2") return "pass";
      memory.isFailing = true;
      return [flipped(message)];
    };
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    expect(both.service.status().problem).toBe("STORE");
    expect(both.link.log).not.toContain("0 freeze");
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
    both.link.fate = () => "pass";
    memory.isFailing = false;
    await both.pass(1_100);
    expect(both.service.status().problem).toBeNull();
    expect(both.eventsOf("frozen")).toEqual(["0 cheat", "1 peer"]);
    expect(both.rows.map((rows) => storedRow(rows)?.status)).toEqual(["frozen", "frozen"]);
  });
});

describe("an unfreeze", () => {
  it("needs the operators of both sides, once each, and makes a new epoch of the same address", async () => {
    const both = await made.up();
    cheated(both, 0);
    await both.sign(made.id);
    both.link.fate = () => "pass";
    expect(await both.told(both.service.refresh(made.id, 0))).toBe("WALLET_FROZEN");
    expect(await both.told(both.service.refresh(made.id, 1))).toBe("WALLET_FROZEN");
    expect(both.cosigner.approve(made.id, 1)).toEqual({ ok: true, epoch: 2 });
    both.clock.advance(600_000);
    expect(await both.told(both.service.refresh(made.id, 1))).toBe("WALLET_FROZEN");
    both.cosigner.approve(made.id, 2);
    expect(await both.told(both.service.refresh(made.id, 1))).toBe("WALLET_FROZEN");
    both.cosigner.approve(made.id, 1);
    expect(await both.told(both.service.refresh(made.id, 1))).toBe(2);
    expect(both.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2, address: made.wallet.address });
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    expect(both.eventsOf("refreshed").length).toBe(2);
    // Used up.
    expect(await both.told(both.service.refresh(made.id, 1))).toBe("INVALID_PARAMETERS");
  });
});

describe("an approval", () => {
  it("of an unfreeze is none for a wallet that is not frozen, so that no freeze of the next minutes is lifted by it", async () => {
    const both = await made.up();
    expect(both.cosigner.approve(made.id, 1)).toEqual({ ok: false, status: "active" });
    cheated(both, 0);
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
    both.link.fate = () => "pass";
    expect(await both.told(both.service.refresh(made.id, 1))).toBe("WALLET_FROZEN");
    expect(both.rows.map((rows) => storedRow(rows)?.status)).toEqual(["frozen", "frozen"]);
    expect(both.cosigner.approve(made.id, 1)).toEqual({ ok: true, epoch: 2 });
    expect(await both.told(both.service.refresh(made.id, 1))).toBe(2);
  });

  it("of an unfreeze is none at a restored co-signer, so that no freeze that it hears of later is lifted by it", async () => {
    const both = new CustodyBench({}, [
      storedAs(made.rows[0], { status: "frozen", frozenAtMs: 1 }),
      storedAs(made.rows[1], { status: "restored" }),
    ]);
    await both.start(1);
    const report = both.cosigner.approve(made.id, 1);
    await both.start(0);
    await both.meet();
    expect(both.rows.map((rows) => storedRow(rows)?.status)).toEqual(["frozen", "frozen"]);
    expect(await both.told(both.service.refresh(made.id, 1))).toBe("WALLET_FROZEN");
    expect(both.rows.map((rows) => storedRow(rows)?.status)).toEqual(["frozen", "frozen"]);
    expect(report).toEqual({ ok: false, status: "restored" });
  });

  it.each([
    ["active", 1, false],
    ["active", 2, true],
    ["refreshDue", 1, false],
    ["refreshDue", 2, true],
    ["frozen", 1, true],
    ["frozen", 2, false],
    ["restored", 1, false],
    ["restored", 2, true],
  ] as const)(
    "at a co-signer whose wallet is %s, of a refresh of mode %s, is given: %s",
    async (status, mode, isGiven) => {
      const stored = { status, frozenAtMs: status === "frozen" ? 1 : 0 };
      const both = new CustodyBench({}, [made.rows[0], storedAs(made.rows[1], stored)]);
      await both.start(1);
      expect(both.cosigner.approve(made.id, mode)).toEqual(isGiven ? { ok: true, epoch: 2 } : { ok: false, status });
      expect(both.cosigner.approve("00000000-0000-4000-8000-000000000000", mode)).toEqual({ ok: false, status: null });
    },
  );

  it("of a wallet with an epoch that came to nothing is given, since the parties drop that epoch", async () => {
    const both = await made.up();
    let isCut = false;
    both.link.fate = (_message, name) => {
      isCut ||= name === "rf10";
      return isCut ? "drop" : "pass";
    };
    const refresh = both.service.refresh(made.id, 0);
    refresh.catch(() => {});
    await both.quiet();
    expect(storedRow(both.rows[1])).toMatchObject({ stage: "prepared", activeEpoch: 1 });
    expect(both.cosigner.approve(made.id, 2)).toEqual({ ok: true, epoch: 2 });
  });
});

describe("a freeze notice", () => {
  it("of another epoch is a violation, and the fourth in a minute raises an alert", async () => {
    const both = await made.up();
    const walletId = Buffer.from(made.id.replaceAll("-", ""), "hex");
    const notice = (epoch: number) =>
      both.link.inject(0, {
        ...{
          header: {
            version: PROTOCOL_VERSION,
            type: 0x70,
            walletId,
            epoch,
            ctr: 0n,
            sid: Buffer.alloc(32),
            from: 1,
            to: 0,
            seq: 0,
            length: 0,
          },
        },
        body: Buffer.alloc(0),
      });
    await notice(2);
    expect(both.service.find(made.id, null)?.state).toBe("ACTIVE");
    expect(both.eventsOf("violation").length).toBe(1);
    for (let at = 0; at < 2; at++) await notice(1);
    expect(both.service.find(made.id, null)?.state).toBe("FROZEN");
    expect(both.eventsOf("alert")).toEqual([]);
    await notice(1);
    expect(both.eventsOf("alert")).toEqual(["0 FREEZE_NOTICES"]);
    expect(both.eventsOf("frozen")).toEqual(["0 peer"]);
  });
});

describe("a refresh that is due", () => {
  it.each([0, 1] as const)(
    "after ten unexplained aborts at party %s runs by itself, and signing goes on",
    async (party) => {
      const rows: [MemoryRows, MemoryRows] = [copyOfRows(made.rows[0]), copyOfRows(made.rows[1])];
      rows[party] = storedAs(rows[party], { openAborts: 10 });
      const both = await new CustodyBench({}, rows).up();
      const first = await both.sign(made.id);
      await both.quiet();
      await both.pass(1_000);
      if (party === 1) expect(first).toBe("SIGNER_UNAVAILABLE");
      expect(both.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
      expect(await both.sign(made.id)).toMatchObject(SIGNED);
      expect(storedRow(both.rows[party])?.openAborts).toBeLessThanOrEqual(1);
    },
  );

  it("of many wallets runs one after the other, and signing of others goes on meanwhile", async () => {
    const first = await made.up();
    for (const seed of ["host-2", "host-3", "host-4"]) {
      first.seed = seed;
      walletOf(await first.create(seed));
    }
    const rows: [MemoryRows, MemoryRows] = [storedAs(first.rows[0], { status: "refreshDue" }), first.rows[1]];
    const key = made.id.replaceAll("-", "");
    const plain = made.rows[0].wallets.get(key);
    if (plain !== undefined) rows[0].wallets.set(key, { ...plain, shares: plain.shares });
    const both = await new CustodyBench({ seed: "host-5" }, rows).up();
    const flights = () => both.link.log.filter((line) => /^0 (rf1|activate)$/.test(line)).map((line) => line.slice(2));
    expect(flights()[0]).toBe("rf1");
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    await both.pass(30_000);
    expect(flights().join(" ")).toBe(Array<string>(3).fill("rf1 activate").join(" "));
    const epochs = both.service.list(null, null, 10).wallets.map(({ epoch, state }) => `${epoch} ${state}`);
    expect(epochs.sort()).toEqual(["1 ACTIVE", "2 ACTIVE", "2 ACTIVE", "2 ACTIVE"]);
  });

  it.each([0, 1] as const)(
    "after ten kills between a ctr and its end at party %s runs by itself; signatures between them do not reset the count",
    async (party) => {
      const both = await made.up();
      const openAborts = () => storedRow(both.rows[party])?.openAborts;
      for (let kills = 1; kills <= 10; kills++) {
        both.parties[party].onDurable = (before) => {
          if (!before) both.kill(party);
        };
        const call = both.signing(made.id);
        call.catch(() => {});
        await both.quiet();
        expect(both.parties[party].isDead).toBe(true);
        expect(openAborts(), `kill ${kills}`).toBe(kills);
        both.link.fate = (_message, name) => (kills === 10 && name === "rf1" ? "drop" : "pass");
        await both.restart(party);
        await both.pass(12_000);
        await both.meet();
        if (kills % 4 === 0) expect(await both.sign(made.id), `after kill ${kills}`).toMatchObject(SIGNED);
      }
      // The eleventh is refused until the refresh has run.
      const flights = both.link.log.length;
      expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
      expect(both.link.log.slice(flights)).not.toContain("0 f3");
      both.link.fate = () => "pass";
      await both.pass(130_000);
      expect(both.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
      expect(await both.sign(made.id)).toMatchObject(SIGNED);
    },
  );

  it("runs before sixteen signatures that wait, and so does an operator's", async () => {
    const rows = made.rows.map((each) => storedAs(each, { sessions: SESSIONS_PER_EPOCH - 1 }));
    const both = await new CustodyBench({}, [rows[0] ?? emptyRows(), rows[1] ?? emptyRows()]).up();
    const calls = Array.from({ length: 17 }, (_, at) => both.told(both.signing(made.id, `t:${at}`)));
    expect(await calls[0]).toMatchObject(SIGNED);
    await Promise.all(calls);
    await both.pass(1_000);
    expect(both.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
    expect(await both.sign(made.id)).toMatchObject(SIGNED);

    const waiting = Array.from({ length: 17 }, (_, at) => both.told(both.signing(made.id, `t:again ${at}`)));
    expect(await both.told(both.service.refresh(made.id, 0))).toBe(3);
    for (const told of await Promise.all(waiting)) expect(told).toMatchObject(SIGNED);
  });

  it("is tried once a minute", async () => {
    const rows: [MemoryRows, MemoryRows] = [storedAs(made.rows[0], { status: "refreshDue" }), made.rows[1]];
    const both = new CustodyBench({}, rows);
    both.link.fate = (_message, name) => (name === "rf2" ? "drop" : "pass");
    await both.up();
    await both.pass(185_000);
    expect(both.link.log.filter((line) => line === "0 rf1").length).toBe(4);
    both.link.fate = () => "pass";
    await both.pass(60_000);
    expect(both.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
  });
});

describe("two parties that agree on nothing", () => {
  it("say so after ten rounds, ask every ten seconds from there on, and settle when they can", async () => {
    const both = await made.up();
    // C's answers are those from before it activated the epoch that S has decided.
    let stale: Uint8Array | null = null;
    both.link.fate = (message, name, from) => {
      if (name === "activate") return "drop";
      if (from !== 1 || (name !== "state" && name !== "stateReply")) return "pass";
      if (name === "stateReply") return stale === null ? "drop" : [{ header: message.header, body: stale }];
      stale ??= message.body;
      return "drop";
    };
    const refresh = both.service.refresh(made.id, 0);
    refresh.catch(() => {});
    await both.quiet();
    expect(storedRow(both.rows[0])).toMatchObject({ activeEpoch: 2, keptEpoch: 1 });
    void both.cosigner.host.driver.endAll("stopped");
    await both.quiet();
    const states = () => both.link.log.filter((line) => line === "0 state").length;
    expect(both.eventsOf("alert").filter((alert) => alert === "0 NEVER_SETTLES").length).toBe(1);
    expect(states()).toBe(10);
    expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
    const before = states();
    await both.pass(60_000);
    expect(states() - before).toBe(6);
    expect(both.eventsOf("alert").filter((alert) => alert === "0 NEVER_SETTLES").length).toBe(1);
    both.link.fate = () => "pass";
    await both.pass(21_000);
    expect(storedRow(both.rows[0])).toMatchObject({ activeEpoch: 2, keptEpoch: 0 });
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });
});
