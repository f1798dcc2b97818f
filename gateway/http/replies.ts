// hot path
/**
 * Writes replies: status, headers, body, counts. Headers go out in two native calls, one encoded at the start and one
 * short text: each call and each built text costs as much as the rest of a ticker reply. The blocks contain only our own
 * text, line breaks included, and names that `headerSafe` has cleaned.
 */
import { STATUS_CODES } from "node:http";
import type { HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { BucketName } from "../../schemas/service.js";
import { logAccess, logFault } from "./access-log.js";
import type { CallerCheck } from "./caller-check.js";
import type { Payers } from "./caller-tags.js";
import { encodedText } from "./encoded-text.js";
import { errorBody, retryAfterSeconds } from "./error-reply.js";
import type { ReplyState, ReplyWriter } from "./reply-state.js";
import type { RequestCharges } from "./request-charges.js";

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]),
);

export interface ReplyParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly charges: RequestCharges;
  readonly callers: CallerCheck;
  /** Begins with a line break; "" for none. */
  readonly varyHeader: string;
}

export class Replies implements ReplyWriter {
  /** Set at shutdown: every reply then ends its connection. */
  closing = false;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #charges: RequestCharges;
  readonly #callers: CallerCheck;
  readonly #fixedHeaders: string;

  constructor({ clock, logger, charges, callers, varyHeader }: ReplyParts) {
    this.#clock = clock;
    this.#logger = logger;
    this.#charges = charges;
    this.#callers = callers;
    this.#fixedHeaders = `\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff${varyHeader}`;
  }

  /** The headers that are the same for all replies of a content type. */
  sameHeaders(contentType: string, buckets: readonly BucketName[]): string {
    return `${contentType}${this.#fixedHeaders}\r\nRateLimit-Policy: ${this.#charges.policy(buckets)}`;
  }

  charge(state: ReplyState, payers: Payers): ServiceError | null {
    return this.#charges.charge(state, payers);
  }

  prove(state: ReplyState, body: Uint8Array): ServiceError | null {
    return this.#callers.prove(state, body);
  }

  write(
    response: HttpResponse,
    state: ReplyState,
    status: number,
    body: string,
    extraHeaders: string,
    closeConnection: boolean,
    contentType: string,
  ): void {
    if (state.admission.logsMethod !== null) logAccess(this.#logger, this.#clock, state, { status });
    this.#send(response, state, status, body, extraHeaders, closeConnection, contentType);
  }

  #send(
    response: HttpResponse,
    state: ReplyState,
    status: number,
    body: string,
    extraHeaders: string,
    closeConnection: boolean,
    contentType: string,
  ): void {
    const { counts, headOnly } = state.admission;
    if (status === 200) counts.okCount++;
    else {
      counts.otherCounts.set(status, (counts.otherCounts.get(status) ?? 0) + 1);
      response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    }
    response.writeHeader("Content-Type", this.#contentHeaders(state, contentType));
    response.writeHeader("X-Request-Id", state.requestId + state.ownHeaders + state.rateHeader + extraHeaders);
    if (status === 204) response.endWithoutBody();
    else if (headOnly && closeConnection) {
      // The native form without a length cannot end the connection; this one reports length 0.
      response.end("", true);
    } else if (headOnly) {
      // The native form that reports a length leaves the response pending; a header of our own does not.
      response.writeHeader("Content-Length", String(Buffer.byteLength(body)));
      response.endWithoutBody();
    } else response.end(encodedText(body), closeConnection || this.closing);
  }

  #contentHeaders({ admission, paysAnon }: ReplyState, contentType: string): string | Uint8Array {
    if (contentType === "") return paysAnon ? admission.anonHeaders : admission.jsonHeaders;
    return this.sameHeaders(contentType, paysAnon ? ["anon"] : admission.buckets);
  }

  writeHead(response: HttpResponse, state: ReplyState, extraHeaders: string, contentType: string): void {
    response.writeHeader("Content-Type", this.#contentHeaders(state, contentType));
    response.writeHeader("X-Request-Id", state.requestId + state.ownHeaders + state.rateHeader + extraHeaders);
  }

  writeError(
    response: HttpResponse,
    state: ReplyState,
    error: ServiceError,
    extraHeaders: string,
    closeConnection: boolean,
  ): void {
    if (error.code === "INTERNAL") logFault(this.#logger, error, state);
    // Refused before its payer was known.
    const shown = this.charge(state, null) ?? error;
    const seconds = retryAfterSeconds(shown);
    const retry = seconds === null ? "" : `\r\nRetry-After: ${seconds}`;
    const body = errorBody(shown, state.requestId, this.#clock.wallMs());
    if (state.admission.logsMethod !== null)
      logAccess(this.#logger, this.#clock, state, { status: shown.status, code: shown.code });
    this.#send(response, state, shown.status, body, retry + extraHeaders, closeConnection, "");
  }

  aborted(state: ReplyState): void {
    state.admission.counts.abortedCount++;
    // Its payer was not known yet; nobody is left for the refusal.
    this.charge(state, null);
    if (state.admission.logsMethod !== null) logAccess(this.#logger, this.#clock, state, { outcome: "aborted" });
  }

  /** A file from memory: `headers` begins with the content type; a null body means 304. */
  file(response: HttpResponse, state: ReplyState, headers: Uint8Array, body: Uint8Array | null): void {
    const { admission, requestId } = state;
    const { counts, headOnly } = admission;
    const status = body === null ? 304 : 200;
    if (status === 200) counts.okCount++;
    else {
      counts.otherCounts.set(status, (counts.otherCounts.get(status) ?? 0) + 1);
      response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    }
    response.writeHeader("Content-Type", headers);
    response.writeHeader("X-Request-Id", requestId);
    if (body === null) response.endWithoutBody();
    else if (headOnly) {
      response.writeHeader("Content-Length", String(body.byteLength));
      response.endWithoutBody();
    } else response.end(body, this.closing);
  }
}
