/**
 * Requests whose frame is malformed or can be read in two ways, byte by byte against the real server. Behind each goes a
 * well-formed read on the same connection: whether it is answered says if the connection was kept. What happens and why
 * that is safe is in docs/http-framing.md, row by row; a row that is not true fails here.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

const HOST = "Host: localhost\r\n";
const JSON_TYPE = "Content-Type: application/json\r\n";
const POST = `POST /api/trade/position/close HTTP/1.1\r\n${HOST}${JSON_TYPE}`;
const GET = "GET /api/time HTTP/1.1\r\n";
const CHUNKS = "\r\n2\r\n{}\r\n0\r\n\r\n";
/** What an attacker hides: it must never be taken for a request of its own. */
const HIDDEN = `GET /api/limits HTTP/1.1\r\n${HOST}\r\n`;
const NEXT = `GET /health HTTP/1.1\r\n${HOST}\r\n`;

const headers = (count: number): string => Array.from({ length: count }, (_, index) => `H${index}: v\r\n`).join("");
const length = (text: string): string => `Content-Length: ${text}\r\n`;
const coding = (text: string): string => `Transfer-Encoding: ${text}\r\n`;

/** Name in the table → bytes. */
const CASES: Readonly<Record<string, string>> = {
  "well-formed, by length": `${POST}${length("2")}\r\n{}`,
  "well-formed, in chunks": `${POST}${coding("chunked")}${CHUNKS}`,
  "two different lengths, the shorter first": `${POST}${length("2")}${length(String(2 + HIDDEN.length))}\r\n{}${HIDDEN}`,
  "two different lengths, the longer first": `${POST}${length(String(2 + HIDDEN.length))}${length("2")}\r\n{}${HIDDEN}`,
  "two different lengths of a read": `${GET}${HOST}${length("0")}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "two equal lengths": `${POST}${length("2")}${length("2")}\r\n{}`,
  "a list of lengths": `${POST}${length("2, 2")}\r\n{}`,
  "a length with a sign": `${POST}${length("+2")}\r\n{}`,
  "a negative length": `${POST}${length("-2")}\r\n{}`,
  "a length in hex": `${POST}${length("0x2")}\r\n{}`,
  "a length with a space": `${POST}${length("1 2")}\r\n{}`,
  "a length beyond 64 bits": `${POST}${length("18446744073709551618")}\r\n{}`,
  "a length beyond the limit": `${POST}${length("9999999999")}\r\n{}`,
  "an empty length": `${POST}${length("")}\r\n${HIDDEN}`,
  "an empty length of a read": `${GET}${HOST}${length("")}\r\n${HIDDEN}`,
  "an empty length of a read, then one": `${GET}${HOST}${length("")}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "an empty length of a HEAD, then one": `HEAD /api/time HTTP/1.1\r\n${HOST}${length("")}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "an empty length of a path we do not serve, then one": `POST /nope HTTP/1.1\r\n${HOST}${length("")}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "an empty length of a method we do not serve, then one": `POST /api/time HTTP/1.1\r\n${HOST}${length("")}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "an empty length of an upgrade, then one": `GET /ws HTTP/1.1\r\n${HOST}${length("")}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "an empty coding of a read, then one": `${GET}${HOST}${coding("")}${coding("chunked")}\r\n0\r\n\r\n${HIDDEN}`,
  "a huge header": `${GET}${HOST}X-A: ${"a".repeat(20_000)}\r\n\r\n`,
  "a body without length": `${POST}\r\n${HIDDEN}`,
  "coding Chunked": `${POST}${coding("Chunked")}${CHUNKS}`,
  "coding identity": `${POST}${coding("identity")}\r\n{}`,
  "coding gzip, chunked": `${POST}${coding("gzip, chunked")}${CHUNKS}`,
  "coding chunked, identity": `${POST}${coding("chunked, identity")}${CHUNKS}`,
  "coding xchunked": `${POST}${coding("xchunked")}${CHUNKS}`,
  "coding xchunked of a read": `${GET}${HOST}${coding("xchunked")}${CHUNKS}`,
  "coding with a control character": `${POST}${coding("\x0bchunked")}${CHUNKS}`,
  "two codings": `${POST}${coding("chunked")}${coding("identity")}${CHUNKS}`,
  "two codings, chunked twice": `${POST}${coding("chunked")}${coding("chunked")}${CHUNKS}`,
  "an empty coding and a length": `${POST}${coding("")}${length("2")}\r\n{}`,
  "coding and length": `${POST}${length("2")}${coding("chunked")}${CHUNKS}`,
  "another coding and length": `${POST}${coding("xchunked")}${length("2")}\r\n{}`,
  "a read with a body": `${GET}${HOST}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "a folded header": `${GET}${HOST}X-A: a\r\n b\r\n\r\n`,
  "a folded length": `${POST}Content-Length: 2\r\n 0\r\n\r\n{}`,
  "a folded first header": `${GET} ${HOST}\r\n`,
  "NUL in a value": `${GET}${HOST}X-A: a\0b\r\n\r\n`,
  "NUL in a name": `${GET}${HOST}X\0A: a\r\n\r\n`,
  "NUL in the target": `GET /api/ti\0me HTTP/1.1\r\n${HOST}\r\n`,
  "a bare CR in a value": `${GET}${HOST}X-A: a\rContent-Length: 9\r\n\r\n`,
  "bare CRs as line ends": "GET /api/time HTTP/1.1\rHost: localhost\r\r",
  "bare LFs as line ends": "GET /api/time HTTP/1.1\nHost: localhost\n\n",
  "a bare LF in a value": `${GET}${HOST}X-A: a\nContent-Length: 5\r\n\r\n`,
  "a space before the colon": `${POST}Content-Length : 2\r\n\r\n{}`,
  "a space in a name": `${GET}${HOST}X A: 1\r\n\r\n`,
  "a line without a colon": `${GET}${HOST}NoColon\r\n\r\n`,
  "a header without a name": `${GET}${HOST}: 1\r\n\r\n`,
  "no Host": `${GET}\r\n`,
  "an empty Host": `${GET}Host: \r\n\r\n`,
  "two Hosts, a foreign one first": `${GET}Host: page.example\r\n${HOST}\r\n`,
  "two Hosts, a foreign one last": `${POST}${length("2")}Host: page.example\r\n\r\n{}`,
  "two Origins, a foreign one last": `${POST}${length("2")}Origin: http://localhost\r\nOrigin: https://page.example\r\n\r\n{}`,
  "two media types": `${POST}${length("2")}Content-Type: text/plain\r\n\r\n{}`,
  "98 headers": `${GET}${HOST}${headers(97)}\r\n`,
  "99 headers": `${GET}${HOST}${headers(98)}\r\n`,
  "151 headers, the length last": `${POST}${headers(148)}${length(String(HIDDEN.length))}\r\n${HIDDEN}`,
  "HTTP/1.0": `GET /api/time HTTP/1.0\r\n${HOST}\r\n`,
  "HTTP/0.9": "GET /api/time\r\n\r\n",
  "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "the absolute form": `GET http://localhost/api/time HTTP/1.1\r\n${HOST}\r\n`,
  "two spaces before the target": `GET  /api/time HTTP/1.1\r\n${HOST}\r\n`,
  "a method in small letters": `get /api/time HTTP/1.1\r\n${HOST}\r\n`,
  "a chunk size with 0x": `${POST}${coding("chunked")}\r\n0x2\r\n{}\r\n0\r\n\r\n`,
  "a negative chunk size": `${POST}${coding("chunked")}\r\n-2\r\n{}\r\n0\r\n\r\n`,
  "a chunk size beyond 64 bits": `${POST}${coding("chunked")}\r\n10000000000000002\r\n{}\r\n0\r\n\r\n`,
  "an empty chunk size": `${POST}${coding("chunked")}\r\n\r\n{}\r\n0\r\n\r\n`,
  "a chunk extension": `${POST}${coding("chunked")}\r\n2;a=b\r\n{}\r\n0\r\n\r\n`,
  "a chunk without its line end": `${POST}${coding("chunked")}\r\n2\r\n{}XX0\r\n\r\n`,
  "bare LFs between chunks": `${POST}${coding("chunked")}\r\n2\n{}\n0\n\n`,
  "a trailer": `${POST}${coding("chunked")}\r\n2\r\n{}\r\n0\r\nX: 1\r\n\r\n`,
};

