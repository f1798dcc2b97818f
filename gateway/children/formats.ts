/** Output formats of the dialect: content type, and whether separately formatted blocks add up to the whole. */

export interface OutputFormat {
  readonly contentType: string;
  /**
   * `plain`: blocks concatenate. `headed`: each block repeats the header lines of the first, which are removed.
   * `whole`: one document, built completely before the first byte.
   */
  readonly blocks: "plain" | "headed" | "whole";
  /** Header lines of a `headed` format. */
  readonly headerLines: number;
}

const TSV = "text/tab-separated-values; charset=UTF-8";
const CSV = "text/csv; charset=UTF-8; header=absent";
const CSV_HEADED = "text/csv; charset=UTF-8; header=present";
const NDJSON = "application/x-ndjson; charset=UTF-8";
const JSON_TYPE = "application/json; charset=UTF-8";
const BINARY = "application/octet-stream";
const TEXT = "text/plain; charset=UTF-8";

const plain = (contentType: string): OutputFormat => ({ contentType, blocks: "plain", headerLines: 0 });
const headed = (contentType: string, headerLines: number): OutputFormat => ({
  contentType,
  blocks: "headed",
  headerLines,
});
const whole = (contentType: string): OutputFormat => ({ contentType, blocks: "whole", headerLines: 0 });

const FORMATS: ReadonlyMap<string, OutputFormat> = new Map([
  ["TabSeparated", plain(TSV)],
  ["TSV", plain(TSV)],
  ["TabSeparatedRaw", plain(TSV)],
  ["TSVRaw", plain(TSV)],
  ["TabSeparatedWithNames", headed(TSV, 1)],
  ["TSVWithNames", headed(TSV, 1)],
  ["TabSeparatedWithNamesAndTypes", headed(TSV, 2)],
  ["TSVWithNamesAndTypes", headed(TSV, 2)],
  ["CSV", plain(CSV)],
  ["CSVWithNames", headed(CSV_HEADED, 1)],
  ["CSVWithNamesAndTypes", headed(CSV_HEADED, 2)],
  ["JSONEachRow", plain(NDJSON)],
  ["JSONStringsEachRow", plain(NDJSON)],
  ["JSONCompactEachRow", plain(NDJSON)],
  ["JSONCompactStringsEachRow", plain(NDJSON)],
  ["JSONCompactEachRowWithNames", headed(NDJSON, 1)],
  ["JSONCompactEachRowWithNamesAndTypes", headed(NDJSON, 2)],
  ["JSONCompactStringsEachRowWithNames", headed(NDJSON, 1)],
  ["JSONCompactStringsEachRowWithNamesAndTypes", headed(NDJSON, 2)],
  ["RowBinary", plain(BINARY)],
  ["JSON", whole(JSON_TYPE)],
  ["JSONStrings", whole(JSON_TYPE)],
  ["JSONCompact", whole(JSON_TYPE)],
  ["JSONCompactStrings", whole(JSON_TYPE)],
  ["JSONColumnsWithMetadata", whole(JSON_TYPE)],
  ["JSONObjectEachRow", whole(JSON_TYPE)],
  ["Null", whole(TEXT)],
]);

/** An unknown format is passed to the engine and sent as one document. */
const UNKNOWN: OutputFormat = whole(BINARY);

export function outputFormat(name: string): OutputFormat {
  return FORMATS.get(name) ?? UNKNOWN;
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;

/** Bytes of the first `lines` lines; a line end inside double quotes belongs to a name (TSV and JSON escape theirs). */
export function headerBytes(block: Uint8Array, lines: number): number {
  let quoted = false;
  let left = lines;
  for (let at = 0; at < block.length; at++) {
    if (block[at] === QUOTE) quoted = !quoted;
    else if (block[at] === NEWLINE && !quoted && --left === 0) return at + 1;
  }
  return block.length;
}
