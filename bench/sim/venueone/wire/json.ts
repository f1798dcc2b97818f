/**
 * The venue's JSON reader. `JSON.parse` cannot replace it: the venue sees duplicate keys, distinguishes `1` from `1.0`,
 * and stops reading after the first complete value. Invariant: a node tree holds exactly what the text held, with
 * numbers kept as their digits and object entries in order, duplicates included.
 */

export interface JsonObject {
  readonly kind: "object";
  readonly entries: readonly (readonly [key: string, value: JsonNode])[];
}

export type JsonNode =
  | { readonly kind: "null" }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "array"; readonly items: readonly JsonNode[] }
  | JsonObject;

/** `after` is what follows the first value; the REST paths ignore it, the socket does not. */
export interface JsonReading {
  readonly node: JsonNode;
  readonly after: string;
}

/** Same recursion limit as the parser family the venue's behaviour points to. */
const NESTING_MAX = 128;

const WHITESPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters end a plain run inside a JSON string.
const PLAIN_RUN = /[^"\\\u0000-\u001f]*/y;
const HEX4 = /[0-9a-fA-F]{4}/y;

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Returns null when the text does not begin with a complete JSON value. */
export function readJson(text: string): JsonReading | null {
  const cursor = new Cursor(text);
  const node = cursor.value(0);
  if (node === null) return null;
  cursor.skip(WHITESPACE);
  return { node, after: text.slice(cursor.position) };
}

/** Plain values of a node, for echoing what a client sent; numbers become JS numbers. */
export function nodeToPlain(node: JsonNode): unknown {
  switch (node.kind) {
    case "null":
      return null;
    case "bool":
    case "string":
      return node.value;
    case "number":
      return Number(node.text);
    case "array":
      return node.items.map(nodeToPlain);
    case "object":
      return Object.fromEntries(node.entries.map(([key, value]) => [key, nodeToPlain(value)]));
  }
}

class Cursor {
  position = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  skip(pattern: RegExp): string {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.position += found.length;
    return found;
  }

  value(depth: number): JsonNode | null {
    if (depth >= NESTING_MAX) return null;
    this.skip(WHITESPACE);
    switch (this.#text[this.position]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"': {
        const value = this.#string();
        return value === null ? null : { kind: "string", value };
      }
      case "t":
        return this.#word("true", { kind: "bool", value: true });
      case "f":
        return this.#word("false", { kind: "bool", value: false });
      case "n":
        return this.#word("null", { kind: "null" });
      default: {
        const text = this.skip(NUMBER);
        return text === "" ? null : { kind: "number", text };
      }
    }
  }

  #word(word: string, node: JsonNode): JsonNode | null {
    if (!this.#text.startsWith(word, this.position)) return null;
    this.position += word.length;
    return node;
  }

  #take(character: string): boolean {
    this.skip(WHITESPACE);
    if (this.#text[this.position] !== character) return false;
    this.position++;
    return true;
  }

  #array(depth: number): JsonNode | null {
    this.position++;
    const items: JsonNode[] = [];
    if (this.#take("]")) return { kind: "array", items };
    for (;;) {
      const item = this.value(depth + 1);
      if (item === null) return null;
      items.push(item);
      if (this.#take("]")) return { kind: "array", items };
      if (!this.#take(",")) return null;
    }
  }

  #object(depth: number): JsonNode | null {
    this.position++;
    const entries: [string, JsonNode][] = [];
    if (this.#take("}")) return { kind: "object", entries };
    for (;;) {
      this.skip(WHITESPACE);
      if (this.#text[this.position] !== '"') return null;
      const key = this.#string();
      if (key === null || !this.#take(":")) return null;
      const value = this.value(depth + 1);
      if (value === null) return null;
      entries.push([key, value]);
      if (this.#take("}")) return { kind: "object", entries };
      if (!this.#take(",")) return null;
    }
  }

  #string(): string | null {
    this.position++;
    let value = "";
    for (;;) {
      value += this.skip(PLAIN_RUN);
      const next = this.#text[this.position++];
      if (next === '"') return value;
      if (next !== "\\") return null;
      const escaped = this.#text[this.position++];
      if (escaped === "u") {
        const digits = this.skip(HEX4);
        if (digits === "") return null;
        value += String.fromCharCode(Number.parseInt(digits, 16));
        continue;
      }
      const simple = escaped === undefined ? undefined : SIMPLE_ESCAPES[escaped];
      if (simple === undefined) return null;
      value += simple;
    }
  }
}
