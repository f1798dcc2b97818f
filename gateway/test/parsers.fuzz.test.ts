/**
 * Damaged bodies, stream frames and lines of the admin socket into their parsers. Nothing throws, nothing is read that
 * an independent reading refuses or reads otherwise, every input has its one answer with a code, and no refusal repeats
 * what came. Headers of keys have their own: gateway/auth/request-auth.fuzz.test.ts.
 *
 * `INPUTS=1000000` runs each of them whole, `FUZZ_SEED` replays; the counts are printed.
 */
import { expect, it } from "vitest";
import { ERROR_CODES } from "../../engine/domain/errors.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { CLOSE_CODES } from "../../schemas/stream.js";
import { LineReader } from "../admin/line-reader.js";
import { AdminOperations } from "../admin/operations.js";
import { ADMIN_OPERATIONS, decodeRequest, REQUEST_BYTES_MAX, refusalOf } from "../admin/protocol.js";
import { memoryPorts } from "../admin/test/admin-doubles.js";
import { MAX_JSON_DEPTH, parseJsonBody } from "../http/json-body.js";
import { VirtualStream } from "../stream/test/virtual-stream.js";
import { below, damaged, pick } from "./mutants.js";

const INPUTS = Number(process.env["INPUTS"] ?? 6_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_127);
const CANARY = "CANARYinTheInput";
const KNOWN_CODES: ReadonlySet<string> = new Set(ERROR_CODES);
const TIMEOUT_MS = Math.max(240_000, INPUTS);
const NEW_STREAM_EVERY = 2_000;
const FRAMES_PER_CLIENT = 40;

function report(what: string, counts: ReadonlyMap<string, number>): void {
  const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `  ${name}: ${count}\n`);
  process.stdout.write(`fuzz seed ${SEED}: ${INPUTS} ${what}\n${rows.join("")}`);
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

const BODIES = [
  '{"symbol":"BTC","direction":"LONG","size":"0.01","routingOptions":{"deadlineMs":1000}}',
  `{"credentials":{"venueone":{"privateKey":"${CANARY}"}},"a":[1,2.5e3,-0,true,null,"\\u00e9\\n\\"x\\""]}`,
  `{"a":{"b":{"c":{"d":[[[[[[["${CANARY}"]]]]]]]}}},"e":"é💥","":0}`,
  '{"a":1,"a":2}',
  `["${CANARY}",{"__proto__":{"x":1},"constructor":{"prototype":2}}]`,
];
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gs;

/** Nesting and repeated keys of valid JSON, read from its tokens. */
function shapeOf(text: string): { depth: number; repeats: boolean } {
  const stack: (Set<string> | null)[] = [];
  let depth = 0;
  let repeats = false;
  let key: string | null = null;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") stack.push(token === "{" ? new Set() : null);
    else if (token === "}" || token === "]") stack.pop();
    else if (token === ":") {
      const keys = stack.at(-1);
      if (key !== null && keys?.has(key) === true) repeats = true;
      if (key !== null) keys?.add(key);
    }
    key = token.startsWith('"') ? (JSON.parse(token) as string) : null;
    depth = Math.max(depth, stack.length);
  }
  return { depth, repeats };
}

/** `ok` with the value, or why it is refused. */
function independentReading(bytes: Buffer): { ok: boolean; value?: unknown } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    const { depth, repeats } = shapeOf(text);
    return depth > MAX_JSON_DEPTH || repeats ? { ok: false } : { ok: true, value };
  } catch {
    return { ok: false };
  }
}

it(
  "damaged JSON bodies are read exactly as an independent reading does, and refusals repeat nothing",
  () => {
    const random = createSeededRandom(SEED);
    const counts = new Map<string, number>();
    for (let index = 0; index < INPUTS; index++) {
      const bytes = damaged(random, pick(random, BODIES), BODIES);
      const wanted = independentReading(bytes);
      const got = parseJsonBody(bytes);
      if (got.ok !== wanted.ok) throw new Error(`${index}: ${got.ok} for ${JSON.stringify(bytes.toString("latin1"))}`);
      if (got.ok) {
        if (JSON.stringify(got.value) !== JSON.stringify(wanted.value)) throw new Error(`${index}: another value`);
        count(counts, "read");
        continue;
      }
      const { code, details } = got;
      if (JSON.stringify(details).includes("CANARY")) throw new Error(`${index}: a refusal repeats the body`);
      count(counts, `${code} ${String(details["problem"] ?? "not JSON")}`);
    }
    report("JSON bodies", counts);
    expect(counts.size).toBeGreaterThan(4);
  },
  TIMEOUT_MS,
);

const FRAMES = [
  '{"op":"subscribe","id":"1","topic":"ticker","symbols":["BTC"],"exchanges":["venueone"],"intervalMs":100}',
  '{"op":"subscribe","id":"2","topic":"book","symbols":["BTC","ETH"],"exchanges":["venuetwo"],"depth":5,"intervalMs":0}',
  '{"op":"subscribe","id":"3","topic":"status"}',
  `{"op":"subscribe","id":"4","topic":"positions","exchanges":["venueone"],"credentials":{"venueone":{"privateKey":"0x${CANARY}"}}}`,
  '{"op":"unsubscribe","id":"5","subs":["ticker:BTC:venueone:100","status"]}',
  '{"op":"resume","id":"6","subs":[{"sub":"status","epoch":"virtual","seq":1}]}',
  `{"op":"auth","id":"7","apiKey":"pk_${CANARY}","timestamp":1790000000000,"signature":"${"ab".repeat(32)}"}`,
  `{"op":"auth","id":"8","ticket":"st_${CANARY}"}`,
  `{"op":"cancelOnDisconnect","id":"9","credentials":{"venueone":{"privateKey":"${CANARY}"}},"graceMs":5}`,
  '{"op":"ping","id":"10"}',
];

