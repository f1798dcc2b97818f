/**
 * venuefour's account reads and signed operations. Reads name the account and are not signed; operations are flat
 * bodies whose signature covers time and window, so that after the window the venue takes them no more. No call retries.
 *
 * A caller's API config key goes along as a header: its credits are counted apart from those of our address.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import type { Fields } from "../../shared/room/wire-fields.js";
import { classifyError, isKeyRefusal, readError } from "../rules/errors.js";
import { MAX_EXPIRY_MS, MIN_EXPIRY_MS } from "../rules/limits.js";
import { readEnvelope } from "../market/rest.js";
import type { VenuefourSession } from "./session.js";
import { OPERATION_PATHS, type Operation, type OperationType, signedBody, type SignedFields } from "../sign/sign.js";

export interface AccountRestDeps {
  readonly http: VenueHttp;
  /** Path of the API's root on its host, no trailing slash. */
  readonly root: string;
  readonly clock: Clock;
  readonly standing: CallerStanding;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
}

export type Sent =
  /** Nothing was sent: the session is closed, or is an address only. */
  | { readonly kind: "local" }
  /** `isRepeated`: the venue's answer about the key of a moment ago; nothing was sent now. */
  | { readonly kind: "sent"; readonly result: HttpResult; readonly isRepeated?: true };

/**
 * As long as the caller waits for an answer, within bounds: it must outlive our queue, the way and the error of our
 * clock estimate, and a shorter one proves sooner that an unanswered order never came to be.
 */
export function expiryWindowMs(timeoutMs: number): number {
  return Math.min(MAX_EXPIRY_MS, Math.max(MIN_EXPIRY_MS, Math.ceil(timeoutMs)));
}

export class AccountRest {
  readonly #deps: AccountRestDeps;

  constructor(deps: AccountRestDeps) {
    this.#deps = deps;
  }

  /** `query` follows `account=`; `decode` takes the envelope. */
  async read<T>(
    session: VenuefourSession,
    path: string,
    query: Readonly<Record<string, string>>,
    credits: number,
    decode: (envelope: Fields) => T,
    options: CallOptions,
  ): Promise<Read<T>> {
    if (!session.isOpen) return failedRead("AUTH", "session is closed");
    const params = new URLSearchParams({ account: session.accountId, ...query });
    const result = await this.#request(session, "GET", `${path}?${params.toString()}`, null, credits, options);
    return readEnvelope(result, path, decode);
  }

  /** Signs for the session's account and sends. `expiresAtMs`: wall ms (ours) at which the venue is to refuse it. */
  async send(
    session: VenuefourSession,
    type: OperationType,
    payload: SignedFields,
    credits: number,
    expiresAtMs: number,
    options: CallOptions,
  ): Promise<Sent> {
    const { clock, clockOffsetMs, standing } = this.#deps;
    if (!session.canSign) return { kind: "local" };
    const refused = standing.refusalOf(session.caller);
    if (refused !== null) return { kind: "sent", result: refused, isRepeated: true };
    const signedAtMs = clock.wallMs();
    const operation: Operation = {
      type,
      timestamp: Math.floor(signedAtMs + clockOffsetMs()),
      expiryWindow: Math.floor(expiresAtMs - signedAtMs),
      payload,
    };
    const body = session.withKey((key) => JSON.stringify(signedBody(operation, session.accountId, key)));
    if (body === null) return { kind: "local" };
    const result = await this.#request(session, "POST", OPERATION_PATHS[type], body, credits, options);
    this.#note(session.caller, result);
    return { kind: "sent", result };
  }

  /** What the answer to an operation says of who signed it. Those known are not looked at again. */
  #note(caller: string, result: HttpResult): void {
    const { standing } = this.#deps;
    if (result.kind !== "response" || standing.isProven(caller)) return;
    const error = readError(result.status, result.body);
    if (error === null) standing.answeredWell(caller);
    else if (result.status < 500) {
      const known = classifyError(result.status, error);
      if (isKeyRefusal(known)) standing.refused(caller, result);
      // Looked for only where the signature and the binding were right.
      else if (known.reason === "NOT_FOUND" && error.text !== "") standing.answeredWell(caller);
    }
  }

  #request(
    session: VenuefourSession,
    method: "GET" | "POST",
    path: string,
    body: string | null,
    credits: number,
    options: CallOptions,
  ): Promise<HttpResult> {
    const { configKey, budgetName } = session;
    const own = configKey !== null;
    return this.#deps.http.request({
      method,
      path: this.#deps.root + path,
      headers: {
        ...(body === null ? {} : { "content-type": "application/json" }),
        ...(own ? { "pf-api-key": configKey } : {}),
      },
      body,
      lane: options.lane,
      weight: own ? 0 : credits,
      timeoutMs: options.timeoutMs,
      account: own ? budgetName : null,
      caller: session.caller,
      payer: session.payer,
      accountWeight: own ? credits : 0,
    });
  }
}
