/** Top self-time functions of a piece of work, by V8's own sampling profiler: what RESULTS.md shows where a goal is missed. */
import { Session } from "node:inspector/promises";

export async function profileTop(work: () => Promise<void> | void, count = 8): Promise<string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 200 });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  const selfSamples = new Map<string, number>();
  const nameById = new Map<number, string>();
  for (const node of profile.nodes) {
    const file = node.callFrame.url.split("/").slice(-2).join("/");
    nameById.set(node.id, `${node.callFrame.functionName || "(anonymous)"} ${file}:${node.callFrame.lineNumber + 1}`);
  }
  const samples = profile.samples ?? [];
  for (const id of samples) {
    const name = nameById.get(id) ?? "?";
    selfSamples.set(name, (selfSamples.get(name) ?? 0) + 1);
  }
  return [...selfSamples.entries()]
    .filter(([name]) => !name.startsWith("(idle)"))
    .sort((left, right) => right[1] - left[1])
    .slice(0, count)
    .map(([name, hits]) => `${((100 * hits) / samples.length).toFixed(1)} % ${name}`);
}
