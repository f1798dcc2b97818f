/** The pure steps of a deposit, where the runs of anything found something, and where they cannot be sure to look. */
import { describe, expect, it } from "vitest";
import type { TransactionStanding } from "../chain.js";
import {
  canBegin,
  concluded,
  dearer,
  handedOut,
  holdsLane,
  looked,
  planOf,
  prepared,
  signed,
  unsignedIndex,
  VERSIONS_MAX,
  wouldRevert,
} from "./deposit-steps.js";
import type { DepositRow } from "./transfer-row.js";

const PRICE = { maxFeePerGas: 21n, maxPriorityFeePerGas: 1n };
const ADDRESS = `0x${"11".repeat(20)}`;
const SIGNATURE = `0x${"00".repeat(64)}1b`;
const AGAIN = { index: 0, isFirst: false } as const;
const REFUSED = { kind: "refused", reason: "insufficient funds" } as const;

const CREATED: DepositRow = {
  ...{ transferId: "t", ownerId: null, walletId: "w", account: ADDRESS, venue: "venuetwo", requestId: "r" },
  ...{ createdAtMs: 0, updatedAtMs: 0, state: "created", reason: null, reasonText: "", venueId: null },
  ...{ kind: "deposit", chainId: 56, network: "56", amount: "7", broker: null, spender: ADDRESS },
  token: { symbol: "USDC", address: ADDRESS, decimals: 6, resetsAllowance: true },
  ...{ to: ADDRESS, data: "0x", plan: [], steps: [], revertsSinceMs: null, isCreditAwaited: false },
};

function hashOf(nonce: number, version: number): string {
  return `0x${`${nonce}${version}`.padStart(64, "0")}`;
}

function begun(row: DepositRow): DepositRow {
  const nonce = row.steps.length;
  const call = { plan: ["approve", "deposit"], to: ADDRESS, data: "0x", nonce } as const;
  return prepared(row, { ...call, gasLimit: 50n, price: PRICE }, 1);
}

function sent(row: DepositRow, index: number): DepositRow {
  const version = row.steps[index]?.versions.length ?? 0;
  const next = signed(row, index, { signature: SIGNATURE, hash: hashOf(index, version) }, 2);
  return handedOut(next, { index, isFirst: true }, { kind: "taken" }, 3);
}

function standing(index: number, change: Partial<Extract<TransactionStanding, { kind: "mined" }>> = {}) {
  const base = {
    kind: "mined",
    hash: hashOf(index, 1),
    blockNumber: 1,
    blockHash: hashOf(9, 9),
    confirmations: 1,
  } as const;
  return { ...base, isFinal: false, succeeded: true, gasCost: 5n, logs: [], ...change };
}

function mined(row: DepositRow, index: number, change: Parameters<typeof standing>[1] = {}): DepositRow {
  return looked(row, index, { standing: standing(index, change), taken: index === 1 ? 7n : null }, 4);
}

