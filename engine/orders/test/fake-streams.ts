/** The account streams of a fake venue: what a test pushes reaches, at once, whoever listens for that account. */
import type { VenueOrder } from "../../domain/order.js";
import type { FeedState } from "../../market/market.js";
import type { AccountEvent, AccountStreams } from "../../ports.js";

export class FakeStreams implements AccountStreams {
  state: FeedState = "LIVE";
  /** Refuses to open any more. */
  isFull = false;
  readonly #listeners = new Map<string, Set<(event: AccountEvent) => void>>();

  openAccountStream(
    session: Parameters<AccountStreams["openAccountStream"]>[0],
    onEvent: (event: AccountEvent) => void,
  ): ReturnType<AccountStreams["openAccountStream"]> {
    if (this.isFull) return { ok: false, problem: "full" };
    const listeners = this.#listeners.get(session.accountId) ?? new Set();
    this.#listeners.set(session.accountId, listeners.add(onEvent));
    const state = (): FeedState => this.state;
    return {
      ok: true,
      stream: {
        get state() {
          return state();
        },
        positions: () => ({ ok: false, code: "VENUE_ERROR", message: "not known here", retryAfterMs: null }),
        close: () => void listeners.delete(onEvent),
      },
    };
  }

  /** Listeners there are, of all accounts. */
  get listenerCount(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  tell(account: string, event: AccountEvent): void {
    for (const listener of [...(this.#listeners.get(account) ?? [])]) listener(event);
  }

  /** One trade of an order, as most venues push it: with the order as it is by then. */
  tellFill(account: string, order: VenueOrder, qtyLots: number, tradeId: string): void {
    const price = order.averagePrice ?? "0";
    this.tell(account, { kind: "fill", order, qtyLots, price, fee: null, tradeId });
  }

  setState(state: FeedState): void {
    this.state = state;
    for (const account of this.#listeners.keys()) this.tell(account, { kind: "state", state });
  }
}
