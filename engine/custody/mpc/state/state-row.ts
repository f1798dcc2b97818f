/**
 * The state row of a wallet at one party, 64 bytes beside the sealed share rows (docs/mpc.md, 5.4). Invariants: `ctr`
 * never falls; a prepared epoch follows the active one directly; a row that says anything else is not read.
 */
import { ServiceError } from "../../../domain/errors.js";

export const STATE_ROW_BYTES = 64;

/** `none` is the status of a wallet without a row, on the wire only. */
export const STATUS_CODES = { none: 0, new: 1, active: 2, frozen: 3, restored: 4, refreshDue: 5 } as const;
export type WireStatus = keyof typeof STATUS_CODES;
export type WalletStatus = Exclude<WireStatus, "none">;

export const STAGE_CODES = { none: 0, prepared: 1, tested: 2 } as const;
/** Of the prepared epoch. */
export type Stage = keyof typeof STAGE_CODES;

/** 0 routine, 1 unfreeze, 2 after a restore. Key generation prepares with 0. */
export type RefreshMode = 0 | 1 | 2;

export interface StateRow {
  readonly status: WalletStatus;
  readonly stage: Stage;
  /** 0: no epoch was ever active. */
  readonly activeEpoch: number;
  /** 0: none. */
  readonly preparedEpoch: number;
  /** The epoch before the active one, which S keeps until C has activated; 0: none. */
  readonly keptEpoch: number;
  readonly ctr: bigint;
  /** The other's ctr as this party knows it. */
  readonly peerCtr: bigint;
  /**
   * At S: of the last session whose end is not explained, or not written yet; 0: none. A crash takes `peerCtr` of that
   * session with it, so C may have had it.
   */
  readonly openCtr: bigint;
  /** Sessions of the epoch whose end is not explained (section 10). */
  readonly openAborts: number;
  readonly sessions: number;
  /** Wall clock; 0: not frozen. */
  readonly frozenAtMs: number;
  readonly preparedMode: RefreshMode;
}

const STATUS_NAMES = namesOf(STATUS_CODES);
const STAGE_NAMES = namesOf(STAGE_CODES);
const RESERVED_AT = 52;

export function encodeStateRow(row: StateRow): Buffer {
  const problem = problemOf(row);
  if (problem !== null) throw new ServiceError("INTERNAL", { problem: `custody: state row ${problem}` });
  const bytes = Buffer.alloc(STATE_ROW_BYTES);
  bytes.writeUInt8(STATUS_CODES[row.status], 0);
  bytes.writeUInt8(STAGE_CODES[row.stage], 1);
  bytes.writeUInt32BE(row.activeEpoch, 2);
  bytes.writeUInt32BE(row.preparedEpoch, 6);
  bytes.writeUInt32BE(row.keptEpoch, 10);
  bytes.writeBigUInt64BE(row.ctr, 14);
  bytes.writeBigUInt64BE(row.peerCtr, 22);
  bytes.writeUInt8(row.openAborts, 30);
  bytes.writeUInt32BE(row.sessions, 31);
  bytes.writeBigUInt64BE(BigInt(row.frozenAtMs), 35);
  bytes.writeUInt8(row.preparedMode, 43);
  bytes.writeBigUInt64BE(row.openCtr, 44);
  return bytes;
}

/** Null for a row that is none of ours: a fault, no session. */
export function decodeStateRow(source: Uint8Array): StateRow | null {
  if (source.byteLength !== STATE_ROW_BYTES) return null;
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const status = STATUS_NAMES.get(bytes.readUInt8(0));
  const stage = STAGE_NAMES.get(bytes.readUInt8(1));
  const mode = bytes.readUInt8(43);
  const frozenAtMs = Number(bytes.readBigUInt64BE(35));
  if (status === undefined || status === "none" || stage === undefined) return null;
  if (mode !== 0 && mode !== 1 && mode !== 2) return null;
  if (bytes.subarray(RESERVED_AT).some((byte) => byte !== 0)) return null;
  const row: StateRow = {
    status,
    stage,
    activeEpoch: bytes.readUInt32BE(2),
    preparedEpoch: bytes.readUInt32BE(6),
    keptEpoch: bytes.readUInt32BE(10),
    ctr: bytes.readBigUInt64BE(14),
    peerCtr: bytes.readBigUInt64BE(22),
    openAborts: bytes.readUInt8(30),
    sessions: bytes.readUInt32BE(31),
    frozenAtMs,
    preparedMode: mode,
    openCtr: bytes.readBigUInt64BE(44),
  };
  return problemOf(row) === null ? row : null;
}

