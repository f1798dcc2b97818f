/** What a reply needs of its request, and the writer of replies. */
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
 * What a page of another origin may do with it. `open`: its origin is not checked; `reads` and `changes`: see
 * origin-guard.ts.
 */
export type Access = "open" | "reads" | "changes";

/** How requests of one method of one route are admitted and answered; created once, when the route is mounted. */
export interface Admission {
  readonly counts: RouteCounts;
  /** Tried in order; the first with enough tokens pays. */
  readonly buckets: readonly BucketName[];
  readonly weight: number;
  readonly headOnly: boolean;
  readonly access: Access;
  /**
   * The account pays, once the credentials are read; the address pays where there are none, or where they were never
   * read.
   */
  readonly byAccount: boolean;
  /** Method of an operation that may change something: such a request writes an access line. Null means none. */
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
  /** The address's buckets, until someone has paid. */
  unpaid: CallerBuckets | null;
}

/** Must be called corked or within the handler. `extraHeaders` begin with a line break. */
export interface ReplyWriter {
  /** Charges this account, or the address for null; returns the refusal when its tokens are used up. Call once. */
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
  /** Status 200 and headers of a body that follows in pieces; counted at its end, not here. */
  writeHead(response: HttpResponse, state: ReplyState, extraHeaders: string, contentType: string): void;
  writeError(
    response: HttpResponse,
    state: ReplyState,
    error: ServiceError,
    extraHeaders: string,
    closeConnection: boolean,
  ): void;
  /** The client left before its reply. */
  aborted(state: ReplyState): void;
}
