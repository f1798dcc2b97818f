/** What a process still holds of keys and secrets, as /proc/<pid>/mem shows it: also what no buffer of ours points to. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileChild } from "../../storage/test/compile-child.js";

const BLOCK_BYTES = 1 << 24;
const TURN = 0x5a;
const directory = mkdtempSync(join(tmpdir(), "unwind-memory-"));
let program = "";

beforeAll(() => {
  program = compileChild("engine/custody/sealing/test/memory.child.ts", directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Names of what is found, each as often as it is. */
function namesIn(pid: number, needles: readonly (readonly [string, Buffer])[]): string[] {
  const found: string[] = [];
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const block = Buffer.alloc(BLOCK_BYTES + 16);
  for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
    const range = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
    if (range === null) continue;
    const end = BigInt(`0x${range[2]}`);
    for (let at = BigInt(`0x${range[1]}`); at < end; at += BigInt(BLOCK_BYTES)) {
      const byteCount = readAt(memory, block, at, Number(end - at));
      for (const [name, needle] of needles) if (block.subarray(0, byteCount).includes(needle)) found.push(name);
    }
  }
  closeSync(memory);
  return found;
}

function readAt(memory: number, block: Buffer, at: bigint, restBytes: number): number {
  try {
    return readSync(memory, block, 0, Math.min(block.byteLength, restBytes), at);
  } catch {
    // Some areas of the kernel's cannot be read.
    return 0;
  }
}

async function foundIn(mode: "kept" | "wiped"): Promise<string[]> {
  const child = spawn(process.execPath, [program, mode], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const needles = (JSON.parse(line) as [string, string][]).map(
      ([name, hex]) => [name, Buffer.from(Buffer.from(hex, "hex").map((byte) => byte ^ TURN))] as const,
    );
    return namesIn(child.pid ?? 0, needles);
  } finally {
    child.kill("SIGKILL");
  }
}

describe.skipIf(process.platform !== "linux")("the memory of a process that sealed, opened and rewrapped", () => {
  it("holds its keys and secrets while it keeps them, so the search finds what there is", async () => {
    const found = new Set(await foundIn("kept"));
    expect([...found].sort()).toEqual(["kek", "secret"]);
  });

  it("holds no byte of a KEK, a DEK or an opened secret once they are wiped", async () => {
    expect(await foundIn("wiped")).toEqual([]);
  });
});
