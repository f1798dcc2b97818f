/** The layer rules must catch what they forbid: each case plants one violation in an empty tree and runs the real configuration on it. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const repoRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Names of the rules that fire on a tree of path → source. */
function violatedRules(files: Record<string, string>): string[] {
  const root = mkdtempSync(join(tmpdir(), "unwind-layers-"));
  folders.push(root);
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), source);
  }
  for (const name of [".dependency-cruiser.cjs", "tsconfig.json", "package.json"])
    copyFileSync(join(repoRoot, name), join(root, name));
  symlinkSync(join(repoRoot, "node_modules"), join(root, "node_modules"));
  const tops = [...new Set(Object.keys(files).map((path) => path.split("/")[0] ?? ""))];
  const cruiser = join(repoRoot, "node_modules", "dependency-cruiser", "bin", "dependency-cruise.mjs");
  const result = spawnSync(
    process.execPath,
    [cruiser, "--config", ".dependency-cruiser.cjs", "--output-type", "json", ...tops],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  const report = JSON.parse(result.stdout) as { summary: { violations: { rule: { name: string } }[] } };
  return [...new Set(report.summary.violations.map((violation) => violation.rule.name))].sort();
}

const LEAF = "export const leaf = 1;\n";

describe("layer rules", () => {
  it("accept imports that look down", () => {
    expect(
      violatedRules({
        "engine/book.ts": LEAF,
        "feeds/venueone/market/stream.ts": 'import { leaf } from "../../engine/book.js";\nexport const up = leaf;\n',
        "gateway/main.ts": 'import { up } from "../feeds/venueone/stream.js";\nexport const top = up;\n',
      }),
    ).toEqual([]);
  });

  const cases: [rule: string, files: Record<string, string>][] = [
    [
      "engine-looks-down",
      { "feeds/x.ts": LEAF, "engine/a.ts": 'import { leaf } from "../feeds/x.js";\nexport const a = leaf;\n' },
    ],
    ["engine-is-pure", { "engine/a.ts": 'import { readFileSync } from "node:fs";\nexport const a = readFileSync;\n' }],
    [
      "feeds-look-down",
      { "gateway/x.ts": LEAF, "feeds/a.ts": 'import { leaf } from "../gateway/x.js";\nexport const a = leaf;\n' },
    ],
    [
      "rooms-are-apart",
      {
        "feeds/venuetwo/x.ts": LEAF,
        "feeds/venueone/a.ts": 'import { leaf } from "../venuetwo/x.js";\nexport const a = leaf;\n',
      },
    ],
    [
      "schemas-import-nothing",
      { "engine/x.ts": LEAF, "schemas/a.ts": 'import { leaf } from "../engine/x.js";\nexport const a = leaf;\n' },
    ],
    [
      "nothing-imports-bench",
      { "bench/x.ts": LEAF, "gateway/a.ts": 'import { leaf } from "../bench/x.js";\nexport const a = leaf;\n' },
    ],
    [
      "local-venues-prove-on-their-own",
      {
        "feeds/venueone/sign/sign.ts": LEAF,
        "bench/sim/a.ts": 'import { leaf } from "../../feeds/venueone/sign.js";\nexport const a = leaf;\n',
      },
    ],
    [
      "only-local-venuethree-borrows-its-hashes",
      {
        "feeds/venuethree/sign/tx.ts": LEAF,
        "bench/sim/venuefour/a.ts":
          'import { leaf } from "../../../feeds/venuethree/crypto/tx.js";\nexport const a = leaf;\n',
      },
    ],
    [
      "no-circular",
      {
        "engine/a.ts": 'import type { B } from "./b.js";\nexport type A = B | 1;\n',
        "engine/b.ts": 'import type { A } from "./a.js";\nexport type B = A | 2;\n',
      },
    ],
  ];

  it.each(cases)("%s fires on a planted violation", (rule, files) => {
    expect(violatedRules(files)).toContain(rule);
  });
});
