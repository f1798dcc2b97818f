/** The format of a kept folder: it is recorded, migrated in one commit, and refused where it is newer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../domain/clock.js";
import { openLmdbStore } from "../lmdb-store.js";
import { FORMAT_STEPS, type FormatStep, planFormat } from "../state-format.js";
import type { StateRow, StateStore } from "../state-store.js";
import { compileChild } from "./compile-child.js";
import { upperCase } from "./format-step.js";

const NEWEST = FORMAT_STEPS.at(-1)?.format ?? 0;
const WORDS = 1_000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-format-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const open = (formatSteps?: readonly FormatStep[]): StateStore =>
  openLmdbStore({ directory, clock: createSystemClock(), ...(formatSteps === undefined ? {} : { formatSteps }) });

async function fill(formatSteps?: readonly FormatStep[]): Promise<void> {
  const store = open(formatSteps);
  const rows = Array.from({ length: WORDS }, (_, index) => String(index).padStart(4, "0"));
  await Promise.all(rows.map((key) => store.put("words", key, Buffer.from(`word ${key}`, "utf8"))));
  await store.close();
}

async function words(store: StateStore): Promise<readonly string[]> {
  const rows: StateRow[] = await store.scan("words", { prefix: "", limit: WORDS });
  return rows.map(({ value }) => Buffer.from(value).toString("utf8"));
}

/** The refusal when it is opened. */
function refusal(formatSteps: readonly FormatStep[]): unknown {
  try {
    void open(formatSteps).close();
    return null;
  } catch (error) {
    return (error as { readonly context?: unknown }).context ?? error;
  }
}

describe("the format of a state store", () => {
  it("is the newest in a new store, and later programs migrate it", async () => {
    await fill();
    const store = open([...FORMAT_STEPS, upperCase(() => {})]);
    const found = await words(store);
    expect([found.length, found[0], found.at(-1)]).toEqual([WORDS - 1, "WORD 0001", "WORD 0999"]);
    expect(await store.get("moved", "first")).toEqual(Buffer.from("here", "utf8"));
    await store.close();
  });

  it("is migrated once", async () => {
    await fill();
    let runs = 0;
    const steps = [...FORMAT_STEPS, upperCase(() => runs++)];
    await open(steps).close();
    await open(steps).close();
    expect(runs).toBe(WORDS);
  });

  it("is unchanged where a step fails, and the previous program still opens the store", async () => {
    await fill();
    const failing = upperCase((count) => {
      if (count === 500) throw new Error("no such word");
    });
    expect(refusal([...FORMAT_STEPS, failing])).toEqual({ reason: "MIGRATION_FAILED", directory });
    const store = open();
    const found = await words(store);
    expect([found.length, found[0], await store.get("moved", "first")]).toEqual([WORDS, "word 0000", null]);
    await store.close();
  });

  it("is never left half migrated by a kill in the middle of a step, whatever steps were done before it", async () => {
    // The steps that are done before the kill change no row: their number is what must not be left behind.
    const previous = FORMAT_STEPS.slice(0, -1);
    await fill(previous);
    const child = compileChild("engine/storage/test/format.child.ts", join(directory, "compiled"));
    const process_ = spawn(process.execPath, [child, directory], { stdio: "ignore" });
    const [, signal] = (await once(process_, "close")) as [number | null, string | null];
    expect(signal).toBe("SIGKILL");
    const before = open(previous);
    expect((await words(before))[0]).toBe("word 0000");
    expect(await words(before)).toHaveLength(WORDS);
    await before.close();
    const after = open([...FORMAT_STEPS, upperCase(() => {})]);
    expect((await words(after))[0]).toBe("WORD 0001");
    await after.close();
  }, 60_000);

  it("is refused where it is newer, by number, with nothing changed", async () => {
    await fill();
    await open([...FORMAT_STEPS, upperCase(() => {})]).close();
    expect(refusal(FORMAT_STEPS)).toEqual({ reason: "NEWER_FORMAT", found: NEWEST + 1, known: NEWEST, directory });
    const store = open([...FORMAT_STEPS, upperCase(() => {})]);
    expect((await words(store))[0]).toBe("WORD 0001");
    await store.close();
  });

  it.each(["", "0", "01", "-1", "1.0", "1e3", "one", "9999999999"])("is refused where its row reads %j", (found) => {
    expect(planFormat(found, false)).toEqual({ kind: "refused", found: null, known: NEWEST });
  });

  it("is 0 where the store has no format row, and every step runs", () => {
    expect(planFormat(null, false)).toEqual({ kind: "run", from: 0, steps: FORMAT_STEPS });
    expect(planFormat(null, true)).toEqual({ kind: "run", from: NEWEST, steps: [] });
  });

  it("counts from 1 without gaps", () => {
    expect(FORMAT_STEPS.map(({ format }) => format)).toEqual(FORMAT_STEPS.map((_, index) => index + 1));
  });
});
