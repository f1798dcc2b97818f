/**
 * Which epoch of a wallet is restored (docs/mpc.md, section 13): a pure function of what both sides have. Each side
 * computes it from the same two inventories, and both come to the same epoch.
 *
 * An inventory is public, and text throughout, since one operator carries it to the other.
 */
import type { StateRow } from "../mpc/state/state-row.js";
import { type BackupName, TAG_PREFIX_BYTES } from "./backup-name.js";
import type { StoredParty } from "./party-store.js";

export interface KnownEpoch {
  readonly epoch: number;
  /** 64 hex digits, or the first 16 where nothing but the name of a backup is known. */
  readonly tag: string;
}

export interface WalletInventory {
  /** 32 hex digits. */
  readonly walletId: string;
  /** In the store of the side; null: none. */
  readonly active: KnownEpoch | null;
  readonly prepared: KnownEpoch | null;
  /** Of the state row, decimal. */
  readonly ctr: string;
  /** All that the side has, in its store or in its backups. */
  readonly epochs: readonly KnownEpoch[];
}

export type RestorePlan =
  | {
      readonly kind: "restore";
      readonly epoch: number;
      /** As far as it is known: 64 or 16 hex digits. */
      readonly tag: string;
      /** The restored wallet starts here at least. */
      readonly ctr: bigint;
    }
  /** The store of this side holds the epoch active. */
  | { readonly kind: "keep"; readonly epoch: number }
  | { readonly kind: "refused"; readonly reason: RestoreRefusal };

export type RestoreRefusal =
  /** Two inventories of different wallets. */
  | "WALLET"
  | "NO_COMMON_EPOCH"
  /** The store of this side holds the same number, or a higher one; no row is replaced. */
  | "HIGHER_EPOCH"
  /** The store of this side has prepared an epoch of this number: the parties settle it when they meet. */
  | "PREPARED";

const TAG_PREFIX_DIGITS = 2 * TAG_PREFIX_BYTES;
const EPOCHS_MAX = 10_000;

/** `backups`: of this party; those of other wallets count for nothing. */
export function inventoryOf(
  walletId: Uint8Array,
  stored: StoredParty | null,
  backups: readonly BackupName[],
): WalletInventory {
  const inStore = (stored?.epochs ?? []).map(({ epoch, tag }) => ({ epoch, tag: hex(tag) }));
  const named = (epoch: number) => inStore.find((known) => known.epoch === epoch) ?? null;
  const own = backups.filter((backup) => hex(backup.walletId) === hex(walletId));
  const inBackups = own.map(({ epoch, tag }) => ({ epoch, tag: hex(tag) }));
  const isNew = (known: KnownEpoch) => !inStore.some((other) => isSameEpoch(known, other));
  return {
    walletId: hex(walletId),
    active: named(stored?.row.activeEpoch ?? 0),
    prepared: named(stored?.row.preparedEpoch ?? 0),
    ctr: String(stored?.row.ctr ?? 0n),
    epochs: [...inStore, ...inBackups.filter(isNew)].sort(byEpoch),
  };
}

/** What an operator of the other side handed over; null: it is none. */
export function readInventory(source: unknown): WalletInventory | null {
  if (!isRecord(source)) return null;
  const { walletId, ctr } = source;
  const active = source["active"] === null ? null : readKnown(source["active"]);
  const prepared = source["prepared"] === null ? null : readKnown(source["prepared"]);
  const list: readonly unknown[] | null = Array.isArray(source["epochs"]) ? source["epochs"] : null;
  if (typeof walletId !== "string" || !/^[0-9a-f]{32}$/.test(walletId)) return null;
  if (typeof ctr !== "string" || !/^(0|[1-9]\d{0,19})$/.test(ctr)) return null;
  if (active === undefined || prepared === undefined || list === null || list.length > EPOCHS_MAX) return null;
  const epochs: KnownEpoch[] = [];
  for (const entry of list) {
    const known = readKnown(entry);
    if (known === undefined) return null;
    epochs.push(known);
  }
  return { walletId, active, prepared, ctr, epochs };
}

