/**
 * What an account did on venueone: fills and funding payments by spans of time (the venue answers oldest first and cuts
 * at a number of rows), orders from its list of the latest 2000. Everything is of the account behind the key, as in
 * account/reader.ts. The venue shows the latest 10 000 fills only.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type { FundingPayment } from "../../../engine/domain/position.js";
import type {
  AccountHistory,
  AccountSession,
  CallOptions,
  HistoryPage,
  HistoryQuery,
  Read,
} from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import {
  cursorAfter,
  type HistoryRow,
  type HistorySpan,
  pageOf,
  walkHistory,
} from "../../shared/account/history-walk.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import {
  filledLotsOfRow,
  type FilledSummary,
  normalizeFill,
  normalizeFunding,
  normalizeOrder,
  NOTHING_FILLED,
  isEndWord,
  statusOfWord,
  summarizeFills,
} from "./normalize.js";
import type { AccountResolver } from "./resolver.js";
import { FILL_PAGE_ROWS, FILL_TIME_SLACK_MS, type OrderFills } from "./order-fills.js";
import type { VenueoneRest } from "./rest.js";
import { callOf, VenueoneSession } from "./session.js";
import type { VenueoneWireFill, VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";

/** The venue's first day. */
const OLDEST_MS = Date.UTC(2023, 0, 1);
const DAY_MS = 86_400_000;
const FIRST_SPAN_MS = DAY_MS;
const MAX_SPAN_MS = 4_096 * DAY_MS;
/** One page: an account without history takes seven reads to the venue's first day. */
const MAX_READS = 12;
const FUNDING_ROWS = 500;
/** Of `historicalOrders`: the latest ones. */
const ORDER_ROWS = 2_000;
/** Reads of the fills behind one page of orders. */
const MAX_FILL_READS = 4;
/** More than a page of orders can have fills; what is not covered shortens the page. */
const MAX_PAGE_FILLS = 8_000;

export interface VenueoneHistoryDeps {
  readonly rest: VenueoneRest;
  readonly accounts: AccountResolver;
  readonly instruments: InstrumentIndex;
  readonly fills: OrderFills;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
}

interface Opened {
  readonly account: string;
  readonly deadline: Deadline;
}

/** An order of the list with what it is an order of. */
interface ListedOrder {
  readonly update: VenueoneWireOrderUpdate;
  readonly instrument: Instrument;
}

export class VenueoneHistory implements AccountHistory {
  readonly #deps: VenueoneHistoryDeps;

  constructor(deps: VenueoneHistoryDeps) {
    this.#deps = deps;
  }

