/**
 * GETs TARGET of PORT, RATE a second over CONNECTIONS that stay open, for SECONDS, with the headers HEADERS (JSON). They
 * go out at their times whether or not the ones before are answered. Prints `RequestsResult`.
 */
import { Pool } from "undici";
import { percentile } from "../lib/stats.js";

export interface RequestsResult {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const WARM_UP_MS = 300;
const READY_MS_MAX = 10_000;
const AGAIN_MS = 50;

const rate = Number(process.env.RATE);
const milliseconds = Number(process.env.SECONDS) * 1_000;
const path = process.env.TARGET ?? "/";
const headers = JSON.parse(process.env.HEADERS ?? "{}") as Record<string, string>;
const pool = new Pool(`https://127.0.0.1:${process.env.PORT}`, {
  connections: Number(process.env.CONNECTIONS),
  connect: { rejectUnauthorized: false },
});

async function ask(): Promise<number> {
  const { statusCode, body } = await pool.request({ method: "GET", path, headers });
  await body.dump();
  return statusCode;
}

/** A server may have to learn of the market first. */
async function untilReady(): Promise<void> {
  const lastMs = performance.now() + READY_MS_MAX;
  for (;;) {
    const status = await ask();
    if (status === 200) return;
    if (performance.now() > lastMs) throw new Error(`answered with ${status} for ${READY_MS_MAX} ms`);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function run(): Promise<RequestsResult> {
  await untilReady();
  const startMs = performance.now();
  const tookMs: number[] = [];
  const asked: Promise<void>[] = [];
  const one = async (): Promise<void> => {
    const sentMs = performance.now();
    const status = await ask();
    if (status !== 200) throw new Error(`answered with ${status}`);
    if (sentMs - startMs >= WARM_UP_MS) tookMs.push(performance.now() - sentMs);
  };
  for (let elapsedMs = 0; elapsedMs < WARM_UP_MS + milliseconds; elapsedMs = performance.now() - startMs) {
    while (asked.length < (elapsedMs * rate) / 1_000) asked.push(one());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(asked);
  const [p50Ms, p99Ms, maxMs] = [50, 99, 100].map((percent) => percentile(tookMs, percent)) as [number, number, number];
  return { count: tookMs.length, p50Ms, p99Ms, maxMs };
}

try {
  process.stdout.write(`${JSON.stringify(await run())}\n`);
} catch (error) {
  process.stderr.write(`TLS requests: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
process.exit(0);
