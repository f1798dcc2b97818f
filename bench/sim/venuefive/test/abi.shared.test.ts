/** The committed lines are those of the fact sheet's ABI. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Abi } from "viem";
import { describe, expect, it } from "vitest";
import fixture from "../fixtures/abi.json" with { type: "json" };
import { linesOf } from "./abi-lines.js";

const FILE = join(
  fileURLToPath(new URL("../../../../", import.meta.url)),
  "..",
  "shared",
  "venues",
  "venuefive-abi.json",
);

describe.skipIf(!existsSync(FILE))("the fact sheet's ABI (needs ../shared)", () => {
  it("has the lines that the local contracts are compared with", () => {
    const { abi } = JSON.parse(readFileSync(FILE, "utf8")) as { abi: Record<string, Abi> };
    const { Referral: _, ...ours } = abi;
    expect(Object.fromEntries(Object.entries(ours).map(([name, items]) => [name, linesOf(items)]))).toEqual(
      fixture.contracts,
    );
  });
});
