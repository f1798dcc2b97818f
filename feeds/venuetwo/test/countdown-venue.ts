/**
 * A local model of the venue's orders and countdowns, of two accounts: requests and answers take their time, each its
 * own, so that what was sent first may come last; some are refused, some answers are lost, as the seed says.
 */
import type { Random } from "../../../engine/domain/random.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { V1, createHarness, type Harness, paramsOf, BTC } from "./trading-harness.js";
import { balancesOf, placedAnswer } from "./two-keys.js";

const MAX_WAY_MS = 150;
const MAX_SLOW_MS = 2_000;
const SLOW_SHARE = 0.06;
/** Of calls that may fail. */
const FAIL_SHARE = 0.07;

export type AccountName = "one" | "two";

const keysOf = (account: AccountName, count: number): readonly (typeof V1)[] =>
  Array.from({ length: count }, (_, index) => {
    const name = `${account}-${index}`;
    return { ...V1, apiKey: `key-${name}`, apiSecret: `secret-${name}` };
  });

/** Many, so that some are met for the first time now and then: whose account such a one is nobody knows yet. */
export const KEYS: Readonly<Record<AccountName, readonly (typeof V1)[]>> = {
  one: keysOf("one", 24),
  two: keysOf("two", 2),
};

export interface RestingOrder {
  readonly account: AccountName;
  readonly symbol: string;
  /** Monotonic ms. */
  readonly askedMs: number;
}

/** `lost`: it never arrives. `unanswered`: it does, and its answer is lost. */
export type Fate = "answered" | "refused" | "lost" | "unanswered";

/** The outcome of the next call whose path has this name. */
export interface Planned {
  readonly name: "openOrders" | "countdownCancelAll";
  readonly fate?: Fate;
  /** Its way to the venue. */
  readonly wayMs?: number;
}

export interface CountdownEvents {
  /** A countdown is over, and cancels these. */
  onCanceled(account: AccountName, orders: readonly RestingOrder[]): void;
  /** A call by which a symbol is followed did not come through, or its answer did not; null: no symbol in particular. */
  onFailed(account: AccountName, symbol: string | null): void;
}

export class CountdownVenue {
  readonly harness: Harness = createHarness();
  readonly orders = new Map<string, RestingOrder>();
  /** In this order. */
  readonly planned: Planned[] = [];
  /** Account and symbol → monotonic ms. */
  readonly #firesAtMs = new Map<string, number>();
  readonly #askedMs = new Map<string, number>();
  readonly #random: Random;
  readonly #events: CountdownEvents;
  readonly #isHostile: boolean;

  constructor(random: Random, isHostile: boolean, events: CountdownEvents) {
    this.#random = random;
    this.#isHostile = isHostile;
    this.#events = events;
    for (let count = 0; count < 8; count++) {
      const symbol = `S${count}`;
      this.harness.instruments.set(symbol, { ...BTC, symbol, nativeSymbol: `${symbol}USDT` });
    }
    const answer = (request: HttpRequest): Promise<HttpResult> => {
      this.harness.http.step(answer);
      return this.#serve(request);
    };
    this.harness.http.step(answer);
  }

  nowMs(): number {
    return this.harness.clock.monoNs() / 1e6;
  }

  /** Before the order is sent. */
  asked(clientId: string): void {
    this.#askedMs.set(clientId, this.nowMs());
  }

  openOf(account: AccountName): readonly RestingOrder[] {
    return [...this.orders.values()].filter((order) => order.account === account);
  }

  async pass(ms: number): Promise<void> {
    await this.harness.clock.advanceAsync(ms);
    for (const [name, atMs] of this.#firesAtMs) {
      if (atMs > this.nowMs()) continue;
      this.#firesAtMs.delete(name);
      const [account, symbol] = name.split(" ") as [AccountName, string];
      const canceled = [...this.orders].filter(([, order]) => order.account === account && order.symbol === symbol);
      for (const [clientId] of canceled) this.orders.delete(clientId);
      if (canceled.length > 0)
        this.#events.onCanceled(
          account,
          canceled.map(([, order]) => order),
        );
    }
  }

  async #serve(request: HttpRequest): Promise<HttpResult> {
    const { http } = this.harness;
    const params = paramsOf(request);
    const key = request.headers["x-mbx-apikey"] ?? "";
    const account = (Object.keys(KEYS) as AccountName[]).find((name) =>
      KEYS[name].some(({ apiKey }) => apiKey === key),
    );
    if (account === undefined) throw new Error(`nobody has the key ${key}`);
    const isPlanned = request.path.includes(this.planned[0]?.name ?? "nothing");
    const planned = isPlanned ? this.planned.shift() : undefined;
    const fate = planned?.fate ?? this.#fateOf(request, account, params["symbol"] ?? null);
    await this.#way(planned?.wayMs);
    const body = fate === "refused" || fate === "lost" ? null : this.#answer(request, account, params);
    await this.#way();
    if (fate === "refused") return http.response(400, { code: -1003, msg: "Too many requests." });
    return fate === "answered" ? http.response(200, body) : http.response(500, "<html>");
  }

  #fateOf(request: HttpRequest, account: AccountName, symbol: string | null): Fate {
    const mayFail = this.#isHostile && !request.path.startsWith("/fapi/v1/order");
    if (!mayFail || this.#random.next() >= FAIL_SHARE) return "answered";
    this.#events.onFailed(account, symbol);
    const share = this.#random.next();
    return share < 0.4 ? "refused" : share < 0.7 ? "lost" : "unanswered";
  }

  #answer(request: HttpRequest, account: AccountName, params: Readonly<Record<string, string>>): unknown {
    const { symbol = "", newClientOrderId = "", countdownTime = "" } = params;
    if (request.path.includes("/balance")) return balancesOf(account);
    if (request.path.includes("/openOrders")) return this.openOf(account).map((order) => placedAnswer(order.symbol));
    if (request.path.includes("/countdownCancelAll")) {
      const ms = Number(countdownTime);
      if (ms === 0) this.#firesAtMs.delete(`${account} ${symbol}`);
      else this.#firesAtMs.set(`${account} ${symbol}`, this.nowMs() + ms);
      return { symbol, countdownTime };
    }
    if (!request.path.includes("/order")) throw new Error(`not modelled: ${request.path}`);
    const askedMs = this.#askedMs.get(newClientOrderId) ?? this.nowMs();
    this.orders.set(newClientOrderId, { account, symbol, askedMs });
    return placedAnswer(symbol, newClientOrderId);
  }

  #way(plannedMs?: number): Promise<void> {
    const isSlow = this.#random.next() < SLOW_SHARE;
    const ms = plannedMs ?? 5 + this.#random.next() * (isSlow ? MAX_SLOW_MS : MAX_WAY_MS);
    return new Promise((resolve) => this.harness.clock.setTimer(resolve, ms));
  }
}