/** Well-formed before, then these bytes: one frame each. */
const UPGRADE = `GET /ws HTTP/1.1\r\n${HOST}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;
const MASK = "\0\0\0\0";
const PING = `\x89\x80${MASK}`;
const PONG = "\x8a\x00";
const FRAMES: Readonly<Record<string, string>> = {
  "well-formed": `\x81\x82${MASK}{}`,
  "not masked": "\x81\x02{}",
  "a reserved bit": `\xc1\x82${MASK}{}`,
  "a reserved opcode": `\x83\x82${MASK}{}`,
  "a reserved control opcode": `\x8b\x80${MASK}`,
  "a ping in fragments": `\x09\x80${MASK}`,
  "a ping of 126 bytes": `\x89\xfe\x00\x7e${MASK}${"p".repeat(126)}`,
  "a continuation of nothing": `\x80\x82${MASK}{}`,
  "text that is no UTF-8": `\x81\x82${MASK}\xff\xfe`,
  "a length beyond the limit": `\x81\xff\x00\x00\x00\x00\x7f\xff\xff\xff${MASK}`,
};

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

/** Everything that comes back until the server has closed, which it does at the latest when it has read our end. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(harness.server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
    socket.on("connect", () => socket.end(Buffer.from(bytes, "latin1")));
  });
}

/** As `exchange`, but our end stays open: only the server ends it. */
function untilEnded(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(harness.server.port, "127.0.0.1", () => socket.write(Buffer.from(bytes, "latin1")));
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(text));
  });
}

/** Everything that comes back when the second bytes follow the first reply. */
function inTurn(first: string, second: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(harness.server.port, "127.0.0.1", () => socket.write(Buffer.from(first, "latin1")));
    let text = "";
    socket.on("data", (data) => {
      if (text === "") socket.end(Buffer.from(second, "latin1"));
      text += data.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
  });
}

/** What comes back on an open socket for these bytes and a ping behind them. */
function afterUpgrade(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(harness.server.port, "127.0.0.1", () => socket.write(UPGRADE));
    let text = "";
    let upgraded = false;
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (upgraded || !text.includes("\r\n\r\n")) return;
      upgraded = true;
      socket.end(Buffer.from(bytes + PING, "latin1"));
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text.slice(text.indexOf("\r\n\r\n") + 4)));
  });
}

/** `status CODE` of each answer, the last one `200 (next)` where the connection was kept. */
function outcomeOf(text: string): string {
  const answers = text
    .split(/(?=HTTP\/1\.1 \d{3})/)
    .filter((part) => part !== "")
    .map((part) => {
      const status = part.slice(9, 12);
      if (part.includes('"uptimeMs"')) return "next";
      const code = /"code":"([A-Z_]+)"/.exec(part)?.[1];
      return code === undefined ? status : `${status} ${code}`;
    });
  if (answers.length === 0) return "no answer";
  return answers.at(-1) === "next" ? `${answers.slice(0, -1).join(", ")}; kept` : `${answers.join(", ")}; closed`;
}

const FILE = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "docs", "http-framing.md");

function tableRows(section: string): Map<string, string> {
  const part =
    readFileSync(FILE, "utf8")
      .split(/^## /m)
      .find((one) => one.startsWith(section)) ?? "";
  const rows = [...part.matchAll(/^\| ([^|]+) \| `([^|`]+)` \| [^|]+ \|$/gm)];
  return new Map(rows.map(([, name = "", outcome = ""]) => [name, outcome]));
}

