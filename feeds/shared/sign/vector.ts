/**
 * Access to one entry of a vector file and the comparisons that a check makes. Entries are foreign JSON, so every
 * read is checked; a miss is a VectorMismatch, which the runner reports as that entry's failure.
 */
import { fromHex, toHex } from "./eip712.js";

export class VectorMismatch extends Error {
  override readonly name = "VectorMismatch";
}

export type VectorObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is VectorObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** By the kind that an entry names. A check throws what is wrong with it. */
export type VectorChecks = Readonly<Record<string, (vector: Vector) => void>>;

/** One entry, or a nested object of it. */
export class Vector {
  readonly fields: VectorObject;

  constructor(fields: VectorObject) {
    this.fields = fields;
  }

  has(name: string): boolean {
    return this.fields[name] !== undefined && this.fields[name] !== null;
  }

  text(name: string): string {
    const value = this.fields[name];
    if (typeof value !== "string") throw new VectorMismatch(`${name} is not text`);
    return value;
  }

  textOrNull(name: string): string | null {
    return this.has(name) ? this.text(name) : null;
  }

  integer(name: string): number {
    const value = this.fields[name];
    if (!Number.isSafeInteger(value)) throw new VectorMismatch(`${name} is not a safe integer`);
    return value as number;
  }

  integerOrNull(name: string): number | null {
    return this.has(name) ? this.integer(name) : null;
  }

  flag(name: string): boolean {
    const value = this.fields[name];
    if (typeof value !== "boolean") throw new VectorMismatch(`${name} is not a truth value`);
    return value;
  }

  object(name: string): Vector {
    const value = this.fields[name];
    if (!isObject(value)) throw new VectorMismatch(`${name} is not an object`);
    return new Vector(value);
  }

  list(name: string): readonly unknown[] {
    const value = this.fields[name];
    if (!Array.isArray(value)) throw new VectorMismatch(`${name} is not a list`);
    return value;
  }

  bytes(name: string): Uint8Array {
    return fromHex(this.text(name));
  }

  /** Every expectation must be one that the check knows, or something would pass unchecked. */
  allowOnly(names: readonly string[]): void {
    for (const name of Object.keys(this.fields)) {
      if (!names.includes(name)) throw new VectorMismatch(`expectation ${name} is not known`);
    }
    if (Object.keys(this.fields).length === 0) throw new VectorMismatch("nothing is expected");
  }

  /** Compares where the vector states the value; files write hex with or without `0x`. */
  expectHex(name: string, actual: Uint8Array | string): void {
    if (!this.has(name)) return;
    const actualHex = typeof actual === "string" ? actual : toHex(actual);
    expectEqual(name, bareHex(actualHex), bareHex(this.text(name)));
  }

  expectText(name: string, actual: string): void {
    if (this.has(name)) expectEqual(name, actual, this.text(name));
  }
}

function bareHex(text: string): string {
  return text.toLowerCase().replace(/^0x/, "");
}

export function expectEqual(name: string, actual: string, expected: string): void {
  if (actual !== expected) throw new VectorMismatch(`${name}: got ${actual}, expected ${expected}`);
}

export function expectTrue(condition: boolean, problem: string): void {
  if (!condition) throw new VectorMismatch(problem);
}
