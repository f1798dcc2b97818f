/**
 * Requests for signatures of the outside signer. Open ones are in memory too, by which they are counted and looked after;
 * those that ended are read from the store where they are asked for again, and go after some days.
 */
import { allRows, type StateStore } from "../../storage/state-store.js";
import {
  encodeRequestRow,
  OUTSIDE_REQUESTS,
  type OutsideRequestRow,
  placeOf,
  readRequestRow,
  type RequestPlace,
  requestKey,
} from "./request-row.js";

const PAGE_ROWS = 256;

export class OutsideRequestBook {
  readonly #store: Pick<StateStore, "get" | "put" | "scan" | "commit">;
  readonly #open = new Map<string, OutsideRequestRow>();
  readonly #openOfWallet = new Map<string, number>();
  /** Of open ones that were asked for again, since the start. */
  readonly #askedAtMs = new Map<string, number>();

  constructor(store: Pick<StateStore, "get" | "put" | "scan" | "commit">) {
    this.#store = store;
  }

  /** Rejects where a row cannot be read. */
  async load(): Promise<void> {
    for await (const { key, value } of allRows(this.#store, OUTSIDE_REQUESTS))
      this.#show(key, readRequestRow(key, value));
  }

  get openCount(): number {
    return this.#open.size;
  }

  openCountOf(walletId: string): number {
    return this.#openOfWallet.get(walletId) ?? 0;
  }

  /** Null: never asked for, or long ago. */
  async get(place: RequestPlace): Promise<OutsideRequestRow | null> {
    const key = requestKey(place);
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const value = await this.#store.get(OUTSIDE_REQUESTS, key);
    return value === null ? null : readRequestRow(key, value);
  }

  /** Somebody still asks for it. */
  noteAsked(place: RequestPlace, atMs: number): void {
    const key = requestKey(place);
    if (this.#open.has(key)) this.#askedAtMs.set(key, atMs);
  }

  /** Durable when it resolves. */
  async put(place: RequestPlace, row: OutsideRequestRow): Promise<void> {
    const key = requestKey(place);
    await this.#store.put(OUTSIDE_REQUESTS, key, encodeRequestRow(row));
    this.#show(key, row);
  }

  /** Open ones that nobody asked for since that time. */
  openSince(atMs: number): readonly { readonly place: RequestPlace; readonly row: OutsideRequestRow }[] {
    return [...this.#open].flatMap(([key, row]) => {
      const place = Math.max(row.atMs, this.#askedAtMs.get(key) ?? 0) < atMs ? placeOf(key) : null;
      return place === null ? [] : [{ place, row }];
    });
  }

  /** Removes what ended before that time. What is asked for again after it is another row, of the first round. */
  async removeEnded(atMs: number): Promise<void> {
    for await (const { key, value } of allRows(this.#store, OUTSIDE_REQUESTS, { pageRows: PAGE_ROWS })) {
      const row = readRequestRow(key, value);
      // As it was read: one that was asked for again meanwhile stays.
      if (row.state !== "OPEN" && row.atMs < atMs)
        await this.#store.commit({
          conditions: [{ namespace: OUTSIDE_REQUESTS, key, expected: value }],
          writes: [{ namespace: OUTSIDE_REQUESTS, key, value: null }],
        });
    }
  }

  #show(key: string, row: OutsideRequestRow): void {
    if (row.state !== "OPEN") {
      this.#forget(key);
      return;
    }
    if (!this.#open.has(key)) this.#count(key, 1);
    this.#open.set(key, row);
  }

  #forget(key: string): void {
    this.#askedAtMs.delete(key);
    if (this.#open.delete(key)) this.#count(key, -1);
  }

  #count(key: string, change: number): void {
    const walletId = key.slice(0, key.indexOf("."));
    const count = (this.#openOfWallet.get(walletId) ?? 0) + change;
    if (count === 0) this.#openOfWallet.delete(walletId);
    else this.#openOfWallet.set(walletId, count);
  }
}
