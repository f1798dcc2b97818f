/**
 * One owner per store directory. lmdb itself lets several processes write one directory, but the in-memory guards of
 * the order path (idempotency, nonce blocks) hold within one process only.
 *
 * The owner is a row in the store itself, taken inside a write transaction, so lmdb's cross-process write lock decides
 * between two processes that start at once. A new process takes over a row whose process no longer runs. A process is
 * identified by its id, its start time and the boot of the machine, so a reused id is not mistaken for it. All
 * contenders must share one process-id space (one machine or one container).
 */
import { readFileSync } from "node:fs";

/** Of the row in the store. No namespace is empty, so no row of a caller can have this key. */
export const OWNER_KEY = Buffer.from("\0owner", "utf8");

export interface OwnerRow {
  readonly pid: number;
  /** Kernel start time of the process; "" where the platform does not report it. */
  readonly startTicks: string;
  readonly machineBoot: string;
  /** Distinguishes two openings within one process. */
  readonly instance: string;
}

export function ownOwnerRow(instance: string): OwnerRow {
  return { pid: process.pid, startTicks: startTicksOf(process.pid), machineBoot: machineBoot(), instance };
}

/** Reports whether the process that wrote the row still runs. */
export function isOwnerAlive(row: OwnerRow): boolean {
  if (row.machineBoot !== machineBoot()) return false;
  try {
    process.kill(row.pid, 0);
  } catch (error) {
    // EPERM: it runs as another user.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return startTicksOf(row.pid) === row.startTicks;
}

export function parseOwnerRow(text: string): OwnerRow | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    const { pid, startTicks, machineBoot: boot, instance } = value as Record<string, unknown>;
    if (
      typeof pid !== "number" ||
      typeof startTicks !== "string" ||
      typeof boot !== "string" ||
      typeof instance !== "string"
    )
      return null;
    return { pid, startTicks, machineBoot: boot, instance };
  } catch {
    // An unreadable row protects no process: it is taken over.
    return null;
  }
}

/** Field 22 of /proc/<pid>/stat; the command name before it may hold blanks and brackets, so count from the last bracket. */
function startTicksOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

function machineBoot(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
