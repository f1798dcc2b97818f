/**
 * One order by its id or its transaction. What the index does not have is looked for on the chain itself: the receipt says
 * what a transaction did, and the events above the cursor what became of it. Unknown is not pending: where an outcome may lie
 * in blocks that nobody shows, the look is a failure.
 */
import type { ChainRead, ClientSignedOrderFound } from "../../../engine/client-signed-room.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import { Deadline } from "../../shared/net/deadline.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import {
  type ChainAnswer,
  type ChainTransaction,
  type FailedAnswer,
  failedAnswer,
  type HistoryChain,
  type HistoryEndpoint,
} from "./chain-port.js";
import type { ChainTail, Tail } from "./chain-tail.js";
import type { IndexCursor } from "./cursor.js";
import type { LogDecoder } from "./decode-logs.js";
import type { EventBook } from "./event-book.js";
import type { EventReader } from "./event-reader.js";
import {
  endsOrder,
  isOfMarketOrder,
  isOfOrder,
  type MarketEvent,
  type OrderEvent,
  type VenuefiveEvent,
} from "./event.js";
import { type DollarBased, foldMarketOrder, foldOrder, type OrderEvents, type SymbolOf } from "./fold.js";
import { failedChainRead, notYet } from "./pages.js";
import { type OrderSlot, placeOf } from "./row-keys.js";
import { NO_TIME, partOf } from "./timed-endpoint.js";

interface OrderLookupParts {
  readonly chain: HistoryChain;
  readonly book: EventBook;
  readonly reader: EventReader;
  readonly tail: Pick<ChainTail, "read">;
  readonly decoder: () => LogDecoder;
  readonly symbolOf: SymbolOf;
  readonly isDollarBased: DollarBased;
  readonly seenAtMs: () => number;
  readonly clock: Clock;
}

/** The order of a slot that is meant, of what is kept of the newest there, `seen`, and what is above the cursor. */
interface SlotLook {
  readonly slot: OrderSlot;
  readonly isMeant: (events: readonly OrderEvent[]) => boolean;
  readonly seen: readonly OrderEvent[];
  readonly from: number;
  /** The block that it is named by: what an endpoint shows of the blocks below, says nothing of it. */
  readonly least: number;
}

/** `trader`: whose order is meant where there are several; null: nobody's. */
interface AskedTransaction {
  readonly hash: string;
  readonly trader: string | null;
}

type Found = ChainRead<ClientSignedOrderFound | null>;
type NoRead = Extract<ChainRead<never>, { ok: false }>;

/** Unknown is not pending. */
const BEHIND = failedChainRead("VENUE_ERROR", "no endpoint shows the blocks from that of the order on");
const UNBELIEVED = failedAnswer("VENUE_ERROR", "only an endpoint has it that is not believed of its blocks");
const FORKING = failedChainRead("VENUE_ERROR", "blocks vanish while they are read");
const ATTEMPTS_MAX = 3;
const HASH = /^0x[0-9a-f]{64}$/;
const SLOT_ID = /^(\d{1,6}):(\d{1,6}):(\d{1,12})$/;

export class OrderLookup {
  readonly #parts: OrderLookupParts;

  constructor(parts: OrderLookupParts) {
    this.#parts = parts;
  }

  async find(orderId: string, address: string | null, options: CallOptions): Promise<Found> {
    const deadline = new Deadline(this.#parts.clock, options);
    const { book } = this.#parts;
    for (let attempt = 1; ; attempt++) {
      const { generation } = book;
      const found = await this.#find(orderId, address, deadline);
      // Rows that were taken back meanwhile are in none of what was read.
      if (!found.ok || book.generation === generation) return found;
      if (attempt === ATTEMPTS_MAX) return FORKING;
    }
  }

  async #find(orderId: string, address: string | null, deadline: Deadline): Promise<Found> {
    const at = this.#parts.book.cursor;
    if (at === null) return notYet();
    const id = orderId.toLowerCase();
    const trader = address?.toLowerCase() ?? null;
    if (HASH.test(id)) return this.#byTransaction({ hash: id, trader }, at, deadline);
    const slot = SLOT_ID.exec(id);
    if (slot === null || trader === null) return this.#ok(at, null);
    const [pairIndex = 0, index = 0, block = 0] = slot.slice(1).map(Number);
    return this.#bySlot({ trader, pairIndex, index }, block, at, deadline);
  }

