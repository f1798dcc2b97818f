/**
 * Rows of the record that are on their way to the store, by the orders of their run. While they are, the run is marked
 * as reported: whoever else stores it waits, because with marks of rows that are refused then a crash would lose the rows
 * for good.
 */
type Attempts = readonly object[];

interface OnTheWay {
  /** Batches of the run that are. */
  count: number;
  readonly arrived: Promise<void>;
  readonly arrive: () => void;
}

const onTheWay = new WeakMap<Attempts, OnTheWay>();

/** Null: what the run says of its record is durable. */
export function rowsOnTheWay({ attempts }: { readonly attempts: Attempts }): Promise<void> | null {
  return onTheWay.get(attempts)?.arrived ?? null;
}

/** Returns the function that ends the wait for these, once: they are durable, or taken back. */
export function sendRows(attempts: Attempts): () => void {
  const rows = onTheWay.get(attempts) ?? begun();
  rows.count++;
  onTheWay.set(attempts, rows);
  return () => {
    rows.count--;
    if (rows.count > 0) return;
    onTheWay.delete(attempts);
    rows.arrive();
  };
}

function begun(): OnTheWay {
  let arrive = (): void => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  return { count: 0, arrived, arrive };
}
