/** Orders as accounts send and look them up; what follows from one has happened when its call returns. */
import type { MatchingDeps } from "./engine-deps.js";
import type { Matching } from "./matching.js";
import { checkOrder } from "./order-checks.js";
import type { SimOrder, SimOrderRequest, SimRefusal, SimResult, SimVeto } from "../model/types.js";

export class OrderEntry {
  readonly #deps: MatchingDeps;
  readonly #matching: Matching;
  #veto: SimVeto | null = null;

  constructor(deps: MatchingDeps, matching: Matching) {
    this.#deps = deps;
    this.#matching = matching;
  }

  place(accountId: string, request: SimOrderRequest): SimResult<SimOrder> {
    const account = this.#deps.ledger.accounts.get(accountId);
    if (account === undefined) return refuse("UNKNOWN_ACCOUNT");
    const vetoed = this.#veto?.(accountId, request) ?? null;
    return vetoed === null ? this.#matching.place(account, request) : refuse(vetoed);
  }

  /** Asked before each order that an account places: a reason refuses it. Null ends it. */
  setVeto(veto: SimVeto | null): void {
    this.#veto = veto;
  }

  /** Same checks as `place`, no effect. */
  check(accountId: string, request: SimOrderRequest): SimResult<true> {
    const account = this.#deps.ledger.accounts.get(accountId);
    const reason = account === undefined ? "UNKNOWN_ACCOUNT" : checkOrder(this.#deps, account, request);
    return reason === null ? { ok: true, value: true } : refuse(reason);
  }

  cancel(accountId: string, orderId: number, reason = "USER"): SimResult<SimOrder> {
    return this.#matching.cancel(this.#deps.ledger.account(accountId), orderId, reason);
  }

  /** In place (same id): keeps priority only when the price stays and the quantity shrinks. Open LIMIT orders. */
  amend(accountId: string, orderId: number, qtyLots: number, priceTicks: number): SimResult<SimOrder> {
    return this.#matching.amend(this.#deps.ledger.account(accountId), orderId, qtyLots, priceTicks);
  }

  find(orderId: number): SimOrder | null {
    return this.#matching.orders.byId.get(orderId) ?? null;
  }

  /** Newest order of this account with the client id. */
  findByClientId(accountId: string, clientId: string): SimOrder | null {
    return this.#deps.ledger.account(accountId).byClientId.get(clientId) ?? null;
  }

  /** Open orders, oldest first. */
  open(accountId: string, symbol?: string): readonly SimOrder[] {
    return ofSymbol(this.#deps.ledger.account(accountId).openOrders.values(), symbol);
  }

  /** Open and closed orders, oldest first. */
  all(accountId: string, symbol?: string): readonly SimOrder[] {
    return ofSymbol(this.#deps.ledger.account(accountId).orders.values(), symbol);
  }
}

function ofSymbol(orders: Iterable<SimOrder>, symbol: string | undefined): readonly SimOrder[] {
  return symbol === undefined ? [...orders] : [...orders].filter((order) => order.symbol === symbol);
}

function refuse(reason: SimRefusal): { readonly ok: false; readonly reason: SimRefusal } {
  return { ok: false, reason };
}
