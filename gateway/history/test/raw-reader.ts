/** A reader with its own socket, which takes bytes only on command. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Sends the request; reads nothing yet. */
export async function rawGet(
  port: number,
  path: string,
  accept: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.pause();
  await once(socket, "connect");
  const more = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: ${accept}\r\n${more}\r\n`);
  return socket;
}

/** Reads everything until the connection or the chunked body ends. */
export async function readAll(socket: Socket): Promise<{ readonly text: string; readonly complete: boolean }> {
  const pieces: Buffer[] = [];
  let complete = false;
  try {
    for await (const piece of socket as AsyncIterable<Buffer>) {
      pieces.push(piece);
      if (piece.subarray(-5).toString("latin1") === "0\r\n\r\n") {
        complete = true;
        break;
      }
    }
  } catch (error) {
    // A connection that is cut may be ended or reset.
    if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
  }
  return { text: Buffer.concat(pieces).toString("latin1"), complete };
}
