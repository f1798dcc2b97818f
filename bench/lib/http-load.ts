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
}

export interface LoadTool {
  readonly name: "wrk" | "autocannon";
  run(load: HttpLoad): Promise<LoadResult>;
}

export function loadTool(hasWrk = spawnSync("wrk", ["--version"]).error === undefined): LoadTool {
  return hasWrk ? { name: "wrk", run: async (load) => runWrk(load) } : { name: "autocannon", run: runAutocannon };
}

async function runAutocannon({ url, connections, seconds, body }: HttpLoad): Promise<LoadResult> {
  const post = { method: "POST" as const, headers: { "content-type": "application/json" } };
  const result = await autocannon({
    ...{ url, connections, duration: seconds },
    ...(body === undefined ? {} : { ...post, body }),
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
  if (load.body !== undefined) {
    writeFileSync(
      script,
      `wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = ${JSON.stringify(load.body)}\n`,
    );
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
