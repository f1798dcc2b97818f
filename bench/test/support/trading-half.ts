/**
 * Shared by the tests of one venue's trading: a pool on a given clock, commands on the grid, and a stream to wait on.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { type LogFields, type Logger, silentLogger } from "../../../engine/domain/logger.js";
import type { OrderCommand, PlaceOutcome } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { LatencyWindow } from "../../../engine/market/latency-window.js";
import type {
  AccountEvent,
  AccountSession,
  AccountStream,
  CallOptions,
  HistoryPage,
  HistoryQuery,
  OpenSession,
  Read,
  VenueRoom,
} from "../../../engine/ports.js";
import { HttpPool } from "../../../feeds/shared/net/http-pool.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";

/** For a virtual clock. */
export const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };
/** For a real clock: a pause of the machine does not count as a venue that does not answer. */
export const PATIENT: CallOptions = { timeoutMs: 20_000, lane: "exit" };

/** Returns everything that a trading half needs, on this clock. No wait of the pool fires unless the clock moves. */
export function halfDeps(
  baseUrl: string,
  clock: Clock,
  instruments: () => ReadonlyMap<string, Instrument>,
  logger = silentLogger,
) {
  const http = new HttpPool({
    name: "local",
    baseUrl,
    clock,
    random: createSeededRandom(3),
    logger,
    budget: 1_000_000,
    budgetWindowMs: 60_000,
    accountLimits: [],
  });
  return {
    http,
    instruments,
    clock,
    random: createSeededRandom(4),
    logger,
    nonces: createMemoryReservations(),
    clockOffsetMs: () => 0,
    leastOffsetMs: () => 0,
    ackLatency: new LatencyWindow(500),
    isMainnet: true,
  };
}

/** Writes every line into the list. */
export function loggerInto(lines: string[]): Logger {
  const log = (event: string, fields?: LogFields): void => {
    lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  return { debug: log, info: log, warn: log, error: log };
}

type Opener = Pick<VenueRoom, "openSession">;

export function open(half: Opener, raw: unknown, payer: string | null = null): AccountSession {
  return opened(half.openSession(raw, payer));
}

export function opened(result: OpenSession): AccountSession {
  if (!result.ok) throw new Error(result.problem);
  return result.session;
}

export function unwrapRead<T>(read: Read<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

/** Returns a price in whole units of the quote, in ticks: on every venue's grid. */
export function wholeTicks(instrument: Instrument, price: number): number {
  return Math.round(price) * 10 ** instrument.priceDecimals;
}

/** Places orders until the venue or the room refuses one. Throws when more than `countMax` are accepted. */
export async function placeUntilRefused(
  place: () => Promise<PlaceOutcome>,
  countMax: number,
): Promise<{ readonly takenCount: number; readonly refused: PlaceOutcome }> {
  for (let takenCount = 0; takenCount <= countMax; takenCount++) {
    const refused = await place();
    if (refused.outcome !== "accepted") return { takenCount, refused };
  }
  throw new Error("nothing was refused");
}

/** Lets sockets of this process work until `holds`; no time passes on a virtual clock. */
export async function untilHolds(what: string, holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000_000; turn++) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never: ${what}`);
}

let clientIdCount = 0;

export function nextClientId(): string {
  return (++clientIdCount).toString(16).padStart(32, "0");
}

/** Returns an IOC buy of one lot with these changes. */
export function commandOf(instrument: Instrument, changes: Partial<OrderCommand>): OrderCommand {
  return {
    instrument,
    side: "BUY",
    type: "MARKET",
    timeInForce: "IOC",
    priceTicks: 1,
    qtyLots: 1,
    reduceOnly: false,
    positionSide: "BOTH",
    clientIdHex: nextClientId(),
    ...changes,
  };
}

/** Follows cursors to the end and returns all rows; `limit` bounds every page. */
export async function allRows<T>(
  read: (query: HistoryQuery) => Promise<Read<HistoryPage<T>>>,
  query: Partial<HistoryQuery>,
): Promise<readonly T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < 1_000; pages++) {
    const page: HistoryPage<T> = unwrapRead(
      await read({ instrument: null, sinceMs: null, untilMs: null, limit: 100, ...query, cursor }),
    );
    rows.push(...page.rows);
    cursor = page.nextCursor;
    if (cursor === null) return rows;
  }
  throw new Error("the pages do not end");
}

export interface Watching {
  readonly stream: AccountStream;
  readonly events: readonly AccountEvent[];
  /** Resolves with the first event that fits, past or future. */
  until(what: string, fits: (event: AccountEvent) => boolean): Promise<AccountEvent>;
}

const EVENT_DEADLINE_MS = 60_000;

export async function watch(room: VenueRoom, session: AccountSession): Promise<Watching> {
  const events: AccountEvent[] = [];
  const waiting = new Set<() => void>();
  const result = room.streams?.openAccountStream(session, (event) => {
    events.push(event);
    for (const check of [...waiting]) check();
  });
  if (result === undefined || !result.ok) throw new Error(result?.problem ?? "the room streams nothing");
  const watching: Watching = {
    stream: result.stream,
    events,
    until: (what, fits) =>
      new Promise((resolve, reject) => {
        const deadline = setTimeout(() => reject(new Error(`no ${what} in time`)), EVENT_DEADLINE_MS);
        const check = (): void => {
          const found = events.find(fits);
          if (found === undefined) return;
          clearTimeout(deadline);
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        check();
      }),
  };
  await watching.until("LIVE stream", (event) => event.kind === "state" && event.state === "LIVE");
  return watching;
}