/** What this side is to do; the other's is the same call with the two exchanged. */
export function planRestore(own: WalletInventory, peer: WalletInventory): RestorePlan {
  if (own.walletId !== peer.walletId) return { kind: "refused", reason: "WALLET" };
  const taken = takenEpoch(own, peer);
  if (taken === null) return { kind: "refused", reason: "NO_COMMON_EPOCH" };
  const { epoch, tag } = taken;
  if (own.active !== null && isSameEpoch(own.active, taken)) return { kind: "keep", epoch };
  if (own.active !== null && own.active.epoch >= epoch) return { kind: "refused", reason: "HIGHER_EPOCH" };
  if (own.prepared !== null && own.prepared.epoch >= epoch) return { kind: "refused", reason: "PREPARED" };
  const [ours, theirs] = [BigInt(own.ctr), BigInt(peer.ctr)];
  return { kind: "restore", epoch, tag, ctr: ours > theirs ? ours : theirs };
}

/**
 * The epoch that a store holds active and the other side has; else the highest that both have. Two pairs of one number
 * are both the key, so any will do that both sides choose alike: the one whose tag is smaller.
 */
function takenEpoch(own: WalletInventory, peer: WalletInventory): KnownEpoch | null {
  const live = [common(own.active, peer.epochs), common(peer.active, own.epochs)].filter((known) => known !== null);
  const both = own.epochs.flatMap((known) => common(known, peer.epochs) ?? []);
  const [highest] = (live.length > 0 ? live : both).sort(byEpoch).reverse();
  const candidates = (live.length > 0 ? live : both).filter(({ epoch }) => epoch === highest?.epoch);
  return candidates.sort(byTag)[0] ?? null;
}

/** With the tag as far as either side knows it. */
function common(known: KnownEpoch | null, others: readonly KnownEpoch[]): KnownEpoch | null {
  if (known === null) return null;
  const other = others.find((candidate) => isSameEpoch(known, candidate));
  if (other === undefined) return null;
  return other.tag.length > known.tag.length ? other : known;
}

export function isSameEpoch(left: KnownEpoch, right: KnownEpoch): boolean {
  const digits = Math.min(left.tag.length, right.tag.length);
  return left.epoch === right.epoch && left.tag.slice(0, digits) === right.tag.slice(0, digits);
}

/** The row of the restored wallet: it refuses sessions until a refresh of mode 2, or of 1 where the other is frozen. */
export function restoredRow(epoch: number, ctr: bigint, former: StateRow | null): StateRow {
  return {
    ...{ status: "restored", stage: "none", activeEpoch: epoch, preparedEpoch: 0, keptEpoch: 0, ctr },
    ...{ peerCtr: former?.peerCtr ?? 0n, openCtr: former?.openCtr ?? 0n },
    ...{ openAborts: 0, sessions: 0, frozenAtMs: 0, preparedMode: 0 },
  };
}

function byEpoch(left: KnownEpoch, right: KnownEpoch): number {
  return left.epoch - right.epoch || byTag(left, right);
}

/** By as many digits as both sides know in any case. */
function byTag(left: KnownEpoch, right: KnownEpoch): number {
  const [first, second] = [left.tag.slice(0, TAG_PREFIX_DIGITS), right.tag.slice(0, TAG_PREFIX_DIGITS)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function readKnown(source: unknown): KnownEpoch | undefined {
  if (!isRecord(source)) return undefined;
  const { epoch, tag } = source;
  if (typeof epoch !== "number" || !Number.isInteger(epoch) || epoch < 1 || epoch >= 2 ** 32) return undefined;
  return typeof tag === "string" && /^(?:[0-9a-f]{16}|[0-9a-f]{64})$/.test(tag) ? { epoch, tag } : undefined;
}

function isRecord(source: unknown): source is Readonly<Record<string, unknown>> {
  return typeof source === "object" && source !== null && !Array.isArray(source);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
