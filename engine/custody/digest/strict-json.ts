/**
 * JSON of which only one reading exists. Refused besides what JSON refuses: bytes that are not UTF-8, a byte-order mark,
 * a member twice in one object, half of a surrogate pair, nesting beyond a bound, and numbers that are not integers in
 * the safe range in their shortest form (`1.0`, `1e3`, `-0`, 2^53).
 *
 * Invariant: objects are Maps, so `__proto__` and `constructor` are members like others. A problem names a position and
 * repeats nothing of the text.
 */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = ReadonlyMap<string, JsonValue>;

export type StrictJson =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly problem: string };

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The root counts as depth 1 if it is an object or an array. */
export function parseStrictJson(bytes: Uint8Array, maxDepth: number): StrictJson {
  let text: string;
  try {
    // ignoreBOM keeps the mark in the text, where the parser refuses it.
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { ok: false, problem: "not valid UTF-8" };
  }
  try {
    return { ok: true, value: new Parser(text, maxDepth).whole() };
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, problem: `${error.message} at character ${error.at}` };
    throw error;
  }
}

class Malformed extends Error {
  override readonly name = "Malformed";
  readonly at: number;

  constructor(problem: string, at: number) {
    super(problem);
    this.at = at;
  }
}

const INTEGER = /-?(?:0|[1-9][0-9]*)/y;
/** What may follow an integer's digits only if the number is written in another form. */
const NUMBER_REST = /[.eE0-9+-]/;
/** All but quote, backslash and control characters. */
const PLAIN = /[ !#-[\]-\uffff]*/y;
const BLANK = /[ \t\n\r]*/y;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

class Parser {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  whole(): JsonValue {
    const value = this.#value(1);
    this.#match(BLANK);
    if (this.#at !== this.#text.length) throw this.#malformed("more text than one value");
    return value;
  }

  #value(depth: number): JsonValue {
    this.#match(BLANK);
    const next = this.#text[this.#at];
    if (next === "{" || next === "[") {
      if (depth > this.#maxDepth) throw this.#malformed(`nested deeper than ${this.#maxDepth} levels`);
      return next === "{" ? this.#object(depth) : this.#array(depth);
    }
    if (next === '"') return this.#string();
    if (next === "t") return this.#word("true", true);
    if (next === "f") return this.#word("false", false);
    if (next === "n") return this.#word("null", null);
    return this.#integer();
  }

  #object(depth: number): JsonObject {
    const members = new Map<string, JsonValue>();
    this.#at++;
    if (this.#skip("}")) return members;
    do {
      this.#match(BLANK);
      if (this.#text[this.#at] !== '"') throw this.#malformed("a member has no name");
      const start = this.#at;
      const name = this.#string();
      if (members.has(name)) throw new Malformed("an object has the same member twice", start);
      if (!this.#skip(":")) throw this.#malformed("no colon behind a name");
      members.set(name, this.#value(depth + 1));
    } while (this.#skip(","));
    if (!this.#skip("}")) throw this.#malformed("an object does not end");
    return members;
  }

  #array(depth: number): readonly JsonValue[] {
    const items: JsonValue[] = [];
    this.#at++;
    if (this.#skip("]")) return items;
    do items.push(this.#value(depth + 1));
    while (this.#skip(","));
    if (!this.#skip("]")) throw this.#malformed("an array does not end");
    return items;
  }

  #string(): string {
    const start = this.#at++;
    let text = "";
    for (;;) {
      text += this.#match(PLAIN);
      const next = this.#text[this.#at++];
      if (next === '"') break;
      if (next !== "\\") throw new Malformed("a text does not end, or has a control character", start);
      text += this.#escape();
    }
    if (!isWellFormed(text)) throw new Malformed("a text has half of a surrogate pair", start);
    return text;
  }

  #escape(): string {
    const letter = this.#text[this.#at++] ?? "";
    const plain = ESCAPES.get(letter);
    if (plain !== undefined) return plain;
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (letter !== "u" || !/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#malformed("an unknown escape");
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #integer(): number {
    const digits = this.#match(INTEGER);
    const value = Number(digits);
    if (digits === "" || digits === "-0" || NUMBER_REST.test(this.#text[this.#at] ?? " "))
      throw this.#malformed("not a value, or a number that is no integer");
    if (!Number.isSafeInteger(value)) throw this.#malformed("an integer beyond the safe range");
    return value;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#malformed("not a value");
    this.#at += word.length;
    return value;
  }

  #skip(mark: string): boolean {
    this.#match(BLANK);
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  /** Returns what the sticky pattern matches here, and goes behind it. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #malformed(problem: string): Malformed {
    return new Malformed(problem, this.#at);
  }
}

/** False when a text has a high surrogate without its low one behind it, or a low one alone. */
export function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}
