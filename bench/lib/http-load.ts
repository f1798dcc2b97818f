/**
 * Throughput ceilings. wrk drives further than a Node client can. Without wrk autocannon drives: then the client is the
 * bottleneck, and ratios say little. Loopback only; bounded by its own duration.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";

interface LoadResult {
  readonly requestsPerSecond: number;
  readonly non2xxCount: number;
  readonly socketErrorCount: number;
}

export interface HttpLoad {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** The request is a POST of this body when present. */
  readonly body?: string;
  /** Sets of headers that are sent in turn, all of the same names; again from the first one after the last. */
  readonly headers?: readonly PreparedHeaders[];
}

export type PreparedHeaders = Readonly<Record<string, string>>;

export interface LoadTool {
  readonly name: "wrk" | "autocannon";
  run(load: HttpLoad): Promise<LoadResult>;
}

export function loadTool(hasWrk = spawnSync("wrk", ["--version"]).error === undefined): LoadTool {
  return hasWrk ? { name: "wrk", run: async (load) => runWrk(load) } : { name: "autocannon", run: runAutocannon };
}

async function runAutocannon({ url, connections, seconds, body, headers = [] }: HttpLoad): Promise<LoadResult> {
  const jsonType = body === undefined ? {} : { "content-type": "application/json" };
  let sent = 0;
  const result = await autocannon({
    ...{ url, connections, duration: seconds, headers: jsonType },
    ...(body === undefined ? {} : { method: "POST" as const, body }),
    ...(headers.length === 0
      ? {}
      : {
          requests: [
            {
              setupRequest: (request) => ({
                ...request,
                headers: { ...request.headers, ...headers[sent++ % headers.length] },
              }),
            },
          ],
        }),
  });
  return {
    requestsPerSecond: result.requests.average,
    non2xxCount: result.non2xx,
    socketErrorCount: result.errors + result.timeouts,
  };
}

function runWrk(load: HttpLoad): LoadResult {
  const folder = mkdtempSync(join(tmpdir(), "unwind-wrk-"));
  const script = join(folder, "load.lua");
  const args = ["-t1", `-c${load.connections}`, `-d${load.seconds}s`];
  if (load.body !== undefined || load.headers !== undefined) {
    const setsFile = join(folder, "headers.txt");
    writeFileSync(setsFile, (load.headers ?? []).map((headers) => `${Object.values(headers).join(" ")}\n`).join(""));
    writeFileSync(script, luaOf(load, setsFile));
    args.push("-s", script);
  }
  const result = spawnSync("wrk", [...args, load.url], { encoding: "utf8" });
  rmSync(folder, { recursive: true, force: true });
  if (result.status !== 0) throw new Error(`wrk failed: ${result.error?.message ?? result.stderr}`);
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(result.stdout);
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(result.stdout)?.[1] ?? Number.NaN),
    non2xxCount: Number(/Non-2xx or 3xx responses: (\d+)/.exec(result.stdout)?.[1] ?? 0),
    socketErrorCount: (errors?.slice(1) ?? []).reduce((sum, text) => sum + Number(text), 0),
  };
}

/** One set of headers is part of the one request that wrk repeats; of several, each request gets the next. */
function luaOf({ body, headers = [] }: HttpLoad, setsFile: string): string {
  const [first = {}] = headers;
  const lines = Object.entries(first).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  if (body !== undefined)
    lines.push(
      'wrk.method = "POST"',
      'wrk.headers["Content-Type"] = "application/json"',
      `wrk.body = ${JSON.stringify(body)}`,
    );
  if (headers.length <= 1) return `${lines.join("\n")}\n`;
  const names = Object.keys(first);
  const pattern = names.map(() => "(%S+)").join(" ");
  return `${lines.join("\n")}
local sets, at = {}, 0
for line in io.lines("${setsFile}") do sets[#sets + 1] = line end
request = function()
  at = at % #sets + 1
  ${names.map((name) => `wrk.headers["${name}"]`).join(", ")} = string.match(sets[at], "^${pattern}$")
  return wrk.format()
end
`;
}
