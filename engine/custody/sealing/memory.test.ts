/** What a process still holds of keys and secrets, as /proc/<pid>/mem shows it: also what no buffer of ours points to. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileChild } from "../../storage/test/compile-child.js";
import { countsIn } from "./test/process-memory.js";

const TURN = 0x5a;
const directory = mkdtempSync(join(tmpdir(), "unwind-memory-"));
let program = "";

beforeAll(() => {
  program = compileChild("engine/custody/sealing/test/memory.child.ts", directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function foundIn(mode: "kept" | "wiped"): Promise<string[]> {
  const child = spawn(process.execPath, [program, mode], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const needles = (JSON.parse(line) as [string, string][]).map(
      ([name, hex]) => [name, Buffer.from(Buffer.from(hex, "hex").map((byte) => byte ^ TURN))] as const,
    );
    return [...countsIn(child.pid ?? 0, needles).keys()];
  } finally {
    child.kill("SIGKILL");
  }
}

describe.skipIf(process.platform !== "linux")("the memory of a process that sealed, opened and rewrapped", () => {
  it("holds its keys and secrets while it keeps them, so the search finds what there is", async () => {
    const found = await foundIn("kept");
    expect(found.sort()).toEqual(["kek", "secret"]);
  });

  it("holds no byte of a KEK, a DEK or an opened secret once they are wiped", async () => {
    expect(await foundIn("wiped")).toEqual([]);
  });
});
