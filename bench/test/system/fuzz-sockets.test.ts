/**
 * Damaged requests, frames and admin lines over real sockets to a running service in signed mode, while a key trades and
 * reads beside them. Every answer has a code, nobody else's request is hurt, the memory is flat, the service lives.
 *
 * `SOCKET_INPUTS=50000` runs it whole, `FUZZ_SEED` replays; the counts are printed.
 */
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Agent, request as undiciRequest } from "undici";
import { WebSocket } from "ws";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { below, damaged, pick } from "../../../gateway/test/mutants.js";
import { signed } from "../../../gateway/test/test-keys.js";
import { STREAM_PATH } from "../../../schemas/asyncapi.js";
import { CLOSE_CODES } from "../../../schemas/stream.js";
import { freshMs, type SweepKey } from "../support/canary-sweep.js";
import { credentialsOf, type LocalPair, startLocalPair } from "../support/local-pair.js";
import { exchange, isWholeReply, type Unfinished, untilClosed } from "../support/raw-exchange.js";
import { type Environment, type ServiceRun, SignedBench } from "../support/signed-service.js";

const INPUTS = Number(process.env["SOCKET_INPUTS"] ?? 3_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_128);
const HTTP_WORKERS = 12;
const FRAMES_AT_ONCE = 20;
const LINES_AT_ONCE = 8;
/** Of resident memory after the first fifth: heap that the collector has not returned. */
const RSS_GROWTH_MAX_MIB = 160;
const KIB_PER_MIB = 1_024;
/** Requests that the server takes for the beginning of one: so many are held open to see it end them. */
const UNFINISHED_MAX = 48;
/** The idle time of a connection (docs/http-framing.md) and the steps of 4 s in which the server counts it. */
const UNFINISHED_BOUND_MS = 18_000;
const CLOSE = "/api/trade/position/close";
const JSON_CODE = /"code":"[A-Z_]+"/;

let bench: SignedBench;
let pair: LocalPair;
let environment: Environment;
let service: ServiceRun;
let key: SweepKey;
let fuzzKey: SweepKey;
let credentials: object;
const agent = new Agent({ connections: 4 });
const counts = new Map<string, number>();
let longestHeldMs = 0;

beforeAll(async () => {
  bench = new SignedBench();
  pair = await startLocalPair({ seed: SEED, flow: { levelCount: 60, stepMs: 200 } });
  credentials = credentialsOf(pair.addTrader("fuzz", { positions: { BTC: "20", ETH: "-20" } }));
  environment = bench.settings(pair, "fuzz", Buffer.alloc(32, "a key of the fuzzer"), {
    ...{ LOG_LEVEL: "warn", STREAM_FRAMES_PER_SECOND: "100000", STREAM_UNAUTHENTICATED_PER_ADDRESS_MAX: "100" },
  });
  service = await bench.start(environment, ["--expose-gc"]);
  key = await bench.makeKey(environment, ["read", "trade"]);
  fuzzKey = await bench.makeKey(environment, ["read", "trade"]);
});
afterAll(async () => {
  bench.dispose();
  await agent.destroy();
  await pair.stop();
});

function count(name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function residentMib(): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, "utf8"))?.[1]) / KIB_PER_MIB;
}

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly body: string;
}

function askedOf(): readonly Asked[] {
  const close = { symbol: "BTC", direction: "LONG", size: "0.001", dryRun: true, credentials };
  return [
    { method: "GET", target: "/api/limits", body: "" },
    { method: "GET", target: "/api/trade/routing/BTC?side=SELL&size=0.01", body: "" },
    { method: "GET", target: "/api/trading/venuetwo/book/BTC?depth=5", body: "" },
    { method: "POST", target: CLOSE, body: JSON.stringify(close) },
    { method: "POST", target: "/api/stream/ticket", body: "" },
    { method: "POST", target: "/api/trading/venuetwo/dead-man", body: '{"timeoutMs":60000,"credentials":{}}' },
    { method: "DELETE", target: "/api/trading/venueone/orders/1?symbol=BTC", body: "" },
    { method: "PATCH", target: "/api/trading/venuetwo/orders/x", body: '{"symbol":"BTC","price":"1"}' },
  ];
}

