/** The parts of an `/info` query, for the tables of market and account queries. */
import type { Struct } from "../wire/shape.js";

export interface InfoQuery<Context> {
  /** Known fields after `type`, in the order of the positional form. */
  readonly keys: readonly string[];
  readonly weight: number;
  /** One more weight per so many rows returned. */
  readonly rowsPerWeight?: number;
  readonly answer: (fields: Struct, context: Context) => unknown;
}

/** Answer of a query that the venue meets with HTTP 500 and body `null`. */
export const SERVER_ERROR = Symbol("server error");
