/**
 * Tells quiet markets from dead streams: compares the venue's best bid and offer over REST with ours.
 * Probes asked for at the same time share one call; the call without a symbol answers for all markets
 * at the price of two, so a thousand quiet books cost no more than one, and what it proves is proven for all of them:
 * the others that are quiet need not ask.
 *
 * Invariant: a book is proven current only by an answer that equals its touch, and as of the moment
 * the question was sent. A difference alone convicts nobody, as the diff may be on its way: it must
 * still there when the diff is overdue.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { delay } from "../../../engine/domain/clock.js";
import { parseScaled } from "../../../engine/domain/decimal.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { VenueHttp } from "../../shared/net/http.js";
import type { ProbeResult } from "../../shared/net/subscriptions.js";
import { decodeBookTickers, type RestTouch } from "./decode-slow.js";
import { READ_TIMEOUT_MS } from "../rules/limits.js";
import type { MarketSlot } from "./entry.js";

/** ticker/bookTicker: 1 with a symbol, 2 without (sheet). */
const ONE_WEIGHT = 1;
const ALL_WEIGHT = 2;
/** More markets than these ask for all at once, always: singly they would ask one after the other without end. */
const ASKED_SINGLY_MAX = 4;
/** A diff is published every 100 ms; by this time after the answer it has come, if it comes at all. */
const OVERDUE_MS = 700;

type Answer =
  | { readonly kind: "touches"; readonly touches: ReadonlyMap<string, RestTouch>; readonly sentNs: number }
  /** Our own budget or breaker: says nothing about the stream. */
  | { readonly kind: "notAsked" }
  | { readonly kind: "failed" };

export class QuietProbe {
  readonly #http: VenueHttp;
  readonly #clock: Clock;
  readonly #slots: readonly (MarketSlot | undefined)[];
  #inFlight: Promise<Answer> | null = null;
  #waiting = new Set<string>();
  #next: Promise<Answer> | null = null;

  /** `slots`: the markets of the room, as they come and go. */
  constructor(http: VenueHttp, clock: Clock, slots: readonly (MarketSlot | undefined)[]) {
    this.#http = http;
    this.#clock = clock;
    this.#slots = slots;
  }

  /** `unknown` where the venue did not answer; `quiet`, without a proof, where we could not ask. */
  async probe(market: Market): Promise<ProbeResult> {
    const { book, instrument } = market;
    if (book.state !== BOOK_LIVE) return "quiet";
    const answer = await this.#ask(instrument.nativeSymbol);
    if (answer.kind === "notAsked") return "quiet";
    if (answer.kind === "failed") return "unknown";
    const touch = answer.touches.get(instrument.nativeSymbol);
    if (touch === undefined) return "unknown";
    if (isSameTouch(market, touch)) {
      book.prove(answer.sentNs);
      return "quiet";
    }
    await delay(this.#clock, OVERDUE_MS);
    // A diff since the question: the stream is alive, whatever the two numbers were.
    if (book.state !== BOOK_LIVE || book.tsRecvNs > answer.sentNs) return "quiet";
    return isSameTouch(market, touch) ? "quiet" : "dead";
  }

  /** Joins the next call; at most one runs and one waits. */
  #ask(symbol: string): Promise<Answer> {
    this.#waiting.add(symbol);
    this.#next ??= this.#run(this.#inFlight);
    return this.#next;
  }

  async #run(before: Promise<Answer> | null): Promise<Answer> {
    // One turn, so that probes of the same tick are one call.
    await before;
    await Promise.resolve();
    const symbols = this.#waiting;
    this.#waiting = new Set();
    this.#inFlight = this.#next;
    this.#next = null;
    const [only] = symbols;
    if (symbols.size === 1 && only !== undefined && this.#slots.length <= ASKED_SINGLY_MAX) return this.#fetch(only);
    const answer = await this.#fetch(null);
    if (answer.kind === "touches") this.#proveOthers(answer.touches, answer.sentNs);
    return answer;
  }

  /** Books that got no frame since before the question, and that its answer equals. */
  #proveOthers(touches: ReadonlyMap<string, RestTouch>, sentNs: number): void {
    const nowNs = this.#clock.monoNs();
    for (const slot of this.#slots) {
      if (slot === undefined) continue;
      const { market, depth } = slot;
      const { book, instrument } = market;
      if (book.state !== BOOK_LIVE || book.tsProvenNs >= sentNs) continue;
      const touch = touches.get(instrument.nativeSymbol);
      if (touch === undefined || !isSameTouch(market, touch)) continue;
      book.prove(sentNs);
      if (depth !== null && !depth.isProbing && depth.aliveNs >= 0) depth.probed("quiet", nowNs);
    }
  }

  async #fetch(symbol: string | null): Promise<Answer> {
    const sentNs = this.#clock.monoNs();
    const query = symbol === null ? "" : `?symbol=${encodeURIComponent(symbol)}`;
    const result = await this.#http.request({
      method: "GET",
      path: `/fapi/v1/ticker/bookTicker${query}`,
      headers: {},
      body: null,
      lane: "reconcile",
      weight: symbol === null ? ALL_WEIGHT : ONE_WEIGHT,
      timeoutMs: READ_TIMEOUT_MS,
      account: null,
      accountWeight: 0,
    });
    if (result.kind === "notSent") return { kind: "notAsked" };
    if (result.kind === "noResponse") return { kind: "failed" };
    // A limit reply is about our budget, not about the stream.
    if (result.status === 429 || result.status === 418) return { kind: "notAsked" };
    const rows = result.status === 200 ? decodeBookTickers(result.body) : null;
    if (rows === null) return { kind: "failed" };
    return { kind: "touches", touches: new Map(rows.map((row) => [row.symbol, row])), sentNs };
  }
}

function isSameTouch(market: Market, touch: RestTouch): boolean {
  const { book, instrument } = market;
  const { priceDecimals, qtyDecimals } = instrument;
  const bidLots = parseScaled(touch.bidQty, qtyDecimals);
  const askLots = parseScaled(touch.askQty, qtyDecimals);
  return (
    isSameSide(book.bidCount, book.bidTicks(0), book.bidLots(0), parseScaled(touch.bidPrice, priceDecimals), bidLots) &&
    isSameSide(book.askCount, book.askTicks(0), book.askLots(0), parseScaled(touch.askPrice, priceDecimals), askLots)
  );
}

function isSameSide(count: number, ticks: number, lots: number, touchTicks: number, touchLots: number): boolean {
  return count === 0 ? touchLots === 0 : ticks === touchTicks && lots === touchLots;
}
