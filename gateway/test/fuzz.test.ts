/**
 * Seeded fuzzer of malformed requests on raw sockets: mutated bytes, mutated JSON, odd methods, targets and
 * headers, garbage. The server must answer or hang up, never crash, and keep its memory.
 *
 * FUZZ_RUNS (default 2 000, whole with 50 000) and FUZZ_SEED choose the run; counts are printed.
 */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { type Harness, startHarness } from "./harness.js";

const RUNS = Number(process.env.FUZZ_RUNS ?? 2_000);
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const CONCURRENCY = 24;
/** Growth of resident memory after the first tenth that still counts as flat: allocator noise, not a leak per request. */
const RSS_GROWTH_MAX_BYTES = 96 << 20;
/** Statuses this server or its parser may ever send. */
const STATUSES = new Set([
  100, 200, 204, 400, 401, 403, 404, 405, 406, 408, 409, 413, 414, 415, 421, 422, 429, 431, 500, 501, 503, 505,
]);
const PATHS = [
  "/api/trade/position/close",
  "/api/trade/routing/BTC?side=SELL&size=0.25",
  "/api/trade/executions/rt_1",
  "/api/trading/ticker/BTC",
  "/api/trading/venueone/ticker/BTC",
  "/api/trading/venuetwo/book/BTC?depth=5",
  "/api/book/BTC",
  "/api/instruments?symbol=BTC",
  "/api/status",
  "/api/history/ticks?symbol=BTC&limit=5",
  "/api/history/fills?symbol=BTC",
  "/api/history/execution-quality",
  "/health",
  "/metrics",
  "/openapi.json",
];
const METHODS = [
  "GET",
  "POST",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "PATCH",
  "TRACE",
  "CONNECT",
  "get",
  "FOO",
  "",
  "G\0T",
];
const VALUES = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  0.1,
  "",
  "0",
  "-0",
  "1e5",
  "NaN",
  "ALL",
  "0.25",
  "9".repeat(60),
  "BTC",
  "LONG",
  "MARKET",
  "venueone",
  "venuefive",
  "\u0000",
  "\ud800",
  "💥",
  [],
  [[]],
  {},
  { a: {} },
  ["venueone"],
  "x".repeat(2000),
];

const BODY = {
  symbol: "BTC",
  direction: "LONG",
  size: "0.01",
  orderType: "MARKET",
  limitPrice: null,
  preferredExchange: null,
  credentials: { venueone: { privateKey: "0xkey" }, venuetwo: { apiKey: "k", apiSecret: "s", walletAddress: "0xw" } },
  clientOrderId: "c-1",
  dryRun: true,
  routingOptions: {
    maxSlippageBps: 100,
    maxQuoteAgeMs: 2000,
    deadlineMs: 500,
    allowSplit: false,
    maxLegs: 3,
    excludeExchanges: [],
    waitFor: "FILL",
  },
};

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(async () => {
  await harness.stop();
});

class Fuzzer {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = createSeededRandom(seed);
  }

  int(below: number): number {
    return Math.floor(this.#random.next() * below);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T;
  }

  request(): { readonly kind: string; readonly bytes: Buffer } {
    const kind = this.pick(["json", "json", "bytes", "bytes", "target", "headers", "garbage"]);
    switch (kind) {
      case "json":
        return { kind, bytes: this.post(JSON.stringify(this.#mutateJson())) };
      case "bytes":
        return {
          kind,
          bytes: this.#mutateBytes(this.int(2) === 0 ? this.post(JSON.stringify(BODY)) : this.#get(this.pick(PATHS))),
        };
      case "target":
        return {
          kind,
          bytes: Buffer.from(`${this.pick(METHODS)} ${this.#target()} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`, "latin1"),
        };
      case "headers":
        return { kind, bytes: this.post(JSON.stringify(BODY), this.#headers()) };
      default:
        return { kind, bytes: Buffer.from(Array.from({ length: this.int(600) }, () => this.int(256))) };
    }
  }

  post(body: string, headers = ""): Buffer {
    return Buffer.from(
      `POST /api/trade/position/close HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }

  #get(path: string): Buffer {
    return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  }

  #mutateJson(): unknown {
    const body = structuredClone(BODY) as Record<string, unknown>;
    for (let count = 1 + this.int(3); count > 0; count--) {
      let target = body;
      let key = this.pick(Object.keys(target));
      const inner = target[key];
      if (inner !== null && typeof inner === "object" && !Array.isArray(inner) && this.int(2) === 0) {
        target = inner as Record<string, unknown>;
        const keys = Object.keys(target);
        if (keys.length > 0) key = this.pick(keys);
      }
      const move = this.int(10);
      if (move === 0) delete target[key];
      else if (move === 1)
        target[this.pick(["__proto__", "constructor", "toString", "a\r\nb", "é", "x".repeat(300)])] = structuredClone(
          this.pick(VALUES),
        );
      else target[key] = structuredClone(this.pick(VALUES));
    }
    return body;
  }

  #mutateBytes(bytes: Buffer): Buffer {
    let mutated = Buffer.from(bytes);
    for (let count = 1 + this.int(4); count > 0 && mutated.length > 0; count--) {
      const at = this.int(mutated.length);
      switch (this.int(5)) {
        case 0:
          mutated[at] = this.int(256);
          break;
        case 1:
          mutated = Buffer.concat([mutated.subarray(0, at), mutated.subarray(at + 1 + this.int(8))]);
          break;
        case 2:
          mutated = Buffer.concat([
            mutated.subarray(0, at),
            Buffer.from([this.int(256), this.int(256)]),
            mutated.subarray(at),
          ]);
          break;
        case 3:
          mutated = mutated.subarray(0, at);
          break;
        default:
          mutated = Buffer.concat([mutated, mutated.subarray(at)]);
      }
    }
    return mutated;
  }

  #target(): string {
    const path = this.pick(PATHS);
    const at = this.int(path.length);
    return this.pick([
      path,
      path.slice(0, at),
      `${path.slice(0, at)}%${this.pick(["zz", "00", "ff", "E0%A4%A", "2F", ""])}${path.slice(at)}`,
      `${path}${this.pick(["?", "&", "#"])}${"a=b&".repeat(this.int(60))}`,
      `//${path}`,
      `${path}/..`,
      `/${"a".repeat(this.int(9000))}`,
      "*",
      "http://f/health",
      `/api/trading/${this.pick(["venueone", "venuenine", "%76enueone"])}/book/${this.pick(["BTC", "%", "..", "a b", "é"])}`,
    ]);
  }

  #headers(): string {
    const lines = [
      "Idempotency-Key: \r\n",
      `Idempotency-Key: ${"k".repeat(this.int(400))}\r\n`,
      "Idempotency-Key: a b\r\n",
      "Expect: 100-continue\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Content-Length: 5\r\n",
      "Content-Type: text/html\r\n",
      "Connection: close\r\n",
      "Upgrade: websocket\r\nConnection: Upgrade\r\n",
      `X: ${"y".repeat(this.int(9000))}\r\n`,
      "X-API-KEY: k\r\nX-API-SIGNATURE: s\r\n",
      "Origin: https://page.example\r\n",
      "Origin: null\r\nSec-Fetch-Site: cross-site\r\n",
      "Host: \r\n",
      "Bad Header\r\n",
      ": empty\r\n",
      "\0: nul\r\n",
      ...Array.from({ length: 3 }, (_, index) => `H${index}: v\r\n`.repeat(this.int(60))),
    ];
    return this.pick(lines) + this.pick(lines);
  }
}

/** Sends the bytes, half-closes, and gives all that comes back. */
function exchange(bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(harness.server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
    });
    // Resets are answers too: the server may refuse to read on.
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
    socket.on("connect", () => socket.end(bytes));
  });
}

