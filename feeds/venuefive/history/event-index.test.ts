import { onTestFinished, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMemoryStore, type MemoryStore } from "../../../engine/storage/test/memory-store.js";
import { type ChainHeader, failedAnswer, type HistoryEndpoint, type LogFilter, type LogsAnswer } from "./chain-port.js";
import { EventBook } from "./event-book.js";
import { EventIndex } from "./event-index.js";
import type { VenuefiveEvent } from "./event.js";
import { ADDRESSES, CALLBACKS, encodeEvent } from "./test/encode-event.js";
import { placeOf } from "./row-keys.js";
import { KEYS } from "./test/history-run.js";

/** Above the longest wait after failures. */
const LATER_MS = 70_000;
const TRADER = `0x${"1a".repeat(20)}`;

/** An endpoint of a chain that the test writes: every block has one event. */
class Node implements HistoryEndpoint {
  safe: number;
  /** Above the safe head it may have more. */
  newest = 0;
  /** What it calls safe, and does not have. */
  slip: number | null = null;
  /** Blocks from here on are of another branch. */
  forkAt = Number.POSITIVE_INFINITY;
  refusal: LogsAnswer | null = null;
  rangeMax = Number.POSITIVE_INFINITY;
  readonly asked: LogFilter[] = [];

  constructor(safe: number) {
    this.safe = safe;
  }

  #header(number: number): ChainHeader {
    const parentHash = this.#hash(number - 1);
    return { number, hash: this.#hash(number), parentHash, timeMs: number * 2_000 };
  }

