/**
 * The token that an outside signer knows this service by, from a file of its own. It is in no log, no error and no
 * configuration object; a new one in the file is taken up once the present one is refused.
 */
import { readFileSync } from "node:fs";

/** Visible ASCII: it goes into a header as it is. */
const TOKEN = /^[\x21-\x7e]{16,4096}$/;

export class SignerToken {
  readonly #path: string;
  #text: string;

  private constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
  }

  /** Null: the file cannot be read, or holds no token. */
  static read(path: string): SignerToken | null {
    const text = textOf(path);
    return text === null ? null : new SignerToken(path, text);
  }

  get header(): string {
    return `Bearer ${this.#text}`;
  }

  /** Whether the file holds another one now. */
  readAgain(): boolean {
    const text = textOf(this.#path);
    if (text === null || text === this.#text) return false;
    this.#text = text;
    return true;
  }
}

function textOf(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8").trim();
    return TOKEN.test(text) ? text : null;
  } catch {
    // Missing or not readable: the caller says which option names it.
    return null;
  }
}
