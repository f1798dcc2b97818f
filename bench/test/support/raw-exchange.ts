/** One exchange of bytes with a server: what it answers, until its answer is whole, it closes, or nothing more comes. */
import { connect } from "node:net";

/** `waits`: the server takes what came for the beginning of a request. */
export type RawEnd = "answered" | "closed" | "waits";

export interface RawAnswer {
  readonly end: RawEnd;
  readonly text: string;
}

export type RawAddress = { readonly port: number; readonly host: string } | { readonly path: string };

const QUIET_MS = 250;
const LONGEST_MS = 60_000;

/** `isWhole` reads what came so far. `halfCloses`: the end of the bytes is shown to the server. */
export function exchange(
  address: RawAddress,
  bytes: Buffer,
  isWhole: (text: string) => boolean,
  halfCloses = false,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ ...address, allowHalfOpen: true });
    const done = (end: RawEnd): void => {
      clearTimeout(longest);
      clearTimeout(quiet);
      socket.destroy();
      resolve({ end, text });
    };
    const longest = setTimeout(() => reject(new Error(`no end of ${JSON.stringify(text.slice(0, 200))}`)), LONGEST_MS);
    let quiet: NodeJS.Timeout | undefined;
    socket.on("connect", () => {
      if (halfCloses) socket.end(bytes);
      else {
        socket.write(bytes);
        quiet = setTimeout(() => done("waits"), QUIET_MS);
      }
    });
    socket.on("data", (chunk: Buffer) => {
      clearTimeout(quiet);
      text += chunk.toString("latin1");
      if (isWhole(text)) done("answered");
    });
    // A server that refuses a request may reset the connection while the rest of it arrives.
    socket.on("error", () => done("closed"));
    socket.on("end", () => done("closed"));
  });
}

export interface Unfinished {
  /** What the server said before it closed. */
  readonly text: string;
  /** How long it held the connection; while this process stands still, no time passes. */
  readonly heldMs: number;
}

const TICK_MS = 100;

/**
 * Sends the beginning of a request, keeps the connection, and waits for the server to close it. `trickles`: the last
 * bytes come one at a time and never to an end, so that the connection is never without traffic. Rejects where the
 * server holds it longer than `boundMs`.
 */
export function untilClosed(
  address: RawAddress,
  bytes: Buffer,
  boundMs: number,
  trickles: boolean,
): Promise<Unfinished> {
  return new Promise((resolve, reject) => {
    let text = "";
    let ticks = 0;
    const socket = connect(address);
    // At most two a second, for longer than the bound.
    const keptBack = trickles ? Math.min(bytes.byteLength - 1, Math.ceil(boundMs / 500)) : 0;
    let sent = bytes.byteLength - keptBack;
    const done = (): void => {
      clearInterval(timer);
      resolve({ text, heldMs: ticks * TICK_MS });
    };
    const timer = setInterval(() => {
      ticks++;
      if (ticks * TICK_MS > boundMs) {
        clearInterval(timer);
        socket.destroy();
        reject(new Error(`held for more than ${boundMs} ms: ${JSON.stringify(bytes.toString("latin1"))}`));
      } else if (ticks % 5 === 0 && sent < bytes.byteLength && socket.writable) {
        socket.write(bytes.subarray(sent, sent + 1));
        sent++;
      }
    }, TICK_MS);
    socket.write(bytes.subarray(0, sent));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", done);
  });
}

/** A whole reply is there, by its length or its chunks. */
export function isWholeReply(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const head = text.slice(0, end).toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  return head.includes("transfer-encoding") ? text.endsWith("0\r\n\r\n") : false;
}
