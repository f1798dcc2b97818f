/** An event as the contract that makes it would log it. */
import { encodeAbiParameters, type Hex, parseAbi, toEventSelector } from "viem";
import { TRADING_ABI, TRADING_CALLBACKS_ABI, TRADING_STORAGE_ABI } from "../../../../schemas/venuefive/abi.js";
import type { ChainEventLog } from "../chain-port.js";
import type { EventTrade, VenuefiveEvent } from "../event.js";

export const ADDRESSES = {
  Trading: `0x${"71".repeat(20)}`,
  TradingStorage: `0x${"72".repeat(20)}`,
} as const;
export const CALLBACKS = `0x${"73".repeat(20)}`;

const TRADING = parseAbi(TRADING_ABI);
const STORAGE = parseAbi(TRADING_STORAGE_ABI);
const CALLBACKS_EVENTS = parseAbi(TRADING_CALLBACKS_ABI);
const TRIGGERS = { TP: 0, SL: 1, LIQ: 2 } as const;

type Args = Readonly<Record<string, unknown>>;
interface Said {
  readonly address: string;
  readonly abi: readonly unknown[];
  readonly name: string;
  readonly args: Args;
}

/** `fromCallbacks`: of the events that two contracts have. */
export function encodeEvent(event: VenuefiveEvent, fromCallbacks = false): ChainEventLog {
  const { address, abi, name, args } = said(event, fromCallbacks);
  const item = (abi as readonly { type: string; name?: string; inputs?: readonly Input[] }[]).find(
    (one) => one.type === "event" && one.name === name,
  );
  if (item?.inputs === undefined) throw new Error(`no event ${name}`);
  const plain = item.inputs.filter((input) => !isIndexed(input));
  const { block, blockHash, logIndex, txHash } = event;
  return {
    ...{ address, block, blockHash, logIndex, txHash, isRemoved: false },
    topics: [selectorOf(item), ...item.inputs.filter(isIndexed).map(() => topicOf(event.trader))],
    data: encodeAbiParameters(plain as never, plain.map((input) => args[input.name ?? ""]) as never),
  };
}

/** Of an event, whose hash would take the most time of a run. */
const SELECTORS = new Map<unknown, string>();

function selectorOf(item: unknown): string {
  const selector = SELECTORS.get(item) ?? toEventSelector(item as never);
  SELECTORS.set(item, selector);
  return selector;
}

/** Only traders are indexed. */
const isIndexed = ({ indexed }: Input): boolean => indexed === true;
const topicOf = (address: string): string => `0x${address.slice(2).padStart(64, "0")}`;

interface Input {
  readonly name?: string;
  readonly indexed?: boolean;
}

const trading = (name: string, args: Args): Said => ({ address: ADDRESSES.Trading, abi: TRADING, name, args });
const callbacks = (name: string, args: Args): Said => ({ address: CALLBACKS, abi: CALLBACKS_EVENTS, name, args });

