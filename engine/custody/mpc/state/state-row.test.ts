import { describe, expect, it } from "vitest";
import { isCtrAccepted, isRefreshDue, sessionBegun, sessionExplained } from "./abort-count.js";
import { freezeChange, freezeDroppingPrepared, onFreezeNotice } from "./freeze.js";
import { allowsRefresh } from "./refresh-mode.js";
import {
  activatedRow,
  decodeStateRow,
  encodeStateRow,
  newWalletRow,
  preparedRow,
  type RefreshMode,
  refreshDueRow,
  type StateRow,
  testedRow,
  type WalletStatus,
} from "./state-row.js";

const MAX = 2n ** 64n - 1n;
const NOW = 1_764_000_000_000;
const active: StateRow = { ...activatedRow(newWalletRow(), true), ctr: 5n };
const frozen: StateRow = { ...active, status: "frozen", frozenAtMs: NOW };

describe("the state row of a wallet", () => {
  it("has 64 bytes and reads back as it was written", () => {
    for (const row of [newWalletRow(), active, frozen, { ...preparedRow(frozen, 1, 9n), peerCtr: MAX, openCtr: MAX }]) {
      expect(encodeStateRow(row).byteLength).toBe(64);
      expect(decodeStateRow(encodeStateRow(row))).toEqual(row);
    }
  });

  it("that contradicts itself is not read, and is not written", () => {
    const bytes = encodeStateRow(active);
    const changed = (at: number, value: number) => {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(value, at);
      return decodeStateRow(copy);
    };
    for (const [at, value] of [
      [0, 0],
      [0, 1],
      [0, 3],
      [0, 6],
      [1, 1],
      [1, 3],
      [9, 9],
      [13, 9],
      [42, 1],
      [43, 1],
      [43, 3],
      [52, 1],
      [63, 1],
    ] as const)
      expect(changed(at, value), `byte ${at}`).toBeNull();
    expect(decodeStateRow(bytes.subarray(1))).toBeNull();
    expect(() => encodeStateRow({ ...active, preparedEpoch: 7, stage: "prepared" })).toThrow();
  });

  it("of a refresh starts at the greater ctr and with no aborts", () => {
    const prepared = preparedRow({ ...active, openAborts: 4, sessions: 90 }, 0, 12n);
    expect(prepared).toMatchObject({ ctr: 12n, preparedEpoch: 2, openAborts: 4 });
    expect(activatedRow(testedRow(prepared), false)).toMatchObject({
      ...{ status: "active", activeEpoch: 2, preparedEpoch: 0, keptEpoch: 0, openAborts: 0, sessions: 0, ctr: 12n },
    });
    expect(preparedRow(active, 0, 1n).ctr).toBe(5n);
  });

  it("stays frozen over an activation of every mode but the unfreeze", () => {
    for (const mode of [0, 2] as const)
      expect(activatedRow(preparedRow(frozen, mode, 0n), true)).toMatchObject({ status: "frozen", frozenAtMs: NOW });
    expect(activatedRow(preparedRow(frozen, 1, 0n), true)).toMatchObject({ status: "active", frozenAtMs: 0 });
  });

  it("becomes due for a refresh only where the wallet is active", () => {
    expect(refreshDueRow(active).status).toBe("refreshDue");
    expect(refreshDueRow(frozen).status).toBe("frozen");
  });
});

describe("unexplained aborts", () => {
  it("are counted ahead, taken back by explained ends, and not reset by signatures", () => {
    let row = active;
    for (let kill = 0; kill < 10; kill++) {
      expect(isRefreshDue(row)).toBe(false);
      row = sessionExplained(sessionBegun(row, row.ctr + 1n, false), 1, false);
      row = sessionBegun(row, row.ctr + 1n, false);
    }
    expect(row.openAborts).toBe(10);
    expect(isRefreshDue(row)).toBe(true);
  });

  it("count no test signature and none of a former epoch", () => {
    expect(sessionBegun(active, 6n, true)).toEqual({ ...active, ctr: 6n });
    const begun = sessionBegun(active, 6n, false);
    expect(sessionExplained(begun, 9, false)).toEqual(begun);
    expect(sessionExplained(active, 1, false).openAborts).toBe(0);
  });

  it("end with the sessions of an epoch", () => {
    expect(isRefreshDue({ ...active, sessions: 2 ** 20 - 1 })).toBe(false);
    expect(isRefreshDue({ ...active, sessions: 2 ** 20 })).toBe(true);
  });

  it("go with a ctr that only grows, by 2^20 at most", () => {
    expect([5n, 6n, 5n + 2n ** 20n, 6n + 2n ** 20n].map((ctr) => isCtrAccepted(5n, ctr))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(() => sessionBegun(active, 5n, false)).toThrow();
  });
});

describe("a freeze", () => {
  it("drops the prepared epoch at S and leaves it to the next State at C", () => {
    const refreshing = preparedRow(active, 0, 0n);
    expect(freezeChange(0, refreshing, NOW)).toMatchObject({ row: { status: "frozen", preparedEpoch: 0 }, erase: [2] });
    expect(freezeChange(1, refreshing, NOW)).toMatchObject({ row: { status: "frozen", preparedEpoch: 2 }, erase: [] });
    expect(freezeDroppingPrepared(refreshing, NOW)).toMatchObject({ row: { preparedEpoch: 0 }, erase: [2] });
  });

  it("keeps its time, and has none before the epoch of the clock", () => {
    expect(freezeChange(0, frozen, NOW + 9)?.row.frozenAtMs).toBe(NOW);
    expect(freezeChange(0, active, -5)?.row.frozenAtMs).toBe(1);
  });

  it("by a notice is obeyed for the active epoch only", () => {
    expect(onFreezeNotice(1, active, 1, NOW)).toMatchObject({ verdict: "freeze" });
    expect(onFreezeNotice(1, frozen, 1, NOW)).toEqual({ verdict: "frozen already" });
    expect(onFreezeNotice(1, active, 2, NOW)).toEqual({ verdict: "violation" });
    expect(onFreezeNotice(1, newWalletRow(), 1, NOW)).toEqual({ verdict: "violation" });
    expect(onFreezeNotice(1, newWalletRow(), 0, NOW)).toEqual({ verdict: "violation" });
  });
});

describe("a refresh", () => {
  const due: StateRow = { ...active, status: "refreshDue" };
  const restored: StateRow = { ...active, status: "restored" };
  const rows: readonly (readonly [WalletStatus | "prepared", StateRow, readonly RefreshMode[]])[] = [
    ["active", active, [0, 2]],
    ["refreshDue", due, [0, 2]],
    ["frozen", frozen, [1]],
    ["restored", restored, [1, 2]],
    ["new", newWalletRow(), []],
    ["prepared", preparedRow(active, 0, 0n), []],
  ];
  for (const [name, row, modes] of rows) {
    it(`of a wallet that is ${name} is allowed in the modes ${modes.join(", ") || "none"}`, () => {
      expect(([0, 1, 2] as const).filter((mode) => allowsRefresh(row, mode))).toEqual(modes);
    });
  }
});
