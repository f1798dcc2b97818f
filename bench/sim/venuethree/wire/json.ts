/** An object as it is printed: its keys in their order. */
export type Row = Readonly<Record<string, unknown>>;

/** Texts, which stay, and integers of sixteen digits or more, which a double may not hold. */
const TEXT_OR_LONG_INTEGER = /"(?:[^"\\]|\\.)*"|(?<![.\deE+-])-?\d{16,}(?![.\deE])/g;
/** Marks a long integer that JSON.parse reads as text. A client's text that contains the mark is read plainly. */
const MARK = "\u007f";

/** As JSON.parse, but integers that may not be exact in a double are `bigint`: order indexes go up to 2^60. */
export function readJson(text: string): unknown {
  if (depthOf(text) > DEPTH_MAX) throw new SyntaxError("nested too deep");
  if (text.includes(MARK)) return JSON.parse(text) as unknown;
  const marked = text.replace(TEXT_OR_LONG_INTEGER, (found) => (found.startsWith('"') ? found : `"${MARK}${found}"`));
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? integerOf(value.slice(1)) : value,
  ) as unknown;
}

/** Brackets open at a time, those in texts too; no client comes near it. */
const DEPTH_MAX = 64;

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN_BRACKET || code === OPEN_BRACE) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
  }
  return deepest;
}

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What a client wrote with the mark as an escape stays text, unless it is digits only. */
function integerOf(text: string): unknown {
  if (!/^-?\d{1,40}$/.test(text)) return MARK + text;
  const value = BigInt(text);
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/**
 * JSON text of values that may hold `bigint`: printed as plain JSON numbers, also beyond 2^53, as the venue prints its
 * order ids. Keys keep their order; undefined properties are left out.
 */
export function printJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const fields = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return `{${fields.map(([name, entry]) => `${JSON.stringify(name)}:${printJson(entry)}`).join(",")}}`;
}
