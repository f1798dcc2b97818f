/**
 * One small reduce-only market order at a time, signed and written as a bot without us would send it, and answered when
 * its fill is known: the peer of the close bench. The signers are the project's own, so that the difference measured is
 * the service and nothing else. Here for venues whose answer tells the fill.
 */
import { Pool } from "undici";
import { TAKEN, type Trader } from "../lib/trader.js";
import type { DirectTarget } from "./venue-bench.js";

interface DirectRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface DirectOrders {
  next(): DirectRequest;
  /** Did the venue fill it? */
  isTaken(text: string): boolean;
}

/** A little below any price that the local venues show. */
export const WORST_PRICE = "89000";
export const SIZE = "0.001";
const MAX_TEXT_CHARS = 120;
export const JSON_TYPE = { "content-type": "application/json" };
export const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

export function sendDirectly(orders: DirectOrders, { restUrl, callerCount }: DirectTarget): Trader {
  const pool = new Pool(restUrl, { connections: callerCount, pipelining: 1 });
  return {
    async trade() {
      const response = await pool.request({ method: "POST", ...orders.next() });
      const text = await response.body.text();
      return orders.isTaken(text) ? TAKEN : text.slice(0, MAX_TEXT_CHARS);
    },
    stop: () => pool.close(),
  };
}
