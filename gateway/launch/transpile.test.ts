import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

interface Prepare {
  readonly listSources: () => readonly string[];
  readonly repoRoot: string;
}
type Transpile = (root: string, paths: readonly string[], outDir: string) => Promise<readonly string[]>;

const module = new URL("./transpile.mjs", import.meta.url).href;
const { listSources, repoRoot } = (await import(new URL("./prepare.mjs", import.meta.url).href)) as Prepare;
const { transpile } = (await import(module)) as { readonly transpile: Transpile };

const SOURCE = `import type { Gone } from "./gone.js";
import known from "./known.json" with { type: "json" };
export class Kept {
  readonly #value: number = known.value;
  say(): Gone {
    throw new Error(String(this.#value));
  }
}
new Kept().say();
`;

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "unwind-transpile-"));
  mkdirSync(join(root, "engine"));
  writeFileSync(join(root, "package.json"), '{"type":"module"}');
  writeFileSync(join(root, "engine", "main.ts"), SOURCE);
  writeFileSync(join(root, "engine", "known.json"), '{"value":7}');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("sources made into a program", () => {
  it("run without their types, with what they import beside them, and name their own lines", async () => {
    expect(await transpile(root, ["engine/main.ts"], "dist")).toEqual([]);
    const built = join(root, "dist", "engine", "main.js");
    expect(readFileSync(built, "utf8")).not.toContain("gone");
    let stderr = "";
    try {
      execFileSync(process.execPath, ["--enable-source-maps", built], { stdio: "pipe" });
    } catch (error) {
      stderr = String((error as { stderr: Buffer }).stderr);
    }
    expect(stderr).toContain("Error: 7");
    expect(stderr).toContain(join(root, "engine", "main.ts:6"));
  });

  it("have nothing beside them that only a text of theirs names", async () => {
    writeFileSync(join(root, "engine", "text.ts"), 'export const text = `import known from "./unknown.json"`;\n');
    expect(await transpile(root, ["engine/text.ts"], "dist")).toEqual([]);
    expect(readdirSync(join(root, "dist", "engine")).toSorted()).toEqual(["text.js", "text.js.map"]);
  });

  it("are all of this project's", async () => {
    const sources = listSources().filter((path) => !path.endsWith("-d.ts"));
    expect(await transpile(repoRoot, sources, relative(repoRoot, join(root, "dist")))).toEqual([]);
    expect(readdirSync(join(root, "dist"))).toEqual(expect.arrayContaining(["engine", "feeds", "gateway", "schemas"]));
  });

  it("are named with what is wrong where they cannot be read, and the others are made", async () => {
    writeFileSync(join(root, "engine", "broken.ts"), "const = 1;\n");
    const problems = await transpile(root, ["engine/broken.ts", "engine/main.ts"], "dist");
    expect(problems).toEqual([expect.stringMatching(/^engine\/broken\.ts: ./)]);
    expect(readFileSync(join(root, "dist", "engine", "main.js"), "utf8")).toContain("class Kept");
  });
});
