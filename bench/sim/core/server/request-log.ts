/**
 * The venue's own record of every order instruction whose signature it accepted, with its outcome. Tests judge by it.
 * The newest entries are always kept, and an order is shown as it is when read.
 */
import { moneyText, pow10, priceText, qtyText } from "../model/fixed.js";
import type { SimExchange } from "../engine/exchange.js";
import type { SimOrder, SimOrderStatus, SimPositionSide, SimSide } from "../model/types.js";

/** One order instruction that passed the venue's signature check, for tests to judge by. */
export interface SimRequestRecord {
  readonly index: number;
  readonly receivedMs: number;
  /** `place`, `cancel`, `amend`, `leverage`, … in the core's words. */
  readonly action: string;
  /** Recovered agent address, or the API key. */
  readonly signer: string;
  readonly accountId: string;
  readonly symbol: string | null;
  readonly clientId: string | null;
  readonly side: SimSide | null;
  readonly type: string | null;
  readonly timeInForce: string | null;
  readonly reduceOnly: boolean | null;
  readonly positionSide: SimPositionSide | null;
  /** As received, decimal text. */
  readonly price: string | null;
  readonly qty: string | null;
  readonly nonce: string | null;
  /** Address of the agent that the instruction makes or drops. */
  readonly agent: string | null;
  /** Set when an order resulted. */
  readonly orderId: number | null;
  /** Venue code and text of a refusal; null when executed. */
  readonly refusal: { readonly code: string; readonly text: string } | null;
  /** Filled in when read: the order as it is now. */
  readonly status: SimOrderStatus | null;
  readonly filledQty: string | null;
  readonly averagePrice: string | null;
  readonly fills: readonly {
    readonly price: string;
    readonly qty: string;
    readonly fee: string;
    readonly maker: boolean;
    readonly tsMs: number;
  }[];
}

/** What a room writes down when a request arrives; it completes it with `executed` or `refused`. */
export type SimRequestDraft = Pick<SimRequestRecord, "action" | "signer" | "accountId"> &
  Partial<
    Pick<
      SimRequestRecord,
      | "symbol"
      | "clientId"
      | "side"
      | "type"
      | "timeInForce"
      | "reduceOnly"
      | "positionSide"
      | "price"
      | "qty"
      | "nonce"
      | "agent"
    >
  >;

export interface RecordFilter {
  readonly accountId?: string;
  readonly symbol?: string;
  readonly clientId?: string;
  readonly action?: string;
}

const RECORDS_MAX = 200_000;

interface Entry {
  readonly index: number;
  readonly receivedMs: number;
  readonly draft: SimRequestDraft;
  orderId: number | null;
  refusal: { readonly code: string; readonly text: string } | null;
}

export class SimRequestLog {
  readonly #exchange: SimExchange;
  readonly #entries = new Map<number, Entry>();
  #nextIndex = 0;

  constructor(exchange: SimExchange) {
    this.#exchange = exchange;
  }

  /** How many were ever received: the index of the next one. */
  get length(): number {
    return this.#nextIndex;
  }

  /** Returns the record's index. Keeps the newest 200 000. */
  received(draft: SimRequestDraft): number {
    const index = this.#nextIndex++;
    const receivedMs = this.#exchange.nowMs();
    this.#entries.set(index, { index, receivedMs, draft, orderId: null, refusal: null });
    if (this.#entries.size > RECORDS_MAX) this.#entries.delete(index - RECORDS_MAX);
    return index;
  }

  executed(index: number, orderId: number | null): void {
    const entry = this.#entries.get(index);
    if (entry !== undefined) entry.orderId = orderId;
  }

  refused(index: number, code: string, text: string): void {
    const entry = this.#entries.get(index);
    if (entry !== undefined) entry.refusal = { code, text };
  }

  records(filter: RecordFilter = {}): readonly SimRequestRecord[] {
    const names = ["accountId", "symbol", "clientId", "action"] as const;
    return [...this.#entries.values()]
      .filter(({ draft }) => names.every((name) => filter[name] === undefined || draft[name] === filter[name]))
      .map((entry) => toRecord(entry, this.#exchange));
  }
}

function toRecord(entry: Entry, exchange: SimExchange): SimRequestRecord {
  const { draft } = entry;
  const order = entry.orderId === null ? null : exchange.orders.find(entry.orderId);
  return {
    index: entry.index,
    receivedMs: entry.receivedMs,
    action: draft.action,
    signer: draft.signer,
    accountId: draft.accountId,
    symbol: draft.symbol ?? null,
    clientId: draft.clientId ?? null,
    side: draft.side ?? null,
    type: draft.type ?? null,
    timeInForce: draft.timeInForce ?? null,
    reduceOnly: draft.reduceOnly ?? null,
    positionSide: draft.positionSide ?? null,
    price: draft.price ?? null,
    qty: draft.qty ?? null,
    nonce: draft.nonce ?? null,
    agent: draft.agent ?? null,
    orderId: entry.orderId,
    refusal: entry.refusal,
    status: order?.status ?? null,
    ...fillsOf(order, exchange),
  };
}

function fillsOf(
  order: SimOrder | null,
  exchange: SimExchange,
): Pick<SimRequestRecord, "filledQty" | "averagePrice" | "fills"> {
  const instrument = order === null ? undefined : exchange.instruments.get(order.symbol);
  if (order === null || instrument === undefined) return { filledQty: null, averagePrice: null, fills: [] };
  const average =
    order.filledLots === 0
      ? null
      : (order.filledNotionalE12 * pow10(instrument.qtyDecimals)) / BigInt(order.filledLots);
  return {
    filledQty: qtyText(instrument, order.filledLots),
    averagePrice: average === null ? null : moneyText(average, 8),
    fills: order.fills.map((fill) => ({
      price: priceText(instrument, fill.priceTicks),
      qty: qtyText(instrument, fill.qtyLots),
      fee: moneyText(fill.feeE12, 8),
      maker: fill.maker,
      tsMs: fill.tsMs,
    })),
  };
}
