/**
 * A room with every market of a venue: the time until each book is LIVE, from its start and from the loss of every
 * connection. A local venue lists 250 and 580 contracts under the venue's own limits (weight, connections, messages),
 * half of them quiet. Somebody reads a few of the markets, quiet ones too. After that, how old the books of quiet ones
 * become.
 */
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import { NO_MARKET_LISTENER, type Market } from "../../engine/market/market.js";
import { type Connection, type Connector, connectWs } from "../../feeds/shared/net/connector.js";
import { startChild } from "../lib/child.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";
import { MANY_MARKETS } from "../venues/table.js";

interface Size {
  readonly count: number;
  readonly goalS: number;
}

const SIZES: readonly Size[] = [
  { count: 250, goalS: 60 },
  { count: 580, goalS: 120 },
];
const SMOKE_SIZES: readonly Size[] = [{ count: 30, goalS: 60 }];
const NEEDED_GOAL_S = 5;
/** Twice the goal of the larger size, so that a missed goal is still measured. */
const GIVE_UP_MS = 240_000;
const LOOK_EVERY_MS = 20;
const QUIET_WATCH_MS = 15_000;
const MAX_AGE_MS = 2_000;
/** Markets that somebody reads from the start: the first is quiet, the second moves, and so on. */
const NEEDED = ["C10", "C11", "C20", "C21"];

export const manyMarkets: Scenario = {
  name: "many-markets",
  title: "Many markets: time until every book of a room is LIVE",
  async run(context) {
    const rows: BenchRow[] = [];
    for (const size of context.smoke ? SMOKE_SIZES : SIZES) rows.push(...(await measure(size, context)));
    return { rows, profile: [] };
  },
};

async function measure({ count, goalS }: Size, context: ScenarioContext): Promise<BenchRow[]> {
  const venue = await startChild(MANY_MARKETS.child, {}, [String(count)], 60_000);
  const { restUrl, wsUrl } = JSON.parse(venue.firstLine) as { restUrl: string; wsUrl: string };
  const connections = new OpenConnections();
  const clock = createSystemClock();
  const room = MANY_MARKETS.createRoom({
    restUrl,
    wsUrl,
    connector: connections.connect,
    clock,
    random: createSeededRandom(count),
    logger: silentLogger,
    nonces: { reserve: () => Promise.reject(new Error("not used")) },
  });
  try {
    const startMs = performance.now();
    await room.start();
    for (const symbol of NEEDED) room.markets.get(symbol)?.signal.listen(NO_MARKET_LISTENER);
    const markets = [...room.markets.values()].filter(({ instrument }) => instrument.status === "TRADING");
    const fromStart = await untilLive(markets, startMs);
    const oldestMs = await oldestAgeMs(markets, () => clock.monoNs());
    const wholeCount = markets.filter(({ book }) => book.bidCount > 20).length;
    const cutMs = performance.now();
    await connections.cut();
    const fromLoss = await untilLive(markets, cutMs);
    const connectionCount = room.status().socketCount;
    const age = `${QUIET_WATCH_MS / 1000} s, half of them quiet, ${wholeCount} whole by then`;
    const rows = [
      ...timeRows(`${count} markets`, "from the start", fromStart, goalS, connectionCount),
      ...timeRows(`${count} markets`, "from the loss of every connection", fromLoss, goalS, connectionCount),
      row(`${count} markets LIVE, the oldest proof seen`, "ms", oldestMs, MAX_AGE_MS, age),
    ];
    for (const { what, unit, ours } of rows) context.log(`${what}: ${ours.toFixed(2)} ${unit}`);
    return rows;
  } finally {
    await room.stop();
    await venue.stop();
  }
}

/** The room's connections, so that all of them can be lost at once. */
class OpenConnections {
  readonly #open = new Set<Connection>();

  readonly connect: Connector = (url, handlers, options) => {
    const onClose: typeof handlers.onClose = (code, reason) => {
      this.#open.delete(connection);
      handlers.onClose(code, reason);
    };
    const connection = connectWs(url, { ...handlers, onClose }, options);
    this.#open.add(connection);
    return connection;
  };

  /** Resolves once each connection that was open has reported its end, which it does in a later turn. */
  async cut(): Promise<void> {
    const lost = [...this.#open];
    for (const connection of lost) connection.terminate();
    while (lost.some((connection) => this.#open.has(connection))) await pause(0);
  }
}

interface Times {
  readonly neededS: number;
  readonly allS: number;
}

/** Waits for the first moments at which all read markets, and all markets, are LIVE at once. */
async function untilLive(markets: readonly Market[], sinceMs: number): Promise<Times> {
  let neededS = Number.NaN;
  for (;;) {
    const elapsedMs = performance.now() - sinceMs;
    const missing = markets.filter(({ book }) => book.state !== BOOK_LIVE);
    if (Number.isNaN(neededS) && !missing.some(({ instrument }) => NEEDED.includes(instrument.symbol))) {
      neededS = elapsedMs / 1000;
    }
    if (missing.length === 0) return { neededS, allS: elapsedMs / 1000 };
    if (elapsedMs > GIVE_UP_MS) throw new Error(`${missing.length} of ${markets.length} books are not LIVE`);
    await pause(LOOK_EVERY_MS);
  }
}

async function oldestAgeMs(markets: readonly Market[], nowNs: () => number): Promise<number> {
  let oldestMs = 0;
  for (const startMs = performance.now(); performance.now() - startMs < QUIET_WATCH_MS; await pause(LOOK_EVERY_MS)) {
    for (const { book } of markets) {
      if (book.state === BOOK_LIVE) oldestMs = Math.max(oldestMs, ageMs(book.tsProvenNs, nowNs()));
    }
  }
  return oldestMs;
}

function timeRows(
  markets: string,
  since: string,
  { neededS, allS }: Times,
  goalS: number,
  connectionCount: number,
): readonly BenchRow[] {
  return [
    row(`${markets} LIVE ${since}`, "s", allS, goalS, `${connectionCount} connections`),
    row(`${markets}, those that are read, ${since}`, "s", neededS, NEEDED_GOAL_S, NEEDED.join(" ")),
  ];
}

function row(what: string, unit: string, ours: number, goal: number, detail: string): BenchRow {
  const verdictOf = { kind: "atMost", value: goal } as const;
  return { what, unit, ours, peerName: "", peer: null, ratio: ours, goal: verdictOf, runCount: 1, detail };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
