import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newWalletRow, type RefreshMode, type StateRow, testedRow, type WalletStatus } from "./state-row.js";
import { type OwnWallet, type RuleName, type Settlement, settle, type Verdict, viewOf } from "./two-phase.js";

const NOW = 1_764_000_000_000;
const tag = (fill: number) => new Uint8Array(32).fill(fill);

/** A wallet in one line of the table: status, active epoch, prepared epoch, stage. Tags follow the epochs. */
function wallet(
  status: WalletStatus,
  active: number,
  stage: "none" | "prepared" | "tested" = "none",
  more: Partial<StateRow> & { readonly preparedFill?: number; readonly activeFill?: number } = {},
): OwnWallet {
  const { preparedFill, activeFill, ...fields } = more;
  const row: StateRow = {
    ...newWalletRow(),
    ...{ status, stage, activeEpoch: active, preparedEpoch: stage === "none" ? 0 : active + 1 },
    frozenAtMs: status === "frozen" ? 5 : 0,
    ...fields,
  };
  return {
    row,
    activeTag: active === 0 ? null : tag(activeFill ?? active),
    preparedTag: stage === "none" ? null : tag(preparedFill ?? active + 1),
  };
}

function both(service: OwnWallet | null, cosigner: OwnWallet | null): readonly [Settlement, Settlement] {
  return [settle(0, service, viewOf(cosigner), NOW), settle(1, cosigner, viewOf(service), NOW)];
}

interface Row {
  readonly name: string;
  readonly s: OwnWallet | null;
  readonly c: OwnWallet | null;
  readonly rule: RuleName;
  readonly verdict: Verdict;
  readonly service: Partial<StateRow> | "row gone" | null;
  readonly cosigner: Partial<StateRow> | "row gone" | null;
}

const FROZEN = { status: "frozen" as const, frozenAtMs: NOW };
const DROPPED = { preparedEpoch: 0, stage: "none" as const, preparedMode: 0 as const };

