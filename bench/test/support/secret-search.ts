/** Secrets of a test, and the search for them in everything that a service lets out, in every spelling a leak could take. */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Base64 of what stands at another offset differs; its middle is searched for at all three. */
const BASE64_GROUP = 3;
/** A signature of a request in hex. */
const DIGEST = /[0-9a-f]{64}/g;

interface Sought {
  readonly name: string;
  readonly spellings: readonly string[];
}

export class SecretSearch {
  readonly #sought: Sought[] = [];
  readonly #signatures = new Set<string>();

  /** A secret that is text wherever it is used. */
  addText(name: string, secret: string): void {
    this.#sought.push({ name, spellings: [secret, ...spellingsOf(Buffer.from(secret))] });
  }

  /** A secret that is bytes; as text it is hex. */
  addBytes(name: string, secret: Uint8Array): void {
    const bytes = Buffer.from(secret);
    this.#sought.push({ name, spellings: [bytes.toString("latin1"), ...spellingsOf(bytes)] });
  }

  /** Lower-case hex of 32 bytes. */
  addSignature(signature: string): void {
    this.#signatures.add(signature);
  }

  get count(): number {
    return this.#sought.length + this.#signatures.size;
  }

  /** `text`: bytes as latin1. The names of what is in it. */
  in(text: string): string[] {
    const found: string[] = [];
    const lower = text.toLowerCase();
    for (const { name, spellings } of this.#sought)
      if (spellings.some((spelling) => text.includes(spelling)) || lower.includes(spellings.at(-1) ?? ""))
        found.push(name);
    for (const [digest] of lower.matchAll(DIGEST)) if (this.#signatures.has(digest)) found.push(`signature ${digest}`);
    return [...new Set(found)];
  }
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
