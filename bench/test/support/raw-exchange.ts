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

/** A whole reply is there, by its length or its chunks. */
export function isWholeReply(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const head = text.slice(0, end).toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  return head.includes("transfer-encoding") ? text.endsWith("0\r\n\r\n") : false;
}
