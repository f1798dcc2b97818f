/** docs/behaviour.md names for each promise, operation, fault, topic and op the tests that show it. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { OPERATIONS } from "./operations.js";
import { OP_WORDS } from "./stream.js";
import { TOPIC_WORDS } from "./stream-data.js";

const fileOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const PAGE = readFileSync(fileOf("docs/behaviour.md"), "utf8");

interface Shown {
  readonly path: string;
  /** A test or a describe in it; null: all of it. */
  readonly name: string | null;
}

/** Cells of the rows below a heading, without the table's own two lines. */
function rowsOf(heading: string): readonly (readonly string[])[] {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** The tests that the last cell of a row names. */
function shownBy(cells: readonly string[]): readonly Shown[] {
  const named = (cells.at(-1) ?? "").matchAll(/`([^`]+)`(?: "([^"]+)")?/g);
  return [...named].map(([, path = "", name]) => ({ path, name: name ?? null }));
}

const promises = rowsOf("Promises");
const operations = rowsOf("Operations");
const faults = rowsOf("Faults of money");
const stream = rowsOf("Stream");
const nameIn = (cell = ""): string => cell.replaceAll("`", "");

/** The text of a test file, with its own constants in the paths that are made of them. */
function expanded(path: string): string {
  let text = readFileSync(fileOf(path), "utf8");
  for (const [, name = "", value = ""] of text.matchAll(/^const (\w+) = ["`]([^"`\n]+)["`];$/gm))
    text = text.replaceAll(`\${${name}}`, value);
  return text;
}

/** Every request for the operation, its parameters filled in or templates of the test. */
function asked(path: string): RegExp {
  const literal = path.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^$()|[\]\\]/g, "\\$&"));
  return new RegExp(`${literal.join("[^/\"'` ]+")}(?![\\w/-])`);
}

describe("docs/behaviour.md", () => {
  it("has one row for each operation, with its method and path, in the order of the table", () => {
    const rows = operations.map(([id, request]) => `${nameIn(id)} ${request}`);
    expect(rows).toEqual(Object.values(OPERATIONS).map(({ id, method, path }) => `${id} ${method} ${path}`));
  });

  it("has one row for each topic and each op of the stream", () => {
    const rows = stream.map(([kind, name]) => `${kind} ${nameIn(name)}`);
    expect(rows).toEqual([...TOPIC_WORDS.map((word) => `topic ${word}`), ...OP_WORDS.map((word) => `op ${word}`)]);
  });

  it.each(
    [...promises, ...operations, ...faults, ...stream].map((cells) => ({
      cells,
      what: nameIn(cells.slice(0, -1).join(" ")),
    })),
  )("names tests that are there: $what", ({ cells }) => {
    const shown = shownBy(cells);
    expect(shown).not.toEqual([]);
    for (const { path, name } of shown) {
      expect([path, existsSync(fileOf(path))]).toEqual([path, true]);
      expect(path).toMatch(/\.test\.ts$/);
      if (name !== null) expect(readFileSync(fileOf(path), "utf8")).toContain(name);
    }
  });

  it("names for each operation a file that asks for it", () => {
    for (const cells of operations) {
      const operation = Object.values(OPERATIONS).find(({ id }) => id === nameIn(cells[0]));
      const isAsked = shownBy(cells).some(({ path }) => asked(operation?.path ?? "").test(expanded(path)));
      expect([operation?.id, isAsked]).toEqual([operation?.id, true]);
    }
  });

  it("is linked from ARCHITECTURE.md", () => {
    expect(readFileSync(fileOf("ARCHITECTURE.md"), "utf8")).toContain("(docs/behaviour.md)");
  });
});
