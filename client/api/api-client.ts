/**
 * The client of the REST API, for browsers and Node: typed by the service's own table of operations, signed where it
 * has keys, and careful with what may have been done. A call never rejects; its result says what is known.
 *
 * Invariants: every call ends by its deadline. A call keeps the key that it began with, whatever `signIn` does
 * meanwhile: under another key its Idempotency-Key would mean another call.
 */
import { CallEnd } from "./call-end.js";
import { type ApiClock, SYSTEM_CLOCK } from "./clock.js";
import { type FetchPort, systemFetch } from "./fetch-port.js";
import type { ApiResult, CallArguments, CallOptions, CallResult, DataOf, OperationId } from "./operations.js";
import { type Accepted, type Answer, LOCAL_CODES, type LocalCode, readReply } from "./reply.js";
import { type Asked, type Course, DEFAULT_ATTEMPTS, MAX_ATTEMPTS, nextStep, outcomeOf, startCourse } from "./retry.js";
import { type Route, routeOf } from "./routes.js";
import { ServerClock, timeOrNull } from "./server-clock.js";
import { assertSecretMayTravel, ShownSecret } from "./shown-secret.js";
import {
  type ApiKeys,
  type ImportSecret,
  importSecret,
  type KeyClaim,
  type Proof,
  type Prover,
  Signer,
} from "./signing.js";
import { type CallParts, type Outgoing, prepare } from "./target.js";

export interface ApiClientOptions {
  /** Scheme, host and port: `https://unwind.example`. Throws TypeError for anything more. */
  readonly baseUrl: string;
  /** Null: requests are not signed until `signIn`. */
  readonly keys?: ApiKeys | null;
  /**
   * As the service's AUTH_MODE. `secret` sends the secret itself with each request (shown-secret.ts) and is never chosen
   * by itself: throws TypeError for plain http to another machine. Default: `signed`, which every mode takes.
   */
  readonly mode?: "signed" | "secret";
  readonly fetch?: FetchPort;
  readonly clock?: ApiClock;
  /** Uniform in [0, 1); for jitter. */
  readonly random?: () => number;
  /** Of a whole call that names none. */
  readonly timeoutMs?: number;
  readonly importSecret?: ImportSecret;
}

export interface ApiClient {
  call<K extends OperationId>(id: K, ...request: CallArguments<K>): Promise<CallResult<K>>;
  /** Later calls are signed with these keys. The secret's text is not kept, but in mode `secret`. */
  signIn(keys: ApiKeys): void;
  /** Forgets the keys. */
  signOut(): void;
  /** Of the key that calls are signed with; null: they are not signed. */
  readonly apiKey: string | null;
  /** Proves the key on a stream; null without a key. Rejects where it cannot be signed. */
  streamClaim(): Promise<KeyClaim | null>;
  /** Corrects the clock by a time of the service that came another way, such as a refusal of a stream. */
  noteServerTime(serverMs: number): void;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** A reading of the service's time takes at most this, and is tried again after this. */
const TIME_READ_MS = 3_000;
const TIME_RETRY_MS = 5_000;

export function createApiClient(options: ApiClientOptions): ApiClient {
  return new Client(options);
}

interface Answered {
  readonly answer: Answer;
  readonly asked: Asked;
}

class Client implements ApiClient {
  readonly #origin: string;
  readonly #fetch: FetchPort;
  readonly #clock: ApiClock;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  readonly #importSecret: ImportSecret;
  readonly #time: ServerClock;
  readonly #mode: "signed" | "secret";
  #prover: Prover | null = null;
  /** The one reading of the service's time under way; every call that needs it waits for it. */
  #reading: Promise<void> | null = null;
  #nextReadingMs = 0;