  async readFills(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueFill>>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const { account, deadline } = opened.value;
    const read = await this.#walk("fills", query, (fromMs, untilMs) =>
      this.#fillSpan(account, deadline, fromMs, untilMs, (wire) => {
        const listed = this.#wanted(query, wire.coin);
        return listed === null ? null : normalizeFill(wire, listed);
      }),
    );
    return pageOf(read);
  }

  async readFunding(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<FundingPayment>>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const { account, deadline } = opened.value;
    const read = await this.#walk("funding", query, async (fromMs, untilMs) => {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the funding payments");
      const answer = await this.#deps.rest.userFunding(account, fromMs, untilMs, left);
      if (!answer.ok) return answer;
      const rows = answer.value.flatMap((wire): HistoryRow<FundingPayment>[] => {
        const listed = this.#wanted(query, wire.coin);
        return listed === null ? [] : [{ tsMs: wire.time, id: wire.coin, value: normalizeFunding(wire, listed) }];
      });
      return { ...answer, value: { rows, isWhole: answer.value.length < FUNDING_ROWS } };
    });
    return pageOf(read);
  }

  /** In the order in which they were placed: the only time of an order that never changes. */
  async readOrders(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueOrder>>> {
    const opened = await this.#open(session, options);
    if (!opened.ok) return opened;
    const { account, deadline } = opened.value;
    const listed = await this.#listedOrders(account, query, deadline);
    if (!listed.ok) return listed;
    const read = await walkHistory<ListedOrder>({
      kind: "orders",
      query,
      nowVenueMs: this.#nowVenueMs(),
      oldestMs: 0,
      // The whole list is at hand: one step.
      firstSpanMs: Number.MAX_SAFE_INTEGER,
      maxSpanMs: Number.MAX_SAFE_INTEGER,
      maxReads: 1,
      readSpan: async (fromMs, untilMs) => ({
        ...listed,
        value: { rows: listed.value.rows.filter((row) => row.tsMs >= fromMs && row.tsMs <= untilMs), isWhole: true },
      }),
    });
    const page = read.ok ? await this.#withFills(account, read, deadline) : read;
    return page.ok && listed.value.isFull ? { ...page, value: { ...page.value, isCut: true } } : page;
  }

  async #open(session: AccountSession, options: CallOptions): Promise<Read<Opened>> {
    if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
    const deadline = new Deadline(this.#deps.clock, callOf(session, options), session.payer);
    const account = await this.#deps.accounts.resolve(session, options);
    return account.ok ? { ...account, value: { account: account.value, deadline } } : account;
  }

  #nowVenueMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }

  /** The instrument of a row that was asked for; null for others, and for coins that are not listed here. */
  #wanted(query: HistoryQuery, coin: string): Instrument | null {
    if (query.instrument !== null) return query.instrument.nativeSymbol === coin ? query.instrument : null;
    return this.#deps.instruments.byNativeSymbol(coin);
  }

  async #walk<T>(
    kind: string,
    query: Pick<HistoryQuery, "sinceMs" | "untilMs" | "limit" | "cursor">,
    readSpan: (fromMs: number, untilMs: number) => Promise<Read<HistorySpan<T>>>,
  ): Promise<Read<HistoryPage<HistoryRow<T>>>> {
    return walkHistory<T>({
      kind,
      query,
      nowVenueMs: this.#nowVenueMs(),
      oldestMs: OLDEST_MS,
      firstSpanMs: FIRST_SPAN_MS,
      maxSpanMs: MAX_SPAN_MS,
      maxReads: MAX_READS,
      readSpan,
    });
  }

  async #fillSpan<T>(
    account: string,
    deadline: Deadline,
    fromMs: number,
    untilMs: number,
    pick: (wire: VenueoneWireFill) => T | null,
  ): Promise<Read<HistorySpan<T>>> {
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the fills");
    const answer = await this.#deps.rest.userFillsByTime(account, fromMs, untilMs, left);
    if (!answer.ok) return answer;
    const decoded = decodeWith(null, () =>
      answer.value.flatMap((wire): HistoryRow<T>[] => {
        const value = pick(wire);
        return value === null ? [] : [{ tsMs: wire.time, id: `${wire.coin}:${wire.tid}`, value }];
      }),
    );
    return decoded.ok
      ? { ...answer, value: { rows: decoded.value, isWhole: answer.value.length < FILL_PAGE_ROWS } }
      : failedRead("BAD_RESPONSE", `userFillsByTime: ${decoded.problem}`);
  }

  /** The latest orders and the open ones, which may be older than those; each once, in its last state. */
  async #listedOrders(
    account: string,
    query: HistoryQuery,
    deadline: Deadline,
  ): Promise<Read<{ readonly rows: readonly HistoryRow<ListedOrder>[]; readonly isFull: boolean }>> {
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the orders");
    const [open, latest] = await Promise.all([
      this.#deps.rest.frontendOpenOrders(account, left),
      this.#deps.rest.historicalOrders(account, left),
    ]);
    if (!open.ok) return open;
    if (!latest.ok) return latest;
    const byOid = new Map<number, VenueoneWireOrderUpdate>();
    for (const order of open.value) byOid.set(order.oid, openUpdate(order));
    for (const update of latest.value) {
      const known = byOid.get(update.order.oid);
      if (known === undefined || isLater(update, known)) byOid.set(update.order.oid, update);
    }
    const rows: HistoryRow<ListedOrder>[] = [];
    for (const update of byOid.values()) {
      const instrument = this.#wanted(query, update.order.coin);
      if (instrument === null) continue;
      rows.push({ tsMs: update.order.timestamp, id: String(update.order.oid), value: { update, instrument } });
    }
    return { ...latest, value: { rows, isFull: latest.value.length >= ORDER_ROWS } };
  }

  /** Adds what filled. The page ends before the first order whose fills would take too many reads. */
  async #withFills(
    account: string,
    read: Extract<Read<HistoryPage<HistoryRow<ListedOrder>>>, { ok: true }>,
    deadline: Deadline,
  ): Promise<Read<HistoryPage<VenueOrder>>> {
    const { rows } = read.value;
    let { nextCursor } = read.value;
    const fills = await this.#fillsBehind(account, rows, deadline);
    if (!fills.ok) return fills;
    const orders: VenueOrder[] = [];
    let lastGiven: HistoryRow<ListedOrder> | null = null;
    for (const row of rows) {
      const { instrument, update } = row.value;
      let filled = decodeWith(update, () => filledOf(row.value, fills.value));
      if (filled.ok && filled.value === null) {
        if (lastGiven !== null) {
          nextCursor = cursorAfter("orders", lastGiven, Number.MAX_SAFE_INTEGER);
          break;
        }
        const alone = await this.#deps.fills.read(account, update, instrument, deadline);
        if (!alone.ok) return alone;
        filled = { ok: true, value: alone.value };
      }
      const summary = filled.ok ? (filled.value ?? NOTHING_FILLED) : null;
      const order = decodeWith(update.order, () =>
        normalizeOrder(update.order, update.status, update.statusTimestamp, instrument, summary ?? NOTHING_FILLED),
      );
      if (!filled.ok) return failedRead("BAD_RESPONSE", `historicalOrders: ${filled.problem}`);
      if (!order.ok) return failedRead("BAD_RESPONSE", `historicalOrders: ${order.problem}`);
      orders.push(order.value);
      lastGiven = row;
    }
    return { ...read, value: { rows: orders, nextCursor } };
  }

  /** All fills of the time in which these orders can have filled, newest first, as far back as the reads go. */
  async #fillsBehind(
    account: string,
    rows: readonly HistoryRow<ListedOrder>[],
    deadline: Deadline,
  ): Promise<Read<CoveredFills>> {
    const asked = rows.filter(({ value }) => mayHaveFilled(value.update));
    if (asked.length === 0)
      return { ok: true, value: { fills: [], fromMs: 0 }, asOfMs: this.#deps.clock.wallMs(), source: "venue" };
    const sinceMs = Math.min(...asked.map(({ tsMs }) => tsMs)) - FILL_TIME_SLACK_MS;
    const untilMs = Math.max(...asked.map(({ value }) => this.#deps.fills.endMs(value.update)));
    const read = await walkHistory<VenueoneWireFill>({
      kind: "inner",
      query: { sinceMs, untilMs, limit: MAX_PAGE_FILLS, cursor: null },
      nowVenueMs: this.#nowVenueMs(),
      oldestMs: 0,
      firstSpanMs: untilMs - sinceMs + 1,
      maxSpanMs: untilMs - sinceMs + 1,
      maxReads: MAX_FILL_READS,
      readSpan: (fromMs, toMs) => this.#fillSpan(account, deadline, fromMs, toMs, (wire) => wire),
    });
    if (!read.ok) return read;
    const fills = read.value.rows.map((row) => row.value);
    const oldest = fills.at(-1);
    // Without more to come all is covered, else what is newer than the last row.
    const fromMs =
      read.value.nextCursor === null ? 0 : oldest === undefined ? Number.MAX_SAFE_INTEGER : oldest.time + 1;
    return { ...read, value: { fills, fromMs } };
  }
}

interface CoveredFills {
  readonly fills: readonly VenueoneWireFill[];
  /** Every fill from this venue time on is among them. */
  readonly fromMs: number;
}

function mayHaveFilled({ order, status }: VenueoneWireOrderUpdate): boolean {
  return order.sz !== order.origSz || statusOfWord(status) === "FILLED";
}

/** Null when neither the row nor the fills at hand tell. */
function filledOf({ instrument, update }: ListedOrder, covered: CoveredFills): FilledSummary | null {
  const rowLots = filledLotsOfRow(update.order, instrument);
  if (rowLots === 0 && !mayHaveFilled(update)) return NOTHING_FILLED;
  const isCovered = update.order.timestamp - FILL_TIME_SLACK_MS >= covered.fromMs;
  if (!isCovered) return rowLots === null || rowLots === 0 ? null : { ...NOTHING_FILLED, filledLots: rowLots };
  const summed = summarizeFills(covered.fills, update.order.oid, instrument);
  // What the row says is certain; fills that do not add up to it (not indexed yet, or no longer shown) give no average.
  if (rowLots !== null && rowLots > 0 && summed.filledLots !== rowLots)
    return { ...NOTHING_FILLED, filledLots: rowLots };
  return summed;
}

function openUpdate(order: VenueoneWireOrder): VenueoneWireOrderUpdate {
  return { order, status: "open", statusTimestamp: order.timestamp };
}

/** An ended state outlasts an open one of any time. */
function isLater(update: VenueoneWireOrderUpdate, known: VenueoneWireOrderUpdate): boolean {
  const isEnded = isEndWord(update.status);
  const wasEnded = isEndWord(known.status);
  return isEnded === wasEnded ? update.statusTimestamp > known.statusTimestamp : isEnded;
}
