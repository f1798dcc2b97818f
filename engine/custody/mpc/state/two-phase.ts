/**
 * What two parties that meet again do with a wallet whose rows are not plainly active (docs/mpc.md, section 11): a pure
 * function of both views. Each side computes it for itself; after a change both send their state again, until no rule
 * fits. Invariant: no rule drops the active epoch of either side.
 */
import { timingSafeEqual } from "node:crypto";
import { freezeChange } from "./freeze.js";
import { activatedRow, droppedRow, refreshDueRow, type Stage, type StateRow, type WireStatus } from "./state-row.js";

export interface EpochView {
  readonly epoch: number;
  readonly tag: Uint8Array;
}

/** What a `State` message says of a wallet. */
export interface WalletView {
  readonly status: WireStatus;
  readonly stage: Stage;
  readonly active: EpochView | null;
  readonly prepared: EpochView | null;
  readonly ctr: bigint;
}

/** The own row, and the tags of its epochs. Null: no row. */
export interface OwnWallet {
  readonly row: StateRow;
  readonly activeTag: Uint8Array | null;
  readonly preparedTag: Uint8Array | null;
}

export type RuleName =
  | "the unfreeze was decided"
  | "a freeze is taken over"
  | "C's prepared epoch is nobody's"
  | "nothing was decided"
  | "S's store was put back"
  | "C follows the decision"
  | "S erases the former epoch"
  | "C's store is lost"
  | "S's store is lost"
  | "an older store"
  | "two epochs of one number"
  | "settled";

type Act = "freeze" | "drop" | "activate" | "activate, refresh due" | "erase kept" | "none";

/**
 * `again`: send the state again. `restore`: 503 RESTORED_STORE until that side is restored. `alert`: refused for ever.
 */
export type Verdict = "settled" | "again" | "restore service" | "restore cosigner" | "restore the older" | "alert";

export interface Settlement {
  readonly rule: RuleName;
  readonly verdict: Verdict;
  /** Null: nothing to make durable. */
  readonly change: RowChange | null;
}

export interface RowChange {
  /** Null: the row goes. */
  readonly row: StateRow | null;
  readonly erase: readonly number[];
}

interface Pair {
  readonly s: WalletView;
  readonly c: WalletView;
  /** Mode of C's prepared epoch; null where S decides, who does not know it. */
  readonly modeAtC: number | null;
  /** S keeps a former epoch; false where C decides, who does not know it. */
  readonly sKeeps: boolean;
}

interface Rule {
  readonly name: RuleName;
  readonly fits: (pair: Pair) => boolean;
  readonly service: Act;
  readonly cosigner: Act;
  readonly verdict: Verdict;
}

const RULES: readonly Rule[] = [
  {
    name: "the unfreeze was decided",
    fits: ({ s, c, modeAtC }) =>
      c.status === "frozen" && c.stage === "tested" && same(s.active, c.prepared) && modeAtC === 1,
    ...{ service: "none", cosigner: "activate", verdict: "again" },
  },
  {
    name: "a freeze is taken over",
    fits: ({ s, c }) =>
      s.active !== null && s.active.epoch === c.active?.epoch && (s.status === "frozen") !== (c.status === "frozen"),
    ...{ service: "freeze", cosigner: "freeze", verdict: "again" },
  },
  {
    name: "C's prepared epoch is nobody's",
    fits: ({ s, c }) => c.prepared !== null && !same(c.prepared, s.prepared) && !same(c.prepared, s.active),
    ...{ service: "none", cosigner: "drop", verdict: "again" },
  },
  {
    name: "nothing was decided",
    fits: ({ s, c }) => s.prepared !== null && !same(s.prepared, c.active),
    ...{ service: "drop", cosigner: "drop", verdict: "again" },
  },
  {
    name: "S's store was put back",
    fits: ({ s, c }) => s.prepared !== null && same(s.prepared, c.active),
    ...{ service: "activate, refresh due", cosigner: "none", verdict: "again" },
  },
  {
    name: "C follows the decision",
    fits: ({ s, c }) => c.prepared !== null && same(c.prepared, s.active),
    ...{ service: "none", cosigner: "activate", verdict: "again" },
  },
  {
    name: "S erases the former epoch",
    fits: ({ s, c, sKeeps }) => sKeeps && same(s.active, c.active),
    ...{ service: "erase kept", cosigner: "none", verdict: "again" },
  },
  rest("C's store is lost", ({ s, c }) => s.active !== null && c.status === "none", "restore cosigner"),
  rest("S's store is lost", ({ s, c }) => s.status === "none" && c.active !== null, "restore service"),
  rest("an older store", ({ s, c }) => s.active?.epoch !== c.active?.epoch, "restore the older"),
  rest("two epochs of one number", ({ s, c }) => s.active !== null && !same(s.active, c.active), "alert"),
  rest("settled", () => true, "settled"),
];

