/** Rows of one owner in the order of their wallet ids: a page costs its own rows, whatever lies before and behind it. */
export class SortedRows<Row extends { readonly walletId: string }> {
  readonly #rows: Row[] = [];

  /** Its id is none of those that are here. A start adds them in order, which is behind the last one each. */
  add(row: Row): void {
    this.#rows.splice(this.#behind(row.walletId), 0, row);
  }

  remove(walletId: string): void {
    const at = this.#behind(walletId) - 1;
    if (this.#rows[at]?.walletId === walletId) this.#rows.splice(at, 1);
  }

  /** From behind `walletId`; null: from the first. */
  *after(walletId: string | null): Generator<Row> {
    for (let at = walletId === null ? 0 : this.#behind(walletId); at < this.#rows.length; at++) {
      const row = this.#rows[at];
      if (row !== undefined) yield row;
    }
  }

  /** The index of the first row behind that id. */
  #behind(walletId: string): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle]?.walletId ?? "") <= walletId) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