  async #bySlot(slot: OrderSlot, block: number, at: IndexCursor, deadline: Deadline): Promise<Found> {
    const kept = block <= at.block ? await this.#parts.reader.orderOf(slot, block) : null;
    if (kept === null && block < at.since.block) return beforeIndex(at);
    if (kept === null && block <= at.block) return this.#ok(at, null);
    if (kept !== null && endsOrder(kept.latest)) return this.#ok(at, this.#limit(kept));
    const look = { slot, isMeant: (events: readonly OrderEvent[]) => events.some((event) => event.block === block) };
    return this.#withTail({ ...look, seen: [], from: at.block + 1, least: block }, at, deadline);
  }

  async #byTransaction(asked: AskedTransaction, at: IndexCursor, deadline: Deadline): Promise<Found> {
    const { hash } = asked;
    const kept = await this.#parts.reader.ofTransaction(hash);
    if (kept.length > 0) return this.#ofEvents(asked, kept, at, deadline);
    const receipt = await this.#anywhere(deadline, (endpoint, left) => endpoint.transaction(hash, left), isSome);
    if (receipt.kind === "failed") return tailFailure(receipt);
    const { value } = receipt;
    if (value === null) return this.#unmined(hash, at, deadline);
    if (!value.hasSucceeded) return this.#ok(at, { kind: "transaction", txHash: hash, status: "REVERTED" });
    const header = await this.#anywhere(deadline, (endpoint, left) => endpoint.header(value.block, left), isSome);
    if (header.kind === "failed") return tailFailure(header);
    if (header.value?.hash !== value.blockHash)
      return failedChainRead("VENUE_ERROR", "endpoints differ on the transaction's block");
    const { timeMs } = header.value;
    const decoded = decodeWith(null, () => eventsOf(value, timeMs, this.#parts.decoder()));
    if (!decoded.ok) return failedChainRead("BAD_RESPONSE", decoded.problem);
    return this.#ofEvents(asked, decoded.value, at, deadline);
  }

  /**
   * A transaction may hold several: the order that it queued comes first, then the one that it changed. The keeper executes
   * orders of many wallets in one, and a bundler sends them so: those of the wallet that is named come before all others'.
   */
  async #ofEvents(
    { hash, trader }: AskedTransaction,
    all: readonly VenuefiveEvent[],
    at: IndexCursor,
    deadline: Deadline,
  ): Promise<Found> {
    const own = all.filter((event) => event.trader === trader);
    const events = own.some((event) => isOfMarketOrder(event) || isOfOrder(event)) ? own : all;
    const market = events.find(({ kind }) => kind === "queued") ?? events.find(isOfMarketOrder);
    if (market !== undefined && isOfMarketOrder(market)) return this.#market(market, at, deadline);
    const change = events.find(isOfOrder);
    if (change === undefined) return this.#ok(at, { kind: "transaction", txHash: hash, status: "NO_ORDER" });
    return this.#change(change, at, deadline);
  }

  async #market(event: MarketEvent, at: IndexCursor, deadline: Deadline): Promise<Found> {
    const kept = (await this.#parts.reader.ofMarketOrder(event.orderId)).filter(isOfMarketOrder);
    const tail = kept.some(isOutcome)
      ? null
      : await this.#tail(at, { from: event.block, least: event.block }, deadline);
    if (tail !== null && !tail.ok) return tail;
    const later = tail?.value.events.filter(isOfMarketOrder).filter(({ orderId }) => orderId === event.orderId) ?? [];
    const events = inOrder([...kept, event, ...later]);
    // What became of an order of before the index may be of before the index too.
    if (event.block < at.since.block && !events.some(isOutcome)) return beforeIndex(at);
    const { symbolOf, isDollarBased } = this.#parts;
    const order = foldMarketOrder(events, symbolOf, isDollarBased);
    return this.#ok(at, order === null ? null : { kind: "market", order }, tail?.value.toBlock);
  }

  async #change(event: OrderEvent, at: IndexCursor, deadline: Deadline): Promise<Found> {
    const kept = event.block <= at.block ? await this.#parts.reader.orderOfEvent(event, placeOf(event)) : null;
    if (kept !== null && endsOrder(kept.latest)) return this.#ok(at, this.#limit(kept));
    if (kept === null && event.block < at.since.block) return beforeIndex(at);
    const place = placeOf(event);
    const isMeant = (events: readonly OrderEvent[]): boolean => events.some((one) => placeOf(one) === place);
    // A placing begins the order: nothing of it is below.
    const from = event.kind === "placed" ? event.block : at.block + 1;
    return this.#withTail({ slot: event, isMeant, seen: [event], from, least: event.block }, at, deadline);
  }

  async #withTail(look: SlotLook, at: IndexCursor, deadline: Deadline): Promise<Found> {
    const { slot, isMeant, seen } = look;
    const tail = await this.#tail(at, look, deadline);
    if (!tail.ok) return tail;
    const newest = await this.#parts.reader.newestOrder(slot);
    const later = tail.value.events.filter(isOfOrder).filter((event) => isOfSlot(event, slot));
    const orders = ordersOf(inOrder([...newest, ...seen, ...later]));
    const meant = orders.find(isMeant);
    return this.#ok(at, meant === undefined ? null : this.#limit(partsOf(meant)), tail.value.toBlock);
  }

  async #unmined(hash: string, at: IndexCursor, deadline: Deadline): Promise<Found> {
    const known = await this.#anywhere(
      deadline,
      (endpoint, left) => endpoint.knows(hash, left),
      (value) => value,
      false,
    );
    if (known.kind === "failed") return tailFailure(known);
    return this.#ok(at, known.value ? { kind: "transaction", txHash: hash, status: "PENDING" } : null);
  }

  /**
   * Of the first endpoint that has it; without one, of any that answered: all of them must, for a "no". `isOfBlock`: it may be
   * of another branch, and counts where the endpoint is believed of its blocks.
   */
  async #anywhere<T>(
    deadline: Deadline,
    ask: (endpoint: HistoryEndpoint, left: CallOptions) => Promise<ChainAnswer<T>>,
    isFound: (value: T) => boolean,
    isOfBlock = true,
  ): Promise<ChainAnswer<T>> {
    let none: ChainAnswer<T> | null = null;
    let failure: FailedAnswer | null = null;
    const { chain } = this.#parts;
    const half = partOf(deadline, 0, 2);
    if (half === null) return NO_TIME;
    const believed = await chain.believed(half);
    const endpoints = [...new Set([...believed, ...(await chain.endpoints())])];
    for (const [index, endpoint] of endpoints.entries()) {
      const part = partOf(deadline, index, endpoints.length);
      if (part === null) return NO_TIME;
      const answer = await ask(endpoint, part);
      if (answer.kind === "failed") failure = answer;
      else if (!isFound(answer.value)) none = answer;
      else if (index < believed.length || !isOfBlock) return answer;
      else failure = UNBELIEVED;
    }
    return failure ?? none ?? { kind: "failed", code: "VENUE_ERROR", message: "no endpoint", retryAfterMs: null };
  }

  /**
   * `from`: nothing that is looked for is below; while the index is far behind, no more is read. `least`: the block of what
   * is looked for. What was read before anybody showed that block is not shared.
   */
  async #tail(
    at: IndexCursor,
    { from, least }: Pick<SlotLook, "from" | "least">,
    deadline: Deadline,
  ): Promise<{ readonly ok: true; readonly value: Tail } | NoRead> {
    const whole = await this.#readTail(at.block + 1, least, deadline);
    const isFar = whole.kind === "failed" && whole.code === "LAGGING" && from > at.block + 1;
    const answer = isFar ? await this.#readTail(from, least, deadline) : whole;
    if (answer.kind !== "value") return tailFailure(answer);
    return answer.value.toBlock < least ? BEHIND : { ok: true, value: answer.value };
  }

  async #readTail(from: number, least: number, deadline: Deadline): Promise<ChainAnswer<Tail>> {
    const left = deadline.left();
    return left === null ? NO_TIME : this.#parts.tail.read(from, left, least);
  }

  #limit(events: OrderEvents): ClientSignedOrderFound {
    const { symbolOf, isDollarBased } = this.#parts;
    return { kind: "limit", order: foldOrder(events, symbolOf, isDollarBased), walletAddress: events.start.trader };
  }

  #ok(at: IndexCursor, value: ClientSignedOrderFound | null, toBlock = at.block): Found {
    return { ok: true, value, asOfMs: this.#parts.seenAtMs(), block: toBlock };
  }
}