it(
  "damaged frames get one answer each, or the connection a documented end",
  () => {
    const random = createSeededRandom(SEED + 1);
    const counts = new Map<string, number>();
    let stream = new VirtualStream({ framesPerSecond: 100_000 });
    let client = stream.connect();
    client.keepsFrames = false;
    let answers = 0;
    const listen = (): void => {
      client.keepsFrames = false;
      client.onFrame = (frame) => {
        if (frame.type === "snapshot" || frame.type === "update" || frame.type === "heartbeat") return;
        answers++;
        const { code } = frame as { readonly code?: string };
        if (frame.type === "error" && !KNOWN_CODES.has(String(code))) throw new Error(`an unknown code ${code}`);
        // An `id` is repeated, as it is meant to be.
        const shown = JSON.stringify({ ...frame, id: "" });
        if (shown.includes("CANARY")) throw new Error(`an answer repeats the frame: ${shown}`);
        count(counts, frame.type === "error" ? `error ${code}` : frame.type);
      };
    };
    listen();
    for (let index = 0; index < INPUTS; index++) {
      if (index % NEW_STREAM_EVERY === 0) stream = new VirtualStream({ framesPerSecond: 100_000 });
      if (index % FRAMES_PER_CLIENT === 0 || client.end !== null) {
        if (client.end === null) client.cut();
        stream.forget(client);
        client = stream.connect();
        listen();
      }
      answers = 0;
      stream.hub.receive(client.connection, damaged(random, pick(random, FRAMES), FRAMES), below(random, 500) === 0);
      stream.turn();
      if (index % 100 === 0) stream.advance(10);
      if (answers !== 1) throw new Error(`${index}: ${answers} answers`);
      if (client.end !== null && !(String(client.end.code) in CLOSE_CODES))
        throw new Error(`closed ${client.end.code}`);
      if (client.end !== null) count(counts, `closed ${client.end.code}`);
    }
    report("stream frames", counts);
    expect(counts.size).toBeGreaterThan(8);
  },
  TIMEOUT_MS,
);

const LINES = [
  '{"id":"1","op":"keys.create","params":{"scopes":["read","trade"],"label":"desk","ips":["192.0.2.0/24"],"adoptLocal":true}}',
  '{"id":"2","op":"keys.list"}',
  '{"id":"3","op":"keys.rotate","params":{"keyId":"pk_1","overlapMs":1000}}',
  '{"id":"4","op":"keys.revoke","params":{"keyId":"pk_1"}}',
  '{"id":"5","op":"audit.page","params":{"limit":5,"cursor":"3"}}',
  '{"id":"6","op":"seal.rotate","params":{"nextKeyFile":"/kek"}}',
  '{"id":null,"op":"status","params":{}}',
  '{"op":"tls.reload"}',
];

it(
  "damaged lines of the admin socket get one reply each, with a code where they are refused",
  async () => {
    const random = createSeededRandom(SEED + 2);
    const counts = new Map<string, number>();
    let operations = new AdminOperations(memoryPorts().ports, silentLogger);
    let reader = new LineReader(REQUEST_BYTES_MAX);
    for (let index = 0; index < INPUTS; index++) {
      // The keys of the double are never ended.
      if (index % NEW_STREAM_EVERY === 0) operations = new AdminOperations(memoryPorts().ports, silentLogger);
      const cut = damaged(random, pick(random, LINES), LINES);
      reader.push(below(random, 5_000) === 0 ? Buffer.concat([cut, Buffer.alloc(REQUEST_BYTES_MAX, 0x20)]) : cut);
      reader.push(Buffer.from("\n"));
      for (let read = reader.next(); read.kind !== "none"; read = reader.next()) {
        if (read.kind !== "line") {
          count(counts, read.kind);
          if (read.kind === "too-long") reader = new LineReader(REQUEST_BYTES_MAX);
          continue;
        }
        const reply = await answer(operations, read.text);
        if (!reply.ok && !/^[A-Z_]{4,}$/.test(reply.code)) throw new Error(`${index}: no code`);
        if (!reply.ok && reply.code === "INTERNAL") throw new Error(`${index}: ${read.text}`);
        if (
          reply.ok &&
          !ADMIN_OPERATIONS.some((name) => read.text.includes(name.slice(-4)) || read.text.includes("\\u"))
        )
          throw new Error(`${index}: done without being asked: ${read.text}`);
        count(counts, reply.ok ? "done" : reply.code);
      }
      if (reader.restBytes > 0) throw new Error(`${index}: ${reader.restBytes} bytes wait`);
    }
    report("lines of the admin socket", counts);
    expect(counts.size).toBeGreaterThan(4);
  },
  TIMEOUT_MS,
);

async function answer(operations: AdminOperations, line: string) {
  try {
    const { id, op, params } = decodeRequest(line);
    return { id, ok: true as const, result: await operations.run(op, params) };
  } catch (error) {
    return refusalOf(null, error);
  }
}
