import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { VERSION } from "./version.js";

describe("the version that a process reports", () => {
  it.each(["package.json", "client/package.json", "gateway/cli/bin/package.json"])("is that of %s", (path) => {
    const { version } = JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
    expect(VERSION).toBe(version);
  });
});
