/**
 * When a refresh tells C that its amounts of the day are those of an older store: after each way in which C's store was
 * put back behind a session that S knows it had, and after no session that C merely never began.
 */
import { describe, expect, it, vi } from "vitest";
import { type CustodyBench, flipped } from "./custody-bench.js";
import { madeWallet, SIGNED, storedRow } from "./made-wallet.js";
import { copyOfRows, type MemoryRows } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const made = madeWallet();
const ENDS = ["refused by the policy", "whose first flight was lost", "whose second flight was lost"] as const;

describe("a refresh leaves the amounts of the day as they are", () => {
  it.each(ENDS)("after a signature %s", async (end) => {
    const both = await made.up();
    await unsigned(both, end);
    await expectRefreshed(both, 2);
    expect(isSpent(both)).toBe(false);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });

  it("after many of them, an orderly stop of S between, and a refresh before", async () => {
    const both = await made.up();
    const ends = [...ENDS].reverse();
    for (const end of ends) await unsigned(both, end);
    await expectRefreshed(both, 2);
    for (const end of ends) await unsigned(both, end);
    await both.service.stop();
    await both.restart(0);
    await expectRefreshed(both, 3);
    expect(isSpent(both)).toBe(false);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });

  it.each(["f2", "f3", "f4", "f5"])("after a false %s, when the wallet is unfrozen", async (falsified) => {
    const both = await made.up();
    for (const text of ["t:one", "t:two"]) expect(await both.sign(made.id, text)).toMatchObject(SIGNED);
    both.link.fate = (message, name) => (name === falsified ? [flipped(message, message.body.byteLength - 1)] : "pass");
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
    both.link.fate = () => "pass";
    expect(both.cosigner.approve(made.id, 1)).toEqual({ ok: true, epoch: 2 });
    expect(await both.told(both.service.refresh(made.id, 1))).toBe(2);
    expect(isSpent(both)).toBe(false);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
  });

  it("after a kill of S within a session, once a later session was signed", async () => {
    const both = await made.up();
    await killedBeforeF1(both);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    await unsigned(both, "refused by the policy");
    await expectRefreshed(both, 2);
    expect(isSpent(both)).toBe(false);
  });
});

describe("a refresh, the first one after a kill of S within the test signature of another,", () => {
  it("leaves the amounts of the day as they are", async () => {
    const both = await made.up();
    both.parties[0].onDurable = () => {
      const row = storedRow(both.rows[0]);
      if (row?.stage === "prepared" && row.ctr === 2n) both.kill(0);
    };
    both.service.refresh(made.id, 0).catch(() => {});
    await both.quiet();
    expect(both.parties[0].isDead).toBe(true);
    expect(storedRow(both.rows[0])).toMatchObject({ stage: "prepared", ctr: 2n });
    await both.restart(0);
    await expectRefreshed(both, 2);
    expect(isSpent(both)).toBe(false);
  });
});

describe("a refresh counts the amounts of the day as spent", () => {
  it.each([1, 3])("where C's store is put back by %s sessions and S goes on", async (sessions) => {
    const both = await made.up();
    const old = copyOfRows(both.rows[1]);
    for (let at = 0; at < sessions; at++) expect(await both.sign(made.id)).toMatchObject(SIGNED);
    await putBack(both, old);
    await expectRefreshed(both, 2);
    expect(isSpent(both)).toBe(true);
  });

  it.each(["killed", "stopped in order"])(
    "where C's store is put back by one session, and S was %s behind it",
    async (how) => {
      const both = await made.up();
      const old = copyOfRows(both.rows[1]);
      expect(await both.sign(made.id)).toMatchObject(SIGNED);
      if (how === "stopped in order") await both.service.stop();
      await both.restart(0);
      await putBack(both, old);
      await expectRefreshed(both, 2);
      expect(isSpent(both)).toBe(true);
    },
  );

  it.each(ENDS)("where C's store is put back by one session, behind which came a signature %s", async (end) => {
    const both = await made.up();
    const old = copyOfRows(both.rows[1]);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    await unsigned(both, end);
    await both.restart(0);
    await putBack(both, old);
    await expectRefreshed(both, 2);
    expect(isSpent(both)).toBe(true);
  });

  it("where a signature finds C's store put back, though F1 gave C the present ctr", async () => {
    const both = await made.up();
    const old = copyOfRows(both.rows[1]);
    expect(await both.sign(made.id)).toMatchObject(SIGNED);
    await putBack(both, old);
    expect(await both.sign(made.id)).toBe("RESTORED_STORE");
    await both.pass(1_000);
    expect(both.service.find(made.id, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
    expect(isSpent(both)).toBe(true);
    const [service, cosigner] = both.rows.map((rows) => storedRow(rows)?.ctr);
    expect(service).toBe(cosigner);
  });

  it("where C's store is put back behind a freeze, and the wallet is unfrozen", async () => {
    const both = await made.up();
    const old = copyOfRows(both.rows[1]);
    for (let at = 0; at < 3; at++) expect(await both.sign(made.id)).toMatchObject(SIGNED);
    both.link.fate = (message, name) => (name === "f2" ? [flipped(message)] : "pass");
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
    both.link.fate = () => "pass";
    await putBack(both, old);
    expect(storedRow(both.rows[1])?.status).toBe("frozen");
    expect(both.cosigner.approve(made.id, 1)).toEqual({ ok: true, epoch: 2 });
    expect(await both.told(both.service.refresh(made.id, 1))).toBe(2);
    expect(isSpent(both)).toBe(true);
  });

  it("where S was killed within a session of which it does not know whether C began it", async () => {
    const both = await made.up();
    await killedBeforeF1(both);
    await expectRefreshed(both, 2);
    expect(isSpent(both)).toBe(true);
  });
});

async function unsigned(both: CustodyBench, end: (typeof ENDS)[number]): Promise<void> {
  if (end === "refused by the policy") {
    expect(await both.sign(made.id, "t:no")).toBe("DESTINATION_NOT_ALLOWED");
    return;
  }
  const lost = end === "whose first flight was lost" ? "f1" : "f2";
  both.link.fate = (_message, name) => (name === lost ? "drop" : "pass");
  expect(await both.sign(made.id)).toBe("SIGNER_UNAVAILABLE");
  both.link.fate = () => "pass";
  await both.meet();
}

/** The ctr is durable at S, and no byte of the session has left it. */
async function killedBeforeF1(both: CustodyBench): Promise<void> {
  both.parties[0].onDurable = (before) => {
    if (!before) both.kill(0);
  };
  both.signing(made.id).catch(() => {});
  await both.quiet();
  expect(both.parties[0].isDead).toBe(true);
  await both.restart(0);
}

async function putBack(both: CustodyBench, rows: MemoryRows): Promise<void> {
  both.kill(1);
  both.rows[1] = copyOfRows(rows);
  await both.restart(1);
}

async function expectRefreshed(both: CustodyBench, epoch: number): Promise<void> {
  expect(await both.told(both.service.refresh(made.id, 0))).toBe(epoch);
}

function isSpent(both: CustodyBench): boolean {
  return both.rows[1].beside.has("day/all");
}
