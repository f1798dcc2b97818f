/**
 * Where the rows of the index are. An event is one row of `venuefive-event` in the order of the chain, with all that is
 * known of it; rows of `venuefive-list` name it where it is looked for. Which those are follows from the event alone, so
 * what is written with it can be removed with it.
 *
 * Lists of a trader begin with the newest: block and log count down from the largest there.
 */
import { isClosing, isOfMarketOrder, isOfOrder, type VenuefiveEvent } from "./event.js";

export const EVENT_NAMESPACE = "venuefive-event";
export const LIST_NAMESPACE = "venuefive-list";
export const CURSOR_NAMESPACE = "venuefive-cursor";

const BLOCK_DIGITS = 12;
const LOG_DIGITS = 8;
const SLOT_DIGITS = 6;
const BLOCK_MAX = 10 ** BLOCK_DIGITS - 1;
/** No log has it: a block of gas for one more does not exist. */
const LOG_MAX = 10 ** LOG_DIGITS - 1;

/** Block and log: text that sorts as the chain does. */
export type Place = string;

interface PlaceOf {
  readonly block: number;
  readonly logIndex: number;
}

export interface OrderSlot {
  readonly trader: string;
  readonly pairIndex: number;
  readonly index: number;
}

/** `start`: of an event of a limit order, the first of that order that is known. */
export interface KeptEvent {
  readonly event: VenuefiveEvent;
  readonly start: Place | null;
}

export function placeOf({ block, logIndex }: PlaceOf): Place {
  return `${padded(block, BLOCK_DIGITS)}-${padded(logIndex, LOG_DIGITS)}`;
}

function newestFirst(place: Place): string {
  const { block, logIndex } = readPlace(place);
  return `${padded(BLOCK_MAX - block, BLOCK_DIGITS)}-${padded(LOG_MAX - logIndex, LOG_DIGITS)}`;
}

export function readPlace(place: Place): PlaceOf {
  const [block = "", logIndex = ""] = place.split("-");
  return { block: Number(block), logIndex: Number(logIndex) };
}

/** Behind all of a block, in the order of the chain. */
export function afterBlock(block: number): Place {
  return placeOf({ block, logIndex: LOG_MAX });
}

/** Before all of a block and of those below, newest first. */
export function fromBlockDown(block: number): string {
  return newestFirst(afterBlock(block));
}

/** Keys of one index: of one set of contracts on one chain. */
export class RowKeys {
  readonly #scope: string;

  constructor(scope: string) {
    this.#scope = scope;
  }

  get cursor(): string {
    return this.#scope;
  }

  get events(): string {
    return `${this.#scope}/`;
  }

  event(place: Place): string {
    return `${this.events}${place}`;
  }

  closings(trader: string): string {
    return `${this.#scope}/trades/${trader}/`;
  }

  /** Of the first event of each limit order. */
  orders(trader: string): string {
    return `${this.#scope}/orders/${trader}/`;
  }

  slot({ trader, pairIndex, index }: OrderSlot): string {
    return `${this.#scope}/slot/${trader}/${padded(pairIndex, SLOT_DIGITS)}.${padded(index, SLOT_DIGITS)}/`;
  }

  order(slot: OrderSlot, start: Place): string {
    return `${this.slot(slot)}${newestFirst(start)}/`;
  }

  transaction(hash: string): string {
    return `${this.#scope}/tx/${hash}/`;
  }

  /** By the venue's number of it. */
  marketOrder(orderId: string): string {
    return `${this.#scope}/market/${orderId}/`;
  }

  /** Rows that name the event. */
  listed({ event, start }: KeptEvent): readonly string[] {
    const place = placeOf(event);
    const keys = [`${this.transaction(event.txHash)}${place}`];
    if (isClosing(event)) keys.push(`${this.closings(event.trader)}${newestFirst(place)}`);
    if (isOfMarketOrder(event)) keys.push(`${this.marketOrder(event.orderId)}${place}`);
    if (isOfOrder(event) && start !== null) {
      keys.push(`${this.order(event, start)}${newestFirst(place)}`);
      if (start === place) keys.push(`${this.orders(event.trader)}${newestFirst(place)}`);
    }
    return keys;
  }
}

function padded(value: number, digits: number): string {
  const text = value.toString().padStart(digits, "0");
  if (text.length > digits) throw new RangeError("the number is too large for its key");
  return text;
}
