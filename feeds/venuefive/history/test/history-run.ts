/** Lives of the index over a chain that forks: each may be killed at a commit, and the next goes on from what is durable. */
import { createSeededRandom } from "../../../../engine/domain/random.js";
import { silentLogger } from "../../../../engine/domain/logger.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../../engine/ports.js";
import type {
  ChainHistoryPage,
  ChainRead,
  ClientSignedOrder,
  ClosedTrade,
} from "../../../../engine/client-signed-room.js";
import { allRows, decodeJson, type StateStore } from "../../../../engine/storage/state-store.js";
import { createMemoryStore } from "../../../../engine/storage/test/memory-store.js";
import { type Death, MortalLife } from "../../../../engine/storage/test/mortal-life.js";
import type { HistoryEndpoint } from "../chain-port.js";
import { EventBook } from "../event-book.js";
import { endsOrder, isClosing, isOfOrder, type OrderEvent, type VenuefiveEvent } from "../event.js";
import { VenuefiveHistory } from "../history.js";
import { EVENT_NAMESPACE, LIST_NAMESPACE, RowKeys } from "../row-keys.js";
import { ADDRESSES } from "./encode-event.js";
import { ForkChain, TRADERS } from "./fork-chain.js";

export const OPTIONS: CallOptions = { timeoutMs: 5_000, lane: "read" };
const CHAIN_ID = 8453;
export const KEYS = new RowKeys(`${CHAIN_ID}-${ADDRESSES.Trading}`);
/** Above the longest wait after failures. */
const TICK_MS = 70_000;
const LIVES = 4;
const TICKS = 8;
const TICKS_MAX = 400;
const PAGE_ROWS = 4;

export interface Mutant {
  store?(store: StateStore): StateStore;
  endpoint?(endpoint: HistoryEndpoint, chain: ForkChain, store: StateStore): HistoryEndpoint;
}

export interface RunOutcome {
  readonly problem: string | null;
  readonly reorgCount: number;
  readonly deathCount: number;
  readonly retractedCount: number;
  readonly eventCount: number;
}

export async function runHistory(seed: number, mutant: Mutant = {}): Promise<RunOutcome> {
  const random = createSeededRandom(seed);
  const chain = new ForkChain(random, 1 + Math.floor(random.next() * 3), 14);
  const durable = createMemoryStore();
  const fromBlock = random.next() < 0.5 ? 1 : null;
  const life = (store: StateStore): VenuefiveHistory => {
    const kept = mutant.store?.(store) ?? store;
    // The same ones at each call, as who is believed is compared with all of them.
    const endpoints = chain.endpoints().map((one) => mutant.endpoint?.(one, chain, store) ?? one);
    return new VenuefiveHistory({
      ...{
        chainId: CHAIN_ID,
        addresses: ADDRESSES,
        chain: { endpoints: async () => endpoints, believed: async () => endpoints },
        store: kept,
      },
      ...{ symbolOf: (pairIndex: number) => `PAIR_${pairIndex}`, isDollarBased: () => false },
      ...{ fromBlock, older: null, rangeMax: 10, nearBlocks: 6 },
      ...{ clock, random: createSeededRandom(seed), logger: silentLogger },
    });
  };
  let clock = new VirtualClock();
  let deathCount = 0;
  for (let count = 0; count < LIVES; count++) {
    clock = new VirtualClock();
    const death: Death | null =
      random.next() < 0.7 ? { at: 1 + Math.floor(random.next() * 12), isAfter: random.next() < 0.5 } : null;
    const mortal = new MortalLife(death, () => deathCount++);
    const history = life(mortal.store(durable));
    void history.start();
    for (let tick = 0; tick < TICKS && !mortal.isDead(); tick++) await pass(clock);
    if (!mortal.isDead()) await history.stop();
  }
  chain.calm();
  clock = new VirtualClock();
  const history = life(durable);
  void history.start();
  const top = chain.blocks().at(-1)?.header.number ?? 0;
  for (let tick = 0; tick < TICKS_MAX && history.status().cursorBlock !== top; tick++) await pass(clock);
  await history.stop();
  const { eventCount, retractedCount } = history.status();
  const problem = await problemOf(history, chain, durable, top);
  return { problem, reorgCount: chain.reorgCount, deathCount, retractedCount, eventCount };
}

async function pass(clock: VirtualClock): Promise<void> {
  clock.advance(TICK_MS);
  await new Promise((resolve) => setImmediate(resolve));
}

