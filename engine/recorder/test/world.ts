/** A recorder on a virtual clock, a state store in memory, a spool in a folder of its own and a fake record store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSeededRandom } from "../../domain/random.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { LogFields, Logger } from "../../domain/logger.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import type { RecordTableName } from "../../storage/records/record-table.js";
import { RECORD_TABLES } from "../../storage/records/schema.js";
import { createMemoryStore, type MemoryStore } from "../../storage/test/memory-store.js";
import { createRecorder, type Recorder } from "../recorder.js";
import type { RecorderSettings } from "../recorder-settings.js";
import { FakeStore } from "./fake-store.js";

/** Small, so that every bound is reached. */
export const SMALL_SETTINGS: Partial<RecorderSettings> = {
  tickRows: 256,
  tradeRows: 64,
  snapshotRows: 16,
  snapshotDepth: 5,
  snapshotMs: 1_000,
  // Every drain closes its batches; another test covers quiet markets.
  quietMs: 250,
  batchRows: 50,
  batchBytes: 16_384,
  seenTrades: 32,
  latencyMs: 5_000,
};

export interface World {
  readonly clock: VirtualClock;
  readonly store: FakeStore;
  readonly stateStore: MemoryStore;
  readonly recorder: Recorder;
  readonly directory: string;
  readonly logLines: string[];
  /** Advances the clock in small steps; the disk is real, and each step waits for it. */
  advance(ms: number): Promise<void>;
  /** Advances until the condition holds, however long the disk takes; fails after ten virtual minutes. */
  until(condition: () => boolean): Promise<void>;
  /** Small steps, so that the disk keeps up with the clock. */
  run(promise: Promise<unknown>): Promise<void>;
  remove(): void;
}

export interface WorldOptions {
  readonly settings?: Partial<RecorderSettings>;
  readonly directory?: string;
  readonly stateStore?: MemoryStore;
  readonly store?: FakeStore;
  readonly clock?: VirtualClock;
  readonly seed?: number;
  readonly writeFile?: (path: string, parts: readonly Uint8Array[]) => Promise<void>;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const clock = options.clock ?? new VirtualClock();
  const store = options.store ?? new FakeStore();
  const stateStore = options.stateStore ?? createMemoryStore();
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "recorder-"));
  const logLines: string[] = [];
  const random = createSeededRandom(options.seed ?? 1);
  const recorder = createRecorder({
    ...{ store, stateStore, clock, random },
    spoolDirectory: directory,
    randomIds: seededIds((options.seed ?? 1) + 77),
    logger: listLogger(logLines),
    nodeId: "node-1",
    settings: { ...SMALL_SETTINGS, ...options.settings },
    ...(options.writeFile === undefined ? {} : { writeFile: options.writeFile }),
  });
  await recorder.start();
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 50) {
      await clock.advanceAsync(Math.min(50, left));
      await diskTurns();
    }
  };
  return {
    ...{ clock, store, stateStore, recorder, directory, logLines, advance },
    async until(condition) {
      for (let waitedMs = 0; !condition(); waitedMs += 250) {
        if (waitedMs > 600_000) throw new Error("did not come to hold within ten virtual minutes");
        await advance(250);
      }
    },
    async run(promise) {
      let settled = false;
      const done = promise.finally(() => {
        settled = true;
      });
      while (!settled) {
        await clock.advanceAsync(2);
        await diskTurns();
      }
      await done;
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** accepted + recovered = stored + dropped + pending, for every table. */
export function imbalances(recorder: Recorder): string[] {
  const { tables } = recorder.status();
  return RECORD_TABLES.flatMap(({ name }) => {
    const { accepted, recovered, stored, droppedTotal, pending } = tables[name];
    const balanced = accepted + recovered === stored + droppedTotal + pending && pending >= 0;
    return balanced ? [] : [`${name}: ${accepted}+${recovered} != ${stored}+${droppedTotal}+${pending}`];
  });
}

export function tableStatus(recorder: Recorder, table: RecordTableName) {
  return recorder.status().tables[table];
}

/** File calls end when the thread pool gets to them, so virtual time waits until none is under way. */
async function diskTurns(): Promise<void> {
  for (let quietTurns = 0; quietTurns < QUIET_TURNS; ) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    quietTurns = process.getActiveResourcesInfo().some((name) => FILE_CALLS.has(name)) ? 0 : quietTurns + 1;
  }
}

/** The names of calls of `node:fs/promises` and of closing their handles. */
const FILE_CALLS: ReadonlySet<string> = new Set(["FSReqPromise", "CloseReq"]);
/** The next call of a chain starts within the turn in which the previous one ended. */
const QUIET_TURNS = 4;

export function seededIds(seed: number): RandomIds {
  const random = createSeededRandom(seed);
  return { randomHex128: () => Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16)).join("") };
}

export function listLogger(lines: string[]): Logger {
  const write = (level: string) => (event: string, fields?: LogFields) => {
    lines.push(`${level} ${event} ${JSON.stringify(fields ?? {})}`);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
