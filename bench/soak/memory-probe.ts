/**
 * Loaded into the service before its own code (`node --expose-gc --import`): answers its parent with the memory that is
 * left after forced collections, and plants a leak where it is told to, so that the judge can be judged. The service
 * knows nothing of it.
 */
import { readFileSync } from "node:fs";
import type { MemoryAnswer } from "./service-process.js";

const PLANT_MS = 1_000;
const DOUBLE_BYTES = 8;

/** Asked by number, so that a late answer is not taken for the next one. */
process.on("message", (asked) => {
  // A second one takes what the finalisers of the first let go.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const answer: MemoryAnswer = { asked: Number(asked), heapUsed, external, resident: residentBytes() };
  process.send?.(answer);
});
// A parent that listens is no reason to stay; where it is gone, however it went, nobody else would end this process.
process.channel?.unref();
process.once("disconnect", () => process.exit(1));

/** Without what is mapped from files, which the system takes back as it likes. */
function residentBytes(): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

const planted = Number(process.env["SOAK_LEAK_MIB_PER_MINUTE"] ?? 0);
if (planted > 0) plant((planted * 2 ** 20 * PLANT_MS) / 60_000, process.env["SOAK_LEAK_KIND"] === "external");

function plant(bytes: number, isExternal: boolean): void {
  const kept: unknown[] = [];
  setInterval(() => {
    kept.push(isExternal ? Buffer.alloc(bytes, 1) : Array.from({ length: bytes / DOUBLE_BYTES }, () => Math.random()));
  }, PLANT_MS).unref();
}
