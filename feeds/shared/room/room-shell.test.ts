import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";
import { RoomShell, type RoomShellOptions } from "./room-shell.js";

const COUNTS = {
  isOpen: true,
  socketCount: 2,
  reconnectCount: 1,
  resyncCount: 0,
  gapCount: 0,
  decodeErrorCount: 0,
  protocolDriftCount: 0,
};
const MAX_BOOK_AGE_MS = 1_000;
const TOKENS = { exit: 4, trade: 3, reconcile: 2, read: 1, background: 0 };

function setUp(change: Partial<RoomShellOptions> = {}) {
  const clock = new VirtualClock();
  const markets = new Map<string, Market>();
  const events: string[] = [];
  const shell = new RoomShell({
    venue: "venueone",
    clock,
    random: createSeededRandom(1),
    http: {
      stats: () => ({
        breaker: "closed",
        breakerOpenUntilMs: 0,
        laneTokens: TOKENS,
        queuedByLane: TOKENS,
        sentCount: 0,
        limitedCount: 0,
        failedCount: 0,
      }),
      close: async (graceMs) => void events.push(`http closed within ${graceMs}`),
    },
    clockOffset: { offsetMs: 12.6 },
    markets,
    currentShare: 0.5,
    retry: { baseMs: 100, capMs: 400 },
    startTimeoutMs: 2_000,
    ...change,
  });
  return { clock, markets, events, shell };
}

/** Fails so many times, then loads. Keeps the monotonic ms of each try. */
function loader(clock: VirtualClock, failures: number) {
  const triedMs: number[] = [];
  const load = async (): Promise<string | null> => {
    triedMs.push(clock.monoNs() / 1e6);
    return triedMs.length <= failures ? "HTTP 502" : null;
  };
  return { triedMs, load };
}

async function settled<T>(promise: Promise<T>): Promise<T | "pending"> {
  return Promise.race([promise, new Promise<"pending">((resolve) => setImmediate(() => resolve("pending")))]);
}

describe("the start of a room", () => {
  it("is one load where that succeeds, with no timer left", async () => {
    const { clock, shell } = setUp();
    const { triedMs, load } = loader(clock, 0);
    expect(await shell.start(load)).toBe(true);
    expect([triedMs, clock.pendingTimerCount]).toEqual([[0], 0]);
  });

  it("tries a load that fails again, each time after a pause of its backoff", async () => {
    const { clock, shell } = setUp();
    const { triedMs, load } = loader(clock, 3);
    const started = shell.start(load);
    await clock.advanceAsync(700);
    expect(await settled(started)).toBe(true);
    expect(triedMs).toHaveLength(4);
    for (const [index, ceilingMs] of [100, 200, 400].entries())
      expect((triedMs[index + 1] ?? 0) - (triedMs[index] ?? 0)).toBeLessThanOrEqual(ceilingMs);
  });

  it("rejects with what was wrong after the try at the end of its time, and can be called again", async () => {
    const { clock, shell } = setUp();
    const { triedMs, load } = loader(clock, 1_000);
    const failed = shell.start(load).catch((error: unknown) => error);
    await clock.advanceAsync(1_999);
    expect(await settled(failed)).toBe("pending");
    await clock.advanceAsync(1);
    expect(await failed).toMatchObject({
      code: "VENUE_UNAVAILABLE",
      context: { exchange: "venueone", problem: "HTTP 502" },
    });
    expect([triedMs.at(-1), clock.pendingTimerCount]).toEqual([2_000, 0]);
    expect(await shell.start(loader(clock, 0).load)).toBe(true);
  });

  it("waits for a load that hangs until that one's own bound, and counts its time", async () => {
    const { clock, shell } = setUp();
    let tries = 0;
    const failed = shell
      .start(async () => {
        tries++;
        await new Promise<void>((resolve) => void clock.setTimer(resolve, 5_000));
        return "TIMEOUT";
      })
      .catch((error: unknown) => error);
    await clock.advanceAsync(4_999);
    expect([await settled(failed), tries]).toEqual(["pending", 1]);
    await clock.advanceAsync(1);
    expect(await failed).toMatchObject({ context: { problem: "TIMEOUT" } });
    expect(tries).toBe(1);
  });

  it("ends at once and quietly when the room is stopped between two tries", async () => {
    const { clock, shell } = setUp();
    const { triedMs, load } = loader(clock, 1_000);
    const started = shell.start(load);
    await settled(started);
    await shell.stop([]);
    expect(await settled(started)).toBe(false);
    expect([triedMs.length, clock.pendingTimerCount]).toEqual([1, 0]);
    expect(await shell.start(load)).toBe(false);
    expect(triedMs).toHaveLength(1);
  });

  it("ends quietly when the room is stopped in the middle of a load, whatever that brings", async () => {
    for (const problem of [null, "CLOSED"]) {
      const { clock, shell } = setUp({ startTimeoutMs: 0 });
      const started = shell.start(async () => {
        await shell.stop([]);
        return problem;
      });
      expect(await settled(started)).toBe(false);
      expect(clock.pendingTimerCount).toBe(0);
    }
  });
});

