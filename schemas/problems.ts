/**
 * Turns a refusal of ajv into problems a caller can act on: the path as the caller wrote it and what is
 * wrong, never the value (it may be a secret).
 */
import type { ErrorObject } from "ajv";
import { MAX_DECIMAL_CHARS, MAX_DECIMAL_PLACES, MAX_PERCENT_PLACES } from "./common.js";
import type { FieldProblem } from "./errors.js";

/** More problems than this are not listed; the first ones are enough to repair a request. */
export const MAX_PROBLEMS = 32;

export interface Problems {
  /** Only missing required fields: the other problems are not looked at by callers then. */
  readonly missing: boolean;
  readonly fields: readonly FieldProblem[];
}

interface AnnotatedSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly "x-kind"?: string;
}

/** `missing` is true when at least one required field is absent (or null); those problems are listed first. */
export function problemsOf(errors: readonly ErrorObject[]): Problems {
  const missing: FieldProblem[] = [];
  const wrong: FieldProblem[] = [];
  for (const error of errors) {
    if (missing.length + wrong.length >= MAX_PROBLEMS) break;
    const path = dottedPath(error.instancePath);
    if (error.keyword === "required") {
      const name = String((error.params as { missingProperty: string }).missingProperty);
      missing.push({ path: path === "" ? name : `${path}.${name}`, problem: "is required" });
    } else if (error.data === null && error.keyword === "type") {
      missing.push({ path: path === "" ? "body" : path, problem: "is required and must not be null" });
    } else if (!(error.data === null && (error.keyword === "enum" || error.keyword === "pattern"))) {
      wrong.push({ path: path === "" ? "body" : path, problem: wordsFor(error) });
    }
  }
  return { missing: missing.length > 0, fields: [...missing, ...onePerPath(wrong)] };
}

/** Keeps the first problem of each path: a text of the wrong type also misses its pattern. */
function onePerPath(problems: readonly FieldProblem[]): FieldProblem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => !seen.has(problem.path) && seen.add(problem.path));
}

function dottedPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
}

const NO_TIME = "must be Unix ms or an ISO 8601 time with its zone, such as 2026-11-23T10:00:00Z";

function wordsFor(error: ErrorObject): string {
  const schema = (error.parentSchema ?? {}) as AnnotatedSchema;
  const params = error.params as Readonly<Record<string, unknown>>;
  if (schema["x-kind"] === "time" && error.keyword !== "minimum" && error.keyword !== "maximum") return NO_TIME;
  switch (error.keyword) {
    case "type":
      return `must be ${typeWords(schema)}`;
    case "enum":
      // Of the wrong type it has a problem of its own, which comes first.
      return typeof error.data === "string" || isOfType(error.data, schema.type)
        ? `must be one of ${(schema.enum ?? []).filter((value) => value !== null).join(", ")}`
        : `must be ${typeWords(schema)}`;
    case "minimum":
    case "maximum":
      return `must be ${String(params.comparison)} ${String(params.limit)}`;
    case "maxLength":
      return `must have at most ${String(params.limit)} characters`;
    case "minLength":
      return "must not be empty";
    case "minItems":
      return `must have at least ${String(params.limit)} item`;
    case "maxItems":
      return `must have at most ${String(params.limit)} items`;
    case "pattern":
      return patternWords(schema["x-kind"], String(error.data));
    default:
      return "is not valid";
  }
}

function isOfType(value: unknown, type: AnnotatedSchema["type"]): boolean {
  if (type === undefined) return true;
  const types = typeof type === "string" ? [type] : type;
  return types.includes(typeof value) || (types.includes("integer") && Number.isInteger(value));
}

function typeWords(schema: AnnotatedSchema): string {
  const kinds = (Array.isArray(schema.type) ? schema.type : [schema.type]) as readonly (string | undefined)[];
  const named = kinds
    .filter((kind) => kind !== "null")
    .map((kind) => (kind === "object" || kind === "array" || kind === "integer" ? `an ${kind}` : `a ${String(kind)}`));
  const example =
    schema["x-kind"] === "positiveDecimal" || schema["x-kind"] === "size" ? ' (decimal text such as "0.25")' : "";
  return `${named.join(" or ")}${example}`;
}

function patternWords(kind: string | undefined, text: string): string {
  switch (kind) {
    case "size":
      return text.toUpperCase() === "ALL" ? 'must be spelled "ALL"' : `${decimalProblem(text)}, or "ALL"`;
    case "positiveDecimal":
      return decimalProblem(text);
    case "percent":
      return percentProblem(text);
    case "symbol":
      return "must be a symbol such as BTC, BTC-PERP or BTC/USDT";
    case "hexBytes":
      return "must be 0x and an even number of hex digits";
    case "hexDigest":
      return "must be 0x and 64 hex digits";
    case "address":
      return "must be 0x and 40 hex digits";
    case "asset":
      return "must be a name such as USDT";
    case "rawUnits":
      return "must be a whole number above 0, in the token's smallest unit, without a decimal point";
    case "decimal":
      return "must be plain decimal text";
    case "cursor":
      return "must be the nextCursor of an earlier reply of this route";
    case "visibleAscii":
      return "must be visible ASCII characters without spaces";
    default:
      return "has the wrong form";
  }
}

const NOT_POSITIVE = "must be greater than 0";

function percentProblem(text: string): string {
  if (!isPlainDecimal(text)) return decimalProblem(text);
  if (placesOf(text) > MAX_PERCENT_PLACES) return `must have at most ${MAX_PERCENT_PLACES} decimals`;
  return /[1-9]/.test(text) ? "must be at most 100" : NOT_POSITIVE;
}

/** Why a text is not a positive decimal that this API accepts. */
export function decimalProblem(text: string): string {
  if (text.length > MAX_DECIMAL_CHARS) return `must have at most ${MAX_DECIMAL_CHARS} characters`;
  if (/^-/.test(text) && isPlainDecimal(text.slice(1))) return NOT_POSITIVE;
  if (/^[0-9.]+[eE][+-]?[0-9]+$/.test(text)) return "must be plain decimal text without an exponent";
  if (!isPlainDecimal(text)) return 'must be decimal text such as "0.25"';
  if (placesOf(text) > MAX_DECIMAL_PLACES) return `must have at most ${MAX_DECIMAL_PLACES} decimals`;
  return NOT_POSITIVE;
}

function isPlainDecimal(text: string): boolean {
  return /^(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text);
}

function placesOf(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}
