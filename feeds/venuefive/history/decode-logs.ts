/**
 * Logs of the venue's contracts as events: pure. A log that its own contract cannot have made is a WireFault, because then
 * the endpoint, or what is known of the contracts, is wrong; the index does not go past it.
 */
import { decodeEventLog, type Hex, parseAbi, toEventSelector } from "viem";
import { TRADING_ABI, TRADING_CALLBACKS_ABI, TRADING_STORAGE_ABI } from "../../../schemas/venuefive/abi.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import type { ChainEventLog } from "./chain-port.js";
import type { EventBody, EventTrade, VenuefiveEvent } from "./event.js";

export interface HistoryAddresses {
  readonly Trading: string;
  readonly TradingStorage: string;
}

const TRADING = parseAbi(TRADING_ABI);
const STORAGE = parseAbi(TRADING_STORAGE_ABI);
const CALLBACKS = parseAbi(TRADING_CALLBACKS_ABI);

/** Of those that the index keeps; the others say the same again, or only that something is to come. */
const TRADING_EVENTS = [
  ...["MarketOrderInitiated", "OpenLimitPlaced", "OpenLimitUpdated", "OpenLimitCanceled"],
  ...["MarginUpdated", "TpUpdated", "SlUpdated"],
];
const STORAGE_EVENTS = ["MarketOpenCanceled"];
const CALLBACKS_EVENTS = ["MarketExecuted", "LimitExecuted", "MarketOpenCanceled", "SlUpdated"];
const MARKS = ["TP", "SL", "LIQ"] as const;
const FILL = 3;

type Contract = "trading" | "storage" | "callbacks";
type Abi = typeof TRADING | typeof STORAGE | typeof CALLBACKS;
type EventItem = Extract<Abi[number], { type: "event" }>;

/** By first topic: an event is looked for among all others otherwise, with a hash of each. */
const ITEMS: Readonly<Record<Contract, ReadonlyMap<string, EventItem>>> = {
  trading: itemsOf(TRADING, TRADING_EVENTS),
  storage: itemsOf(STORAGE, STORAGE_EVENTS),
  callbacks: itemsOf(CALLBACKS, CALLBACKS_EVENTS),
};

/** First topics of all that is kept. */
export const EVENT_TOPICS: readonly string[] = [
  ...new Set(Object.values(ITEMS).flatMap((items) => [...items.keys()])),
].sort();

function itemsOf(abi: Abi, names: readonly string[]): ReadonlyMap<string, EventItem> {
  const events = (abi as readonly Abi[number][]).filter((item) => item.type === "event");
  return new Map(
    names.map((name) => {
      const item = events.find((one) => one.name === name);
      if (item === undefined) throw new Error(`the ABI has no event ${name}`);
      return [toEventSelector(item).toLowerCase(), item];
    }),
  );
}

export class LogDecoder {
  readonly #contracts = new Map<string, Contract>();

  /** `callbacks`: of each address that the storage has named so far. */
  constructor({ Trading, TradingStorage }: HistoryAddresses, callbacks: readonly string[]) {
    this.#contracts.set(Trading.toLowerCase(), "trading");
    this.#contracts.set(TradingStorage.toLowerCase(), "storage");
    for (const address of callbacks) this.#contracts.set(address.toLowerCase(), "callbacks");
  }

  get addresses(): readonly string[] {
    return [...this.#contracts.keys()];
  }

  /** Whether it is one of what the index keeps. */
  isKept(log: ChainEventLog): boolean {
    return this.#itemOf(log) !== undefined;
  }

  /** Throws WireFault. `timeMs`: of its block. */
  decode(log: ChainEventLog, timeMs: number): VenuefiveEvent {
    const item = this.#itemOf(log);
    if (item === undefined) throw new WireFault("log", "is none of ours");
    const { block, blockHash, logIndex, txHash } = log;
    return { ...{ block, blockHash, logIndex, txHash, timeMs }, ...bodyOf(decoded(item, log)) };
  }

  #itemOf({ address, topics }: ChainEventLog): EventItem | undefined {
    const contract = this.#contracts.get(address);
    return contract === undefined ? undefined : ITEMS[contract].get(topics[0] ?? "");
  }
}