/** Null: what is kept and shown is what the winning chain has, no more and no less. */
async function problemOf(
  history: VenuefiveHistory,
  chain: ForkChain,
  store: StateStore,
  top: number,
): Promise<string | null> {
  const { sinceBlock, cursorBlock, eventCount, problem } = history.status();
  if (cursorBlock !== top) return `it does not come to the head: ${cursorBlock} of ${top}, ${problem}`;
  if (problem !== null) return `it has a problem at the head: ${problem}`;
  const blocks = chain.blocks().filter(({ header }) => header.number >= (sinceBlock ?? 0));
  const events = blocks.flatMap((block) => block.events);
  const rows = await rowProblem(store, events, blocks.at(-1)?.header ?? { number: 0, hash: "" });
  if (rows !== null) return rows;
  for (const trader of TRADERS) {
    const mine = events.filter((event) => event.trader === trader);
    const trades = await everyPage((cursor) =>
      history.readClosedTrades(trader, { limit: PAGE_ROWS, cursor, symbol: null }, OPTIONS),
    );
    const closed = mine.filter(isClosing).map(({ txHash }) => txHash);
    if (trades?.map(({ txHash }) => txHash).join() !== closed.reverse().join()) return "trades differ";
    const orders = await everyPage((cursor) =>
      history.readOrders(trader, { limit: PAGE_ROWS, cursor, symbol: null }, OPTIONS),
    );
    if (orders?.map(orderText).join() !== naiveOrders(mine).join()) return "orders differ";
  }
  return eventCount === events.length ? null : `it counts ${eventCount} events of ${events.length}`;
}

/** Rows are those that one look at the winning chain writes. */
async function rowProblem(
  store: StateStore,
  events: readonly VenuefiveEvent[],
  head: { readonly number: number; readonly hash: string },
): Promise<string | null> {
  const fresh = createMemoryStore();
  const book = new EventBook(fresh, KEYS);
  await book.begin({ block: events[0]?.block ?? 1, timeMs: 0 }, "0x");
  await book.append(events, { block: head.number, hash: head.hash });
  for (const namespace of [EVENT_NAMESPACE, LIST_NAMESPACE]) {
    const [kept, wanted] = [await dump(store, namespace), await dump(fresh, namespace)];
    const missing = [...wanted].filter(([key, value]) => kept.get(key) !== value);
    const [first] = missing;
    if (first !== undefined)
      return `${missing.length} rows of ${namespace} are missing: ${first.join(" ")}; there is ${kept.get(first[0])}`;
    if (kept.size > wanted.size) return `${kept.size - wanted.size} rows of ${namespace} are too many`;
  }
  return null;
}

async function dump(store: StateStore, namespace: string): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for await (const { key, value } of allRows(store, namespace)) rows.set(key, sorted(decodeJson(value)));
  return rows;
}

/** Text of a value whose fields may come in any order. */
function sorted(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${name}:${sorted(field)}`);
  return `{${fields.sort().join()}}`;
}

/** Null: a page could not be read. */
export async function everyPage<T extends ClosedTrade | ClientSignedOrder>(
  read: (cursor: string | null) => Promise<ChainRead<ChainHistoryPage<T>>>,
): Promise<readonly T[] | null> {
  const rows: T[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: ChainRead<ChainHistoryPage<T>> = await read(cursor);
    if (!page.ok) return null;
    rows.push(...page.value.rows);
    cursor = page.value.nextCursor;
    if (cursor === null) return rows;
  }
}

function orderText({ orderId, status, price, direction, txHash }: ClientSignedOrder): string {
  return [orderId, status, price, direction, txHash].join(" ");
}

/** Walks all events of a trader, and knows nothing of rows. */
function naiveOrders(events: readonly VenuefiveEvent[]): readonly string[] {
  const orders: OrderEvent[][] = [];
  const current = new Map<string, OrderEvent[]>();
  for (const event of events.filter(isOfOrder)) {
    const slot = `${event.pairIndex}/${event.index}`;
    const last = current.get(slot);
    const lastEvent = last?.at(-1);
    if (last === undefined || lastEvent === undefined || event.kind === "placed" || endsOrder(lastEvent)) {
      current.set(slot, [event]);
      orders.push(current.get(slot) ?? []);
    } else last.push(event);
  }
  return orders.reverse().map(naiveText);
}

function naiveText(events: readonly OrderEvent[]): string {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return "";
  const status = { placed: "OPEN", updated: "OPEN", canceled: "CANCELED", filled: "FILLED" }[last.kind];
  const prices = events.flatMap((event) => (event.kind === "placed" || event.kind === "updated" ? [event.price] : []));
  const price = prices.at(-1) ?? (last.kind === "filled" ? last.triggerPrice : null);
  const direction = first.kind === "placed" ? "LONG" : last.kind === "filled" ? "SHORT" : null;
  const text = price === null ? null : `${BigInt(price) / 10n ** 10n}`;
  return [`${first.pairIndex}:${first.index}:${first.block}`, status, text, direction, last.txHash].join(" ");
}
