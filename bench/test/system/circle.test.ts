/** Money goes the whole way through the demo as a person starts it, by the script that the README shows. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { anvilBinary } from "../../sim/chain/anvil-binary.js";
import { DemoBench } from "../support/demo-process.js";

/** A ceiling: a shared machine may take its cores away for a while. */
const PATIENCE_MS = 900_000;

let bench: DemoBench;
let folder: string;
let circle: string;
beforeAll(() => {
  bench = new DemoBench();
  folder = mkdtempSync(join(tmpdir(), "unwind-circle-"));
  circle = compileChild("bench/circle/main.ts", folder);
}, PATIENCE_MS);
afterAll(() => {
  bench.dispose();
  rmSync(folder, { recursive: true, force: true });
});

async function run(url: string): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(process.execPath, [circle, url], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, text };
}

describe("the full circle", () => {
  it.skipIf(anvilBinary() === null)(
    "goes into both venues, through a trade and back to the wallet, and every sum is exact",
    { timeout: PATIENCE_MS },
    async () => {
      const demo = bench.start();
      await demo.shows("curl -s");
      const [, url = ""] = /ready (\S+)/.exec(demo.output) ?? [];
      const { code, text } = await run(url);
      expect([code, text.split("\n").filter((line) => line.includes("WRONG"))], text).toEqual([0, []]);
      const steps = [...text.matchAll(/^ {2}(key registered|deposit confirmed|150 from spot|bought|sold|withdrawn)/gm)];
      expect(steps.map(([, step]) => step)).toEqual([
        ...["key registered", "deposit confirmed", "150 from spot", "bought", "sold", "withdrawn", "withdrawn"],
        ...["key registered", "deposit confirmed", "bought", "sold", "withdrawn"],
      ]);
      expect(text.match(/^ {2}exact {3}/gm)).toHaveLength(8);
    },
  );

  it("says that nobody is there, and fails", { timeout: PATIENCE_MS }, async () => {
    const { code, text } = await run("http://127.0.0.1:1");
    expect([code, text]).toEqual([1, expect.stringMatching(/^circle: fetch failed/)]);
  });
});
