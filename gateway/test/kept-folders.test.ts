/**
 * Folders that earlier programs kept, one for each format: what a start reads of them is what the program that wrote them
 * read (`kept.json`, written by it). A change of a format adds the folder of the format before.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { FORMAT_STEPS } from "../../engine/storage/state-format.js";
import { type KeptState, readKept, unpackFolder } from "./kept-folder.js";

const FIXTURES = fileURLToPath(new URL("../../engine/storage/test/fixtures/", import.meta.url));
const FOLDERS = readdirSync(FIXTURES).sort();

interface Written {
  /** Soon after it was written. */
  readonly atMs: number;
  readonly kept: KeptState;
}

describe("a folder of an earlier format", () => {
  it("is there for each format before this one", () => {
    const formats = [0, ...FORMAT_STEPS.map(({ format }) => format)].slice(0, -1);
    expect(FOLDERS).toEqual(formats.map((format) => `format-${format}`));
  });

  it.each(FOLDERS)(
    "%s is read as the program that wrote it read it, twice",
    async (name) => {
      const packed = join(FIXTURES, name);
      const { atMs, kept } = JSON.parse(readFileSync(join(packed, "kept.json"), "utf8")) as Written;
      const routeIds = Object.keys(kept.executions);
      expect(routeIds.length).toBeGreaterThan(0);
      const directory = unpackFolder(packed);
      // The second start finds a folder of this format.
      expect(await readKept(directory, atMs, routeIds, false)).toEqual(kept);
      expect(await readKept(directory, atMs, routeIds, true)).toEqual(kept);
    },
    60_000,
  );

  it.each(FOLDERS)("%s is refused by a program that is older still, and stays as it is", async (name) => {
    const directory = unpackFolder(join(FIXTURES, name));
    const clock = createSystemClock();
    await openLmdbStore({ directory, clock }).close();
    const known = (FORMAT_STEPS.at(-1)?.format ?? 0) - 1;
    expect(() => openLmdbStore({ directory, clock, formatSteps: FORMAT_STEPS.slice(0, -1) })).toThrow(
      expect.objectContaining({ context: { reason: "NEWER_FORMAT", found: known + 1, known, directory } }),
    );
  });
});