/** What contradicts itself in a row; null: nothing. */
function problemOf(row: StateRow): string | null {
  if ((row.status === "new") !== (row.activeEpoch === 0)) return "status and active epoch";
  if ((row.stage === "none") !== (row.preparedEpoch === 0)) return "stage and prepared epoch";
  if (row.preparedEpoch !== 0 && row.preparedEpoch !== row.activeEpoch + 1) return "prepared epoch";
  if (row.status === "new" && row.stage === "none") return "new without an epoch";
  if (row.stage === "none" && row.preparedMode !== 0) return "mode";
  if (row.keptEpoch !== 0 && row.keptEpoch >= row.activeEpoch) return "kept epoch";
  if ((row.status === "frozen") !== (row.frozenAtMs !== 0)) return "time of the freeze";
  if (!Number.isSafeInteger(row.frozenAtMs) || row.openAborts > 255 || row.openAborts < 0) return "range";
  return null;
}

/** The row of a wallet whose first epoch is prepared. */
export function newWalletRow(): StateRow {
  return {
    ...{ status: "new", stage: "prepared", activeEpoch: 0, preparedEpoch: 1, keptEpoch: 0, ctr: 0n, peerCtr: 0n },
    ...{ openCtr: 0n, openAborts: 0, sessions: 0, frozenAtMs: 0, preparedMode: 0 },
  };
}

/** What C's ctr is at least, unless its store was put back. One that C may have had counts: unknown errs to the safe side. */
export function expectedPeerCtr({ peerCtr, openCtr }: StateRow): bigint {
  return peerCtr > openCtr ? peerCtr : openCtr;
}

/** A refresh has made the next epoch durable. Its ctr starts at the greater of both parties'. */
export function preparedRow(row: StateRow, mode: RefreshMode, peerCtr: bigint): StateRow {
  const ctr = row.ctr > peerCtr ? row.ctr : peerCtr;
  const known = row.peerCtr > peerCtr ? row.peerCtr : peerCtr;
  return { ...row, stage: "prepared", preparedEpoch: row.activeEpoch + 1, preparedMode: mode, ctr, peerCtr: known };
}

export function testedRow(row: StateRow): StateRow {
  return { ...row, stage: "tested" };
}

/**
 * The prepared epoch is the active one from here on. S keeps the former epoch until C has activated, C erases it in the
 * same commit. Only mode 1 ends a freeze.
 */
export function activatedRow(row: StateRow, keeps: boolean, refreshDue = false): StateRow {
  const staysFrozen = row.status === "frozen" && row.preparedMode !== 1;
  return {
    ...row,
    status: staysFrozen ? "frozen" : refreshDue ? "refreshDue" : "active",
    frozenAtMs: staysFrozen ? row.frozenAtMs : 0,
    activeEpoch: row.preparedEpoch,
    keptEpoch: keeps ? row.activeEpoch : 0,
    ...{ stage: "none", preparedEpoch: 0, preparedMode: 0, openAborts: 0, sessions: 0 },
  };
}

/** Without its prepared epoch; null: no row is left, since no epoch was ever active. */
export function droppedRow(row: StateRow): StateRow | null {
  if (row.activeEpoch === 0) return null;
  return { ...row, stage: "none", preparedEpoch: 0, preparedMode: 0 };
}

/** Only an active wallet becomes due: frozen and restored wallets are refreshed by an operator's word alone. */
export function refreshDueRow(row: StateRow): StateRow {
  return row.status === "active" ? { ...row, status: "refreshDue" } : row;
}

function namesOf<Name extends string>(codes: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  const names = new Map<number, Name>();
  for (const name of Object.keys(codes) as Name[]) names.set(codes[name], name);
  return names;
}
