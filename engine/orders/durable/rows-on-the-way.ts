/**
 * Rows of the record that are on their way to the store, by the orders of their run. While they are, the run is marked
 * as reported: whoever else stores it waits, because with marks of rows that are refused then a crash would lose the rows
 * for good.
 */
type Attempts = readonly object[];

const onTheWay = new WeakMap<Attempts, Promise<void>>();

/** Null: what the run says of its record is durable. */
export function rowsOnTheWay({ attempts }: { readonly attempts: Attempts }): Promise<void> | null {
  return onTheWay.get(attempts) ?? null;
}

/** Returns the function that ends the wait: they are durable, or taken back. */
export function sendRows(attempts: Attempts): () => void {
  let arrive = (): void => {};
  onTheWay.set(attempts, new Promise((resolve) => (arrive = resolve)));
  return () => {
    onTheWay.delete(attempts);
    arrive();
  };
}
