/**
 * SOCKETS WebSocket readers in a process of their own. They are cheap, so that the measurement is not of them: they
 * count frames by their headers and skip payloads unread. They answer pings. Every server gets the same reader.
 *
 * With KEYS (a JSON list of keyId and secret) each socket proves a key first, in turn, in place of SUBSCRIBE.
 *
 * With CONTROL_PORT the process drives one run of SECONDS and prints `RunResult`. Without, it prints `held` once all
 * sockets have had an answer to SUBSCRIBE, and keeps them open.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { PublisherCost } from "../lib/paced-trigger.js";

export interface RunResult extends PublisherCost {
  readonly frameCount: number;
  readonly elapsedMs: number;
  readonly readerCpuMs: number;
  /** The payload of one frame of the run. */
  readonly sample: string;
}

const port = Number(process.env.PORT);
const socketCount = Number(process.env.SOCKETS);
const keys = JSON.parse(process.env.KEYS ?? "[]") as { readonly keyId: string; readonly secret: string }[];
/** "": nothing is sent, and no answer is waited for. */
const subscribeText = keys.length > 0 ? "auth" : (process.env.SUBSCRIBE ?? "");
const CONNECTING_AT_ONCE = 100;
const REPORT_EVERY_MS = 2;

const OPCODE_PING = 9;
const HEAD_END = Buffer.from("\r\n\r\n");
/** One buffer for all sockets: each chunk is finished before the next is read. */
const readBuffer = Buffer.allocUnsafe(256 * 1024);

let frameCount = 0;
let sample = "";
let wantsSample = false;

/** Counts the frames of one socket. It keeps pieces of headers and of pings until they are whole. */
class Reader {
  readonly socket: Socket;
  readonly #upgraded: () => void;
  readonly #answered: () => void;
  #isUpgraded = false;
  #held: Buffer = Buffer.alloc(0);
  #skipBytes = 0;

  constructor(upgraded: () => void, answered: () => void) {
    this.#upgraded = upgraded;
    this.#answered = answered;
    this.socket = connect({
      host: "127.0.0.1",
      port,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (byteCount) => {
          this.#take(readBuffer.subarray(0, byteCount));
          return true;
        },
      },
    });
    this.socket.write(
      "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    this.socket.on("error", (error) => fail(error.message));
    this.socket.on("close", () => fail("a socket was closed by the server"));
  }

  #take(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    if (!this.#isUpgraded) {
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) {
        this.#hold(bytes, 0);
        return;
      }
      if (!bytes.toString("latin1", 0, 12).endsWith("101")) fail("the upgrade was refused");
      this.#isUpgraded = true;
      at = end + HEAD_END.length;
      if (subscribeText !== "") this.socket.write(clientFrame(1, Buffer.from(firstText())));
      this.#upgraded();
    }
    at += this.#skip(bytes.length - at);
    while (at < bytes.length) {
      const headBytes = headLength(bytes, at);
      const payloadBytes = at + headBytes > bytes.length ? 0 : payloadLength(bytes, at);
      const isPing = ((bytes[at] as number) & 0x0f) === OPCODE_PING;
      // Headers, pings and the sample are kept until they are whole.
      if (at + headBytes + (isPing || wantsSample ? payloadBytes : 0) > bytes.length) {
        this.#hold(bytes, at);
        return;
      }
      at += headBytes;
      if (isPing) this.socket.write(clientFrame(10, bytes.subarray(at, at + payloadBytes)));
      else {
        frameCount++;
        this.#answered();
        if (wantsSample) {
          sample = bytes.toString("utf8", at, at + payloadBytes);
          // Heartbeats come between the frames of the run.
          wantsSample = !sample.startsWith('{"type":"update"');
        }
      }
      this.#skipBytes = payloadBytes;
      at += this.#skip(bytes.length - at);
    }
    this.#held = EMPTY;
  }

  #skip(available: number): number {
    const count = Math.min(this.#skipBytes, available);
    this.#skipBytes -= count;
    return count;
  }

  /** A copy, because all sockets share the read buffer. */
  #hold(bytes: Buffer, at: number): void {
    this.#held = Buffer.from(bytes.subarray(at));
  }
}

const EMPTY: Buffer = Buffer.alloc(0);

let provenCount = 0;
let lastMs = 0;

/** A signature proves one connection: of one key no two have the same timestamp. */
function firstText(): string {
  const key = keys[provenCount % keys.length];
  if (key === undefined) return subscribeText;
  if (provenCount++ % keys.length === 0) lastMs = Math.max(lastMs + 1, Date.now());
  const timestamp = lastMs;
  const signature = createHmac("sha256", key.secret).update(`${timestamp}GET/ws`).digest("hex");
  return JSON.stringify({ op: "auth", apiKey: key.keyId, timestamp, signature });
}

function headLength(bytes: Buffer, at: number): number {
  if (at + 2 > bytes.length) return 2;
  const short = (bytes[at + 1] as number) & 0x7f;
  return short === 127 ? 10 : short === 126 ? 4 : 2;
}

function payloadLength(bytes: Buffer, at: number): number {
  const short = (bytes[at + 1] as number) & 0x7f;
  if (short === 127) return Number(bytes.readBigUInt64BE(at + 2));
  return short === 126 ? bytes.readUInt16BE(at + 2) : short;
}

/** A client has to mask; the key 0 leaves the payload as it is. */
function clientFrame(opcode: number, payload: Buffer): Buffer {
  const length = payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), payload]);
}

function fail(problem: string): void {
  process.stderr.write(`stream readers: ${problem}\n`);
  process.exit(1);
}

/** Resolves with all sockets, each upgraded and, where it subscribed, answered. */
async function connectAll(): Promise<void> {
  for (let done = 0; done < socketCount; done += CONNECTING_AT_ONCE) {
    const count = Math.min(CONNECTING_AT_ONCE, socketCount - done);
    await Promise.all(
      Array.from(
        { length: count },
        () =>
          new Promise<void>((resolve) => {
            if (subscribeText === "") new Reader(resolve, () => {});
            else new Reader(() => {}, resolve);
          }),
      ),
    );
  }
}

async function drive(controlPort: number, milliseconds: number): Promise<RunResult> {
  const control = connect({ host: "127.0.0.1", port: controlPort, noDelay: true });
  await once(control, "connect");
  const cpuAtStart = process.cpuUsage();
  const startMs = performance.now();
  const before = frameCount;
  wantsSample = true;
  const report = () => void control.write(`${frameCount - before}\n`);
  report();
  const timer = setInterval(report, REPORT_EVERY_MS);
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  clearInterval(timer);
  const elapsedMs = performance.now() - startMs;
  const received = frameCount - before;
  const { user, system } = process.cpuUsage(cpuAtStart);
  control.write("stop\n");
  const [line] = (await once(control, "data")) as [Buffer];
  const cost = JSON.parse(line.toString()) as PublisherCost;
  return { ...cost, frameCount: received, elapsedMs, readerCpuMs: (user + system) / 1000, sample };
}

await connectAll();
if (process.env.CONTROL_PORT === undefined) process.stdout.write("held\n");
else {
  const result = await drive(Number(process.env.CONTROL_PORT), Number(process.env.SECONDS) * 1_000);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
process.on("SIGTERM", () => process.exit(0));
