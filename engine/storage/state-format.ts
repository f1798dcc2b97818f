/**
 * The format of what DATA_DIR keeps: rows of the state store, files of the spool. There is one number for all of it,
 * and it is in the store itself, because only there it changes in the commit that changes the rows. The record store
 * has its own migrations (records/migrations.ts).
 *
 * Whoever changes the meaning of a kept row or file adds a step here, and adds a folder of the previous format to
 * test/fixtures/, which engine/orders/test/kept-folders.test.ts opens.
 */

/** Synchronous, inside one write transaction: reads see the writes before them. */
export interface FormatRows {
  /** Rows of one namespace, by key. Rows written meanwhile may or may not be included. */
  rows(namespace: string): Iterable<{ readonly key: string; readonly value: Uint8Array }>;
  put(namespace: string, key: string, value: Uint8Array): void;
  remove(namespace: string, key: string): void;
}

export interface FormatStep {
  /** Format of the folder once the step is done. */
  readonly format: number;
  readonly name: string;
  /** If it throws, the store keeps its previous format and is not opened. */
  run(rows: FormatRows): void;
}

/** Formats count from 1 without gaps; a folder without a number has format 0. A released step is never changed. */
export const FORMAT_STEPS: readonly FormatStep[] = [
  {
    format: 1,
    name: "the folder names its format",
    run() {
      // The rows are unchanged.
    },
  },
  {
    format: 2,
    name: "rows have owners",
    run() {
      // The rows are unchanged: one without an owner was made without a key. A program that knows no owners would show
      // everybody's rows to everybody, so it may not open the folder any more.
    },
  },
  {
    format: 3,
    name: "key shares are sealed in it",
    run() {
      // The rows are unchanged: a folder of format 2 has no shares. A program that does not know where they lie would
      // not rewrap them when the key-encryption key is rotated, and all would be lost with the former key.
    },
  },
  {
    format: 4,
    name: "transfers wait for the record",
    run() {
      // The rows are unchanged: the mark of an open transfer, always 1 so far, counts its changes from here on. A program
      // that does not know the table would neither start beside its rows in the outbox nor send them.
    },
  },
];

export type FormatPlan =
  | { readonly kind: "run"; readonly from: number; readonly steps: readonly FormatStep[] }
  /** Written by a newer program, or not by this program (`found` null): nothing may be changed. */
  | { readonly kind: "refused"; readonly found: number | null; readonly known: number };

/** `found`: text of the store's own format row; null if it has none. `isEmpty`: the store has no rows at all. */
export function planFormat(
  found: string | null,
  isEmpty: boolean,
  steps: readonly FormatStep[] = FORMAT_STEPS,
): FormatPlan {
  const known = steps.at(-1)?.format ?? 0;
  const format = found === null ? (isEmpty ? known : 0) : parseFormat(found);
  if (format === null || format > known) return { kind: "refused", found: format, known };
  return { kind: "run", from: format, steps: steps.filter((step) => step.format > format) };
}

function parseFormat(text: string): number | null {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}