function eventsOf({ logs }: ChainTransaction, timeMs: number, decoder: LogDecoder): readonly VenuefiveEvent[] {
  return logs.filter((log) => decoder.isKept(log)).map((log) => decoder.decode(log, timeMs));
}

function isSome(value: unknown): boolean {
  return value !== null;
}

function isOutcome({ kind }: MarketEvent): boolean {
  return kind !== "queued";
}

function isOfSlot(event: OrderEvent, { trader, pairIndex, index }: OrderSlot): boolean {
  return event.trader === trader && event.pairIndex === pairIndex && event.index === index;
}

/** Each once, as the chain has them. */
function inOrder<T extends VenuefiveEvent>(events: readonly T[]): readonly T[] {
  const byPlace = new Map(events.map((event) => [placeOf(event), event]));
  return [...byPlace.values()].sort((left, right) => (placeOf(left) < placeOf(right) ? -1 : 1));
}

/** Of one slot: a placing begins an order, and so does what follows an end. */
function ordersOf(events: readonly OrderEvent[]): readonly (readonly OrderEvent[])[] {
  const orders: OrderEvent[][] = [];
  for (const event of events) {
    const last = orders.at(-1)?.at(-1);
    if (last === undefined || event.kind === "placed" || endsOrder(last)) orders.push([event]);
    else orders.at(-1)?.push(event);
  }
  return orders;
}

function partsOf(events: readonly OrderEvent[]): OrderEvents {
  const [start] = events;
  const latest = events.at(-1);
  if (start === undefined || latest === undefined) throw new Error("an order has an event");
  return { start, latest, before: events.at(-2) ?? null };
}

function beforeIndex({ since }: IndexCursor): NoRead {
  return failedChainRead("BEFORE_INDEX", `the index begins at block ${since.block}`);
}

export function tailFailure({ code, message, retryAfterMs }: FailedAnswer): NoRead {
  if (code === "PRUNED") return failedChainRead("BEFORE_INDEX", message);
  const isOwn = code === "LAGGING" || code === "INCONSISTENT" || code === "FORKED";
  return failedChainRead(isOwn ? "VENUE_ERROR" : code, message, retryAfterMs);
}
