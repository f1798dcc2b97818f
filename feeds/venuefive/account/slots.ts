/**
 * A page of positions and limit orders as the contract answers it: two arrays of rows of a fixed length. Where they are
 * sparse nearly all rows are zero; these are passed over without being read, because a wallet's pages have thousands.
 *
 * A row counts where its leverage is above zero, in sparse arrays and in compact ones.
 */
import { WireFault } from "../../shared/room/wire-fields.js";

/** Integers of the chain's scales: prices, leverage and percents 1e10, USDC 1e6, times in seconds. */
export interface TradeRow {
  /** Lower case. */
  readonly trader: string;
  readonly pairIndex: number;
  readonly index: number;
  /** `initialPosToken`: after the fill `positionSizeUSDC` is a time. */
  readonly collateral: bigint;
  readonly openPrice: bigint;
  readonly isLong: boolean;
  readonly leverage: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly openedAt: number;
  readonly isBeingClosed: boolean;
  readonly rolloverFee: bigint;
  readonly liquidationPrice: bigint;
  readonly isZeroFee: boolean;
}

export interface OrderRow {
  readonly trader: string;
  readonly pairIndex: number;
  readonly index: number;
  /** `positionSize` of the chain. */
  readonly collateral: bigint;
  readonly isLong: boolean;
  readonly leverage: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly price: bigint;
  readonly slippage: bigint;
  /** Of its placing or its last change. */
  readonly block: number;
  readonly liquidationPrice: bigint;
}

export interface SlotRows {
  readonly trades: readonly TradeRow[];
  readonly orders: readonly OrderRow[];
}

const WORD_CHARS = 64;
const WORD_BYTES = 32n;
const PREFIX = "0x".length;
const ZERO = "0".repeat(WORD_CHARS);
const WORD = /^[0-9a-fA-F]{64}$/;
/** Words of a row: Trade, TradeInfo and three more; OpenLimitOrder and one more. */
const TRADE_WORDS = 19;
const ORDER_WORDS = 13;
const TRADE_LEVERAGE = 7;
const ORDER_LEVERAGE = 5;

/** Throws WireFault. */
export function readSlots(result: unknown): SlotRows {
  if (typeof result !== "string" || !result.startsWith("0x") || (result.length - PREFIX) % WORD_CHARS !== 0)
    throw new WireFault("slots", "are not words: no such contract there");
  const words = new Words(result);
  return {
    trades: rowsOf(words, 0, TRADE_WORDS, TRADE_LEVERAGE).map((at) => tradeAt(words, at)),
    orders: rowsOf(words, 1, ORDER_WORDS, ORDER_LEVERAGE).map((at) => orderAt(words, at)),
  };
}

/** Where the rows begin that have a leverage. */
function rowsOf(words: Words, array: number, rowWords: number, leverage: number): readonly number[] {
  const offset = words.uint(array);
  if (offset % WORD_BYTES !== 0n) throw new WireFault("slots", "begin within a word");
  const lengthAt = Number(offset / WORD_BYTES);
  const rowCount = words.count(lengthAt, "length");
  if (lengthAt + 1 + rowCount * rowWords > words.length) throw new WireFault("slots", "end before their last row");
  const rows: number[] = [];
  for (let row = 0; row < rowCount; row++) {
    const at = lengthAt + 1 + row * rowWords;
    if (!words.isZero(at + leverage)) rows.push(at);
  }
  return rows;
}

function tradeAt(words: Words, at: number): TradeRow {
  return {
    trader: words.address(at),
    pairIndex: words.count(at + 1, "pairIndex"),
    index: words.count(at + 2, "index"),
    collateral: words.uint(at + 3),
    openPrice: words.uint(at + 5),
    isLong: words.flag(at + 6),
    leverage: words.uint(at + 7),
    tp: words.uint(at + 8),
    sl: words.uint(at + 9),
    openedAt: words.count(at + 10, "timestamp"),
    isBeingClosed: words.flag(at + 14),
    rolloverFee: words.uint(at + 16),
    liquidationPrice: words.uint(at + 17),
    isZeroFee: words.flag(at + 18),
  };
}

function orderAt(words: Words, at: number): OrderRow {
  return {
    trader: words.address(at),
    pairIndex: words.count(at + 1, "pairIndex"),
    index: words.count(at + 2, "index"),
    collateral: words.uint(at + 3),
    isLong: words.flag(at + 4),
    leverage: words.uint(at + 5),
    tp: words.uint(at + 6),
    sl: words.uint(at + 7),
    price: words.uint(at + 8),
    slippage: words.uint(at + 9),
    block: words.count(at + 10, "block"),
    liquidationPrice: words.uint(at + 12),
  };
}

/** Counts and times of a row; those that are larger are no counts. */
const COUNT_MAX = BigInt(Number.MAX_SAFE_INTEGER) / 1_000n;

class Words {
  readonly length: number;
  readonly #data: string;

  constructor(data: string) {
    this.#data = data;
    this.length = (data.length - PREFIX) / WORD_CHARS;
  }

  isZero(at: number): boolean {
    return this.#data.startsWith(ZERO, PREFIX + at * WORD_CHARS);
  }

  uint(at: number): bigint {
    return BigInt(`0x${this.#word(at)}`);
  }

  count(at: number, what: string): number {
    const value = this.uint(at);
    if (value > COUNT_MAX) throw new WireFault(what, "is out of range");
    return Number(value);
  }

  flag(at: number): boolean {
    const value = this.uint(at);
    if (value > 1n) throw new WireFault("slots", "have a truth value that is none");
    return value === 1n;
  }

  address(at: number): string {
    const word = this.#word(at);
    if (!word.startsWith("0".repeat(24))) throw new WireFault("slots", "have an address that is none");
    return `0x${word.slice(24).toLowerCase()}`;
  }

  #word(at: number): string {
    const from = PREFIX + at * WORD_CHARS;
    const word = this.#data.slice(from, from + WORD_CHARS);
    if (!WORD.test(word)) throw new WireFault("slots", "have a word that is none, or end before their time");
    return word;
  }
}
