// hot path
/**
 * What a route is given: admission of its requests (origin-guard.ts, request-charges.ts) and the reply to the present
 * one (replies.ts).
 *
 * A handler runs synchronously between `admit` and its reply, so the state of the present request is in fields (no
 * object per request); a handler that waits takes it with it by `detach`.
 */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Operation } from "../../schemas/operation.js";
import { Addresses } from "./addresses.js";
import type { Authenticator, AddressOf, Caller } from "./caller.js";
import { CallerCheck } from "./caller-check.js";
import { asServiceError, errorBody } from "./error-reply.js";
import { checkFraming, type RequestHead } from "./framing.js";
import type { CallerBuckets, RateLimiter } from "./limiter.js";
import type { OriginGuard } from "./origin-guard.js";
import { callerOf, PendingReply } from "./pending-reply.js";
import { Replies } from "./replies.js";
import type { Access, Admission, ReplyState, RouteCounts } from "./reply-state.js";
import { RequestCharges } from "./request-charges.js";
import { NO_KEYS, Verifier } from "./verifier.js";

export interface EdgeOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limiter: RateLimiter;
  /** Another text with each call, unique over processes; two of them do not tell how many came between. */
  readonly nextRequestId: () => string;
  readonly origins: OriginGuard;
  /** Bound to a loopback address: every caller is on this machine, so addresses are not read. */
  readonly loopbackOnly: boolean;
  /** It may be that of IPv6. Absent: it is that of IPv4. */
  readonly mayBeIpv6?: boolean;
  readonly targetBytesMax: number;
  /** Absent: there are no keys. */
  readonly authenticator?: Authenticator;
  /** Absent: no proxy is trusted. */
  readonly addressOf?: AddressOf;
  /** Keys and addresses that are remembered as proven together. */
  readonly provenPairsMax?: number;
}

/** What an admission is made of; the rest has defaults. */
export interface AdmissionWish extends Pick<Operation, "buckets" | "weight">, Partial<Pick<Admission, OptionalPart>> {
  readonly counts: RouteCounts;
  readonly access: Access;
}

type OptionalPart = "headOnly" | "scope" | "readsBody" | "byAccount" | "logsMethod";

const PROVEN_PAIRS_MAX = 10_000;
const DEPRECATED = '\r\nDeprecation: true\r\nLink: </docs>; rel="deprecation"';

const NO_ADMISSION: Admission = {
  counts: { route: "none", okCount: 0, otherCounts: new Map(), abortedCount: 0 },
  buckets: ["anon"],
  weight: 0,
  headOnly: false,
  access: "changes",
  scope: "none",
  readsBody: false,
  byAccount: false,
  logsMethod: null,
  jsonHeaders: new Uint8Array(0),
  anonHeaders: new Uint8Array(0),
};

