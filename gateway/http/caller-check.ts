// hot path
/**
 * Proves who asks, before anything is done for them: the key by its signature, its scope by the operation's.
 *
 * A request without a body is proven on arrival, one with a body when that is there (`ReplyState.proof`). Until then
 * `ReplyState.caller` is null, and whoever reads it gets an error: so no route can answer for someone who is not proven.
 *
 * Who pays: a proven key, from its own buckets; without a key the address or the accounts as in request-charges.ts, and
 * from `anon` where keys are needed. A refusal here is paid for by the address, from `anon`.
 */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Addresses } from "./addresses.js";
import { ANONYMOUS_CALLER, type Caller, PUBLIC_CALLER } from "./caller.js";
import { payerOfKey } from "./caller-tags.js";
import type { RequestHead } from "./framing.js";
import type { CallerBuckets } from "./limiter.js";
import { invalidParameters } from "./query.js";
import type { Proof, ReplyState } from "./reply-state.js";
import type { RequestCharges } from "./request-charges.js";
import type { Verifier } from "./verifier.js";

const NO_BODY = new Uint8Array(0);

export class CallerCheck {
  readonly #verifier: Verifier;
  readonly #charges: RequestCharges;
  readonly #addresses: Addresses;
  readonly #clock: Clock;

  constructor(verifier: Verifier, charges: RequestCharges, addresses: Addresses, clock: Clock) {
    this.#verifier = verifier;
    this.#charges = charges;
    this.#addresses = addresses;
    this.#clock = clock;
  }

  /**
   * Within the handler. Returns the refusal, or null: the caller is then known, unless the body is needed to prove it.
   * Throws INVALID_PARAMETERS.
   */
  arrival(
    response: HttpResponse,
    request: HttpRequest,
    head: RequestHead,
    state: ReplyState,
    address: CallerBuckets,
  ): ServiceError | null {
    const { scope, readsBody } = state.admission;
    if (scope === "none") return this.#without(state, ANONYMOUS_CALLER, address);
    const headers = head.keyHeaders();
    if (headers === null) {
      if (this.#verifier.isPublic) return this.#without(state, PUBLIC_CALLER, address);
      state.paysAnon = true;
      if (scope === "open") return this.#without(state, ANONYMOUS_CALLER, address);
      state.unpaid = address;
      return this.#refused(new ServiceError("AUTH_MISSING_HEADER", { header: "X-API-KEY", ...this.#time() }), state);
    }
    const query = request.getQuery() as string | undefined;
    state.unpaid = address;
    state.paysAnon = true;
    const addressText = this.#addresses.textOf(response, head.get("x-forwarded-for"));
    state.proof = {
      headers,
      method: request.getCaseSensitiveMethod(),
      target: query === undefined ? request.getUrl() : `${request.getUrl()}?${query}`,
      address: addressText,
      anon: address.anon,
      isKnown: this.#verifier.knows({ headers, address: addressText }),
    };
    if (!head.announcesBody()) return this.prove(state, NO_BODY);
    if (!readsBody) throw invalidParameters({ path: "body", problem: "must not be there" });
    return null;
  }

  /** With the body of the request, exactly as it came. Returns the refusal, or null: the caller is known then. */
  prove(state: ReplyState, body: Uint8Array): ServiceError | null {
    const { proof } = state;
    if (proof === null) {
      // Proven without a body, but one came.
      const isForged = body.length > 0 && state.caller !== null && state.caller.keyId !== null && state.isBodiless;
      return isForged ? new ServiceError("AMBIGUOUS_REQUEST", { problem: "a body was not announced" }) : null;
    }
    // From here on nothing keeps the headers of the key.
    state.proof = null;
    state.isBodiless = body.length === 0;
    return this.#prove(state, proof, body);
  }

  #prove(state: ReplyState, { anon, isKnown: _isKnown, ...signed }: Proof, body: Uint8Array): ServiceError | null {
    const { scope, weight } = state.admission;
    const verdict = this.#verifier.verify({ ...signed, body }, anon, weight, this.#clock.monoNs());
    if (verdict === null) return this.#charges.charge(state, null) ?? new ServiceError("RATE_LIMITED");
    if (!verdict.ok) return this.#refused(verdict.error, state);
    const { caller } = verdict;
    if (caller === null || caller.keyId === null) return this.#unkeyed(state);
    state.paysAnon = false;
    state.unpaid = null;
    const tooMany = this.#charges.chargeKey(state, payerOfKey(caller.keyId));
    if (tooMany !== null) return tooMany;
    if (scope !== "open" && scope !== "none" && !caller.scopes.has(scope))
      return new ServiceError("SCOPE_MISSING", { scope });
    state.caller = caller;
    state.settled = verdict.settled ?? null;
    return null;
  }

  /** Headers were there, but no key that could be proven: public mode lets them pass. */
  #unkeyed(state: ReplyState): ServiceError | null {
    const { unpaid } = state;
    if (!this.#verifier.isPublic || unpaid === null)
      return this.#refused(new ServiceError("AUTH_MISSING_HEADER", { header: "X-API-KEY", ...this.#time() }), state);
    state.paysAnon = false;
    return this.#without(state, PUBLIC_CALLER, unpaid);
  }

  #without(state: ReplyState, caller: Caller, address: CallerBuckets): ServiceError | null {
    state.caller = caller;
    return this.#charges.arrival(state, address);
  }

  /** An address that has no tokens left for refusals is refused for that. */
  #refused(error: ServiceError, state: ReplyState): ServiceError {
    return this.#charges.charge(state, null) ?? error;
  }

  #time(): { readonly serverTime: number } {
    return { serverTime: this.#clock.wallMs() };
  }
}
