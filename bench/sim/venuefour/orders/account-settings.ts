/** Leverage and margin mode per market; what differs from the default is listed with the times of its changes. */
import type { VenuefourContext } from "./context.js";
import { refuseBook, refuseBusiness } from "../wire/errors.js";
import type { Row } from "../market/market-view.js";
import type { Fields } from "../wire/operations.js";
import type { Caller } from "./order-checks.js";

interface Times {
  readonly createdMs: number;
  readonly updatedMs: number;
}

export class AccountSettings {
  readonly #context: VenuefourContext;
  /** By account and symbol. Bounded by the markets of the accounts here. */
  readonly #times = new Map<string, Times>();

  constructor(context: VenuefourContext) {
    this.#context = context;
    context.exchange.addListener({
      onConfig: (account, change) => {
        if (change.kind !== "hedgeMode") this.#touch(account.accountId, change.symbol);
      },
    });
  }

  setLeverage(caller: Caller, fields: Fields): void {
    const { exchange, quirks } = this.#context;
    const symbol = this.#symbol(fields);
    const leverage = Number(fields.leverage);
    const isOpen = (exchange.accounts.position(caller.accountId, symbol, "BOTH")?.qtyLots ?? 0) !== 0;
    if (isOpen && leverage < exchange.accounts.leverage(caller.accountId, symbol))
      throw refuseBusiness("invalidLeverage", `Cannot decrease leverage with open position.: ${leverage}`, quirks);
    if (!exchange.desk.setLeverage(caller.accountId, symbol, leverage).ok)
      throw refuseBusiness("invalidLeverage", `Invalid leverage: ${leverage}`, quirks);
  }

  setMarginMode(caller: Caller, fields: Fields): void {
    const { exchange, quirks } = this.#context;
    const symbol = this.#symbol(fields);
    const mode = fields.is_isolated === true ? "isolated" : "cross";
    const done = exchange.desk.setMarginMode(caller.accountId, symbol, mode);
    if (!done.ok && done.reason !== "NO_CHANGE")
      throw refuseBusiness("cannotUpdateMargin", `Cannot update margin mode for ${symbol}`, quirks);
  }

  /** `data` of `GET /account/settings`, in the shape of the day. */
  print(accountId: string): unknown {
    const { exchange, listing, quirks } = this.#context;
    const rows: Row[] = [];
    for (const { symbol, maxLeverage } of exchange.instruments.values()) {
      const times = this.#times.get(`${accountId}|${symbol}`);
      if (times === undefined || exchange.accounts.find(accountId) === null) continue;
      const leverage = exchange.accounts.leverage(accountId, symbol);
      const isolated = exchange.accounts.marginMode(accountId, symbol) === "isolated";
      if (!isolated && leverage === maxLeverage) continue;
      rows.push({ symbol, isolated, leverage, created_at: times.createdMs, updated_at: times.updatedMs });
    }
    if (quirks.settingsShape === "old") return rows;
    const spot = [...listing.spotSymbols].map((symbol) => ({ symbol, unified_margin_excluded: false }));
    return { auto_lend_disabled: null, margin_settings: rows, spot_settings: spot };
  }

  #symbol(fields: Fields): string {
    const symbol = String(fields.symbol);
    if (!this.#context.exchange.instruments.has(symbol)) throw refuseBook(symbol, this.#context.quirks);
    return symbol;
  }

  #touch(accountId: string, symbol: string): void {
    const key = `${accountId}|${symbol}`;
    const updatedMs = this.#context.exchange.nowMs();
    this.#times.set(key, { createdMs: this.#times.get(key)?.createdMs ?? updatedMs, updatedMs });
  }
}
