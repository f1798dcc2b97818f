/** What a process holds, as /proc/<pid>/mem shows it: also what no buffer of ours points to. Linux only. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

const BLOCK_BYTES = 1 << 24;
const PAGE_BYTES = 4_096;
/** Half of a process's memory or more was never written. */
const ZEROS = Buffer.alloc(PAGE_BYTES);

export type Needle = readonly [name: string, bytes: Buffer];

/** How often each needle is in the writable memory of the process; those that are not are left out. 2 bytes at least. */
export function countsIn(pid: number, needles: readonly Needle[]): Map<string, number> {
  const counts = new Map<string, number>();
  const overlapBytes = Math.max(...needles.map(([, { byteLength }]) => byteLength)) - 1;
  const starts = startsOf(needles);
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const block = Buffer.alloc(BLOCK_BYTES + overlapBytes);
  for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
    const range = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
    if (range === null) continue;
    const end = BigInt(`0x${range[2]}`);
    for (let at = BigInt(`0x${range[1]}`); at < end; at += BigInt(BLOCK_BYTES)) {
      const byteCount = readAt(memory, block, at, Number(end - at));
      countIn(block.subarray(0, byteCount), Math.min(byteCount, BLOCK_BYTES), starts, counts);
    }
  }
  closeSync(memory);
  return counts;
}

/** The needles by their first two bytes, and which two bytes begin one. */
interface Starts {
  readonly isStart: Uint8Array;
  readonly needles: ReadonlyMap<number, readonly Needle[]>;
}

function startsOf(needles: readonly Needle[]): Starts {
  const isStart = new Uint8Array(1 << 16);
  const byStart = new Map<number, Needle[]>();
  for (const needle of needles) {
    const start = needle[1].readUInt16LE(0);
    isStart[start] = 1;
    byStart.set(start, [...(byStart.get(start) ?? []), needle]);
  }
  return { isStart, needles: byStart };
}

/** Needles that begin before `end`. All are looked for at once: a process has some hundred megabytes. */
function countIn(block: Buffer, end: number, { isStart, needles }: Starts, counts: Map<string, number>): void {
  for (let page = 0; page < end; page += PAGE_BYTES) {
    const pageEnd = Math.min(page + PAGE_BYTES, end, block.byteLength - 1);
    if (pageEnd - page === PAGE_BYTES && ZEROS.compare(block, page, pageEnd) === 0) continue;
    for (let at = page; at < pageEnd; at++) {
      const start = (block[at] ?? 0) | ((block[at + 1] ?? 0) << 8);
      if (isStart[start] === 0) continue;
      for (const [name, bytes] of needles.get(start) ?? [])
        if (bytes.compare(block, at, Math.min(at + bytes.byteLength, block.byteLength)) === 0)
          counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
}

function readAt(memory: number, block: Buffer, at: bigint, restBytes: number): number {
  try {
    return readSync(memory, block, 0, Math.min(block.byteLength, restBytes), at);
  } catch {
    // Some areas of the kernel's cannot be read.
    return 0;
  }
}
