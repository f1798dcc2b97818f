/** Addresses of a client-signed venue on virtual time: read with each block, once for all who listen, within bounds. */
import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { ChainPortfolio } from "./chain-portfolio.js";
import { aChainPosition, blockMs, FakeClientSignedRoom, FIRST_BLOCK } from "./test/fake-client-signed-room.js";

const ALICE = `0x${"a1".repeat(20)}`;
const addressOf = (index: number): string => `0x${index.toString(16).padStart(40, "0")}`;

let clock: VirtualClock;
let room: FakeClientSignedRoom;
let chain: ChainPortfolio;

beforeEach(() => {
  clock = new VirtualClock();
  room = new FakeClientSignedRoom();
  chain = new ChainPortfolio({ room, clock, logger: silentLogger });
});

const settle = () => clock.advanceAsync(0);

function open(address = ALICE, payer: string | null = null) {
  const seen = { count: 0 };
  const handle = chain.open(address, () => void seen.count++, payer);
  if (handle === null) throw new Error("refused");
  return { ...handle, seen };
}

describe("an address at a client-signed venue", () => {
  it("is read at once, then with each block, and once for all who listen", async () => {
    room.positions.set(ALICE, [aChainPosition()]);
    const one = open();
    const two = open(ALICE.toUpperCase().replace("0X", "0x"));
    expect(one.watch.coverage()).toMatchObject({ state: "ERROR", asOf: null, error: { code: "NO_ANSWER_YET" } });
    await settle();
    expect(room.calls).toEqual([{ name: "positions", address: ALICE }]);
    expect([one.watch, one.watch.positions?.length]).toEqual([two.watch, 1]);
    expect(one.watch.coverage()).toEqual({
      state: "LIVE",
      mode: "poll",
      asOf: blockMs(FIRST_BLOCK),
      source: "venue",
      intervalMs: 2_000,
      error: null,
    });
    room.positions.set(ALICE, []);
    room.mine();
    await settle();
    expect([
      room.calls.filter(({ name }) => name === "positions").length,
      one.watch.positions,
      one.watch.asOfMs,
    ]).toEqual([...[2, [], blockMs(FIRST_BLOCK + 1)]]);
    // Once that it is gone, and once how it ended.
    expect([one.seen.count, two.seen.count]).toEqual([3, 3]);
  });

  it("is not read any more once nobody listens, nor are its blocks heard", async () => {
    const one = open();
    const two = open();
    await settle();
    one.close();
    one.close();
    room.mine();
    await settle();
    expect([room.calls.length, one.seen.count, two.seen.count, chain.addressCount]).toEqual([2, 1, 2, 1]);
    two.close();
    expect([room.listenerCount, chain.addressCount]).toEqual([0, 0]);
    room.mine();
    await settle();
    expect(room.calls.length).toBe(2);
  });

  it("keeps what it showed while reads fail, says why, and says it once", async () => {
    room.positions.set(ALICE, [aChainPosition()]);
    const one = open();
    await settle();
    room.fail("TIMEOUT", "both endpoints are away");
    for (let block = 0; block < 3; block++) {
      room.mine();
      await clock.advanceAsync(2_000);
    }
    expect(one.watch.coverage()).toMatchObject({
      state: "ERROR",
      asOf: blockMs(FIRST_BLOCK),
      error: { code: "TIMEOUT", message: "both endpoints are away" },
    });
    expect([one.watch.positions?.length, one.seen.count]).toEqual([1, 2]);
    room.mend();
    room.mine();
    await settle();
    expect([one.watch.coverage().state, one.seen.count]).toEqual(["LIVE", 3]);
  });

  it("is no more than a snapshot while the venue has no new block", async () => {
    const one = open();
    await settle();
    room.state = "STALE";
    expect(one.watch.coverage().state).toBe("SNAPSHOT");
  });

  it("that is limited waits as long as it is told, and comes back without a block", async () => {
    room.fail("RATE_LIMITED", "slow down", 30_000);
    const one = open();
    await settle();
    room.mine();
    await clock.advanceAsync(29_000);
    expect(room.calls.length).toBe(1);
    room.mend();
    await clock.advanceAsync(1_001);
    expect([room.calls.length, one.watch.coverage().state]).toEqual([2, "LIVE"]);
  });

  it("shows what it holds at once, also while it is not known how what is gone ended", async () => {
    const [gone, kept, fresh] = [0, 1, 2].map((index) => aChainPosition({ index }));
    if (gone === undefined || kept === undefined || fresh === undefined) throw new Error("there are three");
    room.positions.set(ALICE, [gone, kept]);
    const one = open();
    await settle();
    room.readLiquidated = () => new Promise(() => {});
    room.positions.set(ALICE, [kept, fresh]);
    room.mine();
    await settle();
    expect(one.watch).toMatchObject({ positions: [kept, fresh], ending: [gone], liquidated: [] });
    expect([one.watch.asOfMs, one.seen.count]).toEqual([blockMs(FIRST_BLOCK + 1), 2]);
    // It ends as closed, and the next block is read, soon after.
    await clock.advanceAsync(2_000);
    expect(one.watch).toMatchObject({ positions: [kept, fresh], ending: [], liquidated: [] });
    room.positions.set(ALICE, [kept, fresh, gone]);
    room.mine();
    await settle();
    expect([one.watch.positions?.length, one.seen.count]).toEqual([3, 4]);
  });

  it("whose read never ends is a timeout, and is not read twice at once", async () => {
    room.gate = new Promise(() => {});
    const one = open();
    await settle();
    room.mine();
    await settle();
    expect(room.calls.length).toBe(1);
    await clock.advanceAsync(5_251);
    expect(one.watch.coverage().error?.code).toBe("TIMEOUT");
  });
});

