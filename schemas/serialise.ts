/**
 * Reply serialisers, compiled once at start from the same schemas. Fields that a schema does not list never
 * reach the wire: the reply shape is an allow-list.
 */
import fastJsonStringify, { type Schema } from "fast-json-stringify";
import type { Static, TSchema } from "@sinclair/typebox";
import { tickerFailureSchema, venueoneTickerSchema, venuethreeTickerSchema, venuetwoTickerSchema } from "./ticker.js";

export type Serialiser<T> = (value: T) => string;

/** Schemas that others name by $ref. */
const SHARED: Readonly<Record<string, TSchema>> = {
  VenueoneTicker: venueoneTickerSchema,
  VenuetwoTicker: venuetwoTickerSchema,
  VenuethreeTicker: venuethreeTickerSchema,
  TickerFailure: tickerFailureSchema,
};

export function compileSerialiser<S extends TSchema>(schema: S): Serialiser<Static<S>> {
  // Plain copies: TypeBox marks schemas with symbols, and an $id must not be registered twice.
  const plain = JSON.parse(JSON.stringify({ ...schema, $id: undefined })) as Schema;
  return fastJsonStringify(plain, {
    ajv: { allowUnionTypes: true, keywords: ["x-kind"] },
    schema: JSON.parse(JSON.stringify(SHARED)) as Record<string, Schema>,
  });
}