/** A request that is damaged in its head or its body, before or after it was signed. */
function damagedRequest(random: Random, asked: readonly Asked[]): Buffer {
  const { method, target, body } = pick(random, asked);
  const bodies = asked.map((one) => one.body);
  const sentBody = body === "" || below(random, 2) === 0 ? Buffer.from(body) : damaged(random, body, bodies);
  const by = below(random, 4) === 0 ? { ...fuzzKey, secret: "sk_wrong" } : fuzzKey;
  const headers = signed(by, { method, target, body: sentBody, timestamp: freshMs() });
  const lines = [
    ...[`${method} ${target} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`],
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(sentBody.length > 0 ? ["Content-Type: application/json", `Content-Length: ${sentBody.length}`] : []),
    ...(method !== "GET" && sentBody.length === 0 ? ["Content-Length: 0"] : []),
  ];
  if (below(random, 6) === 0) lines.push(pick(random, lines.slice(1)));
  const at = below(random, lines.length);
  const head =
    below(random, 2) === 0
      ? Buffer.from(lines.join("\r\n"))
      : Buffer.concat([
          Buffer.from(
            lines
              .slice(0, at)
              .map((line) => `${line}\r\n`)
              .join(""),
          ),
          damaged(random, lines[at] ?? "", lines),
          Buffer.from(
            lines
              .slice(at + 1)
              .map((line) => `\r\n${line}`)
              .join(""),
          ),
        ]);
  return Buffer.concat([head, Buffer.from("\r\n\r\n"), sentBody]);
}

async function fuzzHttp(random: Random, asked: readonly Asked[]): Promise<number> {
  const bytes = damagedRequest(random, asked);
  const { end, text } = await exchange({ host: "127.0.0.1", port: service.port }, bytes, isWholeReply);
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
  const code = /"code":"([A-Z_]+)"/.exec(text)?.[1] ?? "";
  if (status === "500") throw new Error(`500 for ${JSON.stringify(bytes.toString("latin1"))}: ${text.slice(0, 500)}`);
  // What the parser of the server refuses itself is a status alone, and the connection ends.
  const isOwn = /content-type: application\/json/i.test(text);
  if (isOwn && Number(status) >= 400 && !JSON_CODE.test(text)) throw new Error(`no code: ${text.slice(0, 500)}`);
  count(`http ${status ?? end} ${code}`);
  if (end === "waits" && text === "" && unfinished.length < UNFINISHED_MAX) holdOpen(bytes);
  return 1;
}

const unfinished: Promise<Unfinished>[] = [];

/** Every second one is never without traffic: neither may hold a connection for ever. */
function holdOpen(bytes: Buffer): void {
  const held = untilClosed(
    { host: "127.0.0.1", port: service.port },
    bytes,
    UNFINISHED_BOUND_MS,
    unfinished.length % 2 === 1,
  );
  held.catch(() => {});
  unfinished.push(held);
}