function rest(name: RuleName, fits: (pair: Pair) => boolean, verdict: Verdict): Rule {
  return { name, fits, service: "none", cosigner: "none", verdict };
}

export function settle(self: 0 | 1, own: OwnWallet | null, peer: WalletView, nowMs: number): Settlement {
  const mine = viewOf(own);
  const pair: Pair = {
    s: self === 0 ? mine : peer,
    c: self === 0 ? peer : mine,
    modeAtC: self === 1 && own !== null ? own.row.preparedMode : null,
    sKeeps: self === 0 && own !== null && own.row.keptEpoch !== 0,
  };
  const rule = RULES.find(({ fits }) => fits(pair));
  if (rule === undefined) throw new RangeError("the last rule fits always");
  const act = self === 0 ? rule.service : rule.cosigner;
  const change = own === null ? null : changeOf(act, self, own.row, nowMs);
  return { rule: rule.name, verdict: rule.verdict, change };
}

/** What the own row says on the wire. */
export function viewOf(own: OwnWallet | null): WalletView {
  if (own === null) return { status: "none", stage: "none", active: null, prepared: null, ctr: 0n };
  const { row, activeTag, preparedTag } = own;
  return {
    status: row.status,
    stage: row.stage,
    active: epochOf(row.activeEpoch, activeTag),
    prepared: epochOf(row.preparedEpoch, preparedTag),
    ctr: row.ctr,
  };
}

/** The peer was found with an older ctr, or the counts of the epoch ran out. */
export function refreshDueChange(row: StateRow): RowChange {
  return { row: refreshDueRow(row), erase: [] };
}

function epochOf(epoch: number, tag: Uint8Array | null): EpochView | null {
  if (epoch === 0) return null;
  if (tag === null) throw new RangeError("an epoch without a tag");
  return { epoch, tag };
}

function changeOf(act: Act, self: 0 | 1, row: StateRow, nowMs: number): RowChange | null {
  switch (act) {
    case "none":
      return null;
    case "freeze":
      // The rows below the rule decide what happens to a prepared epoch.
      return row.status === "frozen" ? null : freezeChange(1, row, nowMs);
    case "drop":
      return row.preparedEpoch === 0 ? null : { row: droppedRow(row), erase: [row.preparedEpoch] };
    case "activate":
    case "activate, refresh due":
      return activation(self, row, act === "activate, refresh due");
    case "erase kept":
      return { row: { ...row, keptEpoch: 0 }, erase: [row.keptEpoch] };
  }
}

/** S keeps the epoch before until C answers; C erases it in the commit that activates. */
export function activation(self: 0 | 1, row: StateRow, refreshDue = false): RowChange {
  const keeps = self === 0 && row.activeEpoch !== 0;
  const erase = self === 1 && row.activeEpoch !== 0 ? [row.activeEpoch] : [];
  return { row: activatedRow(row, keeps, refreshDue), erase };
}

function same(left: EpochView | null, right: EpochView | null): boolean {
  if (left === null || right === null) return false;
  return left.epoch === right.epoch && timingSafeEqual(left.tag, right.tag);
}
