/** A strict reader of RFC 4180, to check what an export wrote: any departure throws. */

/** `null` is an empty field without quotes. */
export type CsvRecord = readonly (string | null)[];

export function readCsv(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let record: (string | null)[] = [];
  let at = 0;
  while (at < text.length) {
    const { value, end } = readField(text, at);
    record.push(value);
    at = end;
    if (text[at] === ",") at++;
    else if (text.startsWith("\r\n", at)) {
      at += 2;
      records.push(record);
      record = [];
    } else throw new Error(`neither comma nor CRLF at ${at}: ${JSON.stringify(text.slice(at - 20, at + 20))}`);
  }
  if (record.length > 0) throw new Error("the last line has no end");
  if (records.some((one) => one.length !== records[0]?.length)) throw new Error("lines of unequal length");
  return records;
}

function readField(text: string, from: number): { readonly value: string | null; readonly end: number } {
  if (text[from] !== '"') {
    const end = from + (/^[^",\r\n]*/.exec(text.slice(from, from + 10_000))?.[0].length ?? 0);
    return { value: end === from ? null : text.slice(from, end), end };
  }
  let value = "";
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] !== '"') value += text[at];
    else if (text[at + 1] === '"') {
      value += '"';
      at++;
    } else return { value, end: at + 1 };
  }
  throw new Error("a quoted field without an end");
}

/** The text that a cell encodes: one apostrophe protects text that could be a formula, or begins with one. */
export function unguarded(cell: string): string {
  return cell.startsWith("'") ? cell.slice(1) : cell;
}
