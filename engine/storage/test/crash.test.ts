/** The store in a real process that dies: kill -9 in the middle of writes, and a volume that refuses pages. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../domain/clock.js";
import { createSeededRandom } from "../../domain/random.js";
import { openLmdbStore } from "../lmdb-store.js";
import { MAX_SCAN_ROWS, type StateRow, type StateStore } from "../state-store.js";
import { compileChild } from "./compile-child.js";

let workDirectory: string;
let childProgram: string;

beforeAll(() => {
  workDirectory = mkdtempSync(join(tmpdir(), "unwind-crash-"));
  const compiled = join(workDirectory, "compiled");
  mkdirSync(compiled);
  childProgram = compileChild("engine/storage/test/writer.child.ts", compiled);
});
afterAll(() => {
  rmSync(workDirectory, { recursive: true, force: true });
});

describe("the lmdb store, after kill -9 or on a full disk,", () => {
  it("has every acknowledged row, whole, after each of several kills, and lets the next process in", async () => {
    const directory = join(workDirectory, "killed");
    const random = createSeededRandom(8);
    const acknowledged = new Set<number>();
    for (let round = 0; round < 3; round++) {
      const killAfterRows = 50 + Math.floor(random.next() * 300);
      const first = round * 1_000_000;
      const rows = await writeUntilKilled(directory, first, killAfterRows);
      expect(rows.length).toBeGreaterThanOrEqual(killAfterRows);
      for (const row of rows) acknowledged.add(row);

      const store = openLmdbStore({ directory, clock: createSystemClock() });
      const found = await allRows(store, "rows");
      const twins = await allRows(store, "twins");
      await store.close();
      expect(twins).toEqual(found);
      for (const { key, value } of found) expect(isWhole(key, value)).toBe(true);
      const keys = new Set(found.map((row) => Number(row.key)));
      expect([...acknowledged].filter((row) => !keys.has(row))).toEqual([]);
    }
  }, 120_000);

  it("keeps a second process out while the first lives", async () => {
    const directory = join(workDirectory, "shared");
    const store = openLmdbStore({ directory, clock: createSystemClock() });
    await store.put("a", "k", Buffer.from("v"));
    expect(await runChild(["open"], directory)).toBe("STORE_UNAVAILABLE LOCKED\n");
    await store.put("a", "k2", Buffer.from("v"));
    await store.close();
    expect(await runChild(["open"], directory)).toBe("opened\n");
  });

  it("refuses, before trying it, a batch for which a full volume has no pages, and loses nothing", async () => {
    const directory = join(workDirectory, "full");
    // A file-size limit simulates the full disk: page writes fail with EFBIG (node ignores the signal).
    const output = await runChild(["fill"], directory, "ulimit -f 4000; ");
    const lines = output.trim().split("\n");
    expect(lines).toContain("first STORE_UNAVAILABLE DISK_FULL");
    await expectFilled(directory, lines);
  });

  it("refuses a batch that is larger than what is left, and accepts smaller ones after it", async () => {
    const directory = join(workDirectory, "large");
    const lines = (await runChild(["large"], directory, "ulimit -f 4000; ")).trim().split("\n");
    expect(lines).toContain("large STORE_UNAVAILABLE DISK_FULL");
    await expectFilled(directory, lines);
  });

  it("refuses for good after a commit that the volume refused, ends cleanly, and lost nothing acknowledged", async () => {
    const directory = join(workDirectory, "failed");
    await openLmdbStore({ directory, clock: createSystemClock() }).close();
    // Pages that the file should have but does not: the store cannot know.
    truncateSync(join(directory, "data.mdb"), 32 << 20);
    const output = await runChild(["fill"], directory, "ulimit -f 4000; ");
    const lines = output.trim().split("\n");
    expect(lines).toContain("first STORE_UNAVAILABLE COMMIT_FAILED");
    expect(lines).toContain("later STORE_UNAVAILABLE COMMIT_FAILED");
    await expectFilled(directory, lines);
  });
});

/**
 * Expects every acknowledged row and no other, except for the smaller one that came later, and that the next process
 * can write.
 */
async function expectFilled(directory: string, lines: readonly string[]): Promise<void> {
  const acked = Number(lines.find((line) => line.startsWith("acked "))?.slice(6));
  expect(acked).toBeGreaterThan(100);
  const store = openLmdbStore({ directory, clock: createSystemClock() });
  const rows = (await allRows(store, "fill")).filter(({ key }) => key !== "later");
  expect(rows.length).toBe(acked);
  await store.put("fill", "after", Buffer.from("v"));
  await store.close();
}

/** Returns the rows that the child acknowledged before it died. */
async function writeUntilKilled(directory: string, first: number, killAfterRows: number): Promise<number[]> {
  const child = spawn(process.execPath, [childProgram, directory, "write", String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const rows: number[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    rows.push(Number(line));
    if (rows.length === killAfterRows) child.kill("SIGKILL");
  });
  await Promise.all([exited, once(lines, "close")]);
  expect(child.signalCode).toBe("SIGKILL");
  // A line this short reaches a pipe completely or not at all.
  return rows;
}

async function runChild(args: readonly string[], directory: string, shellPrefix = ""): Promise<string> {
  const command = `${shellPrefix}exec "$0" "$@"`;
  const child = spawn("/bin/bash", ["-c", command, process.execPath, childProgram, directory, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk: string) => {
    output += chunk;
  });
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  return output;
}

async function allRows(store: StateStore, namespace: string): Promise<StateRow[]> {
  const rows: StateRow[] = [];
  for (;;) {
    const after = rows.at(-1)?.key;
    const page = await store.scan(namespace, {
      prefix: "",
      limit: MAX_SCAN_ROWS,
      ...(after === undefined ? {} : { after }),
    });
    rows.push(...page);
    if (page.length < MAX_SCAN_ROWS) return rows;
  }
}

function isWhole(key: string, value: Uint8Array): boolean {
  const text = Buffer.from(value).toString("utf8");
  const split = text.lastIndexOf(":");
  const body = text.slice(0, split);
  return body.startsWith(`${key}:`) && createHash("sha256").update(body).digest("hex") === text.slice(split + 1);
}
