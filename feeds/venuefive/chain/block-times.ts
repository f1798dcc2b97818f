/** When blocks were made. Below the head that does not change but by a fork, so it is kept; the one used longest ago goes. */
import { LRUCache } from "lru-cache";
import type { ChainRead } from "../../../engine/client-signed-room.js";
import type { Deadline } from "../../shared/net/deadline.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import { blockCall, readHeadBlock } from "./head-wire.js";
import { failedChainRead, type PinnedReads } from "./pinned-reads.js";

const BLOCKS_MAX = 10_000;
const AT_ONCE = 64;
/** A fork does not reach this deep; times of younger blocks are asked for each time. */
const SETTLED_BLOCKS = 64;

export class BlockTimes {
  readonly #reads: PinnedReads;
  readonly #kept = new LRUCache<number, number>({ max: BLOCKS_MAX });

  constructor(reads: PinnedReads) {
    this.#reads = reads;
  }

  /** Wall ms by block, of all of them. */
  async of(blocks: readonly number[], deadline: Deadline): Promise<ChainRead<ReadonlyMap<number, number>>> {
    const times = new Map<number, number>();
    const missing: number[] = [];
    for (const block of new Set(blocks)) {
      const kept = this.#kept.get(block);
      if (kept === undefined) missing.push(block);
      else times.set(block, kept);
    }
    let last: ChainRead<readonly number[]> = { ok: true, value: [], asOfMs: 0, block: 0 };
    for (let from = 0; from < missing.length; from += AT_ONCE) {
      const some = missing.slice(from, from + AT_ONCE);
      const left = deadline.left();
      if (left === null) return failedChainRead("TIMEOUT", "no time left");
      last = await this.#reads.read(
        { calls: () => some.map(blockCall), read: (results) => results.map((one, at) => timeOf(one, some[at] ?? 0)) },
        left,
      );
      if (!last.ok) return last;
      for (const [at, block] of some.entries()) {
        const timeMs = last.value[at] ?? 0;
        times.set(block, timeMs);
        if (last.block - block >= SETTLED_BLOCKS) this.#kept.set(block, timeMs);
      }
    }
    return { ...last, value: times };
  }
}

function timeOf(result: unknown, number: number): number {
  const block = readHeadBlock(result, number);
  if (block === null) throw new WireFault("block", "is missing");
  return block.timestampMs;
}
