/** The count of sizes sees what is one too large, and nothing that is not. */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const RATCHETS = join(dirname(fileURLToPath(import.meta.url)), "ratchets.mjs");

interface Found {
  readonly longFunctions: readonly { readonly size: number; readonly text: string }[];
  readonly largeClasses: readonly { readonly size: number; readonly text: string }[];
}

function oversized(text: string): Found {
  const script = `import { oversized } from ${JSON.stringify(RATCHETS)};
    process.stdout.write(JSON.stringify(oversized("a.ts", ${JSON.stringify(text)})));`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return JSON.parse(stdout) as Found;
}

const ofLines = (lines: number) => `export function long() {\n${"  work();\n".repeat(lines - 2)}}\n`;
const ofMethods = (count: number) =>
  `class Large {\n  field = 1;\n${Array.from({ length: count }, (_, index) => `  m${index}() {}\n`).join("")}}\n`;

describe("the ratchet", () => {
  it("counts a function of 51 lines and a class of 16 methods, and none of one less", () => {
    const found = oversized(`${ofLines(51)}${ofLines(50)}${ofMethods(16)}${ofMethods(15)}`);
    expect(found.longFunctions).toEqual([{ size: 51, text: "a.ts:1 long" }]);
    expect(found.largeClasses).toEqual([{ size: 16, text: "a.ts:102 Large" }]);
  });

  it("counts functions within functions, and arrows by the name they are given", () => {
    const inner = `const arrow = () => {\n${"  work();\n".repeat(60)}};\n`;
    const found = oversized(`export function outer() {\n${inner}}\n`);
    expect(found.longFunctions.map(({ text }) => text)).toEqual(["a.ts:1 outer", "a.ts:2 arrow"]);
  });
});
