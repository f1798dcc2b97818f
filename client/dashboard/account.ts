/**
 * The account that the page shows. Its credentials are in this tab's memory alone, never in an address, a store or a
 * log. They go to the service with the calls that need them, and are gone with the tab.
 */
import type { SubscriptionView } from "../stream/stream-client.js";
import type { OrdersData, PositionsData } from "../stream/topics.js";
import type { Credentials } from "../view/close-ticket.js";
import type { Board } from "./board.js";

export interface Account {
  readonly walletAddress: string;
  readonly credentials: Credentials;
  /** The demo's account: it opens only local venues. */
  readonly isDemo: boolean;
}

export class AccountBoard {
  readonly #board: Board;
  readonly #changed: () => void;
  readonly #refused: (code: string, error: string) => void;
  #end: () => void = () => {};
  account: Account | null = null;
  positions: PositionsData | null = null;
  orders: OrdersData | null = null;
  /** Positions and orders are both current. */
  isCurrent = false;
  /** Why the service does not show the account; "" where it does. */
  refusal = "";
  #current = { positions: false, orders: false };
  /** The service's time minus ours, from the newest frame. */
  #aheadMs = 0;

  /** `refused` runs when the stream does not serve the account. */
  constructor(board: Board, changed: () => void, refused: (code: string, error: string) => void) {
    this.#board = board;
    this.#changed = changed;
    this.#refused = refused;
  }

  get serverMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Throws RangeError where the stream allows no more subscriptions. */
  show(account: Account): void {
    this.forget();
    this.account = account;
    const { walletAddress, credentials } = account;
    const ends = (["positions", "orders"] as const).map((topic) =>
      this.#board.client.subscribe(
        { topic, walletAddress, credentials },
        {
          changed: (view) => this.#take(view),
          refused: (code, error) => {
            this.refusal = error;
            this.#changed();
            this.#refused(code, error);
          },
        },
      ),
    );
    this.#end = () => {
      for (const end of ends) end();
    };
    this.#changed();
  }

  forget(): void {
    this.#end();
    this.#end = () => {};
    this.account = null;
    this.positions = null;
    this.orders = null;
    this.refusal = "";
    this.#current = { positions: false, orders: false };
    this.isCurrent = false;
    this.#changed();
  }

  #take({ data, current, tsMs, heardMs }: SubscriptionView): void {
    if (data?.topic === "positions") this.positions = data;
    else if (data?.topic === "orders") this.orders = data;
    else return;
    this.refusal = "";
    this.#current = { ...this.#current, [data.topic]: current };
    this.isCurrent = this.#current.positions && this.#current.orders;
    // A view that existed already is as old as its frame.
    if (tsMs > 0) this.#aheadMs = tsMs - (Date.now() - (performance.now() - heardMs));
    this.#changed();
  }
}
