/** The check on real files of the store, intact and broken; the child is compiled for the test and really dies. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { STATE_FILE_OPTIONS } from "../../engine/storage/lmdb-file.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { pageUseOf } from "../../engine/storage/page-reserve.js";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { createLogger } from "../app/log.js";
import { checkStateFile } from "./state-check.js";

const folder = mkdtempSync(join(tmpdir(), "unwind-state-check-"));
const lines: string[] = [];
const logger = createLogger("info", { write: (line: string) => void lines.push(line) });
let childPath: string;
let whole: string;

beforeAll(async () => {
  mkdirSync(join(folder, "program"));
  childPath = compileChild("gateway/children/state-check.child.ts", join(folder, "program"));
  whole = join(folder, "whole");
  const store = openLmdbStore({ directory: whole, clock: createSystemClock() });
  for (let batch = 0; batch < 40; batch++)
    await store.commit({
      writes: Array.from({ length: 50 }, (_, row) => ({
        namespace: "rows",
        key: `${batch}-${row}`,
        value: Buffer.alloc(300, batch),
      })),
    });
  await store.close();
  // Only the used part must be there: pages that are kept ahead may be missing.
  const database = open({ path: whole, noSubdir: false, ...STATE_FILE_OPTIONS });
  const { usedPages, pageBytes } = pageUseOf(database.getStats());
  await database.close();
  truncateSync(join(whole, "data.mdb"), usedPages * pageBytes);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let copies = 0;
/** A folder with a copy of the intact file. */
function copy(): { readonly directory: string; readonly file: string } {
  const directory = join(folder, `copy-${copies++}`);
  mkdirSync(directory);
  const file = join(directory, "data.mdb");
  copyFileSync(join(whole, "data.mdb"), file);
  return { directory, file };
}

const check = (directory: string): Promise<string> =>
  checkStateFile(directory, logger, childPath, 60_000).then(
    () => "sound",
    (error: Error) => `${error.name}: ${error.message}`,
  );

describe("the check of the state file", () => {
  it("accepts a sound file, a missing one, and one that is in use", async () => {
    expect(await check(copy().directory)).toBe("sound");
    expect(await check(join(folder, "absent"))).toBe("sound");
    const longer = copy();
    truncateSync(longer.file, statSync(longer.file).size + 1_000_000);
    expect(await check(longer.directory)).toBe("sound");
    const { directory } = copy();
    const store = openLmdbStore({ directory, clock: createSystemClock() });
    const inspected = open({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
    const writes = () => (inspected.getStats() as { lastTxnId: number }).lastTxnId;
    const before = writes();
    expect(await check(directory)).toBe("sound");
    // A service that runs is not written beside, nor does it wait for a check.
    expect([before > 0, writes() - before]).toEqual([true, 0]);
    await inspected.close();
    await store.commit({ writes: [{ namespace: "a", key: "b", value: Buffer.from("c") }] });
    expect(await store.scan("rows", { prefix: "39-", limit: 100 })).toHaveLength(50);
    await store.close();
  });

  it("refuses a truncated file in one line that explains what to do", async () => {
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      const { directory, file } = copy();
      truncateSync(file, Math.floor((statSync(file).size * share) / 4096) * 4096);
      const answer = await check(directory);
      expect([share, answer]).toEqual([
        share,
        expect.stringMatching(/^StartError: the state file .* is damaged \(.+\): /),
      ]);
      expect(answer).toContain(file);
      expect(answer).toContain("move data.mdb and lock.mdb away");
      expect(answer.split("\n")).toHaveLength(1);
    }
  });

  it("refuses a file of another kind", async () => {
    for (const bytes of [Buffer.alloc(100_000, 7), Buffer.from("not a database"), Buffer.alloc(8192)]) {
      const { directory, file } = copy();
      writeFileSync(file, bytes);
      expect(await check(directory)).toMatch(/^StartError: .* is damaged/);
    }
  });

  it("never accepts a file that ends the process which opens it", async () => {
    const random = createSeededRandom(20_261_123);
    let refused = 0;
    for (let round = 0; round < 12; round++) {
      const { directory, file } = copy();
      const bytes = readFileSync(file);
      const page = 4096 * Math.floor(random.next() * (bytes.length / 4096));
      for (let index = 0; index < 4096; index++) bytes[page + index] = Math.floor(random.next() * 256);
      writeFileSync(file, bytes);
      const first = await check(directory);
      if (first !== "sound") {
        refused++;
        continue;
      }
      // A file that passed once is read and written again: a fault found only by the second opening is an error, not a
      // signal.
      expect(await check(directory)).toMatch(/^sound$|is damaged \((?!reading it ended with)/);
    }
    expect(refused).toBeGreaterThan(0);
  });

  it("does not keep the service down for a file that takes long, nor for a child that cannot run", async () => {
    const { directory } = copy();
    const sleeper = join(folder, "sleeper.mjs");
    writeFileSync(sleeper, "setInterval(() => {}, 1000);\n");
    await checkStateFile(directory, logger, sleeper, 50);
    expect(lines.join("")).toContain("store.check_unfinished");
    await checkStateFile(directory, logger, join(folder, "no-such-program.js"), 60_000);
    expect(lines.join("")).toContain("store.check_failed");
  });
});
