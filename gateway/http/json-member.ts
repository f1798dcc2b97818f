/**
 * The text of one member of a JSON object, exactly as its sender wrote it. A parsed value is not enough where every digit
 * counts: a number beyond 2^53 is rounded there.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * `json`: an object that parseJsonBody accepted, so that no name is in it twice. Returns the member's value without the
 * spaces around it; null: there is none of this name.
 */
export function memberText(json: Buffer, name: string): string | null {
  let depth = 0;
  let key: string | null = null;
  /** Where the value of the present member begins; -1 while its name is read. */
  let valueAt = -1;
  for (let index = 0; index < json.length; index++) {
    const byte = json[index] as number;
    if (byte === QUOTE) {
      const end = endOfString(json, index);
      if (depth === 1 && valueAt < 0) key = JSON.parse(json.toString("utf8", index, end)) as string;
      index = end - 1;
    } else if (byte === COLON && depth === 1 && valueAt < 0) valueAt = index + 1;
    else if (isOpening(byte)) depth++;
    else if (isClosing(byte) || (byte === COMMA && depth === 1)) {
      if (depth === 1 && valueAt >= 0 && key === name) return json.toString("utf8", valueAt, index).trim();
      if (depth === 1) valueAt = -1;
      if (byte !== COMMA) depth--;
    }
  }
  return null;
}

/** Behind its closing quote. */
function endOfString(json: Buffer, start: number): number {
  let index = start + 1;
  while (index < json.length && json[index] !== QUOTE) index += json[index] === BACKSLASH ? 2 : 1;
  return index + 1;
}

function isOpening(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b;
}

function isClosing(byte: number): boolean {
  return byte === 0x7d || byte === 0x5d;
}
