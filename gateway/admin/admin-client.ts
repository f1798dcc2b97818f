/**
 * A client of the admin socket, for the CLI: one request after the other on one connection. Every way in which a reply
 * can fail to come is an AdminUnreachable, which says whether the request had left.
 */
import { lstatSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Clock } from "../../engine/domain/clock.js";
import { LineReader } from "./line-reader.js";
import { type AdminOperation, type AdminReply, decodeReply } from "./protocol.js";
import { codeOf } from "./socket-path.js";

/** A list of every key of a large installation fits. */
const REPLY_BYTES_MAX = 64 * 1024 * 1024;
const CONNECT_MS = 5_000;
/** Above the longest operation of the service, which answers by itself. */
const REPLY_MS = 660_000;

/** What the CLI needs of an administration, wherever it runs. */
export interface Admin {
  /** Rejects with AdminUnreachable only: a refusal is a reply. */
  call(op: AdminOperation, params: Readonly<Record<string, unknown>>): Promise<AdminReply>;
  close(): Promise<void>;
}

export class AdminUnreachable extends Error {
  override readonly name = "AdminUnreachable";
  /** `none`: nobody listens there. `unsafe`: somebody else's socket. `lost`: the request left, its reply did not come. */
  readonly kind: "none" | "unsafe" | "lost" | "silent";

  constructor(kind: AdminUnreachable["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Rejects with AdminUnreachable. */
export async function connectAdmin(path: string, clock: Clock): Promise<Admin> {
  checkOwner(path);
  const socket = await open(path, clock);
  return new SocketAdmin(socket, clock);
}

/** A socket that another user has put there would be asked for secrets. */
function checkOwner(path: string): void {
  const own = process.getuid?.();
  let uid: number;
  try {
    uid = lstatSync(path).uid;
  } catch (error) {
    throw new AdminUnreachable("none", `no service listens on ${path} (${codeOf(error)})`);
  }
  if (own !== undefined && own !== 0 && uid !== own)
    throw new AdminUnreachable("unsafe", `${path} belongs to another user: run this as the user of the service`);
}

function open(path: string, clock: Clock): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const timer = clock.setTimer(() => fail("silent", "ETIMEDOUT"), CONNECT_MS);
    const fail = (kind: "none" | "silent" | "unsafe", code: string) => {
      clock.clearTimer(timer);
      socket.destroy();
      reject(new AdminUnreachable(kind, `no service answers on ${path} (${code})`));
    };
    socket.once("connect", () => {
      clock.clearTimer(timer);
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", (error) => {
      const code = codeOf(error);
      fail(code === "ECONNREFUSED" || code === "ENOENT" ? "none" : code === "EACCES" ? "unsafe" : "silent", code);
    });
  });
}

class SocketAdmin implements Admin {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #reader = new LineReader(REPLY_BYTES_MAX);
  #nextId = 1;
  #onChange: () => void = () => {};
  #isOver = false;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.on("data", (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#onChange();
    });
    const over = () => {
      this.#isOver = true;
      this.#onChange();
    };
    socket.on("error", over);
    socket.on("close", over);
    socket.on("end", over);
  }

  call(op: AdminOperation, params: Readonly<Record<string, unknown>>): Promise<AdminReply> {
    const id = String(this.#nextId++);
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimer(() => settle(null, "it did not answer in time"), REPLY_MS);
      const settle = (reply: AdminReply | null, problem: string) => {
        this.#clock.clearTimer(timer);
        this.#onChange = () => {};
        if (reply !== null) resolve(reply);
        else reject(new AdminUnreachable("lost", `the service's reply was lost: ${problem}`));
      };
      this.#onChange = () => this.#read(id, settle);
      this.#socket.write(`${JSON.stringify({ id, op, params })}\n`);
      this.#onChange();
    });
  }

  async close(): Promise<void> {
    this.#socket.destroy();
  }

  #read(id: string, settle: (reply: AdminReply | null, problem: string) => void): void {
    const read = this.#reader.next();
    if (read.kind === "none") {
      if (this.#isOver) settle(null, "the connection ended");
      return;
    }
    const reply = read.kind === "line" ? replyOrNull(read.text) : null;
    if (reply === null) settle(null, "it cannot be read");
    // A refusal of the connection itself has no id.
    else if (reply.id !== id && (reply.id !== null || reply.ok)) settle(null, "it answers another request");
    else settle(reply, "");
  }
}

function replyOrNull(line: string): AdminReply | null {
  try {
    return decodeReply(line);
  } catch {
    // Whatever answers there does not speak this protocol.
    return null;
  }
}
