/** Memory of the service over the run, after forced collections, and the verdict of the leak judge on each line. */
import { pause } from "../test/support/system.js";
import { judgeLine, type LeakBound, type MemorySample, verdictText } from "./leak-line.js";
import type { MemoryAnswer, ServiceProcess } from "./service-process.js";

const MIB = 2 ** 20;
const SAMPLE_MS = 10_000;
const POLL_MS = 100;

const WARM = { warmShare: 0.3, samplesMin: 20, spanMinMs: 240_000 };

/**
 * What a service gains while it warms up, spread over the run, and a margin that does no harm. The longer the run, the
 * smaller the leak that it finds. By heap diff the heap of a service that trades sixty times a minute (rounds.ts) rises
 * by 0.6 to 1.0 MiB a minute through its first ten minutes, mostly by code that is compiled late. The bound adds a MiB
 * a minute to that.
 *
 * Resident memory moves by more than used memory: pages that the allocator keeps, and threads of the native store. The
 * heap and the buffers have lines of their own, which show any leak that it hides.
 */
export function memoryBounds(minutes: number): Readonly<Record<Line, LeakBound>> {
  const bound = (always: number, warming: number): LeakBound => ({ ...WARM, mibPerMinute: always + warming / minutes });
  return { heapUsed: bound(0.2, 9), external: bound(0.2, 3), resident: bound(1, 30) };
}

type Line = Exclude<keyof MemoryAnswer, "asked">;
const LINES: readonly Line[] = ["heapUsed", "external", "resident"];

export class MemoryLines {
  readonly #bounds: ReturnType<typeof memoryBounds>;
  readonly #samples: Record<Line, MemorySample[]> = { heapUsed: [], external: [], resident: [] };
  #dueMs = 0;
  missed = 0;

  /** Bounds of a run of so many minutes. */
  constructor(minutes: number) {
    this.#bounds = memoryBounds(minutes);
  }

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
      return `${line} ${from} to ${to} MiB, ${samples.length} samples: ${verdictText(judgeLine(samples, this.#bounds[line]))}`;
    });
  }

  leaks(): string[] {
    return LINES.flatMap((line) => {
      const verdict = judgeLine(this.#samples[line], this.#bounds[line]);
      return verdict.kind === "leak" ? [`${line}: ${verdictText(verdict)}`] : [];
    });
  }
}
