/**
 * The history behind the guard of the pairs: its rows have symbols and sizes by their pair, as the state's have, and are
 * shown under the same condition. A row of a pair that was added since the last comparison is read again after the next.
 */
import type { ChainRead, ClientSignedRoom, ClientSignedStatus } from "../../engine/client-signed-room.js";
import type { Clock } from "../../engine/domain/clock.js";
import { within } from "../../engine/domain/deadline.js";
import type { CallOptions } from "../../engine/ports.js";
import { Deadline } from "../shared/net/deadline.js";
import { failedChainRead } from "./chain/pinned-reads.js";
import type { OrderHistory } from "./history/placed-orders.js";
import type { PairGuard } from "./market/pair-guard.js";

/** What is known of the past: events of the contracts, indexed. */
export interface HistoryPart
  extends OrderHistory,
    Pick<ClientSignedRoom, "readClosedTrades" | "readLiquidated" | "readOrders" | "findOrder" | "start" | "stop"> {
  status(): ClientSignedStatus["index"];
}

/** Thrown while a row is made of a pair that is not compared. */
class UncomparedPair extends Error {
  override readonly name = "UncomparedPair";
}

/** Of a pair that is compared; throws for another one, which ends the read. */
export function dollarBasedBy(guard: Pick<PairGuard, "known">): (pairIndex: number) => boolean {
  return (pairIndex) => {
    const { known } = guard;
    if (known === null || pairIndex >= known.pairs) throw new UncomparedPair(`pair ${pairIndex} is not compared yet`);
    return known.dollarBased.has(pairIndex);
  };
}

/** One comparison finds a pair that was added. */
const ROUNDS_MAX = 2;
const NO_TIME = failedChainRead("TIMEOUT", "no time left");

export class GuardedHistory implements HistoryPart {
  readonly #history: HistoryPart;
  readonly #guard: PairGuard;
  readonly #clock: Clock;

  constructor(history: HistoryPart, guard: PairGuard, clock: Clock) {
    this.#history = history;
    this.#guard = guard;
    this.#clock = clock;
  }

  start(): Promise<void> {
    return this.#history.start();
  }

  stop(): Promise<void> {
    return this.#history.stop();
  }

  status(): ClientSignedStatus["index"] {
    return this.#history.status();
  }

  /** Without a symbol and a size: the state has them. */
  placedOrders(...args: Parameters<HistoryPart["placedOrders"]>) {
    return this.#history.placedOrders(...args);
  }

  readLiquidated(...args: Parameters<HistoryPart["readLiquidated"]>) {
    return this.#history.readLiquidated(...args);
  }

  readClosedTrades(...[address, query, options]: Parameters<HistoryPart["readClosedTrades"]>) {
    return this.#shown(options, (left) => this.#history.readClosedTrades(address, query, left));
  }

  readOrders(...[address, query, options]: Parameters<HistoryPart["readOrders"]>) {
    return this.#shown(options, (left) => this.#history.readOrders(address, query, left));
  }

  findOrder(...[orderId, address, options]: Parameters<HistoryPart["findOrder"]>) {
    return this.#shown(options, (left) => this.#history.findOrder(orderId, address, left));
  }

  async #shown<T>(options: CallOptions, read: (left: CallOptions) => Promise<ChainRead<T>>): Promise<ChainRead<T>> {
    const deadline = new Deadline(this.#clock, options);
    for (let round = 1; ; round++) {
      const before = await this.#guard.proven({ ...options, timeoutMs: Math.max(0, deadline.leftMs()) });
      if ("ok" in before) return before;
      const left = deadline.left();
      if (left === null) return NO_TIME;
      const answer = await comparedOr(read(left));
      // What was read under the symbols of before, is not shown under those of now.
      const now = await this.#guard.proven({ ...left, timeoutMs: Math.max(0, deadline.leftMs()) });
      if ("ok" in now) return now;
      if (!(answer instanceof UncomparedPair)) return answer;
      if (round === ROUNDS_MAX) return failedChainRead("VENUE_ERROR", answer.message);
      const compared = await within(this.#clock, this.#guard.check(), Math.max(0, deadline.leftMs()));
      if (!compared.done) return NO_TIME;
      if (compared.value !== null) return compared.value;
    }
  }
}

async function comparedOr<T>(answer: Promise<T>): Promise<T | UncomparedPair> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof UncomparedPair) return error;
    throw error;
  }
}
