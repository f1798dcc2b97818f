/**
 * Folders that earlier programs kept, one for each format: what a start reads of them is what the program that wrote them
 * read (`kept.json`, written by it). A change of a format adds the folder of the format before.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { RECORD_TABLES } from "../../engine/storage/records/schema.js";
import { FORMAT_STEPS } from "../../engine/storage/state-format.js";
import { type KeptState, readKept, unpackFolder } from "./kept-folder.js";

const FIXTURES = fileURLToPath(new URL("../../engine/storage/test/fixtures/", import.meta.url));
const NONE_RECOVERED = Object.fromEntries(RECORD_TABLES.map(({ name }) => [name, 0]));
const FOLDERS = readdirSync(FIXTURES).sort();

interface Written {
  /** Soon after it was written. */
  readonly atMs: number;
  readonly kept: KeptState;
}

const place = mkdtempSync(join(tmpdir(), "unwind-kept-"));
afterAll(() => {
  rmSync(place, { recursive: true, force: true });
});

/** Of a data folder, which one test has for itself. */
const newPath = (): string => join(mkdtempSync(join(place, "of-test-")), "data");

/** Each stop waits for a record that nobody takes, so several go at once. */
describe.concurrent("a folder of an earlier format", () => {
  it("is there for each format before this one", () => {
    const formats = [0, ...FORMAT_STEPS.map(({ format }) => format)].slice(0, -1);
    expect(FOLDERS).toEqual(formats.map((format) => `format-${format}`));
  });

  it.each(FOLDERS)(
    "%s is read as the program that wrote it read it, twice",
    async (name) => {
      const packed = join(FIXTURES, name);
      const directory = newPath();
      const { atMs, kept } = JSON.parse(readFileSync(join(packed, "kept.json"), "utf8")) as Written;
      const routeIds = Object.keys(kept.executions);
      expect(routeIds.length).toBeGreaterThan(0);
      unpackFolder(packed, directory);
      // Of tables that came later it has no rows.
      const expected = { ...kept, recovered: { ...NONE_RECOVERED, ...kept.recovered } };
      // The second start finds a folder of this format.
      expect(await readKept(directory, atMs, routeIds)).toEqual(expected);
      expect(await readKept(directory, atMs, routeIds)).toEqual(expected);
    },
    60_000,
  );

  it.each(FOLDERS)("%s is refused by every program that is older, once this one has opened it", async (name) => {
    const directory = newPath();
    unpackFolder(join(FIXTURES, name), directory);
    const clock = createSystemClock();
    await openLmdbStore({ directory, clock }).close();
    const found = FORMAT_STEPS.length;
    for (let known = 1; known < found; known++)
      expect(() => openLmdbStore({ directory, clock, formatSteps: FORMAT_STEPS.slice(0, known) })).toThrow(
        expect.objectContaining({ context: { reason: "NEWER_FORMAT", found, known, directory } }),
      );
  });

  it.each(FOLDERS.slice(1))("%s is of the format that it is named after", async (name) => {
    const directory = newPath();
    unpackFolder(join(FIXTURES, name), directory);
    const clock = createSystemClock();
    const format = Number(name.slice("format-".length));
    if (format > 1)
      expect(() => openLmdbStore({ directory, clock, formatSteps: FORMAT_STEPS.slice(0, format - 1) })).toThrow(
        expect.objectContaining({ context: expect.objectContaining({ reason: "NEWER_FORMAT", found: format }) }),
      );
    await openLmdbStore({ directory, clock, formatSteps: FORMAT_STEPS.slice(0, format) }).close();
  });
});