  #hash(number: number): string {
    return `0x${(number >= this.forkAt ? "b" : "a").repeat(4)}${number.toString().padStart(60, "0")}`;
  }

  async tip() {
    return { kind: "value", value: this.#header(this.slip ?? this.safe) } as const;
  }

  async header(block: number) {
    return { kind: "value", value: block > Math.max(this.safe, this.newest) ? null : this.#header(block) } as const;
  }

  async logs(filter: LogFilter): Promise<LogsAnswer> {
    this.asked.push(filter);
    if (this.refusal !== null) return this.refusal;
    if (filter.toBlock - filter.fromBlock >= this.rangeMax) return { kind: "tooLarge" };
    const logs = [];
    for (let block = filter.fromBlock; block <= filter.toBlock; block++) logs.push(encodeEvent(this.#event(block)));
    return { kind: "value", value: logs };
  }

  #event(block: number): VenuefiveEvent {
    const place = { block, blockHash: this.#hash(block), logIndex: 0, txHash: this.#hash(block + 1_000_000) };
    return { ...place, timeMs: block * 2_000, trader: TRADER, pairIndex: 1, kind: "tp", index: 0, price: "1" };
  }

  async transaction() {
    return { kind: "value", value: null } as const;
  }

  async knows() {
    return { kind: "value", value: false } as const;
  }

  async callbacks() {
    return { kind: "value", value: CALLBACKS } as const;
  }
}

function indexOf(
  nodes: readonly Node[],
  store: MemoryStore,
  fromBlock: number | null = null,
  believed: () => readonly Node[] = () => nodes,
) {
  const clock = new VirtualClock();
  const book = new EventBook(store, KEYS);
  const index = new EventIndex({
    ...{
      chain: { endpoints: async () => nodes, believed: async () => believed() },
      addresses: ADDRESSES,
      book,
      fromBlock,
      nearBlocks: 2,
    },
    ...{ clock, random: createSeededRandom(1), logger: silentLogger },
  });
  onTestFinished(() => index.stop());
  const pass = async (ms: number): Promise<void> => {
    await clock.advanceAsync(ms);
  };
  return { index, book, clock, pass };
}

/** Three that show the same blocks and are believed, with an index that has followed them. */
async function threeAt100() {
  const nodes = [new Node(100), new Node(100), new Node(100)] as const;
  let believed: readonly Node[] = nodes;
  const { index, pass } = indexOf(nodes, createMemoryStore(), 95, () => believed);
  await index.start();
  await pass(0);
  const believe = (these: readonly Node[]): void => {
    believed = these;
  };
  return { index, pass, nodes, believe };
}

describe("the index of events", () => {
  it("begins at the safe head, and follows it", async () => {
    const node = new Node(100);
    const { index, pass } = indexOf([node], createMemoryStore());
    await index.start();
    await pass(0);
    expect(index.status()).toMatchObject({ sinceBlock: 100, cursorBlock: 100, behindBlocks: 0, eventCount: 1 });
    node.safe = 110;
    await pass(2_000);
    expect(index.status()).toMatchObject({ sinceBlock: 100, cursorBlock: 110, eventCount: 11, problem: null });
  });

  it("follows those that are believed at the head, and waits while nobody is", async () => {
    const [other, one, two] = [new Node(100), new Node(100), new Node(100)];
    const nodes = [other, one, two];
    let believed: readonly Node[] = nodes;
    const { index, book, pass } = indexOf(nodes, createMemoryStore(), null, () => believed);
    await index.start();
    await pass(0);
    other.forkAt = 105;
    for (const node of nodes) node.safe = 110;
    believed = [];
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 100, problem: "no endpoint is believed of the newest blocks" });
    believed = [one, two];
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 110, retractedCount: 0, problem: null });
    expect((await book.eventAt(placeOf({ block: 110, logIndex: 0 })))?.event.blockHash).toMatch(/^0xaaaa/);
    for (const node of nodes) node.safe = 120;
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 120, eventCount: 21, retractedCount: 0 });
  });

  it("takes back what most show otherwise, also where one of these alone is believed", async () => {
    const { index, pass, nodes, believe } = await threeAt100();
    const [other, one] = nodes;
    for (const node of [other, one]) [node.forkAt, node.safe] = [98, 104];
    believe([other]);
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 104, eventCount: 10, problem: null });
    expect(index.status().retractedCount).toBeGreaterThan(0);
  });

  it("takes back no more than most show otherwise, whatever the first of them shows below", async () => {
    const [liar, one, two] = [new Node(95), new Node(95), new Node(95)];
    const nodes = [liar, one, two];
    const { index, book, pass } = indexOf(nodes, createMemoryStore(), 95);
    await index.start();
    for (let safe = 95; safe <= 100; safe++) {
      for (const node of nodes) node.safe = safe;
      await pass(2_000);
    }
    expect(index.status()).toMatchObject({ cursorBlock: 100, eventCount: 6 });
    liar.forkAt = 0;
    for (const node of [one, two]) [node.forkAt, node.safe] = [98, 104];
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 104, eventCount: 10, retractedCount: 3, problem: null });
    expect((await book.eventAt(placeOf({ block: 97, logIndex: 0 })))?.event.blockHash).toMatch(/^0xaaaa/);
  });

  it("takes nothing back for the only one that is believed where more of the others show what it has", async () => {
    const { index, pass, nodes, believe } = await threeAt100();
    const [other, one, two] = nodes;
    [other.forkAt, other.safe] = [98, 104];
    // The others had no time to answer the last looks at the head.
    believe([other]);
    await pass(10_000);
    expect(index.status()).toMatchObject({
      cursorBlock: 100,
      problem: "endpoints differ on block 100",
      retractedCount: 0,
    });
    for (const node of [one, two]) node.safe = 101;
    believe([one, two]);
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 101, eventCount: 7, retractedCount: 0, problem: null });
  });

  it("forgets the safe head of an endpoint that is not believed any more", async () => {
    const [wrong, right] = [new Node(100), new Node(100)];
    const nodes = [wrong, right];
    let believed: readonly Node[] = nodes;
    const { index, pass } = indexOf(nodes, createMemoryStore(), 99, () => believed);
    await index.start();
    await pass(0);
    wrong.slip = 9_000_000;
    await pass(2_000);
    expect(index.status()).toMatchObject({ behindBlocks: 8_999_900 });
    believed = [right];
    right.safe = 101;
    await pass(LATER_MS);
    expect(index.status()).toMatchObject({ cursorBlock: 101, behindBlocks: 0, problem: null });
    right.safe = 102;
    await pass(2_000);
    expect(index.status()).toMatchObject({ cursorBlock: 102, behindBlocks: 0, problem: null });
  });

  describe("without a first block of its own", () => {
    const begun = async (nodes: readonly Node[], waitMs = 0): Promise<ReturnType<EventIndex["status"]>> => {
      const { index, pass } = indexOf(nodes, createMemoryStore());
      await index.start();
      await pass(waitMs);
      return index.status();
    };
    /** Longer than it waits for a second endpoint. */
    const LONG_MS = 200_000;

    it.each([
      ["far too high", 9_000_000],
      ["far too low", 5],
    ])("does not begin where one endpoint of two alone says it, %s", async (_, slip) => {
      const [wrong, right] = [new Node(50_000), new Node(50_001)];
      wrong.slip = slip;
      // The higher safe head of the right one is a block of the other too, where it has named a lower one.
      wrong.newest = 50_010;
      expect(await begun([wrong, right], LONG_MS)).toMatchObject({ sinceBlock: 50_001 });
    });

    it("begins at the higher of two heads that both endpoints have", async () => {
      const [slow, quick] = [new Node(50_000), new Node(50_005)];
      slow.newest = 50_010;
      expect(await begun([slow, quick])).toMatchObject({ sinceBlock: 50_005 });
    });

    it("waits where two do not agree, and then begins at the newest that its endpoint has", async () => {
      const [far, behind] = [new Node(50_000), new Node(5)];
      expect(await begun([behind, far])).toMatchObject({
        sinceBlock: null,
        problem: "endpoints do not agree about a block to begin at",
      });
      expect(await begun([behind, far], LONG_MS)).toMatchObject({ sinceBlock: 50_000 });
      const [wrong, right] = [new Node(50_000), new Node(50_000)];
      [wrong.slip, wrong.forkAt] = [9_000_000, 0];
      expect(await begun([wrong, right], LONG_MS)).toMatchObject({ sinceBlock: 50_000 });
    });
  });

  it("reads all again where it is to begin below its first block, and goes on from there", async () => {
    const store = createMemoryStore();
    const node = new Node(100);
    const first = indexOf([node], store, 90);
    await first.index.start();
    await first.pass(0);
    await first.index.stop();
    const second = indexOf([node], store, 80);
    await second.index.start();
    await second.pass(0);
    expect(second.index.status()).toMatchObject({ sinceBlock: 80, cursorBlock: 100, eventCount: 21 });
    await second.index.stop();
    const third = indexOf([node], store, 95);
    await third.index.start();
    await third.pass(0);
    expect(third.index.status()).toMatchObject({ sinceBlock: 80, cursorBlock: 100, eventCount: 21 });
  });

  it("halves a range that is too large, and lets it grow again", async () => {
    const node = new Node(3_200);
    node.rangeMax = 300;
    const { index, pass } = indexOf([node], createMemoryStore(), 1);
    await index.start();
    for (let turn = 0; turn < 200 && index.status().behindBlocks !== 0; turn++) await pass(2_000);
    expect(index.status()).toMatchObject({ cursorBlock: 3_200, eventCount: 3_200 });
    const sizes = node.asked.map(({ fromBlock, toBlock }) => toBlock - fromBlock + 1);
    expect(sizes.slice(0, 4)).toEqual([2_000, 1_000, 500, 250]);
    expect(sizes[4]).toBe(282);
    expect(sizes.filter((size) => size <= 300).length).toBeGreaterThan(8);
  });

  it.each([
    ["limits the rate", failedAnswer("RATE_LIMITED", "slow", 30_000), "the endpoints limit the rate of calls"],
    ["has pruned", failedAnswer("PRUNED", "gone"), "the endpoints keep no events of the next blocks any more"],
    ["times out", failedAnswer("TIMEOUT", "late"), "the endpoints do not answer in time"],
  ] as const)("waits where its endpoint %s, says so, and goes on", async (_name, refusal, problem) => {
    const node = new Node(100);
    const { index, pass } = indexOf([node], createMemoryStore());
    await index.start();
    await pass(0);
    [node.safe, node.refusal] = [103, refusal];
    await pass(2_000);
    expect(index.status()).toMatchObject({ cursorBlock: 100, behindBlocks: 3, problem });
    const asked = node.asked.length;
    await pass(1_900);
    expect(node.asked).toHaveLength(asked);
    if (refusal.code === "RATE_LIMITED") {
      await pass(28_000);
      expect(node.asked).toHaveLength(asked);
    }
    node.refusal = null;
    await pass(70_000);
    expect(index.status()).toMatchObject({ cursorBlock: 103, eventCount: 4, problem: null });
  });

  it("does not go back for an endpoint that lags, and follows one that does not", async () => {
    const [slow, quick] = [new Node(100), new Node(105)];
    const { index, pass } = indexOf([slow, quick], createMemoryStore(), 99);
    await index.start();
    await pass(0);
    expect(index.status()).toMatchObject({ cursorBlock: 105, eventCount: 7 });
    slow.safe = 90;
    await pass(10_000);
    expect(index.status()).toMatchObject({ cursorBlock: 105, eventCount: 7, retractedCount: 0, problem: null });
  });

  it("forgets a head that its endpoint named by mistake, and waits for the next block as before", async () => {
    const node = new Node(100);
    const { index, pass } = indexOf([node], createMemoryStore(), 99);
    await index.start();
    await pass(0);
    node.slip = 9_000_000;
    await pass(2_000);
    expect(index.status()).toMatchObject({ cursorBlock: 100, behindBlocks: 8_999_900 });
    node.slip = null;
    await pass(70_000);
    expect(index.status()).toMatchObject({ cursorBlock: 100, behindBlocks: 0, problem: null });
    node.safe = 101;
    await pass(2_000);
    expect(index.status()).toMatchObject({ cursorBlock: 101, behindBlocks: 0, problem: null });
  });

  it("takes nothing back while as many endpoints show what it has as do not, and says that they differ", async () => {
    const [ours, other] = [new Node(100), new Node(100)];
    const { index, pass } = indexOf([ours, other], createMemoryStore(), 95);
    await index.start();
    await pass(0);
    [other.forkAt, other.safe] = [98, 104];
    await pass(10_000);
    expect(index.status()).toMatchObject({
      cursorBlock: 100,
      problem: "endpoints differ on block 100",
      retractedCount: 0,
    });
    // The other one comes over too.
    ours.forkAt = 98;
    await pass(140_000);
    expect(index.status()).toMatchObject({ cursorBlock: 104, eventCount: 10, retractedCount: 6, problem: null });
  });

  it("goes on after a store that refuses", async () => {
    const store = createMemoryStore();
    const node = new Node(100);
    const { index, pass } = indexOf([node], store, 98);
    store.gate = () => Promise.reject(new Error("disk"));
    await index.start();
    expect(index.status()).toMatchObject({ cursorBlock: null, problem: "what was read could not be kept" });
    store.gate = async () => {};
    await pass(70_000);
    expect(index.status()).toMatchObject({ cursorBlock: 100, eventCount: 3, problem: null });
  });
});
