import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSeededRandom } from "../domain/random.js";
import { STATE_FILE_OPTIONS } from "./lmdb-file.js";
import { PageReserve, pageUseOf } from "./page-reserve.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const COMMITS = 400;
const MIB = 1 << 20;

let directory: string;
let database: RootDatabase<Buffer, Buffer>;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-pages-"));
  database = open<Buffer, Buffer>({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
});
afterEach(async () => {
  await database.close();
  rmSync(directory, { recursive: true, force: true });
});

const use = () => pageUseOf(database.getStats());
const fileBytes = (): number => statSync(join(directory, "data.mdb")).size;

describe("the reserve of pages", () => {
  it("foresees at least what any transaction takes, small or large, that adds or removes rows", () => {
    const random = createSeededRandom(SEED);
    const keys: Buffer[] = [];
    let most = 0;
    for (let commit = 0; commit < COMMITS; commit++) {
      const before = use();
      const reserve = new PageReserve(join(directory, "data.mdb"), () => before);
      const rows = 1 + Math.floor(random.next() ** 3 * 300);
      let largePages = 0;
      database.transactionSync(() => {
        for (let row = 0; row < rows; row++) {
          if (keys.length > 0 && random.next() < 0.3) {
            const [key] = keys.splice(Math.floor(random.next() * keys.length), 1);
            database.removeSync(key as Buffer);
            continue;
          }
          const key = Buffer.alloc(8 + Math.floor(random.next() * 500), Math.floor(random.next() * 256));
          key.writeUInt32BE(Math.floor(random.next() * 2 ** 32));
          const value = Buffer.alloc(
            Math.floor(random.next() < 0.02 ? random.next() * MIB : random.next() ** 4 * 5_000),
          );
          keys.push(key);
          largePages += reserve.largePagesOf(value.length);
          database.putSync(key, value);
        }
      });
      const took = (use().usedPages - before.usedPages) * before.pageBytes;
      const foreseen = reserve.bytesFor(rows, largePages);
      expect([commit, rows, took <= foreseen]).toEqual([commit, rows, true]);
      most = Math.max(most, took / foreseen);
    }
    // The bound is not far too high either.
    expect(most).toBeGreaterThan(0.2);
  });

  it("lengthens the file ahead of lmdb, which then never lengthens it", async () => {
    const reserve = new PageReserve(join(directory, "data.mdb"), use);
    expect(await reserve.growTo(8 * MIB)).toBe(true);
    expect(reserve.leftBytes).toBeGreaterThanOrEqual(8 * MIB);
    const bytes = fileBytes();
    for (let index = 0; index < 60; index++)
      await database.transaction(() => void database.putSync(Buffer.from(`key-${index}`), Buffer.alloc(100_000, 1)));
    expect(fileBytes()).toBe(bytes);
    const before = reserve.leftBytes;
    reserve.look();
    expect(reserve.leftBytes).toBeLessThan(before - 6_000_000 + MIB);
    await database.close();
    database = open<Buffer, Buffer>({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
    expect(database.get(Buffer.from("key-7"))).toEqual(Buffer.alloc(100_000, 1));
    expect(fileBytes()).toBe(bytes);
    expect(new PageReserve(join(directory, "data.mdb"), use).leftBytes).toBe(reserve.leftBytes);
  });

  it("reports a file that cannot grow, and counts what it gained by then", async () => {
    const reserve = new PageReserve(join(directory, "data.mdb"), use);
    const left = reserve.leftBytes;
    rmSync(join(directory, "data.mdb"));
    expect(await reserve.growTo(left + MIB)).toBe(false);
    expect(reserve.leftBytes).toBe(left);
    expect(() => pageUseOf({ pageSize: 4096, free: {} })).toThrow("lmdb says nothing of its pages");
  });
});
