import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanStatement } from "./statement.js";

/** Text that likes to look like clauses. */
const NOISE = fc
  .array(
    fc.oneof(
      fc.string(),
      fc.constantFrom(
        "'",
        '"',
        "`",
        "\\",
        "$$",
        "--",
        "/*",
        "*/",
        "\n",
        " FORMAT CSV",
        ";",
        "(",
        ")",
        "INSERT INTO t ",
        " VALUES",
      ),
    ),
  )
  .map((parts) => parts.join(""));

describe("scanStatement", () => {
  it.each([
    ["SELECT 1", "read", ""],
    ["select 1 format JSONEachRow", "read", "JSONEachRow"],
    ["SELECT 1 FORMAT CSV SETTINGS max_threads = 1", "read", "CSV"],
    ["SELECT 1 FORMAT CSV;", "read", "CSV"],
    ["SELECT 'a FORMAT CSV'", "read", ""],
    ["SELECT 'it''s \\' FORMAT CSV' AS x", "read", ""],
    ["SELECT 1 -- FORMAT CSV", "read", ""],
    ["SELECT 1 /* FORMAT CSV */", "read", ""],
    ["SELECT $x$ FORMAT CSV $x$", "read", ""],
    ["SELECT (SELECT 1 FORMAT CSV)", "read", ""],
    ["SELECT format('{}', 1) AS format", "read", ""],
    ["SELECT `format` FROM t", "read", ""],
    ["-- note\n  /* more */ WITH 1 AS x SELECT x", "read", ""],
    ["(SELECT 1) UNION ALL (SELECT 2) FORMAT TSV", "read", "TSV"],
    ["SHOW TABLES", "read", ""],
    ["EXPLAIN SELECT 1", "read", ""],
    ["CREATE TABLE t (a UInt8) ENGINE = Memory", "other", ""],
    ["OPTIMIZE TABLE t FINAL", "other", ""],
    ["WITH 1 AS x INSERT INTO t SELECT x", "insert-select", ""],
    ["INSERT INTO t SELECT 1", "insert-select", ""],
    ["INSERT INTO t (a, b) SELECT 1 FORMAT CSV", "insert-select", ""],
    ["  \n-- nothing", "empty", ""],
  ])("%j is %s, format %j", (sql, kind, format) => {
    expect(scanStatement(sql)).toMatchObject({ kind, format, refusal: null });
  });

  it.each([
    ["INSERT INTO t FORMAT CSV", "INSERT INTO t", "", "CSV", ""],
    ["INSERT INTO t FORMAT CSV\n1,2\n", "INSERT INTO t", "", "CSV", "1,2\n"],
    ["INSERT INTO t FORMAT CSV\r\n1,2", "INSERT INTO t", "", "CSV", "1,2"],
    ["INSERT INTO t FORMAT CSV 1 FORMAT TSV", "INSERT INTO t", "", "CSV", "1 FORMAT TSV"],
    [
      "INSERT INTO a.b (x, y) SETTINGS k = 'FORMAT x' FORMAT RowBinary\n\n1",
      "INSERT INTO a.b (x, y)",
      "SETTINGS k = 'FORMAT x'",
      "RowBinary",
      "\n1",
    ],
    ["INSERT INTO format FORMAT TSV", "INSERT INTO format", "", "TSV", ""],
    ["INSERT INTO db.settings FORMAT TSV", "INSERT INTO db.settings", "", "TSV", ""],
    ["INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a)", "", "Values", " (1), (2)"],
    ["insert into table t format jsoneachrow {}", "insert into table t", "", "jsoneachrow", "{}"],
  ])("%j has its data behind its head", (sql, insertHead, insertSettings, format, data) => {
    const scanned = scanStatement(sql);
    expect(scanned).toMatchObject({ kind: "insert-data", insertHead, insertSettings, format });
    expect(sql.slice(scanned.dataStart)).toBe(data);
  });

  it.each([
    ["SELECT 1; SELECT 2", 62],
    ["SELECT 1;; DROP TABLE t", 62],
    ["SELECT 1 INTO OUTFILE 'x'", 48],
    ["INSERT INTO t FROM INFILE 'x' FORMAT CSV", 48],
    ["INSERT INTO t SELECT 1; DROP TABLE t", 62],
  ])("refuses the statement %j", (sql, code) => {
    expect(scanStatement(sql).refusal?.code).toBe(code);
  });

  it("takes any data behind the head as it is, and never scans it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        const data = Buffer.from(noise).toString("latin1");
        const scanned = scanStatement(`INSERT INTO t (a) FORMAT RowBinary\n${data}`);
        expect(scanned).toMatchObject({ kind: "insert-data", format: "RowBinary", insertHead: "INSERT INTO t (a)" });
        expect(`INSERT INTO t (a) FORMAT RowBinary\n${data}`.slice(scanned.dataStart)).toBe(data);
      }),
    );
  });

  it("finds no clause inside quoted text, whatever the text is", () => {
    fc.assert(
      fc.property(NOISE, fc.constantFrom("'", '"', "`"), (noise, quote) => {
        const quoted = `${quote}${noise.replaceAll("\\", "\\\\").replaceAll(quote, quote + quote)}${quote}`;
        expect(scanStatement(`SELECT ${quoted} AS x FORMAT CSV`)).toMatchObject({
          kind: "read",
          format: "CSV",
          refusal: null,
        });
        expect(scanStatement(`SELECT ${quoted} AS x`)).toMatchObject({ kind: "read", format: "", refusal: null });
      }),
    );
  });

  it("survives any text", () => {
    fc.assert(
      fc.property(NOISE, (noise) => {
        expect(scanStatement(noise).kind).toBeTypeOf("string");
      }),
    );
  });
});
