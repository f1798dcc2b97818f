/**
 * Strict reading of a venue's JSON on the order and account path: a missing, mistyped or unknown value is a
 * WireFault, never a default. A fault is caught once per answer (decodeJson), so one bad row spoils that answer
 * alone. The text of a fault names the field, never its value: values can be a caller's.
 */
import { plainFromVenueNumber } from "../../../engine/domain/decimal.js";
import { ServiceError } from "../../../engine/domain/errors.js";

export type Fields = Readonly<Record<string, unknown>>;

export class WireFault extends ServiceError {
  readonly field: string;
  readonly problem: string;

  constructor(field: string, problem: string) {
    super("INTERNAL", { field, problem });
    this.field = field;
    this.problem = problem;
  }
}

export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** Parses and decodes; faults become values. */
export function decodeJson<T>(text: string, decode: (value: unknown) => T, parse = parseJsonExact): Decoded<T> {
  const parsed = parse(text);
  if (parsed === undefined) return { ok: false, problem: "not JSON" };
  return decodeWith(parsed, decode);
}

export function decodeWith<T>(value: unknown, decode: (value: unknown) => T): Decoded<T> {
  try {
    return { ok: true, value: decode(value) };
  } catch (error) {
    if (error instanceof WireFault) return { ok: false, problem: `${error.field} ${error.problem}` };
    throw error;
  }
}

/**
 * JSON.parse, except that integers a double can not hold come out as text with their exact digits: ids of that
 * length occur and would be changed. `undefined` for text that is no JSON (HTML of a proxy, half a body).
 */
export function parseJsonExact(text: string): unknown {
  try {
    // Prices and sizes arrive as strings, so nearly no answer takes the second path.
    return JSON.parse(/\d{16}/.test(text) ? quoteLongIntegers(text) : text) as unknown;
  } catch {
    return undefined;
  }
}

/** As parseJsonExact, and a fraction comes out as the text that was printed: money that a venue prints as numbers. */
export function parseMoneyJson(text: string): unknown {
  return parseJsonExact(quoteNumbers(text, (token) => /[.eE]/.test(token)));
}

function quoteLongIntegers(text: string): string {
  // A safe integer of 16 digits, as trade ids are, stays a number.
  return quoteNumbers(text, (token) => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)));
}

function quoteNumbers(text: string, isQuoted: (token: string) => boolean): string {
  // A string literal is matched whole and kept, so digits inside texts stay as they are.
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    !token.startsWith('"') && isQuoted(token) ? `"${token}"` : token,
  );
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asFields(value: unknown, what: string): Fields {
  if (!isFields(value)) throw new WireFault(what, "is not an object");
  return value;
}

export function asList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new WireFault(what, "is not a list");
  return value as readonly unknown[];
}

export function textField(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw new WireFault(name, "is not text");
  return value;
}

/** Null for absent, null and empty. */
export function textOrNull(fields: Fields, name: string): string | null {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return null;
  if (typeof value !== "string") throw new WireFault(name, "is not text");
  return value;
}

/** A decimal string, given back as plain text; a venue's `1e-05` is taken too. Numbers are refused: they were doubles. */
export function decimalField(fields: Fields, name: string): string {
  const plain = plainFromVenueNumber(textField(fields, name));
  if (plain === null) throw new WireFault(name, "is not a decimal");
  return plain;
}

export function decimalOrNull(fields: Fields, name: string): string | null {
  const value = fields[name];
  return value === undefined || value === null || value === "" ? null : decimalField(fields, name);
}

/** As decimalField, of an amount that may be printed as a number too; its text has to come from parseMoneyJson. */
export function amountField(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : decimalField(fields, name);
}

export function integerField(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw new WireFault(name, "is not an integer");
  return value;
}

/** Digits of an id, which is a number, or text where it is too long for one. */
export function idField(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return String(value);
  if (typeof value === "string" && /^\d{1,40}$/.test(value)) return value;
  throw new WireFault(name, "is not an id");
}

export function booleanField(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value !== "boolean") throw new WireFault(name, "is not a truth value");
  return value;
}

/** Absent means false: flags that a venue only prints when they are set. */
export function flagField(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw new WireFault(name, "is not a truth value");
  return value;
}

export function oneOf<const T extends string>(fields: Fields, name: string, allowed: readonly T[]): T {
  const value = fields[name];
  const found = allowed.find((word) => word === value);
  if (found === undefined) throw new WireFault(name, "is not a known word");
  return found;
}
