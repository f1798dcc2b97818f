/**
 * Returns the top self-time functions of a piece of work, by V8's own sampling profiler. RESULTS.md shows them where a
 * goal is missed.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { join } from "node:path";

export async function profileTop(work: () => Promise<void> | void, count = 8): Promise<string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 200 });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return topOf(profile, count);
}

/** Returns the same for a `.cpuprofile` that a process wrote at its end (`--cpu-prof-dir`); empty if there is none. */
export function topOfFolder(folder: string, count = 12): string[] {
  const file = readdirSync(folder).find((name) => name.endsWith(".cpuprofile"));
  if (file === undefined) return [];
  return topOf(JSON.parse(readFileSync(join(folder, file), "utf8")) as Profiler.Profile, count);
}

function topOf(profile: Profiler.Profile, count: number): string[] {
  const selfSamples = new Map<string, number>();
  const nameById = new Map<number, string>();
  for (const node of profile.nodes) {
    const file = node.callFrame.url.split("/").slice(-2).join("/");
    nameById.set(node.id, `${node.callFrame.functionName || "(anonymous)"} ${file}:${node.callFrame.lineNumber + 1}`);
  }
  const busy = (profile.samples ?? [])
    .map((id) => nameById.get(id) ?? "?")
    .filter((name) => !name.startsWith("(idle)"));
  for (const name of busy) selfSamples.set(name, (selfSamples.get(name) ?? 0) + 1);
  return [...selfSamples.entries()]
    .sort((left, right) => right[1] - left[1])
    .slice(0, count)
    .map(([name, hits]) => `${((100 * hits) / busy.length).toFixed(1)} % ${name}`);
}
