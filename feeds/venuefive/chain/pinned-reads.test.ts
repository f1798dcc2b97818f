import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { RpcEndpoint } from "../../shared/chain/rpc-endpoint.js";
import { ExtraLooks } from "./extra-looks.js";
import type { ChainHead, HeadProblem } from "./heads.js";
import { type PinnedAsk, PinnedReads } from "./pinned-reads.js";

const HEAD: ChainHead = { number: 7, hash: `0x${"07".repeat(32)}`, timestampMs: 7_000, seenAtMs: 7_000 };
const ASK: PinnedAsk<number> = { calls: () => [], read: () => 1 };

/** All answer a look at once but one, which takes all the time that it has. */
class HangingHeads {
  readonly head = HEAD;
  problem: HeadProblem | null = { code: "SILENT", message: "nobody has named a block" };
  readonly #endpoint: RpcEndpoint;

  constructor(endpoint: Pick<RpcEndpoint, "batch">) {
    this.#endpoint = endpoint as RpcEndpoint;
  }

  sources(): readonly { readonly endpoint: RpcEndpoint }[] {
    return [{ endpoint: this.#endpoint }];
  }

  look(): Promise<void> {
    this.problem = null;
    return new Promise(() => undefined);
  }
}

describe("a read at the head", () => {
  it("is made by what a look has found, where one endpoint holds the look up beyond the time", async () => {
    const clock = new VirtualClock();
    const block = { number: "0x7", hash: HEAD.hash, timestamp: "0x7" };
    const heads = new HangingHeads({
      batch: async (_, read) => ({ kind: "value", value: read([block, block]) }),
    });
    const reads = new PinnedReads(heads, new ExtraLooks(heads, clock), clock);
    const read = reads.read(ASK, { timeoutMs: 1_000, lane: "read" });
    await clock.advanceAsync(1_000);
    expect(await read).toMatchObject({ ok: true, value: 1, block: 7 });
  });
});
