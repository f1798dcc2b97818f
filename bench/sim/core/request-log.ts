/**
 * The venue's own record of every order instruction whose signature it accepted: what was asked, its outcome.
 * Tests judge by it; it never loses a newest entry and shows the order as it is when read.
 */
import { moneyText, pow10, priceText, qtyText } from "./fixed.js";
import type { SimExchange, SimOrder, SimOrderStatus, SimPositionSide, SimSide } from "./types.js";

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
    >
  >;

export interface SimRequestLog {
  /** How many were ever received: the index of the next one. */
  readonly length: number;
  /** Returns the record's index. Keeps the newest 200 000. */
  received(draft: SimRequestDraft): number;
  executed(index: number, orderId: number | null): void;
  refused(index: number, code: string, text: string): void;
  records(filter?: {
    readonly accountId?: string;
    readonly symbol?: string;
    readonly clientId?: string;
    readonly action?: string;
  }): readonly SimRequestRecord[];
}

const RECORDS_MAX = 200_000;

interface Entry {
  readonly index: number;
  readonly receivedMs: number;
  readonly draft: SimRequestDraft;
  orderId: number | null;
  refusal: { readonly code: string; readonly text: string } | null;
}

export function createRequestLog(exchange: SimExchange): SimRequestLog {
  const entries = new Map<number, Entry>();
  let nextIndex = 0;
  return {
    get length() {
      return nextIndex;
    },
    received(draft) {
      const index = nextIndex++;
      entries.set(index, { index, receivedMs: exchange.nowMs(), draft, orderId: null, refusal: null });
      if (entries.size > RECORDS_MAX) entries.delete(index - RECORDS_MAX);
      return index;
    },
    executed(index, orderId) {
      const entry = entries.get(index);
      if (entry !== undefined) entry.orderId = orderId;
    },
    refused(index, code, text) {
      const entry = entries.get(index);
      if (entry !== undefined) entry.refusal = { code, text };
    },
    records(filter) {
      const found: SimRequestRecord[] = [];
      for (const entry of entries.values()) {
        const { draft } = entry;
        if (filter?.accountId !== undefined && draft.accountId !== filter.accountId) continue;
        if (filter?.symbol !== undefined && draft.symbol !== filter.symbol) continue;
        if (filter?.clientId !== undefined && draft.clientId !== filter.clientId) continue;
        if (filter?.action !== undefined && draft.action !== filter.action) continue;
        found.push(toRecord(entry, exchange));
      }
      return found;
    },
  };
}

function toRecord(entry: Entry, exchange: SimExchange): SimRequestRecord {
  const { draft } = entry;
  const order = entry.orderId === null ? null : exchange.order(entry.orderId);
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