/** Section 11 of docs/mpc.md, row for row. */
const TABLE: readonly Row[] = [
  {
    ...{ name: "an unfreeze that S has decided ends C's freeze", rule: "the unfreeze was decided", verdict: "again" },
    ...{ s: wallet("active", 2, "none", { keptEpoch: 1 }), c: wallet("frozen", 1, "tested", { preparedMode: 1 }) },
    ...{ service: null, cosigner: { status: "active", activeEpoch: 2, frozenAtMs: 0 } },
  },
  {
    ...{ name: "a routine refresh that S has decided keeps C's freeze", rule: "C follows the decision" },
    ...{ s: wallet("active", 2, "none", { keptEpoch: 1 }), c: wallet("frozen", 1, "tested"), verdict: "again" },
    ...{ service: null, cosigner: { status: "frozen", activeEpoch: 2, frozenAtMs: 5 } },
  },
  {
    ...{ name: "a freeze of S is taken over by C", rule: "a freeze is taken over", verdict: "again" },
    ...{ s: wallet("frozen", 1), c: wallet("active", 1), service: null, cosigner: FROZEN },
  },
  {
    ...{ name: "a freeze of C is taken over by S", rule: "a freeze is taken over", verdict: "again" },
    ...{ s: wallet("refreshDue", 4), c: wallet("frozen", 4), service: FROZEN, cosigner: null },
  },
  {
    ...{ name: "an attempt that S does not know is dropped by C", rule: "C's prepared epoch is nobody's" },
    ...{ s: null, c: wallet("new", 0, "tested"), verdict: "again", service: null, cosigner: "row gone" },
  },
  {
    ...{ name: "a refresh that S does not know is dropped by C", rule: "C's prepared epoch is nobody's" },
    ...{ s: wallet("active", 3), c: wallet("active", 3, "tested"), verdict: "again", service: null, cosigner: DROPPED },
  },
  {
    ...{ name: "an attempt that C never held is dropped by S", rule: "nothing was decided", verdict: "again" },
    ...{ s: wallet("new", 0, "prepared"), c: null, service: "row gone", cosigner: null },
  },
  {
    ...{ name: "an undecided refresh is dropped by both", rule: "nothing was decided", verdict: "again" },
    ...{ s: wallet("active", 3, "prepared"), c: wallet("active", 3, "tested"), service: DROPPED, cosigner: DROPPED },
  },
  {
    ...{
      name: "an undecided refresh of a frozen wallet is dropped by both and stays frozen",
      rule: "nothing was decided",
    },
    ...{ s: wallet("frozen", 3, "prepared", { preparedMode: 1 }), verdict: "again" },
    c: wallet("frozen", 3, "tested", { preparedMode: 1 }),
    service: { ...DROPPED, status: "frozen", frozenAtMs: 5 },
    cosigner: { ...DROPPED, status: "frozen" },
  },
  {
    ...{ name: "S whose store was put back before its decision follows C", rule: "S's store was put back" },
    ...{ s: wallet("active", 3, "prepared"), c: wallet("active", 4), verdict: "again", cosigner: null },
    service: { status: "refreshDue", activeEpoch: 4, keptEpoch: 3 },
  },
  {
    ...{ name: "S whose store was put back in a creation follows C", rule: "S's store was put back", verdict: "again" },
    ...{ s: wallet("new", 0, "prepared"), c: wallet("active", 1), cosigner: null },
    service: { status: "refreshDue", activeEpoch: 1, keptEpoch: 0 },
  },
  {
    ...{ name: "C that has tested follows S's decision", rule: "C follows the decision", verdict: "again" },
    ...{ s: wallet("active", 4, "none", { keptEpoch: 3 }), c: wallet("active", 3, "tested"), service: null },
    cosigner: { status: "active", activeEpoch: 4, keptEpoch: 0 },
  },
  {
    ...{ name: "C whose store was put back to prepared follows S's decision", rule: "C follows the decision" },
    ...{ s: wallet("active", 1), c: wallet("new", 0, "prepared"), verdict: "again", service: null },
    cosigner: { status: "active", activeEpoch: 1 },
  },
  {
    ...{
      name: "a prepared epoch of the same number and another tag is nobody's",
      rule: "C's prepared epoch is nobody's",
    },
    ...{ s: wallet("active", 2), c: wallet("active", 1, "prepared", { preparedFill: 9 }), verdict: "again" },
    ...{ service: null, cosigner: DROPPED },
  },
  {
    ...{ name: "S erases the former epoch once C has activated", rule: "S erases the former epoch", verdict: "again" },
    ...{ s: wallet("active", 4, "none", { keptEpoch: 3 }), c: wallet("active", 4), service: { keptEpoch: 0 } },
    cosigner: null,
  },
  {
    ...{ name: "a store that C lost is named", rule: "C's store is lost", verdict: "restore cosigner" },
    ...{ s: wallet("active", 4), c: null, service: null, cosigner: null },
  },
  {
    ...{ name: "a store that S lost is named", rule: "S's store is lost", verdict: "restore service" },
    ...{ s: null, c: wallet("frozen", 4), service: null, cosigner: null },
  },
  {
    ...{ name: "an older store is named", rule: "an older store", verdict: "restore the older" },
    ...{ s: wallet("active", 4), c: wallet("active", 3), service: null, cosigner: null },
  },
  {
    ...{ name: "two epochs of one number raise an alert", rule: "two epochs of one number", verdict: "alert" },
    ...{ s: wallet("active", 4), c: wallet("active", 4, "none", { activeFill: 9 }), service: null, cosigner: null },
  },
  {
    ...{ name: "two equal rows are settled", rule: "settled", verdict: "settled" },
    ...{ s: wallet("active", 4), c: wallet("active", 4), service: null, cosigner: null },
  },
];

