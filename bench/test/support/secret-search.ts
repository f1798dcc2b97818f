/** Secrets of a test, and the search for them in everything that a service lets out, in every spelling a leak could take. */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Base64 of what stands at another offset differs; its middle is searched for at all three. */
const BASE64_GROUP = 3;
/** A signature of a request in hex. */
const DIGEST = /[0-9a-f]{64}/g;

interface Sought {
  readonly name: string;
  readonly spelling: Buffer;
  /** Hex, which a leak may write in any case. The spelling is lower case. */
  readonly isHex: boolean;
}

export class SecretSearch {
  #secretCount = 0;
  /** Spellings by their first two bytes: all are looked for in one pass, because a store has tens of megabytes. */
  readonly #byStart = new Map<number, Sought[]>();
  readonly #isStart = new Uint8Array(1 << 16);
  readonly #signatures = new Set<string>();

  /** A secret that is text wherever it is used. */
  addText(name: string, secret: string): void {
    this.#add(name, [secret, ...spellingsOf(Buffer.from(secret))]);
  }

  /** A secret that is bytes; as text it is hex. */
  addBytes(name: string, secret: Uint8Array): void {
    const bytes = Buffer.from(secret);
    this.#add(name, [bytes.toString("latin1"), ...spellingsOf(bytes)]);
  }

  /** Lower-case hex of 32 bytes. */
  addSignature(signature: string): void {
    this.#signatures.add(signature);
  }

  get count(): number {
    return this.#secretCount + this.#signatures.size;
  }

  /** `text`: bytes as latin1. The names of what is in it. */
  in(text: string): string[] {
    const bytes = Buffer.from(text, "latin1");
    const found = new Set<string>();
    for (let at = 0; at + 1 < bytes.length; at++) {
      const start = startOf(bytes, at);
      if (this.#isStart[start] === 0) continue;
      for (const sought of this.#byStart.get(start) ?? []) if (isAt(bytes, at, sought)) found.add(sought.name);
    }
    for (const [digest] of text.toLowerCase().matchAll(DIGEST))
      if (this.#signatures.has(digest)) found.add(`signature ${digest}`);
    return [...found];
  }

  #add(name: string, spellings: readonly string[]): void {
    this.#secretCount++;
    for (const [index, text] of spellings.entries()) {
      const spelling = Buffer.from(text, "latin1");
      const isHex = index === spellings.length - 1;
      for (const start of isHex ? startsInAnyCase(text) : [startOf(spelling, 0)]) {
        this.#isStart[start] = 1;
        this.#byStart.set(start, [...(this.#byStart.get(start) ?? []), { name, spelling, isHex }]);
      }
    }
  }
}

function startOf(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

function startsInAnyCase(hex: string): Set<number> {
  const [first = "", second = ""] = hex;
  const cases = (letter: string): string[] => [letter, letter.toUpperCase()];
  return new Set(cases(first).flatMap((a) => cases(second).map((b) => startOf(Buffer.from(a + b), 0))));
}

function isAt(bytes: Buffer, at: number, { spelling, isHex }: Sought): boolean {
  const end = at + spelling.length;
  if (end > bytes.length) return false;
  if (isHex) return bytes.toString("latin1", at, end).toLowerCase() === spelling.toString("latin1");
  return bytes.compare(spelling, 0, spelling.length, at, end) === 0;
}

/** The last one is hex, which is searched for in any case. */
function spellingsOf(bytes: Buffer): string[] {
  const spellings: string[] = [];
  for (let offset = 0; offset < BASE64_GROUP; offset++) {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const middle = text.slice(4, Math.floor((offset + bytes.length) / BASE64_GROUP) * 4);
    spellings.push(middle, middle.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return [...spellings, [...bytes].reverse().map(hexOf).join(""), bytes.toString("hex")];
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

/** Each file of a folder, byte for byte, by its path. Files and folders may go meanwhile: the record merges its own. */
export function filesOf(directory: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of entriesOf(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) for (const [inner, text] of filesOf(path)) files.set(inner, text);
    if (!entry.isFile()) continue;
    try {
      files.set(path, readFileSync(path).toString("latin1"));
    } catch {
      // Merged away since it was listed.
    }
  }
  return files;
}

function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // Merged away since it was listed.
    return [];
  }
}