const AMBIGUOUS = "400 AMBIGUOUS_REQUEST; closed";

describe("malformed requests", () => {
  const rows = tableRows("Requests");

  it("come to what the table says, and what hides in one never runs", async () => {
    const outcomes: Record<string, string> = {};
    for (const [name, bytes] of Object.entries(CASES)) {
      const text = await exchange(bytes + NEXT);
      outcomes[name] = outcomeOf(text);
      // A request without a length has no body: what follows is a request indeed. Nothing else ever is.
      expect([name, text.includes('"closesInFlightMax"')]).toEqual([name, name === "a body without length"]);
    }
    // With bytes behind it that may belong to it or not, an ambiguous one ends the connection before any answer.
    expect(outcomes).toEqual(
      Object.fromEntries([...rows].map(([name, told]) => [name, told === AMBIGUOUS ? "no answer" : told])),
    );
  });

  it("are answered and end the connection where they can be read in two ways", async () => {
    const names = [...rows].filter(([, told]) => told === AMBIGUOUS).map(([name]) => name);
    expect(names.length).toBeGreaterThan(12);
    for (const name of names) {
      const bytes = (CASES[name] ?? "").replace(HIDDEN, "");
      const text = await untilEnded(bytes);
      expect([name, outcomeOf(text)]).toEqual([name, AMBIGUOUS]);
      expect(text).toMatch(/^Connection: close/im);
    }
    expect(harness.one.placed).toEqual([]);
  });

  it("end the connection after a HEAD too: what comes behind its reply is no request", async () => {
    const ambiguous = `${length("")}${length(String(HIDDEN.length))}`;
    const text = await inTurn(`HEAD /api/time HTTP/1.1\r\n${HOST}${ambiguous}\r\n`, HIDDEN);
    expect(text.match(/^HTTP.*$/gm)).toEqual(["HTTP/1.1 400 Bad Request"]);
    expect(text).toMatch(/^Connection: close/im);
  });
});

describe("malformed frames", () => {
  it("come to what the table says", async () => {
    const outcomes: Record<string, string> = {};
    for (const [name, bytes] of Object.entries(FRAMES))
      outcomes[name] = (await afterUpgrade(bytes)).includes(PONG) ? "kept" : "closed";
    expect(outcomes).toEqual(Object.fromEntries(tableRows("Frames")));
  });
});
