/**
 * Replies of the dialect. A result that fails after its first bytes went out can no longer change its status. So the
 * error is appended as a tagged block, and the headers announce the tag, so that no data is mistaken for it.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createGzip, gzipSync } from "node:zlib";
import { EngineError, httpStatusOf } from "./engine-error.js";
import { headerBytes, outputFormat } from "./formats.js";

const TEXT = "text/plain; charset=UTF-8";

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "Content-Type": TEXT, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

export function sendError(response: ServerResponse, error: EngineError, queryId: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const body = `${error.body}\n`;
  const status = httpStatusOf(error.code);
  response.writeHead(status, {
    "Content-Type": TEXT,
    "Content-Length": Buffer.byteLength(body),
    "X-ClickHouse-Exception-Code": String(error.code),
    ...(queryId === "" ? {} : { "X-ClickHouse-Query-Id": queryId }),
    ...(status === 401 ? { "WWW-Authenticate": 'Basic realm="records"' } : {}),
    // The unread rest of a request's body must not be read as the next request.
    ...(response.req.complete ? {} : { Connection: "close" }),
  });
  response.end(body);
}

interface Reply {
  readonly queryId: string;
  readonly format: string;
  readonly gzip: boolean;
}

export function sendResult(response: ServerResponse, reply: Reply & { bytes: Uint8Array; summary: string }): void {
  const bytes = reply.gzip ? gzipSync(reply.bytes) : reply.bytes;
  response.writeHead(200, {
    ...headersOf(reply),
    "X-ClickHouse-Summary": reply.summary,
    "Content-Length": bytes.byteLength,
  });
  response.end(bytes);
}

/** Waits for the reader: at most one block is held for a slow one. */
export async function sendStream(
  response: ServerResponse,
  reply: Reply & { blocks: AsyncIterable<{ raw(): Uint8Array }>; signal: AbortSignal },
): Promise<void> {
  const tag = randomBytes(8).toString("hex");
  const begin = () => {
    response.writeHead(200, {
      ...headersOf(reply),
      "X-ClickHouse-Summary": EMPTY_SUMMARY,
      "X-ClickHouse-Exception-Tag": tag,
    });
    if (!reply.gzip) return response;
    const gzip = createGzip();
    gzip.pipe(response);
    return gzip;
  };
  const { blocks: kind, headerLines } = outputFormat(reply.format);
  let sink: ReturnType<typeof begin> | null = null;
  let repeatedBytes = 0;
  try {
    for await (const block of reply.blocks) {
      // Leaving the loop cancels the query in the engine.
      if (reply.signal.aborted) return;
      const raw = block.raw();
      // An error before the first block still has its status: the headers wait for that block.
      const isFirst = sink === null;
      sink ??= begin();
      const bytes = isFirst ? raw : raw.subarray(repeatedBytes);
      if (isFirst && kind === "headed") repeatedBytes = headerBytes(raw, headerLines);
      if (bytes.byteLength > 0 && !sink.write(bytes)) await drained(sink, reply.signal);
    }
  } catch (error) {
    if (sink === null) throw error;
    if (reply.signal.aborted) return;
    sink.end(taggedError(EngineError.of(error, ""), tag));
    return;
  }
  (sink ?? begin()).end();
}

/** The block that newer servers append, in the form the official client reads. */
function taggedError(error: EngineError, tag: string): string {
  const text = `${error.body}\n`;
  return `\r\n__exception__\r\n${tag}\r\n${text}${Buffer.byteLength(text)} ${tag}\r\n__exception__\r\n`;
}

async function drained(sink: NodeJS.EventEmitter, signal: AbortSignal): Promise<void> {
  try {
    await once(sink, "drain", { signal });
  } catch {
    // Aborted: the loop notices.
  }
}

function headersOf(reply: Reply): Record<string, string> {
  return {
    "Content-Type": outputFormat(reply.format).contentType,
    "X-ClickHouse-Query-Id": reply.queryId,
    "X-ClickHouse-Format": reply.format,
    "X-ClickHouse-Timezone": "UTC",
    "X-ClickHouse-Server-Display-Name": "embedded",
    ...(reply.gzip ? { "Content-Encoding": "gzip" } : {}),
  };
}

/** The number of rows read is not known when the headers go out. */
const EMPTY_SUMMARY = JSON.stringify({
  read_rows: "0",
  read_bytes: "0",
  written_rows: "0",
  written_bytes: "0",
  total_rows_to_read: "0",
  result_rows: "0",
  result_bytes: "0",
  elapsed_ns: "0",
});