function judge(text: string): string {
  if (text === "") return "hung up";
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  if (status === undefined || !STATUSES.has(Number(status)))
    throw new Error(`not a reply of ours: ${text.slice(0, 200)}`);
  const end = text.indexOf("\r\n\r\n");
  const headers = text.slice(0, end);
  if (/content-type: application\/json/i.test(headers) && !/openapi/.test(text)) {
    const length = Number(/content-length: (\d+)/i.exec(headers)?.[1]);
    const body = text.slice(end + 4, end + 4 + length);
    // HEAD has none, a reply to a caller who hung up may be cut.
    if (body.length === length && length > 0) {
      const reply = JSON.parse(Buffer.from(body, "latin1").toString("utf8")) as {
        success: unknown;
        code?: unknown;
        details?: unknown;
      };
      if (typeof reply.success !== "boolean") throw new Error(`no envelope: ${body.slice(0, 200)}`);
      if (
        Number(status) >= 400 &&
        (reply.success || typeof reply.code !== "string" || typeof reply.details !== "object")
      )
        throw new Error(`bad envelope: ${body.slice(0, 200)}`);
    }
  }
  if (status === "500") throw new Error(`a fault of ours: ${text.slice(end + 4, end + 300)}`);
  return status;
}

describe("fuzzer", () => {
  it(
    `answers or hangs up on ${RUNS} malformed requests (seed ${SEED}), no crash, flat memory`,
    async () => {
      const fuzzer = new Fuzzer(SEED);
      const counts = new Map<string, number>();
      let sent = 0;
      let rssAfterWarmUp = 0;
      const worker = async (): Promise<void> => {
        while (sent < RUNS) {
          sent++;
          if (sent === Math.floor(RUNS / 10)) rssAfterWarmUp = process.memoryUsage().rss;
          if (sent % 500 === 0) harness.refreshBooks();
          const { kind, bytes } = fuzzer.request();
          const verdict = `${kind} ${judge(await exchange(bytes))}`;
          counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      const rssGrowth = process.memoryUsage().rss - rssAfterWarmUp;
      const table = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([verdict, count]) => `${verdict}: ${count}`);
      process.stdout.write(
        `fuzz seed ${SEED}, ${RUNS} requests, RSS ${(rssGrowth / 2 ** 20).toFixed(1)} MiB after warm-up\n  ${table.join("\n  ")}\n`,
      );
      expect((await harness.client.get("/health")).status).toBe(200);
      // A trade that began goes on when its caller hangs up: its session closes with it.
      await expect
        .poll(() => harness.one.sessionsOpen() + harness.two.sessionsOpen(), { timeout: 60_000, interval: 20 })
        .toBe(0);
      expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(RUNS);
      expect(counts.get("json 400") ?? 0).toBeGreaterThan(RUNS / 20);
      expect(rssGrowth).toBeLessThan(RSS_GROWTH_MAX_BYTES);
    },
    Math.max(300_000, RUNS * 20),
  );
});
