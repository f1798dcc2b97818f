/** Columns that several tables of the record share, and the type of each kind of figure. */
import type { RecordColumn } from "./record-table.js";

export const RX = { name: "rx", type: "DateTime64(6, 'UTC')", codec: "Delta, ZSTD(1)" } as const;
export const EX = { name: "ex", type: "DateTime64(3, 'UTC')", codec: "Delta, ZSTD(1)" } as const;
export const VENUE = { name: "venue", type: "LowCardinality(String)" } as const;
export const SYMBOL = { name: "symbol", type: "LowCardinality(String)" } as const;
export const SIDE = "Enum8('BUY' = 1, 'SELL' = 2)";

export const word = (name: string): RecordColumn => ({ name, type: "LowCardinality(String)" });
export const text = (name: string): RecordColumn => ({ name, type: "String", codec: "ZSTD(1)" });
export const count = (name: string): RecordColumn => ({ name, type: "UInt64", codec: "Delta, ZSTD(1)" });
/** Prices until schema version 2; they cut the digits of contracts of a million units. */
export const narrowPrice = (name: string, writtenUntil: number): RecordColumn => ({
  name,
  type: "Decimal(18, 10)",
  codec: "Delta, ZSTD(1)",
  writtenUntil,
});
/** `narrow`: the column that it replaces. */
export const price = (name: string, narrow: string): RecordColumn => ({
  name,
  type: "Decimal(38, 18)",
  codec: "ZSTD(1)",
  otherwise: narrow,
});
export const qty = (name: string): RecordColumn => ({ name, type: "Decimal(38, 8)", codec: "ZSTD(1)" });
export const money = (name: string): RecordColumn => ({ name, type: "Decimal(38, 18)", codec: "ZSTD(1)" });
export const maybeMoney = (name: string): RecordColumn => ({
  name,
  type: "Nullable(Decimal(38, 18))",
  codec: "ZSTD(1)",
});
export const monies = (name: string): RecordColumn => ({
  name,
  type: "Array(Nullable(Decimal(38, 18)))",
  codec: "ZSTD(1)",
});
export const words = (name: string): RecordColumn => ({ name, type: "Array(String)", codec: "ZSTD(1)" });
/** Whose row it is; `local` where it was made without a key, as all were before schema version 3. */
export const OWNER: RecordColumn = { name: "owner", type: "LowCardinality(String)", otherwise: "'local'" };
/** Microseconds of a stage; null if it did not happen. */
export const stageUs = (name: string): RecordColumn => ({ name, type: "Nullable(UInt32)", codec: "ZSTD(1)" });
