/**
 * Request validators, compiled once at start. A validator never throws, never changes its input and lists
 * every problem; unknown fields are no problem, but are found so that they can be named to the caller.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Static, TSchema } from "@sinclair/typebox";
import { type Problems, problemsOf } from "./problems.js";

export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: Problems };

export type Validator<T> = (input: unknown) => Validated<T>;

/** Strict about schemas, so a typo in one fails at start. */
export function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    allErrors: true,
    verbose: true,
    // Lengths are checked before patterns run, and no pattern of ours backtracks; allErrors is bounded by the body limit.
  });
  ajv.addKeyword("x-kind");
  return ajv;
}

/** All schemas share one: most of what a compilation costs is that of the meta-schema. */
let shared: Ajv2020 | undefined;
const compiled = new WeakMap<TSchema, Validator<unknown>>();

/** The same schema gives the same validator. */
export function compileValidator<S extends TSchema>(schema: S): Validator<Static<S>> {
  const known = compiled.get(schema);
  if (known !== undefined) return known as Validator<Static<S>>;
  shared ??= createAjv();
  // Without its $id, which may be that of another schema too.
  const { $id: _, ...unnamed } = schema;
  const check: ValidateFunction = shared.compile(unnamed);
  const validate: Validator<Static<S>> = (input) => {
    if (check(input)) return { ok: true, value: input as Static<S> };
    return { ok: false, problems: problemsOf(check.errors ?? []) };
  };
  compiled.set(schema, validate);
  return validate;
}

/** How many unknown fields are named at most, and how deep they are looked for. */
export const MAX_UNKNOWN_FIELDS = 16;

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  readonly items?: ObjectSchema;
}

/** Dotted paths of fields that the schema does not know, also within lists, own properties only. */
export function unknownFields(schema: TSchema, input: unknown): string[] {
  const found: string[] = [];
  collectUnknown(schema as ObjectSchema, input, "", found);
  return found;
}

function collectUnknown(schema: ObjectSchema, input: unknown, prefix: string, found: string[]): void {
  const { properties, items } = schema;
  if (input === null || typeof input !== "object") return;
  if (Array.isArray(input)) {
    if (items === undefined || !mayHoldUnknown(items)) return;
    for (let index = 0; index < input.length && found.length < MAX_UNKNOWN_FIELDS; index++)
      collectUnknown(items, input[index], `${prefix}${index}.`, found);
    return;
  }
  if (properties === undefined) return;
  // for…in makes no list of the keys; parsed JSON has nothing but own properties that are enumerable.
  for (const key in input) {
    if (found.length >= MAX_UNKNOWN_FIELDS) return;
    if (!Object.hasOwn(input, key)) continue;
    if (!Object.hasOwn(properties, key)) {
      found.push(prefix + key);
      continue;
    }
    const child = properties[key];
    if (child !== undefined && mayHoldUnknown(child)) {
      collectUnknown(child, (input as Readonly<Record<string, unknown>>)[key], `${prefix}${key}.`, found);
    }
  }
}

function mayHoldUnknown(schema: ObjectSchema): boolean {
  return schema.properties !== undefined || (schema.items !== undefined && mayHoldUnknown(schema.items));
}
