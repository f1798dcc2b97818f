/**
 * Building blocks of the public contract. One schema gives the TypeScript type, the ajv validator, the
 * serialiser and the OpenAPI component, so nothing about a message is written twice.
 *
 * Invariants: money, prices, sizes and percentages are decimal strings, times integer ms. `x-kind` marks a
 * text whose pattern has a precise explanation (problems.ts); it never changes what is accepted.
 * Nullable is spelled as a JSON Schema type list, which OpenAPI 3.1, ajv and fast-json-stringify all read.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type, type TUnsafe } from "@sinclair/typebox";

/** Longest decimal text a request may carry, and its longest fraction. */
export const MAX_DECIMAL_CHARS = 40;
export const MAX_DECIMAL_PLACES = 18;
/** Longest symbol text a request may carry. */
export const MAX_SYMBOL_CHARS = 40;

const DECIMAL_PATTERN = "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$";
const POSITIVE_DECIMAL_PATTERN = `^(?=.*[1-9])(0|[1-9][0-9]*)(\\.[0-9]{1,${MAX_DECIMAL_PLACES}})?$`;
const SIZE_PATTERN = `^(ALL|(?=.*[1-9])(0|[1-9][0-9]*)(\\.[0-9]{1,${MAX_DECIMAL_PLACES}})?)$`;
/** Percentages of a size: as fine as the router counts. */
export const MAX_PERCENT_PLACES = 4;
const PERCENT_PATTERN = `^(100(\\.0{1,${MAX_PERCENT_PLACES}})?|(?=.*[1-9])(0|[1-9][0-9]?)(\\.[0-9]{1,${MAX_PERCENT_PLACES}})?)$`;

interface Note {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
}

/** A closed set of words. */
export function words<const T extends readonly string[]>(values: T, note: Note = {}): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>({ type: "string", enum: [...values], ...note });
}

/** The same schema, or null. Works on any schema with a plain `type`. */
export function nullable<T extends TSchema>(schema: T, note: Note = {}): TUnsafe<Static<T> | null> {
  const { type, enum: values, ...rest } = schema as T & { type: string; enum?: readonly unknown[] };
  const widened = { ...rest, type: [type, "null"], ...note };
  return Type.Unsafe<Static<T> | null>(values === undefined ? widened : { ...widened, enum: [...values, null] });
}

/** An optional request field: absent and null mean the same. */
export function optionalField<T extends TSchema>(schema: T, note: Note = {}) {
  return Type.Optional(nullable(schema, note));
}

/** Reply objects: every field listed, nothing else. */
export function reply<T extends TProperties>(properties: T, note: Note & { $id?: string } = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...note });
}

export function decimal(description?: string) {
  return Type.String({
    pattern: DECIMAL_PATTERN,
    "x-kind": "decimal",
    ...(description === undefined ? {} : { description }),
  });
}

/** A request's decimal text above zero, at most 18 decimals and 40 characters; no exponent, sign or padding. */
export function positiveDecimal(note: Note = {}) {
  return Type.String({
    pattern: POSITIVE_DECIMAL_PATTERN,
    maxLength: MAX_DECIMAL_CHARS,
    "x-kind": "positiveDecimal",
    ...note,
  });
}

/** As positiveDecimal, or the word ALL. */
export function sizeText(note: Note = {}) {
  return Type.String({ pattern: SIZE_PATTERN, maxLength: MAX_DECIMAL_CHARS, "x-kind": "size", ...note });
}

/** Above 0 and at most 100, at most four decimals. */
export function percentText(note: Note = {}) {
  return Type.String({ pattern: PERCENT_PATTERN, maxLength: MAX_DECIMAL_CHARS, "x-kind": "percent", ...note });
}

export function symbolText(note: Note = {}) {
  return Type.String({
    minLength: 1,
    maxLength: MAX_SYMBOL_CHARS,
    pattern: "^[\\p{L}\\p{N}]+([-/_:][A-Za-z0-9]+)*$",
    "x-kind": "symbol",
    ...note,
  });
}

/** A date, or a time with its zone. */
const ISO_TIME_PATTERN =
  "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2}))?$";

/** A query parameter that is a time: Unix ms, or ISO 8601. The route makes ms of it before the schema sees it. */
export function askedTime(bounds: { readonly minimum: number; readonly maximum?: number }, description?: string) {
  return Type.Unsafe<number>({
    "x-kind": "time",
    ...(description === undefined ? {} : { description }),
    anyOf: [
      { type: "integer", ...bounds, "x-kind": "time", description: "Unix ms." },
      { type: "string", minLength: 1, pattern: ISO_TIME_PATTERN, "x-kind": "time", description: "ISO 8601." },
    ],
  });
}

/** Beside a leverage above 50. */
export const leverageWarning = Type.Optional(
  Type.String({ description: "Above 50x: how small a movement ends such a position." }),
);

export const timeMs = Type.Integer({ minimum: 0, description: "Unix epoch, ms." });

export const VENUE_WORDS = ["venueone", "venuetwo", "venuethree", "venuefour", "venuefive"] as const;
export const ROUTABLE_VENUE_WORDS = ["venueone", "venuetwo", "venuethree", "venuefour"] as const;
export type RoutableVenueWord = (typeof ROUTABLE_VENUE_WORDS)[number];

export const routableVenue = words(ROUTABLE_VENUE_WORDS, { description: "Neutral venue name." });
export const side = words(["BUY", "SELL"]);
export const direction = words(["LONG", "SHORT"], { description: "Direction of the position being closed." });
export const orderType = words(["LIMIT", "MARKET", "STOP_MARKET", "STOP_LIMIT"]);
export const orderStatus = words(["OPEN", "FILLED", "PARTIALLY_FILLED", "CANCELED", "REJECTED", "UNKNOWN"], {
  description:
    "PARTIALLY_FILLED means still open; an order that ended partly filled is CANCELED; UNKNOWN is not a failure.",
});
export const feedState = words(["LIVE", "SYNCING", "STALE", "DOWN"], { description: "State of the venue's feed." });
export const breakerState = words(["closed", "open", "halfOpen"], {
  description:
    "Of requests to the venue, whatever its feed: open: none is sent, it limits this service or does not answer; halfOpen: the next one tries it.",
});
export const bookState = words(["EMPTY", "SYNCING", "LIVE", "INVALID"]);

export const switchState = words(["ARMED", "ENDING", "ENDED"], {
  description:
    "ENDING: ended here, and the venue has not confirmed that its own switch has ended: that one may still fire. The end is sent again, also by the next call.",
});
export const venueSymbols = Type.Unsafe<readonly string[] | null>(
  nullable(Type.Array(Type.String()), {
    description:
      "Where the venue arms symbol by symbol: those whose orders its switch covers now. Null: the whole account, or none.",
  }),
);
