/**
 * A chain that forks, with events of the venue in its blocks, and endpoints that lag behind it, refuse, are slow to leave a
 * branch, and limit ranges. The world moves between any two calls. What a block holds follows from its branch, so the winning
 * chain alone says what is true at the end.
 */
import type { Random } from "../../../../engine/domain/random.js";
import {
  type ChainAnswer,
  type ChainEventLog,
  type ChainHeader,
  failedAnswer,
  type HistoryEndpoint,
  type LogsAnswer,
} from "../chain-port.js";
import type { EventBody, EventTrade, VenuefiveEvent } from "../event.js";
import { CALLBACKS, encodeEvent } from "./encode-event.js";

export interface ForkBlock {
  readonly header: ChainHeader;
  readonly parent: ForkBlock | null;
  readonly events: readonly VenuefiveEvent[];
  readonly logs: readonly ChainEventLog[];
  /** Slots with an open order behind it. */
  readonly open: ReadonlySet<string>;
}

export const TRADERS = [1, 2, 3].map((digit) => `0x${`${digit}a`.repeat(20)}`);
const SAFE_DEPTH = 2;
const REORG_MAX = 9;
const BLOCK_MS = 2_000;
const START_MS = 1_700_000_000_000;
/** Orders that were placed before anything is known. */
const EARLIER = new Set([`${TRADERS[0]}/0/0`, `${TRADERS[1]}/1/1`]);

interface Endpoint {
  head: ForkBlock;
  /** Its tip is another server's, which is further. */
  isMixed: boolean;
  readonly rangeMax: number;
}

export class ForkChain {
  reorgCount = 0;
  isCalm = false;
  readonly #random: Random;
  readonly #endpoints: Endpoint[];
  #tip: ForkBlock;
  #serial = 0;
  readonly #left: ForkBlock[] = [];

