/**
 * Reading a strict JSON file: each value is taken by name, and what nobody took is unknown and refused. All problems are
 * collected, each with the path of its value, so an operator mends a file in one go.
 */
import { readAddress } from "../digest/bytes.js";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../digest/strict-json.js";
import { MAX_AMOUNT } from "./amounts.js";
import type { Destinations, Limits } from "./policy.js";

export interface ConfigProblem {
  /** Such as `service.tokens[0].perDay`; the whole file is "". */
  readonly path: string;
  readonly problem: string;
}

/** More problems than this are one mistake repeated. */
const MAX_PROBLEMS = 100;
/** Of one list in the file. */
const MAX_LIST = 1000;
const U64 = 1n << 64n;
const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";

export class Problems {
  readonly list: ConfigProblem[] = [];

  add(path: string, problem: string): void {
    if (this.list.length < MAX_PROBLEMS) this.list.push({ path, problem });
  }
}

/** One object of the file. A value that cannot be read is reported, and a harmless one is returned in its place. */
export class ConfigObject {
  readonly path: string;
  readonly problems: Problems;
  readonly #members: JsonObject;
  readonly #taken = new Set<string>();

  constructor(value: JsonValue | undefined, path: string, problems: Problems) {
    this.path = path;
    this.problems = problems;
    if (isJsonObject(value)) this.#members = value;
    else {
      this.#members = new Map();
      problems.add(path, "must be an object");
    }
  }

  at(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  report(name: string, problem: string): void {
    this.problems.add(this.at(name), problem);
  }

  take(name: string): JsonValue | undefined {
    this.#taken.add(name);
    return this.#members.get(name);
  }

  text(name: string): string {
    const value = this.take(name);
    if (typeof value === "string" && value !== "") return value;
    this.report(name, value === undefined ? "is missing" : "must be a text");
    return "";
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (value !== undefined && typeof value !== "boolean") this.report(name, "must be true or false");
    return value === true;
  }

  object(name: string): ConfigObject {
    return new ConfigObject(this.take(name), this.at(name), this.problems);
  }

  /** An absent list is empty. */
  list<T>(name: string, read: (item: JsonValue, path: string) => T): readonly T[] {
    const value = this.take(name);
    if (value === undefined) return [];
    if (isJsonArray(value) && value.length <= MAX_LIST)
      return value.map((item, index) => read(item, `${this.at(name)}[${index}]`));
    this.report(name, `must be a list of at most ${MAX_LIST}`);
    return [];
  }

  objects<T>(name: string, read: (item: ConfigObject) => T): readonly T[] {
    return this.list(name, (item, path) => {
      const object = new ConfigObject(item, path, this.problems);
      const result = read(object);
      object.end();
      return result;
    });
  }

  choices<T extends string>(name: string, known: readonly T[]): readonly T[] {
    return this.list(name, (item, path) => {
      const choice = known.find((candidate) => candidate === item);
      if (choice === undefined) this.problems.add(path, `must be one of ${known.join(", ")}`);
      return choice;
    }).flatMap((choice) => (choice === undefined ? [] : [choice]));
  }

  /** Lower case. */
  address(name: string): string {
    const value = this.take(name);
    const address = typeof value === "string" ? readAddress(value) : null;
    if (address === null) this.report(name, value === undefined ? "is missing" : "must be an address");
    return address ?? ZERO_ADDRESS;
  }

  /** An integer of 1 to 2^64 - 1, as a number or as text. */
  chainId(name: string): bigint {
    const value = this.take(name);
    const chainId = typeof value === "number" || typeof value === "string" ? readInteger(String(value)) : null;
    if (chainId !== null && chainId > 0n && chainId < U64) return chainId;
    this.report(name, value === undefined ? "is missing" : "must be a chain id of at least 1");
    return 0n;
  }

  /** Amounts are text: a number would be read as another one by some. */
  amount(name: string, read: (text: string) => bigint | null = readInteger): bigint {
    const value = this.take(name);
    const amount = typeof value === "string" ? read(value) : null;
    if (amount !== null && amount <= MAX_AMOUNT) return amount;
    this.report(name, value === undefined ? "is missing" : "must be an amount, as text");
    return 0n;
  }

  /** Reports all members that nobody took. */
  end(): void {
    for (const name of this.#members.keys()) if (!this.#taken.has(name)) this.report(name, "unknown member");
  }
}

/** Without `perIntent` one intent may spend what the day may. */
export function readLimits(item: ConfigObject, read?: (text: string) => bigint | null): Limits {
  const perDay = item.amount("perDay", read);
  const perIntent = item.has("perIntent") ? item.amount("perIntent", read) : perDay;
  if (perIntent > perDay) item.report("perIntent", "is more than perDay");
  return { perIntent, perDay };
}

/** At least one: `self`, which is the wallet, or an address that is not zero. */
export function readDestinations(item: ConfigObject, name: string): Destinations {
  const texts = item.list(name, (entry, path) => {
    if (entry === "self") return entry;
    const address = typeof entry === "string" ? readAddress(entry) : null;
    if (address !== null && address !== ZERO_ADDRESS) return address;
    item.problems.add(path, 'must be "self" or an address that is not zero');
    return "self";
  });
  if (texts.length === 0) item.report(name, "must name at least one destination");
  return { self: texts.includes("self"), addresses: new Set(texts.filter((text) => text !== "self")) };
}

/** Decimal digits without sign or leading zero. */
export function readInteger(text: string): bigint | null {
  return /^(?:0|[1-9][0-9]{0,77})$/.test(text) ? BigInt(text) : null;
}