describe("what a room repeats", () => {
  it("runs a period after the end of its last run, so that one which hangs until its bound delays only itself", async () => {
    const { clock, shell } = setUp();
    const runs = { slow: [] as number[], quick: [] as number[] };
    shell.every(1_000, async () => {
      runs.slow.push(clock.monoNs() / 1e6);
      await new Promise<void>((resolve) => void clock.setTimer(resolve, 2_500));
    });
    shell.every(1_000, async () => void runs.quick.push(clock.monoNs() / 1e6));
    await clock.advanceAsync(5_000);
    expect(runs).toEqual({ slow: [1_000, 4_500], quick: [1_000, 2_000, 3_000, 4_000, 5_000] });
  });

  it("ends with the room, also where it is stopped in the middle of a run", async () => {
    const { clock, shell } = setUp();
    let count = 0;
    shell.every(1_000, async () => {
      count++;
      await shell.stop([]);
    });
    shell.every(1_500, async () => void count++);
    shell.after(1_200, async () => void count++);
    await clock.advanceAsync(10_000);
    shell.after(0, async () => void count++);
    await clock.advanceAsync(10_000);
    expect([count, clock.pendingTimerCount, shell.isStopped]).toEqual([1, 0, true]);
  });
});

describe("the end of a room", () => {
  it("stops the parts in their order, then the pool, and waits for those that take time", async () => {
    const { events, shell } = setUp();
    let release: () => void = () => undefined;
    const slow = {
      stop: (graceMs: number) =>
        new Promise<void>((resolve) => {
          events.push(`slow within ${graceMs}`);
          release = resolve;
        }),
    };
    const stopped = shell.stop([{ stop: () => void events.push("quick") }, slow]);
    expect(events).toEqual(["quick", "slow within 2000", "http closed within 2000"]);
    expect(await settled(stopped)).toBe("pending");
    release();
    expect(await settled(stopped)).toBeUndefined();
  });
});

describe("the status of a room", () => {
  function withBooks(currentShare: number) {
    const parts = setUp({ currentShare });
    const book = (symbol: string): Market => {
      const market = createMarket(
        { ...LISTED_BTC.venuetwo, symbol },
        {
          deepTier: false,
          maxBookAgeMs: MAX_BOOK_AGE_MS,
          maxDeepAgeMs: 0,
        },
      );
      parts.markets.set(symbol, market);
      return market;
    };
    return { ...parts, book };
  }

  function quote(clock: VirtualClock, { book }: Market): void {
    book.beginSnapshot();
    book.applyBid(100, 1);
    book.applyAsk(101, 1);
    book.commit(1, clock.wallMs(), clock.monoNs());
  }

  it("has the room's counts beside those of pool and clock", () => {
    const { shell } = setUp();
    const { isOpen: _isOpen, ...counts } = COUNTS;
    expect(shell.status(COUNTS)).toEqual({
      venue: "venueone",
      state: "SYNCING",
      breaker: "closed",
      breakerOpenUntilMs: 0,
      clockOffsetMs: 13,
      laneTokens: TOKENS,
      ...counts,
    });
  });

  it("is DOWN without connections or after the end, and SYNCING while no book is LIVE", async () => {
    const { book, clock, shell } = withBooks(0);
    book("BTC");
    expect(shell.status(COUNTS).state).toBe("SYNCING");
    quote(clock, book("ETH"));
    expect(shell.status({ ...COUNTS, isOpen: false }).state).toBe("DOWN");
    expect(shell.status(COUNTS).state).toBe("LIVE");
    await shell.stop([]);
    expect(shell.status(COUNTS).state).toBe("DOWN");
  });

  it.each([
    ["half of its books", 0.5, ["LIVE", "LIVE", "STALE", "STALE"]],
    ["one of its books", 0, ["LIVE", "LIVE", "LIVE", "STALE"]],
  ])("is LIVE while %s is proven current", (_name, currentShare, expected) => {
    const { book, clock, shell } = withBooks(currentShare);
    const markets = ["A", "B", "C", "D"].map(book);
    const states: string[] = [];
    for (const currentCount of [4, 2, 1, 0]) {
      for (const market of markets) quote(clock, market);
      clock.advance(MAX_BOOK_AGE_MS + 1);
      for (const market of markets.slice(0, currentCount)) quote(clock, market);
      states.push(shell.status(COUNTS).state);
    }
    expect(states).toEqual(expected);
  });
});
