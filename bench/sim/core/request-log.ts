/**
 * The venue's own record of every order instruction whose signature it accepted: what was asked, what became of it.
 * Tests judge by it; it never loses a newest entry and shows the order as it is when read.
 */
import { moneyText, pow10, priceText, qtyText } from "./fixed.js";
import type { SimExchange, SimOrder, SimRequestDraft, SimRequestLog, SimRequestRecord } from "./types.js";

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
