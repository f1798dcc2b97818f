/** Stores of either side that are put back or lost: noticed, refused, and healed by a refresh or a restore. */
import { describe, expect, it, vi } from "vitest";
import type { Party } from "../../mpc/base/parameters.js";
import { CustodyBench } from "./custody-bench.js";
import { madeWallet, SIGNED, storedRow } from "./made-wallet.js";
import { copyOfRows, emptyRows, type MemoryRows } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const made = madeWallet();

describe("a store that is put back", () => {
  it.each([0, 1] as const)("at party %s is noticed, refreshed, and signs on", async (party) => {
    const both = await made.up();
    const old = both.copyOfRows();
    for (let at = 0; at < 3; at++) expect(await both.sign(made.id)).toMatchObject(SIGNED);
    const rows = both.copyOfRows();
    rows[party] = old[party];
    const back = await new CustodyBench({}, rows).up();
    expect(await back.sign(made.id)).toBe("RESTORED_STORE");
    await back.pass(1_000);
    expect(back.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
    expect(await back.sign(made.id)).toMatchObject(SIGNED);
    if (party === 1) expect(back.rows[1].beside.get("day/all")).toBeDefined();
  });

  it.each([0, 1] as const)("to before a refresh, at party %s, signs nothing until it is restored", async (party) => {
    const both = await made.up();
    const old = both.copyOfRows();
    expect(await both.told(both.service.refresh(made.id, 0))).toBe(2);
    const rows = both.copyOfRows();
    rows[party] = old[party];
    const back = await new CustodyBench({}, rows).up();
    expect(await back.sign(made.id)).toBe("RESTORED_STORE");
    expect(back.eventsOf("alert")).toContain("0 RESTORED_STORE");
    for (const each of back.rows) expect(each.wallets.size).toBe(1);
  });
});

describe("C's store that is put back while S was killed behind the last session", () => {
  /** Sessions, and then both: S forgot what it knew of the last one, C all of them. */
  async function putBackBy(sessions: number): Promise<CustodyBench> {
    const both = await made.up();
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    const old = copyOfRows(both.rows[1]);
    for (let at = 0; at < sessions; at++) expect(await both.sign(made.id)).toMatchObject(SIGNED);
    await both.restart(0);
    both.kill(1);
    both.rows[1] = old;
    await both.restart(1);
    return both;
  }

  it("is noticed where it is older by two sessions", async () => {
    const both = await putBackBy(2);
    expect(await both.sign(made.id)).toBe("RESTORED_STORE");
    await both.pass(1_000);
    expect(both.rows[1].beside.has("day/all")).toBe(true);
  });

  it("is not by one: no ctr comes twice, and the amount of that session is all that C does not know", async () => {
    const both = await putBackBy(1);
    const [before] = both.rows.map((rows) => storedRow(rows)?.ctr ?? 0n);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    const after = both.rows.map((rows) => storedRow(rows)?.ctr);
    expect(after).toEqual([(before ?? 0n) + 1n, (before ?? 0n) + 1n]);
    expect(both.rows[1].beside.has("day/all")).toBe(false);
  });

  it("is told by a refresh before the next signature, as after each put-back", async () => {
    const both = await putBackBy(1);
    expect(await both.told(both.service.refresh(made.id, 0))).toBe(2);
    expect(both.rows[1].beside.has("day/all")).toBe(true);
  });
});

describe("a store that is lost", () => {
  it("at S makes no second wallet: every creation is refused until the wallet is restored", async () => {
    const back = await new CustodyBench({}, [emptyRows(), made.rows[1]]).up();
    expect(back.service.status()).toMatchObject({ lost: 1, wallets: 0 });
    expect(await back.create("ada")).toBe("RESTORED_STORE");
    expect(await back.create("bea")).toBe("RESTORED_STORE");
    // Asked for in the same breath as the connection: C refuses what S cannot know yet.
    back.link.cut();
    back.link.connect();
    expect(["RESTORED_STORE", "SIGNER_UNAVAILABLE"]).toContain(await back.create("ada"));
    expect(back.rows[0].wallets.size).toBe(0);
    await restoreAt(back, 0);
    expect(back.service.status()).toMatchObject({ lost: 0, wallets: 1 });
    expect(await back.create("ada")).toBe("WALLET_EXISTS");
    expect(await back.sign(made.id)).toBe("RESTORED_STORE");
    expect(back.cosigner.approve(made.id, 2)).toEqual({ ok: true, epoch: 2 });
    expect(await back.told(back.service.refresh(made.id, 2))).toBe(2);
    expect(await back.sign(made.id)).toMatchObject(SIGNED);
  });

  it("at both makes no second wallet while there are backups: the service's own name what it has lost", async () => {
    const back = await new CustodyBench({}, lostWithBackups(made.rows)).up();
    expect(back.service.status()).toMatchObject({ problem: null, lost: 1, wallets: 0 });
    expect(back.eventsOf("alert")).toEqual(["0 RESTORED_STORE"]);
    for (const user of ["ada", "bea"]) expect(await back.create(user)).toBe("RESTORED_STORE");
    // One side alone is not enough, and a restart forgets nothing of it.
    await restoreAt(back, 1);
    await back.restart(0);
    expect(await back.create("ada")).toBe("RESTORED_STORE");
    await restoreAt(back, 0);
    expect(back.service.status()).toMatchObject({ lost: 0, wallets: 1 });
    expect(await back.create("ada")).toBe("WALLET_EXISTS");
    expect(back.cosigner.approve(made.id, 2)).toEqual({ ok: true, epoch: 2 });
    expect(await back.told(back.service.refresh(made.id, 2))).toBe(2);
    expect(await back.sign(made.id)).toMatchObject(SIGNED);
    // A seed's first wallet id is the one of the wallet that is there.
    back.seed = "host-2";
    expect(await back.create("bea")).toMatchObject({ userId: "bea" });
  });

  it("at both is no loss where a backup is of an attempt that came to nothing", async () => {
    const both = await made.up();
    both.seed = "host-2";
    both.link.fate = (_message, name) => (name === "kg10" ? "drop" : "pass");
    expect(await both.create("bea")).toBe("SIGNER_UNAVAILABLE");
    both.link.fate = () => "pass";
    expect(both.rows[0].backups.length).toBeGreaterThan(1);
    await both.restart(0);
    expect(both.service.status()).toMatchObject({ lost: 0, wallets: 1 });
    expect(await both.create("bea")).toMatchObject({ userId: "bea" });
  });

  it("at C signs nothing until the wallet is restored there", async () => {
    const back = await new CustodyBench({}, [made.rows[0], emptyRows()]).up();
    expect(await back.sign(made.id)).toBe("RESTORED_STORE");
    await restoreAt(back, 1);
    expect(back.rows[1].beside.get("day/all")).toBeDefined();
    expect(back.cosigner.approve(made.id, 2)).toEqual({ ok: true, epoch: 2 });
    expect(await back.told(back.service.refresh(made.id, 2))).toBe(2);
    expect(await back.sign(made.id)).toMatchObject(SIGNED);
  });
});

describe("a restore that meets a store which takes nothing", () => {
  it.each([0, 1] as const)("at party %s is durable once the store works, and the party signs again", async (party) => {
    const rows: [MemoryRows, MemoryRows] = [made.rows[0], made.rows[1]];
    rows[party] = emptyRows();
    const back = await new CustodyBench({}, rows).up();
    back.parties[party].isFailing = true;
    await expect(restoreAt(back, party)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await back.pass(3_000);
    expect(back.eventsOf("restored")).toEqual([]);
    back.parties[party].isFailing = false;
    await back.pass(3_000);
    await back.quiet();
    // The operator's own act left the row of a failure: the end of it is one of its own.
    expect(back.events).toContainEqual({ kind: "restored", walletId: made.id, epoch: 1, isAsked: false, party });
    if (party === 0) expect(await back.create("ada")).toBe("WALLET_EXISTS");
    expect(back.service.status().problem).toBeNull();
    expect(back.cosigner.host.isReady).toBe(true);
    expect(storedRow(back.rows[party])).toMatchObject({ status: "restored", activeEpoch: 1 });
    expect(back.cosigner.approve(made.id, 2)).toEqual({ ok: true, epoch: 2 });
    expect(await back.told(back.service.refresh(made.id, 2))).toBe(2);
    expect(await back.sign(made.id)).toMatchObject(SIGNED);
  });

  it.each([0, 1] as const)("at party %s, that answers late and has it, ends alike", async (party) => {
    const rows: [MemoryRows, MemoryRows] = [made.rows[0], made.rows[1]];
    rows[party] = emptyRows();
    const back = await new CustodyBench({}, rows).up();
    let release = (): void => {};
    back.parties[party].hang = new Promise((resolve) => {
      release = resolve;
    });
    const told = back.told(restoreAt(back, party).then(() => "restored"));
    expect(await told).toBe("STORE_UNAVAILABLE");
    back.parties[party].hang = null;
    release();
    await back.pass(3_000);
    await back.quiet();
    expect([back.service.status().problem, back.cosigner.host.isReady]).toEqual([null, true]);
    expect(storedRow(back.rows[party])).toMatchObject({ status: "restored", activeEpoch: 1 });
  });
});

/** Both stores are new, and both folders of backups are there. */
function lostWithBackups(rows: readonly [MemoryRows, MemoryRows]): [MemoryRows, MemoryRows] {
  const lost = ({ backups }: MemoryRows): MemoryRows => ({ ...emptyRows(), backups: [...backups] });
  return [lost(rows[0]), lost(rows[1])];
}

/** As an operator's restore does, with the share of the store that was lost. */
async function restoreAt(back: CustodyBench, party: Party): Promise<void> {
  const walletId = Buffer.from(made.id.replaceAll("-", ""), "hex");
  const share = made.rows[party].wallets.get(walletId.toString("hex"))?.shares.get(1);
  const row = storedRow(made.rows[party]);
  if (share === undefined || row === null) throw new Error("nothing to restore");
  const wallet = { walletId, row: { ...row, status: "restored" as const }, share };
  const { createdAt } = made.wallet;
  await (party === 0
    ? back.service.restore(wallet, { ownerId: null, userId: "ada", createdAt })
    : back.cosigner.restore(wallet));
  await back.quiet();
}
