/**
 * Trades that an earlier run of this program may have recorded. Venues send the last trades again on each subscription,
 * and a candle counts each insert: so such a trade is inserted only once the store has confirmed that it does not have
 * it. Trades of this run are known by their ids (SeenTrades) and pass directly.
 *
 * A trade is held when its venue time is before this start (plus SKEW_MS, for clocks that differ), or when it came with
 * the first frame of its market, whatever its time. The store is queried when it is on and has received everything that
 * earlier runs left in the spool; QUERY_ROWS trades per query, one query at a time.
 *
 * A trade older than the store's retention may be counted in a candle alone, which outlives it: it is dropped and
 * counted.
 *
 * Bound: the ring. Beyond it, and at the end while the store cannot be queried, held trades are dropped and counted: a
 * lost trade shows in the counts, a trade counted twice shows nowhere.
 */
import type { Clock } from "../domain/clock.js";
import type { QueryBounds, RecordsStore } from "../storage/records/records-store.js";
import { recordTable } from "../storage/records/schema.js";
import type { MarketRowHead, TradeSieve } from "./market-rows.js";
import { TradeRing } from "./trade-ring.js";

/** More than the clock difference at which a venue still accepts signed requests. */
const SKEW_MS = 10_000;
const QUERY_ROWS = 100;
/** The ids are part of a URL, of which servers accept 16 KiB and more. */
const QUERY_ID_CHARS = 4_000;
const RETRY_MS = 1_000;
/** A venue may repeat one trade under one id: each is stored once, possibly with an unmerged row beside it. */
const BOUNDS: QueryBounds = { timeoutMs: 10_000, rowsMax: 10_000, bytesMax: 1 << 20 };

const TTL = recordTable("trades").ttl;
const KEPT_MS = TTL === null ? null : TTL.days * 86_400_000;

const KNOWN_SQL =
  "SELECT DISTINCT venue, symbol, trade_id FROM trades WHERE symbol IN {symbols:Array(String)}" +
  " AND venue IN {venues:Array(String)} AND ex >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')" +
  " AND ex <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND trade_id IN {ids:Array(String)}";

export interface EarlierTradesOptions {
  readonly store: RecordsStore;
  readonly clock: Clock;
  readonly rowsMax: number;
  readonly heads: readonly MarketRowHead[];
  /** Takes the next `count` trades of the ring: those that the sieve does not take are recorded. */
  readonly release: (ring: TradeRing, sieve: TradeSieve, count: number) => void;
}

export class EarlierTrades implements TradeSieve {
  readonly ring: TradeRing;
  readonly #options: EarlierTradesOptions;
  readonly #untilMs: number;
  #querying: Promise<boolean> | null = null;
  #notBeforeNs = 0;
  /** Held trades that the store has. */
  knownCount = 0;
  /** Held trades from a time that the store no longer retains. */
  forgottenCount = 0;

  constructor(options: EarlierTradesOptions) {
    this.#options = options;
    this.ring = new TradeRing(options.rowsMax);
    this.#untilMs = options.clock.wallMs() + SKEW_MS;
  }

  /** Returns true for a trade that may have been recorded before; it is then held. */
  takes(from: TradeRing, at: number): boolean {
    const head = this.#options.heads[from.market[at] as number] as MarketRowHead;
    const rxNs = from.rxNs[at] as number;
    if (head.firstTradeNs < 0) head.firstTradeNs = rxNs;
    if ((from.exMs[at] as number) >= this.#untilMs && rxNs !== head.firstTradeNs) return false;
    this.ring.copy(from, at);
    return true;
  }

  /**
   * Queries the store for the held trades, at intervals; returns false when nothing was decided. The caller knows that
   * the spool has no trades left.
   */
  query(): Promise<boolean> {
    const { clock } = this.#options;
    if (this.ring.size === 0 || clock.monoNs() < this.#notBeforeNs) return Promise.resolve(false);
    this.#querying ??= this.#query().finally(() => {
      this.#querying = null;
    });
    return this.#querying;
  }

  async #query(): Promise<boolean> {
    const { store, clock, release } = this.#options;
    const question = this.#question();
    const queriedAtMs = clock.wallMs();
    const answer = await store.query(KNOWN_SQL, question.params, BOUNDS);
    if (!answer.ok) {
      this.#notBeforeNs = clock.monoNs() + RETRY_MS * 1e6;
      return false;
    }
    const known = new Set(answer.rows.map((row) => nameOf(row["venue"], row["symbol"], row["trade_id"])));
    const sieve: TradeSieve = {
      takes: (ring, at) => {
        if (known.has(this.#nameAt(ring, at))) this.knownCount += 1;
        else if (isForgotten(ring.exMs[at] as number, queriedAtMs)) this.forgottenCount += 1;
        else return false;
        return true;
      },
    };
    // The oldest may have been dropped meanwhile; trades that were not queried are kept.
    release(this.ring, sieve, Math.max(0, question.until - this.ring.tail));
    return true;
  }

  #question(): { readonly params: Readonly<Record<string, number | string[]>>; readonly until: number } {
    const { ring } = this;
    const symbols = new Set<string>();
    const venues = new Set<string>();
    const ids: string[] = [];
    let from = Number.MAX_SAFE_INTEGER;
    let to = 0;
    let chars = 0;
    let until = ring.tail;
    for (; until < ring.head && ids.length < QUERY_ROWS && chars < QUERY_ID_CHARS; until++) {
      const at = until & ring.mask;
      const { venue, symbol } = this.#options.heads[ring.market[at] as number] as MarketRowHead;
      const exMs = ring.exMs[at] as number;
      const id = idAt(ring, at);
      symbols.add(symbol);
      venues.add(venue);
      ids.push(id);
      chars += id.length;
      from = Math.min(from, exMs);
      to = Math.max(to, exMs);
    }
    // A row without a plausible time has its receive time, from whichever run that was.
    const isPlausible = from > 0 && to <= this.#options.clock.wallMs() + SKEW_MS;
    return {
      params: {
        ...{ symbols: [...symbols], venues: [...venues], ids },
        from: isPlausible ? from : 0,
        to: isPlausible ? to : LAST_MS,
      },
      until,
    };
  }

  #nameAt(ring: TradeRing, at: number): string {
    const { venue, symbol } = this.#options.heads[ring.market[at] as number] as MarketRowHead;
    return nameOf(venue, symbol, idAt(ring, at));
  }
}

/** In the year 2100: no stored row is later. */
const LAST_MS = 4_102_444_800_000;

/** The server deletes rows at its own pace, by its own clock. */
function isForgotten(exMs: number, nowMs: number): boolean {
  return exMs > 0 && KEPT_MS !== null && exMs < nowMs + SKEW_MS - KEPT_MS;
}

function idAt(ring: TradeRing, at: number): string {
  const idNumber = ring.idNumber[at] as number;
  return idNumber >= 0 ? String(idNumber) : (ring.idText[at] as string);
}

function nameOf(venue: unknown, symbol: unknown, tradeId: unknown): string {
  return `${String(venue)}|${String(symbol)}|${String(tradeId)}`;
}