export class Edge {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limiter: RateLimiter;
  readonly addresses: Addresses;
  readonly verifier: Verifier;
  readonly targetBytesMax: number;
  readonly routes: RouteCounts[] = [];
  readonly #nextRequestId: () => string;
  readonly #origins: OriginGuard;
  readonly #charges: RequestCharges;
  readonly #callers: CallerCheck;
  readonly #replies: Replies;
  /** State of the present request. */
  readonly #current: ReplyState = {
    admission: NO_ADMISSION,
    rateHeader: "",
    ownHeaders: "",
    requestId: "",
    admittedNs: 0,
    unpaid: null,
    paysAnon: false,
    caller: null,
    proof: null,
    settled: null,
    isBodiless: false,
  };

  constructor(options: EdgeOptions) {
    this.clock = options.clock;
    this.logger = options.logger;
    this.limiter = options.limiter;
    this.targetBytesMax = options.targetBytesMax;
    this.#nextRequestId = options.nextRequestId;
    this.#origins = options.origins;
    this.addresses = new Addresses(options.loopbackOnly, options.addressOf ?? null, options.mayBeIpv6);
    this.verifier = new Verifier(options.authenticator ?? NO_KEYS, options.provenPairsMax ?? PROVEN_PAIRS_MAX);
    this.#charges = new RequestCharges(options.limiter, options.clock, this.addresses);
    this.#callers = new CallerCheck(this.verifier, this.#charges, this.addresses, options.clock);
    this.#replies = new Replies({
      clock: options.clock,
      logger: options.logger,
      charges: this.#charges,
      callers: this.#callers,
      varyHeader: options.origins.varyHeader,
    });
  }

  /** The service stops: every reply then ends its connection. */
  get closing(): boolean {
    return this.#replies.closing;
  }

  set closing(closing: boolean) {
    this.#replies.closing = closing;
  }

  countsFor(route: string): RouteCounts {
    // Routes are mounted again for each certificate, and count on.
    const known = this.routes.find((one) => one.route === route);
    if (known !== undefined) return known;
    const counts: RouteCounts = { route, okCount: 0, otherCounts: new Map(), abortedCount: 0 };
    this.routes.push(counts);
    return counts;
  }

  admissionFor(wish: AdmissionWish): Admission {
    const { buckets } = wish;
    const headers = (names: typeof buckets) => Buffer.from(this.#replies.sameHeaders("application/json", names));
    return {
      headOnly: false,
      scope: "none",
      readsBody: false,
      byAccount: false,
      logsMethod: null,
      ...wish,
      jsonHeaders: headers(buckets),
      anonHeaders: headers(["anon"]),
    };
  }

  /**
   * Begins a request: proves who asks (caller-check.ts) and charges them, or answers with the refusal and returns false.
   * Throws AMBIGUOUS_REQUEST, FOREIGN_HOST or FOREIGN_ORIGIN before anything is charged.
   */
  admit(response: HttpResponse, request: HttpRequest, admission: Admission): boolean {
    const current = this.#current;
    current.admission = admission;
    current.requestId = this.#nextRequestId();
    current.rateHeader = "";
    current.ownHeaders = "";
    current.unpaid = null;
    current.paysAnon = false;
    current.caller = null;
    current.proof = null;
    current.settled = null;
    current.isBodiless = false;
    current.admittedNs = admission.logsMethod === null ? 0 : this.clock.monoNs();
    const head = checkFraming(request);
    try {
      const refusal = this.#checked(response, request, admission, head);
      if (refusal === null) return true;
      this.fail(response, refusal);
      return false;
    } finally {
      head.forget();
    }
  }

  #checked(response: HttpResponse, request: HttpRequest, admission: Admission, head: RequestHead): ServiceError | null {
    const current = this.#current;
    let address: CallerBuckets;
    if (admission.access === "open") address = this.#anybody(response, head);
    else {
      current.ownHeaders = this.#origins.check(head, admission.access === "reads");
      address = this.#charges.caller(response, head.get("x-forwarded-for"));
    }
    if (head.hasSecret()) current.ownHeaders += DEPRECATED;
    return this.#callers.arrival(response, request, head, current, address);
  }

  /** Who sent the present request. Throws before they are proven: that is a bug of the route. */
  get caller(): Caller {
    return callerOf(this.#current);
  }

  /** Buckets of the address of the present request. */
  addressBuckets(response: HttpResponse, request: HttpRequest): CallerBuckets {
    return this.#charges.caller(response, forwardedFor(request));
  }

  /**
   * Buckets for what is served to everyone. A page of another origin, or a caller with another host name, has buckets
   * separate from its address, so that no page can use up those of a supervisor on the same machine.
   */
  #anybody(response: HttpResponse, head: RequestHead): CallerBuckets {
    const forwarded = head.get("x-forwarded-for");
    if (!this.#origins.asksForUs(head)) return this.#charges.stranger(response, forwarded, "name");
    const cors = this.#origins.corsOf(head, true);
    if (cors === null) return this.#charges.stranger(response, forwarded, "page");
    this.#current.ownHeaders = cors;
    return this.#charges.caller(response, forwarded);
  }

  /** 200 with a JSON body, within the handler. */
  ok(response: HttpResponse, body: string): void {
    callerOf(this.#current);
    this.#replies.write(response, this.#current, 200, body, "", false, "");
  }

  /** Sends a refusal as an ordinary reply, for callers that need it without the error's status. */
  refusal(response: HttpResponse, error: ServiceError): void {
    this.ok(response, errorBody(error, this.#current.requestId, this.clock.wallMs()));
  }

  /** A file from memory, within the handler: `headers` begins with the content type; a null body means 304. */
  file(response: HttpResponse, headers: Uint8Array, body: Uint8Array | null): void {
    this.#replies.file(response, this.#current, headers, body);
  }

  /** 204, within the handler. */
  noContent(response: HttpResponse, extraHeaders: string): void {
    this.#replies.write(response, this.#current, 204, "", extraHeaders, false, "");
  }

  /** Any error, within the handler. `extraHeaders` begin with a line break. */
  fail(response: HttpResponse, error: unknown, extraHeaders = ""): void {
    const known = asServiceError(error);
    // Refused before the body came: the headers of its key are needed no more.
    this.#current.proof = null;
    if (known.code === "AMBIGUOUS_REQUEST") this.#failAndEnd(response, known);
    else this.#replies.writeError(response, this.#current, known, extraHeaders, false);
  }

  /** Takes the present request out of the synchronous turn; installs the abort handler. */
  detach(response: HttpResponse): PendingReply {
    const state = { ...this.#current };
    // The headers of a key are in one place only, which `prove` empties.
    this.#current.proof = null;
    return new PendingReply(this.#replies, response, state);
  }

  /** Throws URI_TOO_LONG; called by routes that read more of the target than one short parameter. */
  checkTarget(request: HttpRequest): void {
    const bytes = request.getUrl().length + (request.getQuery()?.length ?? 0);
    if (bytes > this.targetBytesMax) throw new ServiceError("URI_TOO_LONG", { limitBytes: this.targetBytesMax });
  }

  /**
   * For a request whose end, and so the next one's begin, is not known. The server ends a connection on which another
   * request seems to follow an unanswered one. So the reply is sent after the present bytes have been read, and then
   * the connection ends.
   */
  #failAndEnd(response: HttpResponse, error: ServiceError): void {
    const reply = this.detach(response);
    setImmediate(() => reply.fail(error, "", true));
  }
}

/** Every X-Forwarded-For, in order. */
export function forwardedFor(request: HttpRequest): string {
  let text = "";
  request.forEach((name, value) => {
    if (name === "x-forwarded-for") text += text === "" ? value : `, ${value}`;
  });
  return text;
}

/** Returns names for X-Ignored-Fields: visible ASCII only, bounded, so that no text of a caller can end a header. */
export function headerSafe(names: readonly string[]): string {
  return names.map((name) => name.replace(/[^\x21-\x7e]|[,;"\\]/g, "?").slice(0, 64)).join(", ");
}
