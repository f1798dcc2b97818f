/** Rows of account answers, recorded or plain, that tests change one field of at a time; and a venue that has confirmed the key. */
import type { AccountSession } from "../../../engine/ports.js";
import { parseJsonExact } from "../../shared/room/wire-fields.js";
import { ACCOUNT, accountFixture, CLIENT_INDEX, createHarness, type Harness } from "./trading-harness.js";

export const ADDRESS = `0x${"ab".repeat(20)}`;

export function position(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    market_id: 1,
    symbol: "BTC",
    initial_margin_fraction: "5.00",
    sign: 1,
    position: "0.02500",
    avg_entry_price: "83100.0",
    position_value: "2079.000000",
    unrealized_pnl: "1.500000",
    realized_pnl: "0.000000",
    liquidation_price: "0",
    margin_mode: 0,
    allocated_margin: "0.000000",
    ...changes,
  };
}

export function account(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    index: ACCOUNT,
    account_index: ACCOUNT,
    l1_address: ADDRESS,
    available_balance: "900.000000",
    collateral: "1000.000000",
    total_asset_value: "1001.500000",
    cross_initial_margin_requirement: "100.000000",
    cross_maintenance_margin_requirement: "60.000000",
    positions: [position()],
    assets: [
      { symbol: "USDC", asset_id: 3, balance: "10.000000", locked_balance: "4.000000", margin_balance: "1000.000000" },
    ],
    ...changes,
  };
}

export function answerOf(...accounts: readonly Record<string, unknown>[]): Record<string, unknown> {
  return { code: 200, total: accounts.length, accounts };
}

/** A row of the recorded answer, under other names. */
export function order(changes: Record<string, unknown>): Record<string, unknown> {
  const recorded = parseJsonExact(accountFixture("live-http-account-active-orders")) as {
    orders: Record<string, unknown>[];
  };
  return { ...recorded.orders[0], ...changes };
}

export const mine = { client_order_id: String(CLIENT_INDEX), client_order_index: CLIENT_INDEX };

export function ready(): { readonly harness: Harness; readonly session: AccountSession } {
  const harness = createHarness();
  harness.confirmKey();
  return { harness, session: harness.open() };
}