function said(event: VenuefiveEvent, fromCallbacks: boolean): Said {
  const trader = event.trader as Hex;
  const pairIndex = BigInt(event.pairIndex);
  const timestamp = BigInt(event.timeMs / 1_000);
  const of = { trader, pairIndex, timestamp };
  switch (event.kind) {
    case "queued":
      return trading("MarketOrderInitiated", {
        ...{ ...of, open: event.isOpen, orderId: BigInt(event.orderId), isBuy: event.isLong, isPnl: event.isZeroFee },
        ...{ initialPosToken: BigInt(event.collateral), leverage: BigInt(event.leverage) },
      });
    case "gave-up": {
      const args = { orderId: BigInt(event.orderId), trader, pairIndex };
      if (fromCallbacks) return callbacks("MarketOpenCanceled", args);
      return { address: ADDRESSES.TradingStorage, abi: STORAGE, name: "MarketOpenCanceled", args };
    }
    case "placed":
      return trading("OpenLimitPlaced", {
        ...{ trader, pairIndex, index: BigInt(event.index), isBuy: event.isLong, openPrice: BigInt(event.price) },
        ...{ executionFee: 0n, orderType: event.orderType, slippageP: BigInt(event.slippage) },
        ...{ collateral: BigInt(event.collateral), leverage: BigInt(event.leverage) },
      });
    case "updated":
      return trading("OpenLimitUpdated", {
        ...{ ...of, index: BigInt(event.index), newPrice: BigInt(event.price) },
        ...{ newTp: BigInt(event.tp), newSl: BigInt(event.sl) },
      });
    case "canceled":
      return trading("OpenLimitCanceled", { ...of, index: BigInt(event.index), collateral: BigInt(event.collateral) });
    case "executed":
      return callbacks("MarketExecuted", {
        ...{ orderId: BigInt(event.orderId), t: tradeOf(event, event.trade), open: event.isOpen },
        ...{ price: BigInt(event.price), positionSizeUSDC: BigInt(event.collateral), isPnl: event.isZeroFee },
        ...{ percentProfit: BigInt(event.percentProfit), usdcSentToTrader: BigInt(event.sent) },
      });
    case "filled":
      return callbacks("LimitExecuted", {
        ...{ orderId: BigInt(event.orderId), limitIndex: BigInt(event.index), t: tradeOf(event, event.trade) },
        ...{ orderType: 3, price: BigInt(event.price), positionSizeUSDC: BigInt(event.collateral), isPnl: false },
        ...{ percentProfit: BigInt(event.triggerPrice), usdcSentToTrader: BigInt(event.price) },
      });
    case "triggered":
      return callbacks("LimitExecuted", {
        ...{ orderId: BigInt(event.orderId), limitIndex: BigInt(event.price), t: tradeOf(event, event.trade) },
        ...{ orderType: TRIGGERS[event.trigger], price: BigInt(event.price), isPnl: event.isZeroFee },
        ...{ positionSizeUSDC: BigInt(event.collateral), percentProfit: BigInt(event.percentProfit) },
        usdcSentToTrader: BigInt(event.sent),
      });
    case "margin":
      return trading("MarginUpdated", {
        ...{ ...of, index: BigInt(event.index), _type: event.isDeposit ? 0 : 1, lossProtectionTier: 0n },
        ...{ marginFees: BigInt(event.fees), newTrade: marginTrade(event) },
      });
    case "tp":
      return trading("TpUpdated", { ...of, index: BigInt(event.index), newTp: BigInt(event.price) });
    case "sl":
      return fromCallbacks
        ? callbacks("SlUpdated", { ...of, orderId: 1n, index: BigInt(event.index), newSl: BigInt(event.price) })
        : trading("SlUpdated", { ...of, index: BigInt(event.index), newSl: BigInt(event.price) });
  }
}

/** The executed trade has the time of the opening in `positionSizeUSDC` too. */
function tradeOf({ trader, pairIndex }: VenuefiveEvent, trade: EventTrade): Args {
  return {
    ...{ trader, pairIndex: BigInt(pairIndex), index: BigInt(trade.index), buy: trade.isLong },
    ...{ initialPosToken: BigInt(trade.collateral), positionSizeUSDC: BigInt(trade.openedAt) },
    ...{ openPrice: BigInt(trade.openPrice), leverage: BigInt(trade.leverage), tp: BigInt(trade.tp) },
    ...{ sl: BigInt(trade.sl), timestamp: BigInt(trade.openedAt) },
  };
}

function marginTrade(event: Extract<VenuefiveEvent, { kind: "margin" }>): Args {
  const { collateral, leverage } = event;
  const trade = {
    index: event.index,
    collateral,
    leverage,
    openPrice: "1",
    isLong: true,
    tp: "0",
    sl: "0",
    openedAt: 1,
  };
  return tradeOf(event, trade);
}
