/** Memory of the service over the run, after forced collections, and what the leak judge says of each line. */
import { pause } from "../test/support/system.js";
import { judgeLine, type LeakBound, type MemorySample, verdictText } from "./leak-line.js";
import type { MemoryAnswer, ServiceProcess } from "./service-process.js";

const MIB = 2 ** 20;
const SAMPLE_MS = 10_000;
const POLL_MS = 100;

const WARM = { warmShare: 0.3, samplesMin: 20, spanMinMs: 240_000 };
/**
 * The heap of a service that traded sixty times a minute (rounds.ts) rises by up to 0.8 MiB a minute through its first ten:
 * by heap diff code that is compiled ever later, and what is kept by the trade up to bounds of ten thousand (executions
 * 3.5 KiB, quotes 2 KiB), which ten minutes do not come to. A MiB a minute comes on top of that.
 *
 * What is resident moves by more than what is used: pages that the allocator keeps, and threads of the native store.
 * Whatever it hides of a leak in the heap or in buffers, their own lines show.
 */
export const MEMORY_BOUNDS: Readonly<Record<keyof MemoryAnswer, LeakBound>> = {
  heapUsed: { ...WARM, mibPerMinute: 1.1 },
  external: { ...WARM, mibPerMinute: 0.5 },
  resident: { ...WARM, mibPerMinute: 4 },
};
const LINES = Object.keys(MEMORY_BOUNDS) as readonly (keyof MemoryAnswer)[];

export class MemoryLines {
  readonly #samples: Record<keyof MemoryAnswer, MemorySample[]> = { heapUsed: [], external: [], resident: [] };
  #dueMs = 0;
  missed = 0;

  /** Returns soon, with a sample or without. */
  async sampleWhenDue(service: Pick<ServiceProcess, "memory">, atMs: number): Promise<void> {
    if (atMs < this.#dueMs) return pause(POLL_MS);
    this.#dueMs = atMs + SAMPLE_MS;
    const answer = await service.memory();
    if (answer === null) {
      this.missed++;
      return;
    }
    for (const line of LINES)
      if (Number.isFinite(answer[line])) this.#samples[line].push({ atMs, bytes: answer[line] });
  }

  /** The newest sample. */
  get text(): string {
    const parts = LINES.map((line) => `${line} ${((this.#samples[line].at(-1)?.bytes ?? 0) / MIB).toFixed(1)}`);
    return `${parts.join(", ")} MiB`;
  }

  summary(): string[] {
    return LINES.map((line) => {
      const samples = this.#samples[line];
      const [from, to] = [samples[0]?.bytes ?? 0, samples.at(-1)?.bytes ?? 0].map((bytes) => (bytes / MIB).toFixed(1));
      return `${line} ${from} to ${to} MiB, ${samples.length} samples: ${verdictText(judgeLine(samples, MEMORY_BOUNDS[line]))}`;
    });
  }

  leaks(): string[] {
    return LINES.flatMap((line) => {
      const verdict = judgeLine(this.#samples[line], MEMORY_BOUNDS[line]);
      return verdict.kind === "leak" ? [`${line}: ${verdictText(verdict)}`] : [];
    });
  }
}
