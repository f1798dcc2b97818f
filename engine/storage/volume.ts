/**
 * The volume under the state store: how much room is left, and what that means. It is read beside the work, never by
 * it.
 */
import { statfsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Space } from "./state-store.js";

const MIB = 1 << 20;
/** For a large volume; for a small one the limit is a share of its size. */
const LOW_BYTES_MAX = 64 * MIB;
const LOW_SHARE = 4;
const RESERVE_BYTES_MAX = 24 * MIB;
const RESERVE_SHARE = 8;
/** In quarters of the LOW limit: market data stops this early, and openings come back this late. */
const TIGHT_QUARTERS = 6;
const AGAIN_QUARTERS = 5;

export interface VolumeState {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Overwriting takes space: having pages in the file is no guarantee. */
  readonly copiesOnWrite: boolean;
}

/** Below this, nothing is opened. */
export function lowBytes({ totalBytes }: VolumeState): number {
  return Math.min(LOW_BYTES_MAX, Math.floor(totalBytes / LOW_SHARE));
}

/** Pages that the state file keeps for exits. */
export function reserveBytes({ totalBytes }: VolumeState): number {
  return Math.max(MIB, Math.min(RESERVE_BYTES_MAX, Math.floor(totalBytes / RESERVE_SHARE)));
}

/** FULL only where the file's own pages are no guarantee; elsewhere the store reports when it is full. */
export function spaceOf(volume: VolumeState, before: Space): Space {
  const low = lowBytes(volume);
  const { freeBytes, copiesOnWrite } = volume;
  if (copiesOnWrite && freeBytes < low / LOW_SHARE) return "FULL";
  const wasLow = before === "LOW" || before === "FULL";
  if (freeBytes < (wasLow ? (low * AGAIN_QUARTERS) / 4 : low)) return "LOW";
  return freeBytes < (low * TIGHT_QUARTERS) / 4 ? "TIGHT" : "AMPLE";
}

const COPYING = new Set([
  // btrfs
  0x9123683e,
  // zfs
  0x2fc12fc1,
  // bcachefs
  0xca451a4e,
]);

/** Rejects, or throws, as statfs does. */
export async function readVolume(directory: string): Promise<VolumeState> {
  return stateOf(await statfs(directory));
}

/** Returns null when it cannot be read. */
export function volumeNow(directory: string): VolumeState | null {
  try {
    return stateOf(statfsSync(directory));
  } catch {
    return null;
  }
}

interface VolumeNumbers {
  readonly type: number;
  readonly bavail: number;
  readonly blocks: number;
  readonly bsize: number;
}

function stateOf({ type, bavail, blocks, bsize }: VolumeNumbers): VolumeState {
  const copiesOnWrite = process.platform !== "linux" || COPYING.has(type >>> 0);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, copiesOnWrite };
}