  constructor(random: Random, endpointCount: number, blockCount: number) {
    this.#random = random;
    this.#tip = this.#block(null, EARLIER);
    for (let count = 1; count < blockCount; count++) this.#tip = this.#next(this.#tip);
    this.#endpoints = Array.from({ length: endpointCount }, () => ({
      head: this.#tip,
      isMixed: random.next() < 0.4,
      rangeMax: 1 + Math.floor(random.next() * 12),
    }));
  }

  /** Of the chain that holds, oldest first, up to the safe head. */
  blocks(): readonly ForkBlock[] {
    const blocks: ForkBlock[] = [];
    for (let at: ForkBlock | null = below(this.#tip, SAFE_DEPTH); at !== null; at = at.parent) blocks.unshift(at);
    return blocks;
  }

  /** Nothing fails or moves from here on. */
  calm(): void {
    this.isCalm = true;
    // Above all that was ever seen as safe.
    for (let count = 0; count < REORG_MAX * 2; count++) this.#tip = this.#next(this.#tip);
    for (const endpoint of this.#endpoints) [endpoint.head, endpoint.isMixed] = [this.#tip, false];
  }

  header(number: number): ChainHeader | null {
    return at(this.#tip, number)?.header ?? null;
  }

  endpoints(): readonly HistoryEndpoint[] {
    return this.#endpoints.map((endpoint) => ({
      tip: (which) =>
        this.#answer((): ChainAnswer<ChainHeader> => {
          const head = endpoint.isMixed ? this.#tip : endpoint.head;
          return { kind: "value", value: below(head, which === "safe" ? SAFE_DEPTH : 0).header };
        }),
      header: (number) =>
        this.#answer((): ChainAnswer<ChainHeader | null> => {
          return { kind: "value", value: at(endpoint.head, number)?.header ?? null };
        }),
      logs: ({ fromBlock, toBlock, blockHash, addresses, topics }) =>
        this.#answer((): LogsAnswer => {
          if (toBlock - fromBlock >= endpoint.rangeMax && topics.length > 1) return { kind: "tooLarge" };
          if (blockHash !== null && at(endpoint.head, fromBlock)?.header.hash !== blockHash)
            return failedAnswer("LAGGING", "unknown block");
          const logs: ChainEventLog[] = [];
          // What it does not know yet is empty, as many nodes have it.
          for (let number = fromBlock; number <= toBlock; number++)
            logs.push(...(at(endpoint.head, number)?.logs ?? []));
          if (logs.length > 6 && fromBlock === toBlock && topics.length > 1) return { kind: "tooLarge" };
          const wanted = logs.filter((log) => addresses.includes(log.address) && topics.includes(log.topics[0] ?? ""));
          return { kind: "value", value: this.#stale(fromBlock, toBlock) ?? wanted };
        }),
      transaction: () => this.#answer(() => ({ kind: "value", value: null })),
      knows: () => this.#answer(() => ({ kind: "value", value: false })),
      callbacks: () => this.#answer(() => ({ kind: "value", value: CALLBACKS })),
    }));
  }

  async #answer<T>(give: () => T): Promise<T> {
    if (this.isCalm) return give();
    const draw = this.#random.next();
    if (draw < 0.06) return failedAnswer("RATE_LIMITED", "slow down", 500) as T;
    if (draw < 0.09) return failedAnswer("TIMEOUT", "no answer in time") as T;
    // A call sees the world before or after it moves.
    if (draw < 0.25) this.#move();
    const answer = give();
    if (draw > 0.95) this.#move();
    return answer;
  }

  /** Now and then a node gives what it has of blocks that it left. Null: it does not. */
  #stale(fromBlock: number, toBlock: number): readonly ChainEventLog[] | null {
    if (this.isCalm || this.#random.next() > 0.08) return null;
    const left = this.#left.filter(({ header, events }) => {
      return header.number >= fromBlock && header.number <= toBlock && events.length > 0;
    });
    const isRemoved = this.#random.next() < 0.3;
    return left.at(-1)?.logs.map((log) => ({ ...log, isRemoved })) ?? null;
  }

  #move(): void {
    const draw = this.#random.next();
    if (draw < 0.12) {
      this.reorgCount++;
      const depth = 1 + Math.floor(this.#random.next() * REORG_MAX);
      let tip = below(this.#tip, depth);
      for (let left: ForkBlock | null = this.#tip; left !== null && left !== tip; left = left.parent)
        this.#left.push(left);
      const length = depth - 2 + Math.floor(this.#random.next() * 5);
      for (let count = 0; count < length; count++) tip = this.#next(tip);
      this.#tip = tip;
    } else if (draw < 0.6) this.#tip = this.#next(this.#tip);
    for (const endpoint of this.#endpoints)
      if (this.#random.next() < 0.4) endpoint.head = below(this.#tip, Math.floor(this.#random.next() * 5));
  }

  #next(parent: ForkBlock): ForkBlock {
    return this.#block(parent, parent.open);
  }

  #block(parent: ForkBlock | null, openBefore: ReadonlySet<string>): ForkBlock {
    const number = parent === null ? 0 : parent.header.number + 1;
    const hash = hex(++this.#serial);
    const timeMs = START_MS + number * BLOCK_MS;
    const open = new Set(openBefore);
    const events: VenuefiveEvent[] = [];
    // Many blocks have none, some have many.
    const draw = this.#random.next();
    const count = draw < 0.4 ? 0 : draw < 0.97 ? Math.ceil(this.#random.next() * 3) : 8;
    for (let index = 0; index < count; index++) {
      const trader = this.#pick(TRADERS);
      const pairIndex = Math.floor(this.#random.next() * 2);
      const place = { block: number, blockHash: hash, timeMs, logIndex: index * 2, txHash: hex(++this.#serial) };
      events.push({ ...place, trader, pairIndex, ...this.#body(trader, pairIndex, open) });
    }
    const parentHash = parent?.header.hash ?? hex(0);
    let logs: readonly ChainEventLog[] | null = null;
    return {
      ...{ header: { number, hash, parentHash, timeMs }, parent, events, open },
      // Most of them are asked for by nobody.
      get logs() {
        logs ??= events.map((event, index) => encodeEvent(event, index % 2 === 1));
        return logs;
      },
    };
  }

  #body(trader: string, pairIndex: number, open: Set<string>): EventBody {
    const index = Math.floor(this.#random.next() * 2);
    const slot = `${trader}/${pairIndex}/${index}`;
    const price = `${1 + Math.floor(this.#random.next() * 1_000)}0000000000`;
    const orderId = `${++this.#serial}`;
    const draw = this.#random.next();
    if (draw < 0.5) return this.#orderBody(slot, index, price, orderId, open);
    if (draw < 0.65)
      return { kind: "queued", orderId, isOpen: true, isLong: true, isZeroFee: false, collateral: "7", leverage: "9" };
    if (draw < 0.7) return { kind: "gave-up", orderId };
    if (draw < 0.75) return { kind: "tp", index, price };
    const sent = { collateral: "50000000", percentProfit: "-100000000000", sent: "44000000", isZeroFee: false };
    const trade = tradeOf(index, price);
    if (draw < 0.9) return { kind: "executed", orderId, isOpen: draw < 0.8, trade, price, ...sent };
    return { kind: "triggered", orderId, trigger: this.#pick(["TP", "SL", "LIQ"] as const), trade, price, ...sent };
  }

  #orderBody(slot: string, index: number, price: string, orderId: string, open: Set<string>): EventBody {
    if (!open.has(slot)) {
      open.add(slot);
      const order = { slippage: "3000000000", collateral: "100000000", leverage: "100000000000" };
      return { kind: "placed", index, isLong: true, price, orderType: 2, ...order };
    }
    const draw = this.#random.next();
    if (draw < 0.4) return { kind: "updated", index, price, tp: "0", sl: "5000000000" };
    open.delete(slot);
    if (draw < 0.7) return { kind: "canceled", index, collateral: "100000000" };
    const trade = tradeOf(1, price);
    return { kind: "filled", orderId, index, trade, price, triggerPrice: price, collateral: "99550000" };
  }

  #pick<T>(list: readonly T[]): T {
    const one = list[Math.floor(this.#random.next() * list.length)];
    if (one === undefined) throw new Error("nothing to choose from");
    return one;
  }
}

function tradeOf(index: number, openPrice: string): EventTrade {
  const stops = { tp: "0", sl: "0" };
  return {
    index,
    collateral: "50000000",
    openPrice,
    isLong: false,
    leverage: "100000000000",
    ...stops,
    openedAt: 1_700_000_000,
  };
}

function below(block: ForkBlock, depth: number): ForkBlock {
  let found = block;
  for (let left = depth; left > 0 && found.parent !== null; left--) found = found.parent;
  return found;
}

function at(head: ForkBlock, number: number): ForkBlock | null {
  for (let found: ForkBlock | null = head; found !== null; found = found.parent)
    if (found.header.number === number) return found;
  return null;
}

function hex(serial: number): string {
  return `0x${serial.toString(16).padStart(64, "0")}`;
}
