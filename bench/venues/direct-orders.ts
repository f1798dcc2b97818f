/**
 * The peer of the close bench: one small reduce-only market order at a time, signed and sent as a bot would without us,
 * and done when its fill is known. It uses the project's own signers, so that the difference is the service and nothing
 * else. This file is for venues whose answer contains the fill.
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
  /** Returns whether the venue filled it. */
  isTaken(text: string): boolean;
}

/** A little below any price of the local venues. */
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