  constructor(options: ApiClientOptions) {
    this.#origin = originOf(options.baseUrl);
    this.#mode = options.mode ?? "signed";
    if (this.#mode === "secret") assertSecretMayTravel(this.#origin);
    this.#fetch = options.fetch ?? systemFetch;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#random = options.random ?? Math.random;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#importSecret = options.importSecret ?? importSecret;
    this.#time = new ServerClock(this.#clock);
    if (options.keys != null) this.signIn(options.keys);
  }

  get apiKey(): string | null {
    return this.#prover?.apiKey ?? null;
  }

  signIn(keys: ApiKeys): void {
    const Way = this.#mode === "secret" ? ShownSecret : Signer;
    this.#prover = new Way(keys, this.#time, this.#importSecret);
  }

  signOut(): void {
    this.#prover = null;
  }

  async streamClaim(): Promise<KeyClaim | null> {
    const prover = this.#prover;
    if (prover === null) return null;
    await this.#readTime();
    return prover.claim();
  }

  noteServerTime(serverMs: number): void {
    const nowMs = this.#clock.monoMs();
    this.#time.set({ serverMs, sentMs: nowMs, receivedMs: nowMs });
  }

  async call<K extends OperationId>(id: K, ...[request]: CallArguments<K>): Promise<CallResult<K>> {
    // Typed for callers; from here on a call is its parts.
    const parts: CallParts & CallOptions = request ?? {};
    const route = routeOf(id);
    const prepared = prepare(this.#origin, route, parts);
    if (!prepared.ok) {
      const details = { fields: [{ path: prepared.path, problem: prepared.problem }] };
      return { ...failure("CANNOT_SEND", "refused"), details };
    }
    const end = new CallEnd(this.#clock, parts.timeoutMs ?? this.#timeoutMs, parts.signal);
    try {
      const { outgoing } = prepared;
      const isKeyed = parts.idempotencyKey !== undefined;
      const attempts = Math.min(MAX_ATTEMPTS, Math.max(1, parts.attempts ?? DEFAULT_ATTEMPTS));
      const course = startCourse(route.method !== "GET", isKeyed, attempts);
      return (await this.#run(outgoing, route, this.#prover, course, end)) as CallResult<K>;
    } finally {
      end.dispose();
    }
  }

  async #run(
    outgoing: Outgoing,
    route: Route,
    prover: Prover | null,
    start: Course,
    end: CallEnd,
  ): Promise<ApiResult<unknown, unknown>> {
    let course = start;
    for (;;) {
      const { answer, asked } = await this.#attempt(outgoing, route, prover, course, end);
      const step = nextStep(course, answer, asked, this.#random());
      course = step.course;
      if (step.serverTime !== null) this.#time.set(step.serverTime);
      if (answer.kind === "accepted") return accepted(answer);
      // A wait beyond the deadline would only hide the reason.
      if (step.waitMs === null || step.waitMs >= end.leftMs) return failed(answer, course);
      if (step.waitMs === 0) continue;
      const reason = await end.wait(step.waitMs);
      if (reason !== null) return failure(reason, course.mayBeDone ? "unknown" : "refused");
    }
  }

  async #attempt(
    outgoing: Outgoing,
    route: Route,
    prover: Prover | null,
    course: Course,
    end: CallEnd,
  ): Promise<Answered> {
    const { method, target, body } = outgoing;
    const idle: Asked = { signedMs: null, sentMs: 0, receivedMs: 0, tookMs: 0 };
    const unsent = (code: LocalCode): Answered => ({ answer: noReply(code, false), asked: idle });
    let proof: Proof | null = null;
    if (prover !== null) {
      const read = prover.needsTime ? await end.race(this.#readTime()) : null;
      if (read !== null && read.ended !== null) return unsent(read.ended);
      try {
        const proven = await end.race(prover.prove(method, target, body));
        if (proven.ended !== null) return unsent(proven.ended);
        proof = proven.value;
      } catch {
        return unsent("CANNOT_SIGN");
      }
    }
    if (end.reason !== null) return unsent(end.reason);
    const sentMs = this.#clock.monoMs();
    const sentWallMs = this.#clock.wallMs();
    // A read is given up early enough to be repeated; a write with a key would only be told that it is under way.
    const canRepeat = !course.isWrite && course.attempts + 1 < course.attemptsMax;
    const answer = await this.#send(outgoing, route, proof, end, canRepeat ? end.leftMs / 2 : end.leftMs);
    const receivedMs = this.#clock.monoMs();
    const tookMs = Math.max(receivedMs - sentMs, this.#clock.wallMs() - sentWallMs);
    return { answer, asked: { signedMs: proof?.signedMs ?? null, sentMs, receivedMs, tookMs } };
  }

  /** One request. Never rejects. */
  async #send(
    { method, url, headers, body }: Outgoing,
    route: Route,
    proof: Proof | null,
    end: CallEnd,
    withinMs: number,
  ): Promise<Answer> {
    const abort = new AbortController();
    const work = async (): Promise<Answer> => {
      const reply = await this.#fetch(url, {
        method,
        headers: { ...headers, ...proof?.headers },
        ...(body === null ? {} : { body }),
        signal: abort.signal,
      });
      const { status } = reply;
      const header = (name: string) => reply.headers.get(name);
      return readReply({ status, header, text: await reply.text() }, route.reply, this.#time.nowMs());
    };
    try {
      const raced = await end.race(work(), withinMs);
      return raced.ended === null ? raced.value : noReply(raced.ended, true);
    } catch {
      return noReply("UNREACHABLE", true);
    } finally {
      abort.abort();
    }
  }

  /** Reads the service's time once. Where that fails calls are signed with this machine's, and it is tried again later. */
  #readTime(): Promise<void> {
    if (this.#time.isSet || this.#clock.monoMs() < this.#nextReadingMs) return Promise.resolve();
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null;
      this.#nextReadingMs = this.#clock.monoMs() + TIME_RETRY_MS;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const route = routeOf("time");
    const prepared = prepare(this.#origin, route, {});
    if (!prepared.ok) return;
    const end = new CallEnd(this.#clock, TIME_READ_MS, undefined);
    const sentMs = this.#clock.monoMs();
    const answer = await this.#send(prepared.outgoing, route, null, end, TIME_READ_MS);
    end.dispose();
    if (answer.kind !== "accepted") return;
    const serverMs = timeOrNull((answer.data as Partial<DataOf<"time">>).serverTime);
    if (serverMs !== null) this.#time.set({ serverMs, sentMs, receivedMs: this.#clock.monoMs() });
  }
}

/** Requests are signed with their path as it is sent: one that a proxy adds to or takes from would not be the same. */
function originOf(baseUrl: string): string {
  const { protocol, origin, pathname, search, hash, username, password } = new URL(baseUrl);
  const isPlain = pathname === "/" && search === "" && hash === "" && username === "" && password === "";
  if (!isPlain || (protocol !== "http:" && protocol !== "https:"))
    throw new TypeError("baseUrl is http or https, a host and a port, and nothing else");
  return origin;
}

function noReply(code: LocalCode, wasSent: boolean): Answer {
  return { kind: "none", code, status: 0, wasSent, requestId: null };
}

function accepted({ status, data, serverMs, requestId }: Accepted): ApiResult<unknown, unknown> {
  return { ok: true, status, data, serverMs, requestId };
}

function failed(answer: Exclude<Answer, Accepted>, course: Course): ApiResult<unknown, unknown> {
  const outcome = outcomeOf(course, answer);
  const { code, status, requestId } = answer;
  if (answer.kind === "none") return { ...failure(answer.code, outcome), status, requestId };
  const { error, details, data, retryAfterMs } = answer;
  return { ok: false, code, error, status, details, data, outcome, retryAfterMs, requestId };
}

function failure(code: LocalCode, outcome: "refused" | "unknown") {
  const error = LOCAL_CODES[code];
  return {
    ok: false,
    code,
    error,
    status: 0,
    details: {},
    data: undefined,
    outcome,
    retryAfterMs: null,
    requestId: null,
  } as const;
}
