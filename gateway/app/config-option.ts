/**
 * The description of an option of the service: kind, bounds, default and meaning. The rows are in config-options.ts.
 */

type OptionKind =
  | { readonly kind: "text"; readonly default: string }
  | { readonly kind: "secret"; readonly default: "" }
  | { readonly kind: "url"; readonly default: string }
  /** Like url; empty where there is none. */
  | { readonly kind: "optional-url"; readonly default: "" }
  | { readonly kind: "word"; readonly words: readonly string[]; readonly default: string }
  | { readonly kind: "integer"; readonly min: number; readonly max: number; readonly default: number }
  | { readonly kind: "number"; readonly min: number; readonly max: number; readonly default: number }
  | { readonly kind: "boolean"; readonly default: boolean }
  /** Basis points as decimal text, at most three decimals; "" uses the venue's rate. */
  | { readonly kind: "bps"; readonly default: "" }
  /** Decimal text above 0 in quote or token units, at most six decimals; "" means no limit where it is the default. */
  | { readonly kind: "amount"; readonly default: string }
  /** Comma-separated text, or a JSON array in the file. */
  | { readonly kind: "list"; readonly default: readonly string[] };

export type Option = OptionKind & {
  readonly doc: string;
  /** Its value may have keys in it: it leaves the environment of the process as secrets do. */
  readonly mayHoldKeys?: true;
};

/** Keeps the literal types of a row. */
export const option = <const T extends Option>(value: T): T => value;