interface Decoded {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

function decoded(item: EventItem, { topics, data }: ChainEventLog): Decoded {
  try {
    const event = decodeEventLog({ abi: [item], topics: topics as [Hex, ...Hex[]], data: data as Hex, strict: true });
    return { name: event.eventName, args: event.args as unknown as Record<string, unknown> };
  } catch {
    throw new WireFault("log", "is not as its contract makes it");
  }
}

type Of = { readonly trader: string; readonly pairIndex: number } & EventBody;

function bodyOf({ name, args }: Decoded): Of {
  if (name === "MarketExecuted" || name === "LimitExecuted") return executionOf(name, args);
  const of = { trader: addressOf(args["trader"]), pairIndex: countOf(args["pairIndex"], "pairIndex") };
  if (name === "MarketOrderInitiated") return { ...of, ...queuedOf(args) };
  if (name === "MarketOpenCanceled") return { ...of, kind: "gave-up", orderId: integer(args["orderId"]) };
  const slot = { ...of, index: countOf(args["index"], "index") };
  if (name === "OpenLimitPlaced") return { ...slot, ...placedOf(args) };
  if (name === "OpenLimitUpdated")
    return {
      ...{ ...slot, kind: "updated", price: integer(args["newPrice"]) },
      ...{ tp: integer(args["newTp"]), sl: integer(args["newSl"]) },
    };
  if (name === "OpenLimitCanceled") return { ...slot, kind: "canceled", collateral: integer(args["collateral"]) };
  if (name === "MarginUpdated") return { ...slot, ...marginOf(args) };
  return name === "TpUpdated"
    ? { ...slot, kind: "tp", price: integer(args["newTp"]) }
    : { ...slot, kind: "sl", price: integer(args["newSl"]) };
}

function queuedOf(args: Decoded["args"]): Extract<EventBody, { kind: "queued" }> {
  return {
    kind: "queued",
    orderId: integer(args["orderId"]),
    isOpen: args["open"] === true,
    isLong: args["isBuy"] === true,
    isZeroFee: args["isPnl"] === true,
    collateral: integer(args["initialPosToken"]),
    leverage: integer(args["leverage"]),
  };
}

function placedOf(args: Decoded["args"]): Omit<Extract<EventBody, { kind: "placed" }>, "index"> {
  return {
    kind: "placed",
    isLong: args["isBuy"] === true,
    price: integer(args["openPrice"]),
    orderType: countOf(args["orderType"], "orderType"),
    slippage: integer(args["slippageP"]),
    collateral: integer(args["collateral"]),
    leverage: integer(args["leverage"]),
  };
}

function marginOf(args: Decoded["args"]): Omit<Extract<EventBody, { kind: "margin" }>, "index"> {
  const trade = args["newTrade"] as { readonly initialPosToken: bigint; readonly leverage: bigint };
  return {
    kind: "margin",
    isDeposit: countOf(args["_type"], "type") === 0,
    collateral: integer(trade.initialPosToken),
    leverage: integer(trade.leverage),
    fees: integer(args["marginFees"]),
  };
}

/** `LimitExecuted` of an opening has the trigger's price where a close has the profit, and the order's slot as `limitIndex`. */
function executionOf(name: "MarketExecuted" | "LimitExecuted", args: Decoded["args"]): Of {
  const raw = args["t"] as Readonly<Record<string, unknown>>;
  const trade = tradeOf(raw);
  const of = { trader: addressOf(raw["trader"]), pairIndex: countOf(raw["pairIndex"], "pairIndex"), trade };
  const orderId = integer(args["orderId"]);
  const price = integer(args["price"]);
  const collateral = integer(args["positionSizeUSDC"]);
  const result = { percentProfit: integer(args["percentProfit"]), sent: integer(args["usdcSentToTrader"]) };
  const isZeroFee = args["isPnl"] === true;
  if (name === "MarketExecuted")
    return { ...of, kind: "executed", orderId, isOpen: args["open"] === true, price, collateral, ...result, isZeroFee };
  const kind = countOf(args["orderType"], "orderType");
  if (kind === FILL) {
    const index = countOf(args["limitIndex"], "limitIndex");
    return { ...of, kind: "filled", orderId, index, price, triggerPrice: result.percentProfit, collateral };
  }
  const trigger = MARKS[kind];
  if (trigger === undefined) throw new WireFault("orderType", "is unknown");
  return { ...of, kind: "triggered", orderId, trigger, price, collateral, ...result, isZeroFee };
}

/** Of an executed trade the opening's time is `timestamp`; `positionSizeUSDC` has it too, and not the collateral. */
function tradeOf(trade: Readonly<Record<string, unknown>>): EventTrade {
  return {
    index: countOf(trade["index"], "index"),
    collateral: integer(trade["initialPosToken"]),
    openPrice: integer(trade["openPrice"]),
    isLong: trade["buy"] === true,
    leverage: integer(trade["leverage"]),
    tp: integer(trade["tp"]),
    sl: integer(trade["sl"]),
    openedAt: countOf(trade["timestamp"], "timestamp"),
  };
}

function integer(value: unknown): string {
  if (typeof value !== "bigint" && typeof value !== "number") throw new WireFault("log", "has no integer");
  return value.toString();
}

/** Of an index, a type, seconds. */
function countOf(value: unknown, what: string): number {
  const count = Number(value);
  if (!Number.isSafeInteger(count) || count < 0) throw new WireFault(what, "is out of range");
  return count;
}

function addressOf(value: unknown): string {
  if (typeof value !== "string") throw new WireFault("trader", "is no address");
  return value.toLowerCase();
}
