import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const ROOT_MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
let clone = "";

/** The manifests and the command of a clone; install, build and what they make are stood in for. */
beforeAll(() => {
  clone = realpathSync(mkdtempSync(join(tmpdir(), "unwind-bin-")));
  for (const path of ["client/package.json", "gateway/cli/bin/package.json", "gateway/cli/bin/unwind.mjs"]) {
    mkdirSync(join(clone, dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(clone, path));
  }
  const { name, version, type, workspaces, bin } = ROOT_MANIFEST;
  write("package.json", JSON.stringify({ name, version, private: true, type, workspaces, bin }));
  write(
    "gateway/launch/prepare.mjs",
    `import { fileURLToPath } from "node:url";
     export const repoRoot = fileURLToPath(new URL("../..", import.meta.url));
     export const ensureInstalled = () => process.stderr.write("installed ");
     export const ensureBuilt = () => process.stderr.write("built");`,
  );
  write(
    "dist/gateway/cli/unwind.js",
    "export const main = (args) => { process.stdout.write(JSON.stringify({ args, cwd: process.cwd() })); process.exitCode = 3; };",
  );
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(join(clone, dirname(path)), { recursive: true });
  writeFileSync(join(clone, path), text);
}

function run(command: string, args: readonly string[], folder = clone) {
  const { npm_config_prefix: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8", env });
  return { status, stdout, stderr };
}

describe("the command unwind of a clone, without a network,", () => {
  const args = ["keys", "list", "--json"];
  const expected = () => JSON.stringify({ args, cwd: clone });

  it("runs by npm exec before anything is installed", () => {
    const { status, stdout, stderr } = run("npm", ["exec", "--offline", "unwind", "--", ...args]);
    expect({ status, stdout }).toEqual({ status: 3, stdout: expected() });
    expect(stderr).toContain("installed built");
  });

  it("is in node_modules/.bin after an install, and in the service's folder wherever it was called", () => {
    // A clone installs the client's peer with the root's dependencies, which are left out here.
    write("node_modules/viem/package.json", JSON.stringify({ name: "viem", version: ROOT_MANIFEST.dependencies.viem }));
    expect(run("npm", ["install", "--offline", "--no-audit", "--no-fund"]).status).toBe(0);
    const command = join(clone, "node_modules", ".bin", "unwind");
    expect(existsSync(command)).toBe(true);
    expect(run(command, args, tmpdir())).toMatchObject({ status: 3, stdout: expected() });
    expect(run("npm", ["exec", "--offline", "unwind", "--", ...args])).toMatchObject({ status: 3, stdout: expected() });
    const below = join(clone, "client");
    expect(run("npm", ["exec", "--offline", "unwind", "--", ...args], below)).toMatchObject({ stdout: expected() });
  });
});

describe("the documents", () => {
  const pages = [".", "docs", "client"].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  );
  it.each([...pages, "gateway/launch/usage.mjs", "gateway/cli/program.ts"])(
    "of which %s is one never print a bare npx unwind, which would ask a registry for a name that is not ours",
    (path) => {
      expect(readFileSync(join(ROOT, path), "utf8")).not.toMatch(/npx\s+(?:-\S+\s+)*unwind/);
    },
  );
});
