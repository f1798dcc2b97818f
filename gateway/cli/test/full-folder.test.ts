/** A backup folder without room, of either party, in a real process: what a caller hears, what is left, and room again. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { recoverMessageAddress } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { compileChild } from "../../../engine/storage/test/compile-child.js";

// Key generations on a machine that is busy with other things.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

interface Told {
  readonly result: Readonly<Record<string, unknown>>;
  readonly held: { readonly service: number; readonly cosigner: number; readonly files: readonly string[][] };
}

let folder: string;
let program: string;
let child: ChildProcess | null = null;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "unwind-full-folder-"));
  program = compileChild("gateway/cli/test/full-folder.child.ts", folder);
});
afterEach(() => {
  child?.kill("SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The parties of one test, asked one command after the other. */
function parties(): (command: string) => Promise<Told> {
  const env = { PATH: process.env["PATH"] ?? "", TMPDIR: folder };
  const started = spawn(process.execPath, [program], { env, stdio: ["pipe", "pipe", "inherit"] });
  const { stdin, stdout } = started;
  child = started;
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return async (command) => {
    stdin.write(`${command}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error("the parties ended");
    return JSON.parse(value) as Told;
  };
}

describe("a backup folder without room", () => {
  it.each([
    [0, "BACKUP_FAILED"],
    [1, "COSIGNER_FAILED"],
  ] as const)(
    "of party %i is 503 with %s and no half wallet, and one is made once there is room",
    async (party, reason) => {
      const ask = parties();
      await ask("create first");
      await ask(`full ${party}`);
      for (const round of [1, 2]) {
        const { result, held } = await ask("create ada");
        expect(result, String(round)).toEqual({ code: "SIGNER_UNAVAILABLE", reason });
        expect([held.service, held.cosigner]).toEqual([1, 1]);
        // The first wallet's alone; at a service whose co-signer had no room also those of its own attempts.
        expect(held.files[party]).toHaveLength(1);
        expect(held.files.flat().filter((name) => name.startsWith("."))).toEqual([]);
      }
      // Nothing is to be written for it.
      expect((await ask("sign first")).result).toHaveProperty("signature");
      await ask("room");
      const { result, held } = await ask("create ada");
      expect(result).toMatchObject({ userId: "ada", state: "ACTIVE" });
      expect([held.service, held.cosigner, held.files[party]?.length]).toEqual([2, 2, 2]);
      const { signature } = (await ask("sign ada")).result as { readonly signature: `0x${string}` };
      expect(await recoverMessageAddress({ message: "hello", signature })).toBe(result["address"]);
    },
  );
});
