/**
 * Passes lines of the store on to a caller at the caller's pace.
 *
 * Invariants: the status line goes out with the first piece, so a query that fails before it has its own status. A
 * failure after it cuts the connection, so that a partial body never looks complete. Only the present piece is held.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import { asServiceError } from "../http/error-reply.js";
import type { PendingReply } from "../http/pending-reply.js";
import type { StreamReply } from "../http/stream-reply.js";
import type { ReplyForm } from "./accept.js";
import { REPLY_TYPES } from "./accept.js";
import type { Sql } from "./query-builder.js";
import type { RecordsReader } from "./records-reader.js";

export type ExportForm = Exclude<ReplyForm, "json">;

/** Most bytes given to the server at once: the most that a slow reader can keep in its memory. */
export const PIECE_BYTES = 64 << 10;

const CONTENT_TYPES: Readonly<Record<ExportForm, string>> = {
  csv: `${REPLY_TYPES.csv}; charset=utf-8; header=present`,
  ndjson: REPLY_TYPES.ndjson,
};

export interface ExportParts {
  readonly reader: RecordsReader;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Runs the queries one after the other, each when the previous one is written. Resolves when the reply is over; a
 * failure before the first piece is thrown, a later one ends the connection.
 */
export async function replyWithExport(
  { reader, clock, logger }: ExportParts,
  reply: PendingReply,
  form: ExportForm,
  headers: string,
  queries: AsyncIterable<Sql> | Iterable<Sql>,
  abort: AbortController,
): Promise<void> {
  let stream: StreamReply | null = null;
  const begin = (): StreamReply | null => {
    const begun = reply.stream(CONTENT_TYPES[form], headers, clock, reader.limits.stallMs);
    begun?.whenGone(() => abort.abort());
    return begun;
  };
  const write = async (lines: Uint8Array): Promise<void> => {
    stream ??= begin();
    for (let at = 0; at < lines.byteLength; at += PIECE_BYTES) {
      const more = await stream?.write(lines.subarray(at, at + PIECE_BYTES));
      if (more !== true) {
        abort.abort();
        return;
      }
    }
  };
  try {
    let isFirst = true;
    for await (const query of queries) {
      const csv = isFirst ? "CSVWithNames" : "CSV";
      await reader.lines(query, form === "csv" ? csv : "JSONEachRow", abort.signal, write);
      isFirst = false;
    }
    stream ??= begin();
    stream?.end();
  } catch (error) {
    if (stream === null) throw error;
    const { context } = asServiceError(error);
    logger.warn("history.export_cut", { requestId: reply.requestId, reason: String(context.reason ?? "FAULT") });
    (stream as StreamReply).cut();
  }
}

/** Sends the headers of an export only: for HEAD. */
export function replyWithExportHead(
  { reader, clock }: ExportParts,
  reply: PendingReply,
  form: ExportForm,
  headers: string,
): void {
  reply.stream(CONTENT_TYPES[form], headers, clock, reader.limits.stallMs)?.end();
}
