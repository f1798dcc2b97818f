/**
 * Whoever executes at the local venuefive: market orders at the price that was set, limit orders, take-profits,
 * stop-losses and liquidations once their condition holds. Invariant: it acts in rounds that the owner asks for, in an
 * order that follows from the chain alone. It sends nothing that would revert.
 */
import type { Hex } from "viem";
import { ChainKey } from "../chain/chain-account.js";
import type { ChainRpc } from "../chain/chain-rpc.js";
import { contractCall, ContractSender, readContract } from "./calls.js";
import { KEEPER_KEY, VENUEFIVE_CHAIN_ID } from "./plan.js";

export interface KeeperOptions {
  readonly rpc: ChainRpc;
  readonly minesItself: boolean;
  /** Blocks after which an order that cannot be executed is canceled; null: never. Default 30, a minute of the real chain. */
  readonly giveUpBlocks?: number | null;
}

/** Values of the venue's enum, in its order. */
export const TRIGGERS = ["TP", "SL", "LIQ", "OPEN"] as const;
type Trigger = (typeof TRIGGERS)[number];

export interface TriggeredSlot {
  readonly kind: Trigger;
  readonly trader: Hex;
  readonly pairIndex: bigint;
  readonly index: bigint;
}

/** What one round did. */
export interface KeeperRound {
  readonly executed: readonly bigint[];
  /** With the text of the revert that keeps each waiting. */
  readonly waiting: readonly { readonly orderId: bigint; readonly reason: string }[];
  readonly canceled: readonly bigint[];
  readonly triggered: readonly TriggeredSlot[];
}

interface KeptTrade {
  readonly trade: {
    readonly trader: Hex;
    readonly pairIndex: bigint;
    readonly index: bigint;
    readonly buy: boolean;
    readonly tp: bigint;
    readonly sl: bigint;
  };
  readonly liquidationPrice: bigint;
}
interface KeptOrder {
  readonly trader: Hex;
  readonly pairIndex: bigint;
  readonly index: bigint;
  readonly buy: boolean;
  readonly price: bigint;
  readonly slippageP: bigint;
}
type Work = readonly [
  pending: readonly { readonly orderId: bigint; readonly orderInfo: { readonly block: bigint } }[],
  trades: readonly KeptTrade[],
  orders: readonly KeptOrder[],
  orderTypes: readonly number[],
  prices: readonly bigint[],
];

const GIVE_UP_BLOCKS = 30;
const STOP_ORDER = 1;
/** Oracle bytes, which the contracts do not read, and their source. */
const PRICE = [["0x01"], 0] as const;

export class VenuefiveKeeper {
  readonly #rpc: ChainRpc;
  readonly #sender: ContractSender;
  readonly #giveUpBlocks: bigint | null;
  #isRefusing = false;

  constructor({ rpc, minesItself, giveUpBlocks = GIVE_UP_BLOCKS }: KeeperOptions) {
    this.#rpc = rpc;
    this.#sender = new ContractSender(new ChainKey(KEEPER_KEY, VENUEFIVE_CHAIN_ID), rpc, minesItself);
    this.#giveUpBlocks = giveUpBlocks === null ? null : BigInt(giveUpBlocks);
  }

  /** While it refuses, a round does nothing: as a keeper that is down. */
  refuse(isRefusing = true): void {
    this.#isRefusing = isRefusing;
  }

  /** Gives a waiting market order up at once, whether it could be executed or not. */
  async cancel(orderId: bigint): Promise<void> {
    await this.#sender.send(contractCall("Trading", "cancelPendingMarketOrder", [orderId]));
  }

  /** Executes what waits, then triggers what its price has reached. */
  async round(): Promise<KeeperRound> {
    if (this.#isRefusing) return { executed: [], waiting: [], canceled: [], triggered: [] };
    const market = await this.#marketOrders();
    return { ...market, triggered: await this.#triggers() };
  }

  #work(): Promise<Work> {
    return readContract<Work>(this.#rpc, "Multicall", "keeperWork");
  }

  async #marketOrders(): Promise<Omit<KeeperRound, "triggered">> {
    const [pending] = await this.#work();
    const executed: bigint[] = [];
    const waiting: { orderId: bigint; reason: string }[] = [];
    const canceled: bigint[] = [];
    for (const { orderId, orderInfo } of [...pending].sort((left, right) => Number(left.orderId - right.orderId))) {
      const refusal = await this.#act(contractCall("Trading", "executeMarketOrders", [[orderId], ...PRICE]));
      if (refusal === null) executed.push(orderId);
      else if (await this.#isTooOld(orderInfo.block)) {
        await this.cancel(orderId);
        canceled.push(orderId);
      } else waiting.push({ orderId, reason: refusal });
    }
    return { executed, waiting, canceled };
  }

  async #triggers(): Promise<TriggeredSlot[]> {
    const [, trades, orders, orderTypes, prices] = await this.#work();
    const due: TriggeredSlot[] = [];
    for (const trade of trades) {
      const kind = triggerOf(trade, prices[Number(trade.trade.pairIndex)] ?? 0n);
      if (kind !== null) due.push(slot(kind, trade.trade));
    }
    for (const [at, order] of orders.entries())
      if (isFillable(order, orderTypes[at] === STOP_ORDER, prices[Number(order.pairIndex)] ?? 0n))
        due.push(slot("OPEN", order));
    const triggered: TriggeredSlot[] = [];
    for (const one of due) {
      const args = [TRIGGERS.indexOf(one.kind), one.trader, one.pairIndex, one.index, ...PRICE];
      if ((await this.#act(contractCall("Trading", "executeLimitOrder", args))) === null) triggered.push(one);
    }
    return triggered;
  }

  async #isTooOld(placedBlock: bigint): Promise<boolean> {
    if (this.#giveUpBlocks === null) return false;
    return BigInt((await this.#rpc("eth_blockNumber")) as Hex) - placedBlock >= this.#giveUpBlocks;
  }

  /** Sends it where it would not revert. Returns why it did not happen, null where it did. */
  async #act(call: ReturnType<typeof contractCall>): Promise<string | null> {
    const refusal = await this.#sender.refusal(call);
    if (refusal !== null) return refusal;
    const { status } = await this.#sender.send(call);
    return status === "0x1" ? null : "reverted in its block";
  }
}

const slot = (kind: Trigger, { trader, pairIndex, index }: Omit<TriggeredSlot, "kind">): TriggeredSlot => ({
  kind,
  trader,
  pairIndex,
  index,
});

/** A stop loss goes before a liquidation, which the venue refuses where the stop lies before it. */
function triggerOf({ trade, liquidationPrice }: KeptTrade, price: bigint): Trigger | null {
  const { buy, tp, sl } = trade;
  if (price === 0n) return null;
  if (sl > 0n && (buy ? price <= sl : price >= sl)) return "SL";
  if (buy ? price <= liquidationPrice : price >= liquidationPrice) return "LIQ";
  return tp > 0n && (buy ? price >= tp : price <= tp) ? "TP" : null;
}

/** The trigger is reached, and the price is not beyond the slippage from it. */
function isFillable({ buy, price: trigger, slippageP }: KeptOrder, isStop: boolean, price: bigint): boolean {
  if (price === 0n) return false;
  const isRising = buy === isStop;
  if (isRising ? price < trigger : price > trigger) return false;
  const slippage = (trigger * slippageP) / 100n / 10n ** 10n;
  return buy ? price <= trigger + slippage : price >= trigger - slippage;
}
