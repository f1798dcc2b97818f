/** docs/mpc.md, section 19: each duty names code and tests that are there; the table of 8.7 names every message. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MESSAGE_KINDS } from "../wire/message-types.js";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/mpc.md"), "utf8");
/** Duty 38 says why it needs none. */
const NOT_APPLICABLE = "38";
/** Bullets of the component page's A4; sections of the protocol source that ask for something, from 0 on. */
const A4_BULLETS = 12;
const P_SECTIONS = 10;
/** A test that is written and not run. */
const NOT_RUN = /\b(it|describe)\.(skip|only|todo|fails)\b/;

function rowsOf(section: string): readonly (readonly string[])[] {
  const text = PAGE.split(/^##+ /m).find((part) => part.startsWith(`${section} `)) ?? "";
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(1).map((line) => line.slice(2, -2).split(" | "));
}

const duties = rowsOf("19.");
const named = (cell = ""): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
const testFile = (path: string): string =>
  join(ROOT, /^(gateway|bench)\//.test(path) ? path : `engine/custody/${path}`).concat(".test.ts");

const code: ReadonlySet<string> = new Set(
  ["engine/custody", "gateway/custody", "gateway/cosigner"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/\.test\.ts$|(^|\/)test\//.test(path))
      .map((path) => basename(path, ".ts")),
  ),
);
const isCode = (name: string): boolean =>
  name.endsWith("*") ? [...code].some((each) => each.startsWith(name.slice(0, -1))) : code.has(name);

describe("the table of duties", () => {
  it("has a row for each number from 1 on", () => {
    expect(duties.map(([number]) => number)).toEqual(duties.map((_, index) => String(index + 1)));
    expect(duties.length).toBeGreaterThan(50);
  });

  it.each(duties.filter(([number]) => number !== NOT_APPLICABLE))("names code and tests of duty %s: %s", (...cells) => {
    const [, , codeCell, testCell] = cells;
    expect(named(codeCell).filter((name) => !isCode(name))).toEqual([]);
    expect(named(codeCell)).not.toEqual([]);
    const tests = named(testCell).filter((name) => name.includes("/"));
    expect(tests.filter((path) => !existsSync(testFile(path)))).toEqual([]);
    expect(tests).not.toEqual([]);
    const isRun = (text: string) => /\bit(\(|\.each)/.test(text) && !NOT_RUN.test(text);
    expect(tests.filter((path) => !isRun(readFileSync(testFile(path), "utf8")))).toEqual([]);
  });

  it("cites every bullet and every section of where the duties come from", () => {
    const cited = new Set(duties.flatMap(([, duty = ""]) => duty.match(/\b(A4|P)\.\d+/g) ?? []));
    const sources = [
      ...Array.from({ length: A4_BULLETS }, (_, index) => `A4.${index + 1}`),
      ...Array.from({ length: P_SECTIONS }, (_, index) => `P.${index}`),
    ];
    expect([...cited].sort()).toEqual(sources.sort());
  });
});

describe("the table of fields", () => {
  it("has every message of the wire", () => {
    const text = rowsOf("8.7")
      .map(([first = ""]) => first)
      .join(" ");
    const words = text
      .replaceAll("`", "")
      .replace(/\b(KG|RF)(\d+)–\1?(\d+)/g, (_, flow: string, from: string, to: string) =>
        Array.from({ length: Number(to) - Number(from) + 1 }, (__, index) => `${flow}${Number(from) + index}`).join(
          " ",
        ),
      );
    const isNamed = (name: string): boolean => {
      const late = /^rf(\d+)$/.exec(name);
      // RF6 to RF10 are KG6 to KG10 with another label.
      const names = late !== null && Number(late[1]) >= 6 ? [name, `kg${late[1]}`] : [name];
      return names.some((each) => new RegExp(`\\b${each}\\b`, "i").test(words));
    };
    const missing = MESSAGE_KINDS.map(({ name }) => name).filter(
      (name) => !isNamed(name === "stateReply" ? "state" : name),
    );
    expect(missing).toEqual([]);
  });
});