/** Signed requests whose head is whole and whose body ends early; of each pair the longer body trickles. Returns how many. */
function holdCutBodies(asked: readonly Asked[]): number {
  for (const { method, target, body } of asked.filter(({ body: text }) => text !== "")) {
    const headers = signed(fuzzKey, { method, target, body, timestamp: freshMs() });
    const lines = [
      ...[`${method} ${target} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`],
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`],
    ];
    const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
    for (const cutBytes of [body.length - 1, 1]) holdOpen(bytes.subarray(0, -cutBytes));
  }
  return unfinished.length;
}

/**
 * Counts how each ended: by 408 at the deadline of bodies, or closed. A whole one whose answer was late the first time is
 * answered. Rejects where one was held beyond the bound.
 */
async function judgeUnfinished(): Promise<void> {
  for (const [index, { text, heldMs }] of (await Promise.all(unfinished)).entries()) {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
    count(`unfinished${index % 2 === 1 ? ", trickling," : ""} ${status ?? "closed"}`);
    longestHeldMs = Math.max(longestHeldMs, heldMs);
  }
}

const FRAMES = [
  '{"op":"subscribe","topic":"ticker","symbols":["BTC"],"exchanges":["venueone"],"intervalMs":100,"id":"a"}',
  '{"op":"subscribe","topic":"book","symbols":["ETH"],"exchanges":["venuetwo"],"depth":5,"intervalMs":0,"id":"b"}',
  '{"op":"unsubscribe","subs":["status"],"id":"c"}',
  '{"op":"resume","subs":[{"sub":"status","epoch":"x","seq":1}],"id":"d"}',
  '{"op":"auth","ticket":"st_none","id":"e"}',
  '{"op":"cancelOnDisconnect","enabled":false,"id":"f"}',
  '{"op":"ping","id":"g"}',
];

async function fuzzStream(random: Random): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${service.port}${STREAM_PATH}`, { perMessageDeflate: false });
  const answers: string[] = [];
  const over = new Promise<number | null>((resolve) => {
    socket.on("close", (code) => resolve(code));
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const text = String(data);
      if (/^\{"type":"(?:snapshot|update|heartbeat)"/.test(text)) return;
      answers.push(text);
      if (text.includes('"the-last"')) resolve(null);
    });
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const timestamp = freshMs();
  const headers = signed(fuzzKey, { target: STREAM_PATH, timestamp });
  const auth = { op: "auth", apiKey: fuzzKey.keyId, timestamp, signature: headers["x-api-signature"] };
  const frames = [pick(random, ["{}", JSON.stringify(auth)])];
  const others = [...FRAMES, JSON.stringify(auth)];
  // A frame that is none ends the connection, so most are damaged in their values.
  while (frames.length < FRAMES_AT_ONCE) frames.push(damagedValues(random, pick(random, others)));
  for (const frame of frames) socket.send(frame);
  const last = damaged(random, pick(random, others), others);
  const isBinary = below(random, 10) === 0;
  socket.send(last, { binary: isBinary });
  socket.send('{"op":"ping","id":"the-last"}');
  const code = await over;
  // Text that is no UTF-8 ends the connection in the server's library, before our code and without a close frame.
  const isCut = code === 1006 && !isBinary && !isUtf8(last);
  if (code !== null && !isCut && !(String(code) in CLOSE_CODES))
    throw new Error(`closed with ${code}: ${answers.at(-1)}`);
  for (const text of answers) {
    const { type, code: refusal } = JSON.parse(text) as { type: string; code?: string };
    if (type === "error" && refusal === undefined) throw new Error(`no code: ${text}`);
    count(`stream ${type} ${refusal ?? ""}`);
  }
  if (code === null && answers.length !== frames.length + 2)
    throw new Error(`${answers.length} answers to ${frames.length + 2} frames`);
  if (code !== null) count(`stream closed ${code}`);
  socket.terminate();
  return frames.length + 2;
}

const ODD_VALUES = [
  "null",
  "-1",
  "1e400",
  '""',
  '"x"',
  "[]",
  "{}",
  '[["BTC"]]',
  '"__proto__"',
  "true",
  `"${"y".repeat(200)}"`,
];

/** Still JSON: one of its values is another. */
function damagedValues(random: Random, frame: string): string {
  const members = [...frame.matchAll(/:("[^"]*"|\d+|\[[^\]]*\]|true|false)/g)];
  const { 0: whole, index } = pick(random, members);
  return `${frame.slice(0, index)}:${pick(random, ODD_VALUES)}${frame.slice(index + whole.length)}`;
}

const LINES = [
  '{"id":"1","op":"keys.create","params":{"scopes":["read"],"label":"desk","ips":["192.0.2.0/24"]}}',
  '{"id":"2","op":"keys.list"}',
  '{"id":"3","op":"keys.rotate","params":{"keyId":"pk_1234567890123456789012","overlapMs":1000}}',
  '{"id":"4","op":"keys.revoke","params":{"keyId":"pk_1234567890123456789012"}}',
  '{"id":"5","op":"audit.page","params":{"limit":5}}',
  '{"id":"6","op":"seal.rotate","params":{"nextKeyFile":"/none"}}',
  '{"id":"7","op":"tls.reload"}',
  '{"op":"status","params":{}}',
];

async function fuzzAdmin(random: Random): Promise<number> {
  const lines = Array.from({ length: LINES_AT_ONCE }, () =>
    below(random, 3) === 0
      ? damaged(random, pick(random, LINES), LINES)
      : Buffer.from(damagedValues(random, pick(random, LINES))),
  );
  const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
  const path = join(environment["DATA_DIR"] ?? "", "admin.sock");
  const { text } = await exchange({ path }, bytes, () => false, true);
  const replies = text.split("\n").filter((line) => line !== "");
  if (replies.length === 0) throw new Error(`no reply to ${JSON.stringify(bytes.toString("latin1"))}`);
  for (const reply of replies) {
    const { ok, code } = JSON.parse(reply) as { ok: boolean; code?: string };
    if (!ok && code === undefined) throw new Error(`no code: ${reply}`);
    if (code === "INTERNAL") throw new Error(`${reply} for ${JSON.stringify(bytes.toString("latin1"))}`);
    count(`admin ${ok ? "done" : code}`);
  }
  return replies.length;
}

interface Keeper {
  readonly okCount: number;
  readonly lost: readonly string[];
  readonly slowestMs: number;
}

/** A key that reads, decides and closes until it is told to stop; whatever is not its right answer is kept. */
async function keepTrading(isOver: () => boolean): Promise<Keeper> {
  let okCount = 0;
  let slowestMs = 0;
  const lost: string[] = [];
  const send = async (method: "GET" | "POST", target: string, fields: object | null) => {
    const body = fields === null ? "" : JSON.stringify(fields);
    const headers = { ...(fields === null ? {} : { "content-type": "application/json" }) };
    const startMs = performance.now();
    const reply = await undiciRequest(service.url + target, {
      ...{ method, dispatcher: agent, ...(fields === null ? {} : { body }) },
      headers: { ...headers, ...signed(key, { method, target, body, timestamp: freshMs() }) },
    });
    const text = await reply.body.text();
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
    // Books are old for a moment where the machine pauses.
    if (reply.statusCode === 200 && !/"(?:FAILED|UNKNOWN)"/.test(text)) okCount++;
    else if (!/NO_ELIGIBLE_VENUE|DEPTH_INSUFFICIENT/.test(text)) lost.push(`${reply.statusCode} ${text.slice(0, 300)}`);
  };
  const close = {
    symbol: "BTC",
    direction: "LONG",
    size: "0.001",
    credentials,
    routingOptions: { deadlineMs: 30_000 },
  };
  while (!isOver()) {
    await send("GET", "/api/limits", null);
    await send("POST", CLOSE, { ...close, dryRun: true });
    await send("POST", CLOSE, close);
  }
  return { okCount, lost, slowestMs };
}

describe("damaged input over real sockets", () => {
  it(
    `hurts nobody, ${INPUTS} of it (seed ${SEED})`,
    async () => {
      const random = createSeededRandom(SEED);
      const asked = askedOf();
      let sent = 0;
      let warmMib = 0;
      let isOver = false;
      const trading = keepTrading(() => isOver);
      const cutBodies = holdCutBodies(asked);
      const work = async (run: () => Promise<number>, share: number): Promise<void> => {
        let own = 0;
        while (own < INPUTS * share) {
          const inputs = await run();
          own += inputs;
          sent += inputs;
          if (warmMib === 0 && sent > INPUTS / 5) warmMib = residentMib();
        }
      };
      try {
        await Promise.all([
          ...Array.from({ length: HTTP_WORKERS }, () => work(() => fuzzHttp(random, asked), 0.6 / HTTP_WORKERS)),
          work(() => fuzzStream(random), 0.3),
          work(() => fuzzAdmin(random), 0.1),
        ]);
        await judgeUnfinished();
      } finally {
        isOver = true;
      }
      const { okCount, lost, slowestMs } = await trading;
      const endMib = residentMib();
      const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, times]) => `  ${name}: ${times}\n`);
      process.stdout.write(
        `fuzz seed ${SEED}: ${sent} inputs over sockets, RSS ${endMib.toFixed(0)} MiB, ${(endMib - warmMib).toFixed(1)} MiB more than warm; ${okCount} keyed requests beside them, the slowest ${slowestMs.toFixed(0)} ms; unfinished requests held for ${longestHeldMs} ms at most\n${rows.join("")}`,
      );
      expect(sent).toBeGreaterThanOrEqual(INPUTS);
      expect(lost).toEqual([]);
      expect(okCount).toBeGreaterThan(20);
      expect(endMib - warmMib).toBeLessThan(RSS_GROWTH_MAX_MIB);
      const waits = counts.get("http waits ") ?? 0;
      expect(waits).toBeLessThan(INPUTS * 0.2);
      expect(unfinished).toHaveLength(UNFINISHED_MAX);
      const timedOut = counts.get("unfinished 408") ?? 0;
      const tricklingTimedOut = counts.get("unfinished, trickling, 408") ?? 0;
      expect(cutBodies).toBeGreaterThan(4);
      // Damaged requests may add some; most of them lack the end of their head.
      expect([timedOut, tricklingTimedOut].every((count) => count >= cutBodies / 2)).toBe(true);
      expect(service.output()).not.toMatch(/fault|"level":(?:50|60)/);
      expect(service.child.exitCode).toBeNull();
      await service.stop();
      expect(service.child.exitCode).toBe(0);
    },
    Math.max(300_000, INPUTS * 20),
  );
});

describe("the judge of unfinished requests", () => {
  it.each([false, true])("sees a server that never ends one (trickling: %s)", async (trickles) => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const bytes = Buffer.from("GET / HTTP/1.1\r\nHost: x");
    await expect(untilClosed({ host: "127.0.0.1", port }, bytes, 1_200, trickles)).rejects.toThrow(/held for more/);
    server.close();
  });
});