describe("the steps of a deposit", () => {
  it("set an allowance to zero only where the token wants it and there is one", () => {
    expect(planOf(CREATED, 0n)).toEqual(["approve", "deposit"]);
    expect(planOf(CREATED, 6n)).toEqual(["reset", "approve", "deposit"]);
    expect(planOf({ ...CREATED, token: { ...CREATED.token, resetsAllowance: false } }, 6n)).toEqual([
      "approve",
      "deposit",
    ]);
    expect(planOf(CREATED, 7n)).toEqual(["deposit"]);
    expect(planOf({ ...CREATED, spender: null }, 0n)).toEqual(["deposit"]);
  });

  it("never sign a price that was to be raised when the step was mined after all", () => {
    const approved = mined(dearer(sent(begun(CREATED), 0), 0, PRICE, 3), 0);
    expect(unsignedIndex(approved)).toBe(-1);
    expect(unsignedIndex(begun(approved))).toBe(1);
  });

  it("begin one after another, and not behind one that a reorg took away", () => {
    const first = sent(begun(CREATED), 0);
    expect([canBegin(first), canBegin(mined(first, 0)), canBegin(mined(first, 0, { succeeded: false }))]).toEqual([
      ...[false, true, false],
    ]);
    const second = begun(mined(first, 0));
    const gone = looked(second, 0, { standing: { kind: "open", isKnown: false }, taken: null }, 5);
    expect([unsignedIndex(second), unsignedIndex(gone)]).toEqual([1, -1]);
    expect(gone.steps[0]).toMatchObject({ mined: null, versions: [{ isTaken: false }] });
  });

  it("raise a price by an eighth, or to what the chain asks", () => {
    const first = sent(begun(CREATED), 0);
    const [raised, asked] = [PRICE, { maxFeePerGas: 99n, maxPriorityFeePerGas: 9n }].map(
      (price) => dearer(first, 0, price, 3).steps[0]?.versions[1],
    );
    expect(raised).toMatchObject({ maxFeePerGas: "24", maxPriorityFeePerGas: "2", signature: null });
    expect(asked).toMatchObject({ maxFeePerGas: "99", maxPriorityFeePerGas: "9" });
    expect(VERSIONS_MAX).toBeGreaterThan(1);
  });

  it("end once all that was sent is decided, so what it cost is what the chain has", () => {
    const both = sent(begun(mined(sent(begun(CREATED), 0), 0)), 1);
    const done = mined(both, 1, { isFinal: true, confirmations: 4 });
    expect(concluded(done, 5)).toBe(done);
    expect(concluded(mined(done, 0, { isFinal: true, confirmations: 5 }), 5)).toMatchObject({
      ...{ state: "confirmed", isCreditAwaited: true },
    });
  });

  it("fail with the reason of the first that broke, and only when none can land any more", () => {
    const both = sent(begun(mined(sent(begun(CREATED), 0), 0)), 1);
    const replaced = looked(both, 0, { standing: { kind: "replaced" }, taken: null }, 5);
    expect(concluded(replaced, 5)).toBe(replaced);
    const reverted = mined(replaced, 1, { isFinal: true, succeeded: false });
    expect(concluded(reverted, 5)).toMatchObject({ state: "failed", reason: "NONCE_USED" });
    const landed = mined(replaced, 1, { isFinal: true });
    expect(concluded(landed, 5)).toMatchObject({ state: "confirmed" });
    const undone = mined(sent(begun(CREATED), 0), 0, { isFinal: true, succeeded: false });
    expect(concluded(undone, 5)).toMatchObject({ state: "failed", reason: "REVERTED" });
  });

  it("raise a price of nothing too: as much again would not replace it", () => {
    const free = prepared(
      CREATED,
      {
        ...{ plan: ["deposit"], to: ADDRESS, data: "0x", nonce: 0, gasLimit: 50n },
        price: { maxFeePerGas: 20n, maxPriorityFeePerGas: 0n },
      },
      1,
    );
    const once = signed(free, 0, { signature: SIGNATURE, hash: hashOf(0, 1) }, 2);
    const [, version] = dearer(once, 0, { maxFeePerGas: 20n, maxPriorityFeePerGas: 0n }, 3).steps[0]?.versions ?? [];
    expect(version).toMatchObject({ maxFeePerGas: "23", maxPriorityFeePerGas: "1" });
  });

  it("take a refusal for the end only of what was never sent before, and once the rest is decided", () => {
    const first = signed(begun(CREATED), 0, { signature: SIGNATURE, hash: hashOf(0, 1) }, 2);
    const end = { state: "failed", reason: "BROADCAST_REFUSED", reasonText: "insufficient funds" };
    expect(handedOut(first, { index: 0, isFirst: true }, REFUSED, 3)).toMatchObject(end);
    expect(handedOut(first, { index: 0, isFirst: false }, REFUSED, 3)).toMatchObject({ ...end, state: "unknown" });
    const approved = mined(sent(begun(CREATED), 0), 0);
    const second = signed(begun(approved), 1, { signature: SIGNATURE, hash: hashOf(1, 1) }, 2);
    const refused = handedOut(second, { index: 1, isFirst: true }, REFUSED, 3);
    expect(refused).toMatchObject({ state: "broadcast", steps: [{}, { isRefused: true }] });
    expect(concluded(mined(refused, 0, { isFinal: true, confirmations: 4 }), 5)).toMatchObject(end);
  });

  it("believe that a later step would revert only two minutes after the one before is final", () => {
    expect(wouldRevert(CREATED, "no", 1)).toMatchObject({ state: "failed", reason: "WOULD_REVERT", reasonText: "no" });
    const approved = mined(sent(begun(CREATED), 0), 0);
    const since = wouldRevert(approved, "no", 1_000);
    expect(since).toMatchObject({ state: "broadcast", revertsSinceMs: 1_000 });
    expect(wouldRevert(since, "no", 900_000)).toBe(since);
    const final = mined(since, 0, { isFinal: true, confirmations: 4 });
    expect(wouldRevert(final, "no", 120_999)).toBe(final);
    expect(wouldRevert(final, "no", 121_000)).toMatchObject({ state: "failed" });
  });

  it("hold the lane from the first nonce until the deposit is mined", () => {
    const approved = mined(sent(begun(CREATED), 0), 0);
    const deposited = sent(begun(approved), 1);
    const rows = [CREATED, begun(CREATED), approved, deposited, mined(deposited, 1)];
    expect(rows.map(holdsLane)).toEqual([false, true, true, true, false]);
  });

  describe("of a deposit that fewer than must agree showed undone", () => {
    const SEEN = { confirmations: 4, isFinal: true } as const;
    const unshown = (row: DepositRow, index: number, isFinal = true) =>
      looked(row, index, { standing: { kind: "unshown", ...SEEN, isFinal }, taken: null }, 5);
    const opened = (row: DepositRow, index: number, isKnown: boolean) =>
      looked(row, index, { standing: { kind: "open", isKnown }, taken: null }, 5);

    /** Its approval is in a block that is not final, and the deposit's own receipt is gone. */
    function undone(isFinal = true): DepositRow {
      const both = sent(begun(mined(sent(begun(CREATED), 0), 0)), 1);
      return unshown(mined(both, 1, { succeeded: false }), 1, isFinal);
    }

    it.each<[what: string, then: (row: DepositRow) => DepositRow]>([
      ["is final", (row) => mined(row, 0, SEEN)],
      ["is final and undone", (row) => mined(row, 0, { ...SEEN, succeeded: false })],
      ["went to another nonce", (row) => looked(row, 0, { standing: { kind: "replaced" }, taken: null }, 5)],
      ["has no receipt any more", (row) => unshown(unshown(row, 0, false), 0)],
      ["was in no block for a while", (row) => mined(opened(row, 0, true), 0, SEEN)],
      ["was handed out again", (row) => mined(handedOut(opened(row, 0, false), AGAIN, { kind: "taken" }, 5), 0, SEEN)],
      ["was not taken again", (row) => mined(handedOut(opened(row, 0, false), AGAIN, REFUSED, 5), 0, SEEN)],
    ])("leave it unknown where its approval %s", (_, then) => {
      expect(concluded(then(undone()), 6)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN" });
    });

    it("leave it unknown while its block is not final, whatever its approval shows", () => {
      for (const change of [SEEN, { ...SEEN, succeeded: false }])
        expect(concluded(mined(undone(false), 0, change), 6)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN" });
    });

    it("end it where enough show it undone, whatever fewer had of its approval", () => {
      const both = sent(begun(mined(sent(begun(CREATED), 0), 0)), 1);
      const known = mined(unshown(both, 0, false), 1, { ...SEEN, succeeded: false });
      const after = unshown(unshown(known, 0, false), 0);
      expect(concluded(after, 6)).toMatchObject({ state: "failed", reason: "REVERTED" });
    });
  });

  it("say no more that a block does not show it once that block is gone, also where no pool takes it again", () => {
    const both = sent(begun(mined(sent(begun(CREATED), 0), 0)), 1);
    const seen = mined(sent(dearer(both, 1, PRICE, 3), 1), 1);
    const unshown = { kind: "unshown", confirmations: 1, isFinal: false } as const;
    const doubted = looked(seen, 1, { standing: unshown, taken: null }, 5);
    expect(doubted).toMatchObject({ state: "unknown", reason: "NOT_SHOWN" });
    const gone = looked(doubted, 1, { standing: { kind: "open", isKnown: false }, taken: null }, 6);
    const again = handedOut(gone, { index: 1, isFirst: false }, REFUSED, 7);
    expect(again).toMatchObject({ state: "unknown", reason: null });
  });

  it("say so no more of a row that an earlier program left so", () => {
    const both = sent(dearer(sent(begun(mined(sent(begun(CREATED), 0), 0)), 1), 1, PRICE, 3), 1);
    const lost = looked(both, 1, { standing: { kind: "open", isKnown: false }, taken: null }, 4);
    const left: DepositRow = { ...lost, state: "unknown", reason: "NOT_SHOWN" };
    const gone = looked(left, 1, { standing: { kind: "open", isKnown: false }, taken: null }, 6);
    expect(gone).toMatchObject({ state: "unknown", reason: null });
    expect(looked(gone, 1, { standing: { kind: "open", isKnown: false }, taken: null }, 7)).toBe(gone);
  });

  it("keep the outcome of a deposit unknown that no endpoint took, whatever its approval shows", () => {
    const approved = mined(sent(begun(CREATED), 0), 0);
    const second = signed(begun(approved), 1, { signature: SIGNATURE, hash: hashOf(1, 1) }, 2);
    const unsure = handedOut(second, { index: 1, isFirst: true }, { kind: "unknown" }, 3);
    expect(unsure.state).toBe("unknown");
    for (const succeeded of [true, false]) {
      const after = concluded(mined(unsure, 0, { isFinal: true, confirmations: 4, succeeded }), 5);
      expect(after).toMatchObject({ state: "unknown", reason: null });
    }
  });

  it("do not know a mined transaction that is none of the row's", () => {
    const first = sent(begun(CREATED), 0);
    expect(mined(first, 0, { hash: hashOf(8, 8) })).toBe(first);
  });
});
