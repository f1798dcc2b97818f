/** What a reply needs to know of its request, and who writes it. */
import type { HttpResponse } from "uWebSockets.js";
import type { ServiceError } from "../../engine/domain/errors.js";
import type { BucketName } from "../../schemas/service.js";
import type { Payers } from "./caller-tags.js";
import type { CallerBuckets } from "./limiter.js";

/** Counts of one route; read by the metrics. */
export interface RouteCounts {
  readonly route: string;
  okCount: number;
  /** Every status but 200. */
  readonly otherCounts: Map<number, number>;
  abortedCount: number;
}

/**
 * What a page of another origin may do with it: `open`, it is not asked where it comes from; `reads` and `changes`, as
 * origin-guard.ts says.
 */
export type Access = "open" | "reads" | "changes";

/** How requests of one method of one route are admitted and answered; made once, when the route is mounted. */
export interface Admission {
  readonly counts: RouteCounts;
  /** Asked in order; the first with enough tokens pays. */
  readonly buckets: readonly BucketName[];
  readonly weight: number;
  readonly headOnly: boolean;
  readonly access: Access;
  /** The account pays, once the credentials are read; the address where there are none, or it never came to that. */
  readonly byAccount: boolean;
  /** Method of an operation that may change something: such a request leaves an access line. Null means none. */
  readonly logsMethod: string | null;
  /** Content-Type JSON and every other header that is the same for all replies, encoded once. */
  readonly jsonHeaders: Uint8Array;
}

/** One instance is reused for requests answered within their handler; a waiting one has its own. */
export interface ReplyState {
  admission: Admission;
  /** The RateLimit header; begins with a line break. */
  rateHeader: string;
  /** CORS headers; begins with a line break, "" for most. */
  corsHeader: string;
  requestId: string;
  /** Monotonic; 0 where no access line follows. */
  admittedNs: number;
  /** The address's buckets, while nobody has paid yet. */
  unpaid: CallerBuckets | null;
}

/** Must be called corked or within the handler. `extraHeaders` begin with a line break. */
export interface ReplyWriter {
  /** Charges the account so named, or the address for null; the refusal where its tokens are spent. Once. */
  charge(state: ReplyState, payers: Payers): ServiceError | null;
  write(
    response: HttpResponse,
    state: ReplyState,
    status: number,
    body: string,
    extraHeaders: string,
    closeConnection: boolean,
    /** "" for JSON. */
    contentType: string,
  ): void;
  /** Status 200 and headers of a body that follows in pieces; counted by its end, not here. */
  writeHead(response: HttpResponse, state: ReplyState, extraHeaders: string, contentType: string): void;
  writeError(
    response: HttpResponse,
    state: ReplyState,
    error: ServiceError,
    extraHeaders: string,
    closeConnection: boolean,
  ): void;
  /** The client has gone before its reply. */
  aborted(state: ReplyState): void;
}
