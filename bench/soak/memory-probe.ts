/**
 * Loaded into the service before its own code (`node --expose-gc --import`). It answers its parent with the memory that
 * is left after forced collections. On request it plants a leak, so that the judge can be judged. The service does not
 * know about it.
 */
import { readFileSync } from "node:fs";
import type { MemoryAnswer } from "./service-process.js";

const PLANT_MS = 1_000;
const DOUBLE_BYTES = 8;

/** Each request has a number, so that a late answer does not count for the next one. */
process.on("message", (asked) => {
  // A second collection takes what the finalisers of the first released.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const answer: MemoryAnswer = { asked: Number(asked), heapUsed, external, resident: residentBytes() };
  process.send?.(answer);
});
// The channel to the parent does not keep the process alive. When the parent is gone, for any reason, nobody else would
// end this process.
process.channel?.unref();
process.once("disconnect", () => process.exit(1));

/** Without memory mapped from files, which the system reclaims at will. */
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