describe("settling a wallet after a reconnection", () => {
  for (const row of TABLE) {
    it(row.name, () => {
      const [service, cosigner] = both(row.s, row.c);
      expect(service.verdict === "again" || cosigner.verdict === "again" ? "again" : service.verdict).toBe(row.verdict);
      expect([service.rule, cosigner.rule]).toContain(row.rule);
      expectChange(service, row.service);
      expectChange(cosigner, row.cosigner);
    });
  }

  it("never drops an active epoch, ends, and leaves both at one epoch or names what is wrong", () => {
    const name = fc.constantFrom<WalletStatus>("new", "active", "frozen", "restored", "refreshDue");
    const side = (tested: boolean) =>
      fc.option(
        fc.record({
          status: name,
          active: fc.integer({ min: 1, max: 3 }),
          stage: fc.constantFrom(
            "none" as const,
            "prepared" as const,
            tested ? ("tested" as const) : ("prepared" as const),
          ),
          fill: fc.constantFrom(0, 0, 0, 9),
          mode: fc.constantFrom<RefreshMode>(0, 1, 2),
          keeps: fc.boolean(),
        }),
        { nil: null },
      );
    const made = (
      drawn: {
        status: WalletStatus;
        active: number;
        stage: "none" | "prepared" | "tested";
        fill: number;
        mode: RefreshMode;
        keeps: boolean;
      } | null,
      self: 0 | 1,
    ) => {
      if (drawn === null) return null;
      const active = drawn.status === "new" ? 0 : drawn.active;
      const stage = drawn.status === "new" && drawn.stage === "none" ? "prepared" : drawn.stage;
      return wallet(drawn.status, active, stage, {
        preparedMode: stage === "none" ? 0 : drawn.mode,
        keptEpoch: self === 0 && drawn.keeps && active > 1 ? active - 1 : 0,
        ...(drawn.fill === 0 ? {} : { preparedFill: drawn.fill }),
      });
    };
    fc.assert(
      fc.property(side(false), side(true), fc.boolean(), (sDrawn, cDrawn, serviceFirst) => {
        let s = made(sDrawn, 0);
        let c = made(cDrawn, 1);
        for (let round = 0; round < 12; round++) {
          const [forS, forC] = both(s, c);
          if (forS.verdict !== "again" && forC.verdict !== "again") {
            expect(forS.verdict).toBe(forC.verdict);
            if (forS.verdict === "settled") expectOneEpoch(s, c);
            return;
          }
          // Either side may be first to act on what it heard.
          if (serviceFirst && forS.change !== null) s = applied(s, forS);
          else if (forC.change !== null) c = applied(c, forC);
          else s = applied(s, forS);
        }
        expect.unreachable("never settles");
      }),
      { numRuns: Number(process.env["MPC_RUNS"] ?? 0) * 10 || 1_000 },
    );
  });
});

function applied(own: OwnWallet | null, { change }: Settlement): OwnWallet | null {
  if (own === null || change === null) return own;
  if (change.row === null) {
    expect(own.row.activeEpoch).toBe(0);
    return null;
  }
  const activated = change.row.activeEpoch !== own.row.activeEpoch;
  if (activated) expect(change.row.activeEpoch).toBe(own.row.preparedEpoch);
  else expect(change.erase).not.toContain(own.row.activeEpoch);
  const dropped = change.row.preparedEpoch === 0;
  return {
    row: change.row,
    activeTag: activated ? own.preparedTag : own.activeTag,
    preparedTag: dropped ? null : own.preparedTag,
  };
}

function expectOneEpoch(s: OwnWallet | null, c: OwnWallet | null): void {
  expect(s?.row.activeEpoch).toBe(c?.row.activeEpoch);
  expect(s?.row.preparedEpoch ?? 0).toBe(0);
  expect(c?.row.preparedEpoch ?? 0).toBe(0);
  expect(s?.row.status === "frozen").toBe(c?.row.status === "frozen");
}

function expectChange({ change }: Settlement, expected: Row["service"]): void {
  if (expected === null) expect(change).toBeNull();
  else if (expected === "row gone") expect(change?.row).toBeNull();
  else expect(change?.row).toMatchObject(expected);
}

it("a tested row keeps all else", () => {
  expect(testedRow(newWalletRow())).toEqual({ ...newWalletRow(), stage: "tested" });
});