describe("many addresses at a client-signed venue", () => {
  it("are read within the pace, the one that waits longest first, four at once", async () => {
    let letGo = (): void => {};
    room.gate = new Promise((resolve) => (letGo = resolve));
    const opened = Array.from({ length: 100 }, (_, index) => open(addressOf(index)));
    await settle();
    expect(room.calls.length).toBe(4);
    letGo();
    room.gate = null;
    await settle();
    expect(room.calls.length).toBe(21);
    for (let second = 0; second < 60; second++) {
      room.mine();
      await clock.advanceAsync(1_000);
    }
    expect(room.calls.length).toBeGreaterThan(300);
    expect(room.calls.length).toBeLessThanOrEqual(321);
    const counts = new Map<string, number>();
    for (const { address } of room.calls) counts.set(address ?? "", (counts.get(address ?? "") ?? 0) + 1);
    expect([counts.size, Math.min(...counts.values()), Math.max(...counts.values())]).toEqual([100, 3, 4]);
    expect(opened[0]?.watch.coverage().intervalMs).toBe(20_000);
  });

  it("are bounded, half of them for one key, and a place is given back", () => {
    chain = new ChainPortfolio({ room, clock, logger: silentLogger, addressesMax: 4 });
    const own = [open(addressOf(1), "pk"), open(addressOf(2), "pk")];
    expect(chain.open(addressOf(3), () => {}, "pk")).toBeNull();
    // One that is watched already takes no place.
    expect(chain.open(addressOf(2), () => {}, "pk")).not.toBeNull();
    own[0]?.close();
    expect(chain.open(addressOf(3), () => {}, "pk")).not.toBeNull();
  });

  it("leave nothing behind when the service stops", async () => {
    open(addressOf(1));
    open(addressOf(2));
    chain.stop();
    await settle();
    expect([chain.addressCount, room.listenerCount]).toEqual([0, 0]);
  });

  it("of several keys take turns: one with many does not make those of another old", async () => {
    for (let index = 0; index < 200; index++) open(addressOf(index), "greedy");
    await clock.advanceAsync(60_000);
    open(ALICE, "other");
    await clock.advanceAsync(1_000);
    const from = room.calls.length;
    for (let block = 0; block < 10; block++) {
      room.mine();
      await clock.advanceAsync(2_000);
    }
    const reads = room.calls.slice(from).filter(({ address }) => address === ALICE).length;
    expect(reads).toBe(10);
    expect(room.calls.length - from).toBeGreaterThanOrEqual(90);
  });

  it("wait for the key alone whose share of the calls is used up", async () => {
    const readAll = room.readPositions.bind(room);
    const limited = { ok: false, code: "RATE_LIMITED", message: "used up", retryAfterMs: 60_000 } as const;
    let greedyReads = 0;
    room.readPositions = (address, options) => {
      if (options?.payer !== "greedy") return readAll(address);
      greedyReads++;
      return Promise.resolve(limited);
    };
    open(addressOf(1), "greedy");
    const other = open(ALICE, "other");
    await settle();
    for (let block = 0; block < 5; block++) {
      room.mine();
      await clock.advanceAsync(2_000);
    }
    expect([greedyReads, room.calls.length, other.watch.coverage().state]).toEqual([1, 6, "LIVE"]);
    await clock.advanceAsync(50_001);
    expect(greedyReads).toBe(2);
  });
});

describe("an address that is closed and opened again while it is read", () => {
  it("is read again after that read, and not beside it", async () => {
    let letGo = (): void => {};
    room.gate = new Promise((resolve) => (letGo = resolve));
    open().close();
    const again = open();
    await settle();
    expect(room.calls.length).toBe(1);
    room.gate = null;
    letGo();
    await settle();
    expect([room.calls.length, again.watch.coverage().state]).toEqual([2, "LIVE"]);
  });
});
