/**
 * Just enough of ClickHouse's grammar to serve its HTTP dialect: the kind of a statement, the place of its FORMAT, the
 * start of inline data. Pure; text inside strings, comments and brackets is never taken as a clause.
 *
 * Works on latin1 text of the raw bytes, so that every position is a byte offset: everything searched for is ASCII.
 */

export type StatementKind = "empty" | "read" | "insert-data" | "insert-select" | "other";

export interface Statement {
  readonly kind: StatementKind;
  /** As written; "" where there is none. Of an insert: the format of its data. */
  readonly format: string;
  /**
   * Insert with data: everything before FORMAT or VALUES without a SETTINGS clause, that clause, and where data begins.
   */
  readonly insertHead: string;
  readonly insertSettings: string;
  readonly dataStart: number;
  /** The engine's code and text for what this dialect cannot take; null for none. */
  readonly refusal: { readonly code: number; readonly text: string } | null;
}

interface Token {
  /** Upper case for words; else the character itself, `'` for any quoted text. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const READING_WORDS: ReadonlySet<string> = new Set([
  "SELECT",
  "WITH",
  "FROM",
  "(",
  "SHOW",
  "DESCRIBE",
  "DESC",
  "EXPLAIN",
  "EXISTS",
]);

const SYNTAX_ERROR = 62;
const NOT_IMPLEMENTED = 48;

export function scanStatement(sql: string): Statement {
  const tokens = topLevelTokens(sql);
  const first = tokens[0];
  if (first === undefined) return statement("empty");
  if (first.text === "INSERT") return scanInsert(sql, tokens);
  const refusal = refusalOf(tokens);
  if (refusal !== null) return { ...statement("other"), refusal };
  const kind = first.text === "WITH" && tokens.some((token) => token.text === "INSERT") ? "insert-select" : null;
  return {
    ...statement(kind ?? (READING_WORDS.has(first.text) ? "read" : "other")),
    format: trailingFormat(sql, tokens),
  };
}

function scanInsert(sql: string, tokens: readonly Token[]): Statement {
  let settings: Token | null = null;
  // INSERT INTO name precedes any clause: a table may be called FORMAT.
  for (let index = 3; index < tokens.length; index++) {
    const token = tokens[index] as Token;
    const next = tokens[index + 1];
    if (tokens[index - 1]?.text === ".") continue;
    if (token.text === "SETTINGS") settings = token;
    else if (token.text === "INFILE")
      return { ...statement("other"), refusal: { code: NOT_IMPLEMENTED, text: "INFILE is not taken over HTTP" } };
    else if (token.text === "SELECT" || token.text === "WITH")
      return { ...statement("insert-select"), refusal: refusalOf(tokens) };
    else if (token.text === "VALUES") return insertWithData(sql, settings, token, "Values", token.end);
    else if (token.text === "FORMAT" && next !== undefined)
      return insertWithData(sql, settings, token, sql.slice(next.start, next.end), dataStartAfter(sql, next.end));
  }
  return statement("other");
}

function insertWithData(
  sql: string,
  settings: Token | null,
  clause: Token,
  format: string,
  dataStart: number,
): Statement {
  return {
    kind: "insert-data",
    format,
    insertHead: sql.slice(0, settings?.start ?? clause.start).trimEnd(),
    insertSettings: settings === null ? "" : sql.slice(settings.start, clause.start).trimEnd(),
    dataStart,
    refusal: null,
  };
}

/** Blanks after the format's name, and one line end, belong to the statement. */
function dataStartAfter(sql: string, formatEnd: number): number {
  let at = formatEnd;
  while (sql[at] === " " || sql[at] === "\t" || sql[at] === "\f") at++;
  if (sql[at] === "\r") at++;
  if (sql[at] === "\n") at++;
  return at;
}

function refusalOf(tokens: readonly Token[]): Statement["refusal"] {
  const semicolon = tokens.findIndex((token) => token.text === ";");
  if (semicolon >= 0 && tokens.slice(semicolon).some((token) => token.text !== ";"))
    return { code: SYNTAX_ERROR, text: "Syntax error (Multi-statements are not allowed)" };
  if (tokens.some((token, index) => token.text === "OUTFILE" && tokens[index - 1]?.text === "INTO"))
    return { code: NOT_IMPLEMENTED, text: "INTO OUTFILE is not taken over HTTP" };
  return null;
}

/** `FORMAT name` followed only by a SETTINGS clause or semicolons. */
function trailingFormat(sql: string, tokens: readonly Token[]): string {
  for (let index = tokens.length - 2; index > 0; index--) {
    if (tokens[index]?.text !== "FORMAT") continue;
    const name = tokens[index + 1] as Token;
    const after = tokens[index + 2]?.text;
    if (!WORD_START.test(name.text)) continue;
    if (after === undefined || after === ";" || after === "SETTINGS") return sql.slice(name.start, name.end);
  }
  return "";
}

function statement(kind: StatementKind): Statement {
  return { kind, format: "", insertHead: "", insertSettings: "", dataStart: 0, refusal: null };
}

// ---------------------------------------------------------------- tokens

const WORD_START = /[A-Za-z_]/;
const WORD = /[A-Za-z0-9_]/;
const BLANK = /\s/;

/** An INSERT may carry megabytes of data after its head: tokens end at the first clause that data follows. */
function topLevelTokens(sql: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let depth = 0;
  const push = (text: string, start: number, end: number) => {
    if (depth === 0) tokens.push({ text, start, end });
  };
  while (at < sql.length) {
    const char = sql[at] as string;
    const start = at;
    if (BLANK.test(char)) at++;
    else if (char === "-" && sql[at + 1] === "-") at = lineEnd(sql, at);
    else if (char === "#" && (sql[at + 1] === " " || sql[at + 1] === "!")) at = lineEnd(sql, at);
    else if (char === "/" && sql[at + 1] === "*") at = commentEnd(sql, at);
    else if (char === "'" || char === '"' || char === "`") {
      at = quoteEnd(sql, at, char);
      push("'", start, at);
    } else if (char === "$" && heredocTag(sql, at) !== "") {
      at = heredocEnd(sql, at);
      push("'", start, at);
    } else if (WORD_START.test(char)) {
      while (at < sql.length && WORD.test(sql[at] as string)) at++;
      push(sql.slice(start, at).toUpperCase(), start, at);
      if (depth === 0 && endsInsertHead(tokens)) return tokens;
    } else {
      at++;
      if (char === "(" || char === "[" || char === "{") {
        push(char, start, at);
        depth++;
      } else if (char === ")" || char === "]" || char === "}") depth = Math.max(0, depth - 1);
      else push(char, start, at);
    }
  }
  return tokens;
}

function endsInsertHead(tokens: readonly Token[]): boolean {
  if (tokens[0]?.text !== "INSERT" || tokens.length < 4) return false;
  return tokens.at(-1)?.text === "VALUES" || (tokens.at(-2)?.text === "FORMAT" && tokens.length >= 5);
}

function lineEnd(sql: string, at: number): number {
  const end = sql.indexOf("\n", at);
  return end < 0 ? sql.length : end + 1;
}

function commentEnd(sql: string, at: number): number {
  const end = sql.indexOf("*/", at + 2);
  return end < 0 ? sql.length : end + 2;
}

/** Both escapes: a backslash, and the quote doubled. */
function quoteEnd(sql: string, at: number, quote: string): number {
  for (let index = at + 1; index < sql.length; index++) {
    if (sql[index] === "\\") index++;
    else if (sql[index] === quote) {
      if (sql[index + 1] !== quote) return index + 1;
      index++;
    }
  }
  return sql.length;
}

function heredocTag(sql: string, at: number): string {
  return /^\$\w*\$/.exec(sql.slice(at, at + 66))?.[0] ?? "";
}

function heredocEnd(sql: string, at: number): number {
  const tag = heredocTag(sql, at);
  const end = sql.indexOf(tag, at + tag.length);
  return end < 0 ? sql.length : end + tag.length;
}
