/** What a process holds, as /proc/<pid>/mem shows it: also what no buffer of ours points to. Linux only. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

const BLOCK_BYTES = 1 << 24;

export type Needle = readonly [name: string, bytes: Buffer];

/** How often each needle is in the writable memory of the process; those that are not are left out. */
export function countsIn(pid: number, needles: readonly Needle[]): Map<string, number> {
  const counts = new Map<string, number>();
  const overlapBytes = Math.max(...needles.map(([, { byteLength }]) => byteLength)) - 1;
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const block = Buffer.alloc(BLOCK_BYTES + overlapBytes);
  for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
    const range = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
    if (range === null) continue;
    const end = BigInt(`0x${range[2]}`);
    for (let at = BigInt(`0x${range[1]}`); at < end; at += BigInt(BLOCK_BYTES)) {
      const byteCount = readAt(memory, block, at, Number(end - at));
      for (const [name, needle] of needles) {
        const count = countOf(block.subarray(0, Math.min(byteCount, BLOCK_BYTES + needle.byteLength - 1)), needle);
        if (count > 0) counts.set(name, (counts.get(name) ?? 0) + count);
      }
    }
  }
  closeSync(memory);
  return counts;
}

function countOf(block: Buffer, needle: Buffer): number {
  let count = 0;
  for (let at = block.indexOf(needle); at !== -1; at = block.indexOf(needle, at + needle.byteLength)) count++;
  return count;
}

function readAt(memory: number, block: Buffer, at: bigint, restBytes: number): number {
  try {
    return readSync(memory, block, 0, Math.min(block.byteLength, restBytes), at);
  } catch {
    // Some areas of the kernel's cannot be read.
    return 0;
  }
}
