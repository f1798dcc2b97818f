import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const HERE = dirname(fileURLToPath(import.meta.url));
let clone = "";

/** A fresh clone with nothing installed, on a machine without npm: whatever needs either fails. */
beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "unwind-clone-"));
  mkdirSync(join(clone, "gateway", "launch"), { recursive: true });
  for (const name of readdirSync(HERE).filter((one) => one.endsWith(".mjs")))
    cpSync(join(HERE, name), join(clone, "gateway", "launch", name));
  cpSync(join(HERE, "..", "..", "package.json"), join(clone, "package.json"));
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

function launch(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["gateway/launch/launch.mjs", ...args], {
    cwd: clone,
    encoding: "utf8",
    env: { PATH: "" },
  });
  return { status, stdout, stderr };
}

describe("the entry of the npm scripts, before anything is installed", () => {
  it.each([
    ["start", "--help"],
    ["start", "-h"],
    ["serve", "--help"],
  ])("answers %s %s with the commands and where settings come from", (...args) => {
    const { status, stdout, stderr } = launch(...args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const word of ["npm start", "npm run bench", "npm run conformance", "PORT", "docs/configuration.md"])
      expect(stdout).toContain(word);
  });

  it("answers --version with that of the package, and nothing else", () => {
    expect(launch("start", "--version")).toEqual({ status: 0, stdout: "unwind 0.1.0\n", stderr: "" });
  });

  it("leaves the --help of other commands to them, and starts nothing half-way", () => {
    for (const args of [["bench", "--help"], ["start"]]) {
      const { status, stdout, stderr } = launch(...args);
      expect(stdout).toBe("");
      expect(stderr).toContain("npm install");
      expect(status).toBe(1);
    }
  });
});
