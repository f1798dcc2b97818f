/** The official client against the sidecar's HTTP dialect: what works with a server must work here, byte for byte. */
import { request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StorageSidecar } from "../../app/storage-sidecar.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "./sidecar.js";

let bench: SidecarBench;
let sidecar: StorageSidecar;
let client: ClickHouseClient;

const address = () => {
  const endpoint = sidecar.endpoint();
  if (endpoint.url === null) throw new Error(endpoint.reason);
  return endpoint;
};

const connect = (overrides: Parameters<typeof createClient>[0] = {}) =>
  createClient({ ...address(), log: { level: ClickHouseLogLevel.OFF }, ...overrides });

const errorOf = async (work: Promise<unknown>): Promise<ClickHouseError> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ClickHouseError);
  return error as ClickHouseError;
};

/** A plain request, for what the client never sends. */
async function bare(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer; auth?: boolean } = {},
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  const { url, username, password } = address();
  const credentials = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${url}${path}`,
      {
        method: options.method ?? "GET",
        headers: { ...(options.auth === false ? {} : { Authorization: credentials }), ...options.headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString("utf8"),
          }),
        );
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(options.body);
  });
}

const select = async (sql: string, extra: Partial<Parameters<ClickHouseClient["query"]>[0]> = {}) =>
  (await client.query({ query: sql, format: "JSONEachRow", ...extra })).json();

const countOf = async (table: string) => {
  const [row] = (await select(`SELECT toString(count()) AS n FROM ${table}`)) as [{ n: string }];
  return Number(row.n);
};

describe.skipIf(CHDB_MISSING)(`the HTTP dialect of the storage sidecar ${NEEDS_CHDB}`, () => {
  beforeAll(async () => {
    bench = new SidecarBench();
    sidecar = await bench.sidecar();
    client = connect();
  });
  afterAll(async () => {
    await client.close();
    await bench.dispose();
  });

  it("answers both kinds of ping", async () => {
    expect(await client.ping()).toEqual({ success: true });
    expect(await client.ping({ select: true })).toEqual({ success: true });
    expect(await bare("/ping", { auth: false })).toMatchObject({ status: 200, text: "Ok.\n" });
    expect(await bare("/")).toMatchObject({ status: 200, text: "Ok.\n" });
    expect((await bare("/nothing")).status).toBe(404);
  });

  it("refuses a wrong password and no password, each with its own code", async () => {
    const stranger = connect({ password: "guess" });
    expect((await stranger.ping({ select: true })).success).toBe(false);
    const error = await errorOf(stranger.query({ query: "SELECT 1" }));
    expect([error.code, error.type]).toEqual(["516", "AUTHENTICATION_FAILED"]);
    await stranger.close();
    const anonymous = await bare("/?query=SELECT+1", { auth: false });
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers["x-clickhouse-exception-code"]).toBe("194");
    const { username, password } = address();
    const byHeaders = { "X-ClickHouse-User": username, "X-ClickHouse-Key": password };
    expect(await bare("/?query=SELECT+1", { auth: false, headers: byHeaders })).toMatchObject({ text: "1\n" });
    expect((await bare(`/?query=SELECT+1&user=${username}&password=x`)).status).toBe(501);
  });

  it("prints every format the client reads", async () => {
    const sql = "SELECT number AS n, concat('a\"', toString(number)) AS s FROM numbers(2)";
    const text = async (format: "JSON" | "CSV" | "CSVWithNames" | "TabSeparated" | "JSONCompactEachRow") =>
      (await client.query({ query: sql, format })).text();
    expect(await text("CSV")).toBe('0,"a""0"\n1,"a""1"\n');
    expect(await text("CSVWithNames")).toBe('"n","s"\n0,"a""0"\n1,"a""1"\n');
    expect(await text("TabSeparated")).toBe('0\ta"0\n1\ta"1\n');
    expect(await text("JSONCompactEachRow")).toBe('[0, "a\\"0"]\n[1, "a\\"1"]\n');
    expect(JSON.parse(await text("JSON"))).toMatchObject({ rows: 2, data: [{ n: 0, s: 'a"0' }, {}] });
    expect((await bare("/?query=SELECT+1&default_format=JSONEachRow")).text).toBe('{"1":1}\n');
    expect((await bare("/?query=SELECT+1")).headers["x-clickhouse-format"]).toBe("TabSeparated");
  });

  it("streams headed formats with one header, however many blocks", async () => {
    const result = await client.query({
      query: "SELECT number AS \"a\nb\", 'x' AS c FROM numbers(30) SETTINGS max_block_size = 7",
      format: "CSVWithNames",
    });
    const text = await result.text();
    expect(text.startsWith('"a\nb","c"\n0,"x"\n')).toBe(true);
    expect(text.split('"c"').length).toBe(2);
    expect(text.trim().split("\n").length).toBe(32);
  });

  it("binds parameters of every kind, and none can break out of its place", async () => {
    const params = {
      int: 42,
      big: "18446744073709551615",
      text: "it's \\ a\ttab\nline {int:UInt8} -- '; DROP TABLE x",
      texts: ["a'b", "c\\d", ""],
      nothing: null,
      at: "2026-11-21 01:02:03.123456",
      flag: true,
      exact: "0.123456789012345678",
      map: { k: 1 },
    };
    const [row] = (await select(
      `SELECT {int:UInt32} AS int, toString({big:UInt64}) AS big, {text:String} AS text, {texts:Array(String)} AS texts,
         {nothing:Nullable(String)} AS nothing, {at:DateTime64(6, 'UTC')} AS at, {flag:Bool} AS flag,
         toString({exact:Decimal(38, 18)}) AS exact, {map:Map(String, UInt8)} AS map`,
      { query_params: params },
    )) as [Record<string, unknown>];
    expect(row).toEqual({ ...params });
    const named = await select("SELECT name FROM system.{table:Identifier} WHERE name = 'one'", {
      query_params: { table: "tables" },
    });
    expect(named).toEqual([{ name: "one" }]);
    const missing = await errorOf(client.query({ query: "SELECT {absent:UInt8}" }));
    expect(missing.type).toBe("UNKNOWN_QUERY_PARAMETER");
    // A parameter of an earlier request does not exist in this one.
    expect((await errorOf(client.query({ query: "SELECT {int:UInt32}" }))).type).toBe("UNKNOWN_QUERY_PARAMETER");
  });

  it("keeps a request's settings, database and temporary tables out of the next request", async () => {
    const threads = async (settings: Record<string, number> = {}) => {
      const [row] = (await select("SELECT getSetting('max_threads') AS t, currentDatabase() AS db", {
        clickhouse_settings: settings,
      })) as [{ t: number; db: string }];
      return [Number(row.t), row.db];
    };
    const [before] = await threads();
    expect(await threads({ max_threads: 1 })).toEqual([1, "default"]);
    expect(await threads()).toEqual([before, "default"]);
    await client.command({ query: "SET max_threads = 1" });
    await client.command({ query: "USE system" });
    await client.command({ query: "CREATE TEMPORARY TABLE passing (a UInt8)" });
    expect(await threads()).toEqual([before, "default"]);
    expect((await errorOf(client.query({ query: "SELECT * FROM passing" }))).type).toBe("UNKNOWN_TABLE");
    expect(
      (await errorOf(client.query({ query: "SELECT 1", clickhouse_settings: { no_such: 1 } as never }))).type,
    ).toBe("UNKNOWN_SETTING");
    const elsewhere = connect({ database: "system" });
    expect(await (await elsewhere.query({ query: "SELECT currentDatabase()", format: "CSV" })).text()).toBe(
      '"system"\n',
    );
    expect((await errorOf(connect({ database: "nowhere" }).query({ query: "SELECT 1" }))).type).toBe(
      "UNKNOWN_DATABASE",
    );
    await elsewhere.close();
  });

  it("keeps a named session's own state, gives it to one request at a time, and drops what came in the query string", async () => {
    const session_id = "s1";
    const settings = { max_threads: 3 };
    await client.command({ query: "SET max_block_size = 777", session_id, clickhouse_settings: settings });
    await client.command({ query: "CREATE TEMPORARY TABLE mine (a UInt8)", session_id });
    await client.insert({ table: "mine", values: [{ a: 7 }], format: "JSONEachRow", session_id });
    const sql = "SELECT a, getSetting('max_block_size') AS b, getSetting('max_threads') AS t FROM mine";
    const [row] = (await select(sql, { session_id })) as [{ a: number; b: string; t: string }];
    expect([row.a, Number(row.b)]).toEqual([7, 777]);
    expect(Number(row.t)).not.toBe(3);
    const unknown = await errorOf(
      client.query({ query: "SELECT 1", session_id: "none", clickhouse_settings: SESSION_CHECK }),
    );
    expect(unknown.type).toBe("SESSION_NOT_FOUND");
    // Longer than a machine pauses between two requests; the session is in use once the engine runs it.
    const slow = client.query({ query: "SELECT sleep(3)", session_id, format: "JSON" });
    const running = "SELECT toString(count()) AS n FROM system.processes WHERE query LIKE 'SELECT sleep(3)%'";
    await expect.poll(() => select(running)).toEqual([{ n: "1" }]);
    const refused = await errorOf(client.query({ query: "SELECT 1", session_id }));
    expect(refused.type).toBe("SESSION_IS_LOCKED");
    expect((await (await slow).json()).data).toHaveLength(1);
    // And free again with its reply.
    expect(await select("SELECT a FROM mine", { session_id })).toEqual([{ a: 7 }]);
  });

  it("inserts rows, streams, text and binary, compressed or not, whole or by columns", async () => {
    await client.command({
      query: "CREATE TABLE kinds (a UInt32, b String DEFAULT 'none') ENGINE = MergeTree ORDER BY a",
    });
    const zipped = connect({ compression: { request: true, response: true } });
    await client.insert({ table: "kinds", values: [{ a: 1, b: "ü'\\" }], format: "JSONEachRow" });
    await client.insert({ table: "kinds", values: [[2]], columns: ["a"], format: "JSONCompactEachRow" });
    await client.insert({
      table: "kinds",
      values: Readable.from([{ a: 3 }, { a: 4 }], { objectMode: true }),
      format: "JSONEachRow",
    });
    await client.insert({
      table: "kinds",
      values: Readable.from(["5,five\n6,six\n"], { objectMode: false }),
      format: "CSV",
    });
    await zipped.insert({ table: "kinds", values: [{ a: 7, b: "seven" }], format: "JSONEachRow" });
    await rowBinary(client, "kinds (a)", uint32s(8, 9));
    await rowBinary(zipped, "kinds (a)", uint32s(10));
    await client.command({ query: "INSERT INTO kinds VALUES (11, 'a;b'), (12, 'c')" });
    await client.command({ query: 'INSERT INTO kinds FORMAT JSONEachRow {"a": 13}' });
    await client.command({ query: "INSERT INTO kinds (a) SELECT 14" });
    expect(await bare("/", { method: "POST", body: "INSERT INTO kinds (a) FORMAT TSV\n15\n16\n" })).toMatchObject({
      status: 200,
    });
    expect(await bare("/?query=INSERT%20INTO%20kinds%20(a)%20VALUES", { method: "POST", body: "(17)" })).toMatchObject({
      status: 200,
    });
    const binary = Buffer.concat([
      Buffer.from("INSERT INTO kinds (a) SETTINGS max_threads = 1 FORMAT RowBinary\n"),
      uint32s(18),
    ]);
    expect((await bare("/", { method: "POST", body: binary })).status).toBe(200);
    const rows = (await (
      await zipped.query({ query: "SELECT a, b FROM kinds ORDER BY a", format: "JSONEachRow" })
    ).json()) as {
      a: number;
      b: string;
    }[];
    expect(rows.map((row) => row.a)).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
    expect(rows[0]?.b).toBe("ü'\\");
    expect([rows[6]?.b, rows[9]?.b, rows[10]?.b]).toEqual(["seven", "none", "a;b"]);
    await zipped.close();
  });

  it("stores the same bytes under one token once, and counts rows in the summary", async () => {
    await client.command({
      query:
        "CREATE TABLE tokens (a UInt32) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 100",
    });
    const bytes = uint32s(1, 2, 3);
    const first = await rowBinary(client, "tokens", bytes, { insert_deduplication_token: "t-1", async_insert: 0 });
    expect(first.summary?.written_rows).toBe("3");
    await rowBinary(client, "tokens", bytes, { insert_deduplication_token: "t-1", async_insert: 0 });
    expect(await countOf("tokens")).toBe(3);
    await rowBinary(client, "tokens", bytes, { insert_deduplication_token: "t-2", async_insert: 0 });
    // The token of the previous request does not apply to this one.
    await rowBinary(client, "tokens", uint32s(9));
    expect(await countOf("tokens")).toBe(7);
  });

  it("types every error by the engine's code, and shows no path of its own", async () => {
    const cases: [string, string, string][] = [
      ["SELECT nonsense", "47", "UNKNOWN_IDENTIFIER"],
      ["SELECT * FROM absent", "60", "UNKNOWN_TABLE"],
      ["SELEC 1", "62", "SYNTAX_ERROR"],
      ["SELECT 1; SELECT 2", "62", "SYNTAX_ERROR"],
      ["", "62", "SYNTAX_ERROR"],
      ["SELECT 1 INTO OUTFILE '/tmp/x'", "48", "NOT_IMPLEMENTED"],
      ["SELECT throwIf(1)", "395", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"],
    ];
    for (const [query, code, type] of cases) {
      const error = await errorOf(client.command({ query }));
      expect([query, error.code, error.type]).toEqual([query, code, type]);
    }
    await client.command({ query: "CREATE TABLE short (a UInt32) ENGINE = Memory" });
    const cut = await errorOf(rowBinary(client, "short", Buffer.from([1, 2, 3])));
    expect([cut.code, cut.type]).toEqual(["33", "CANNOT_READ_ALL_DATA"]);
    expect(cut.message).toContain("the request's body");
    expect(cut.message).not.toMatch(/\/dev\/shm|\/tmp|\.bin/);
    expect((await bare("/?query=SELECT+nonsense")).status).toBe(404);
    expect((await bare("/", { method: "POST", body: "SELEC 1" })).status).toBe(400);
  });

  it("reports an error in the middle of a result after the rows before it, with its type", async () => {
    const result = await client.query({
      query: "SELECT throwIf(number = 5000) AS t FROM numbers(10000) SETTINGS max_block_size = 1000",
      format: "JSONEachRow",
    });
    let rowCount = 0;
    const error = await errorOf(
      (async () => {
        for await (const rows of result.stream()) rowCount += rows.length;
      })(),
    );
    expect(error.type).toBe("FUNCTION_THROW_IF_VALUE_IS_NON_ZERO");
    expect(rowCount).toBeLessThanOrEqual(5000);
    // When requested to wait, the same error has its status.
    const waited = await errorOf(
      client.query({
        query: "SELECT throwIf(number = 5000) AS t FROM numbers(10000) SETTINGS max_block_size = 1000",
        clickhouse_settings: { wait_end_of_query: 1 },
      }),
    );
    expect(waited.code).toBe("395");
  });

  it("streams 200 000 rows, plain and compressed", async () => {
    for (const response of [false, true]) {
      const reader = connect({ compression: { request: false, response } });
      const result = await reader.query({
        query: "SELECT number AS n, repeat('x', 20) AS s FROM numbers(200000)",
        format: "JSONEachRow",
      });
      let rowCount = 0;
      let sum = 0;
      for await (const rows of result.stream<{ n: number }>()) {
        for (const row of rows) sum += Number(row.json().n);
        rowCount += rows.length;
      }
      expect([rowCount, sum]).toEqual([200_000, 19_999_900_000]);
      await reader.close();
    }
  });

  it("stops a streamed query whose reader leaves, so that the next ones do not wait for it", async () => {
    const endless = "SELECT sleepEachRow(0.01) AS s FROM numbers(100000) SETTINGS max_block_size = 2";
    const aborts = Array.from({ length: 6 }, () => new AbortController());
    const started = aborts.map((abort) =>
      client.query({ query: endless, format: "JSONEachRow", abort_signal: abort.signal }).then(
        (result) => result.close(),
        (error: unknown) => error,
      ),
    );
    // More than run at once: the rest wait their turn and are skipped.
    setTimeout(() => {
      for (const abort of aborts) abort.abort();
    }, 200);
    await Promise.all(started);
    expect(await select("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("refuses to write by GET, other methods, and what it does not support", async () => {
    const write = await bare("/?query=CREATE+TABLE+g+(a+UInt8)+ENGINE%3DMemory");
    expect(write.headers["x-clickhouse-exception-code"]).toBe("164");
    expect((await bare("/?query=SELECT+1", { method: "PUT" })).status).toBe(405);
    const encoded = await bare("/?query=INSERT+INTO+kinds+FORMAT+CSV", {
      method: "POST",
      headers: { "Content-Encoding": "zstd" },
      body: "x",
    });
    expect(encoded.status).toBe(501);
    const notGzip = await bare("/?query=INSERT+INTO+kinds+FORMAT+CSV", {
      method: "POST",
      headers: { "Content-Encoding": "gzip" },
      body: "not gzip",
    });
    expect(notGzip.status).toBe(400);
    expect((await bare("/?query=SELECT+1&role=admin")).status).toBe(501);
    expect((await bare("/?query=SELECT+1&1bad=1")).status).toBe(400);
    expect((await bare("/?query=SELECT+1&max_threads=1%27%2C+readonly%3D0")).status).toBe(400);
  });

  it("uses the caller's own name for the query", async () => {
    const { query_id } = await client.query({ query: "SELECT 1", query_id: "mine-1" });
    expect(query_id).toBe("mine-1");
    expect((await bare("/?query=SELECT+1&query_id=mine-2")).headers["x-clickhouse-query-id"]).toBe("mine-2");
    expect((await bare("/?query=SELECT+1")).headers["x-clickhouse-query-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

const SESSION_CHECK = { session_check: 1 } as never;

function uint32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4);
  return bytes;
}

async function rowBinary(
  through: ClickHouseClient,
  into: string,
  bytes: Buffer,
  settings: Record<string, string | number> = {},
) {
  const result = await through.exec({
    query: `INSERT INTO ${into} FORMAT RowBinary`,
    values: Readable.from([bytes], { objectMode: false }),
    clickhouse_settings: settings,
  });
  result.stream.resume();
  return result;
}
