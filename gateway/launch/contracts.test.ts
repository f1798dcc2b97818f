/** The check of compiled contracts sees a changed source and a changed result, and nothing where both fit. */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const CONTRACTS = join(dirname(fileURLToPath(import.meta.url)), "contracts.mjs");

/** What each call finds; one process for all, because loading the compiler takes longest. */
function problemsOf(calls: string): readonly (readonly string[])[] {
  const script = `import { readFileSync } from "node:fs";
    import { contractProblems, contractSources, committedFile } from ${JSON.stringify(CONTRACTS)};
    const sources = contractSources();
    const committed = readFileSync(committedFile(), "utf8");
    process.stdout.write(JSON.stringify([${calls}]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as string[][];
}

describe("the check of compiled contracts", () => {
  it("passes what is committed, and names a source and a result that were changed", () => {
    const [asCommitted, otherSource, otherResult] = problemsOf(`
      contractProblems(),
      contractProblems({ ...sources, "Token.sol": sources["Token.sol"].replace("balanceOf[to] += value;", "balanceOf[to] += value + 1;") }),
      contractProblems(sources, committed.replace(/"bytecode": "0x60/, '"bytecode": "0x61'))`);
    expect(asCommitted).toEqual([]);
    expect(otherSource?.join("\n")).toMatch(
      /sources differ\n.*bytecode of Token is not what its source makes\nafter a change/,
    );
    expect(otherResult?.join("\n")).toMatch(/^artifacts\.json: bytecode of Bridge is not/);
  });
});
