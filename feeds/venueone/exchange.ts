// hot path
/**
 * Signed actions of venueone: nonce, signature, envelope, one request, and what its reply means. `rejected` only for
 * what the venue (or our own limiter) refused before execution, `unknown` for all that may have been executed.
 *
 * Allocates per action: the request text, hex of the signature, the reply's JSON. All else is reused.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type { AccountSession, CallOptions } from "../../engine/ports.js";
import {
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  notSentOrder,
  retryAfterMs,
  venueText,
  type HttpResponse,
  type RejectedOrder,
} from "../shared/call-results.js";
import { Deadline } from "../shared/deadline.js";
import type { HttpResult } from "../shared/http.js";
import type { NonceSequencer } from "../shared/nonce-sequencer.js";
import { decodeJson } from "../shared/wire-fields.js";
import type { AccountResolver } from "./account-resolver.js";
import { decodeExchange, type VenueoneWireStatus } from "./account-wire.js";
import { classifyText, isSignerProblem, nonceProblem } from "./errors.js";
import { envelope, refusal } from "./order-wire.js";
import type { VenueoneRest } from "./rest.js";
import { VenueoneSession } from "./session.js";
import type { L1Signer } from "./sign.js";
import type { MsgpackValue } from "./msgpack.js";

export interface VenueoneExchangeDeps {
  readonly rest: VenueoneRest;
  readonly signer: L1Signer;
  readonly nonces: NonceSequencer;
  readonly accounts: AccountResolver;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackLatency: LatencyWindow;
  readonly clockOffsetMs: () => number;
  /** The venue called our nonces too far ahead: our clock, or its measured offset, is wrong. */
  readonly onClockError: () => void;
}

/** An action ready to be signed with whatever nonce it gets. */
export interface PreparedAction {
  readonly json: string;
  /** Hash of action, nonce, vault, expiry; valid until the signer's next call. */
  readonly hash: (nonce: number, vaultAddress: string | null, expiresAfterMs: number | null) => Uint8Array;
  readonly expiresAfterMs: number | null;
  /** Orders or cancels in it; what it costs is counted by them. */
  readonly itemCount: number;
}

export type Exchanged =
  | { readonly kind: "rejected"; readonly rejected: RejectedOrder }
  | { readonly kind: "unknown"; readonly cause: string }
  | {
      readonly kind: "answered";
      readonly type: string;
      readonly statuses: readonly VenueoneWireStatus[];
      readonly response: HttpResponse;
    };

export class VenueoneExchange {
  readonly #deps: VenueoneExchangeDeps;

  constructor(deps: VenueoneExchangeDeps) {
    this.#deps = deps;
  }

  venueNowMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }

  /** An action written once as a value in the venue's key order: that is what is posted and what is hashed. */
  prepare(action: MsgpackValue, expiresAfterMs: number | null, itemCount = 1): PreparedAction {
    return {
      json: JSON.stringify(action),
      hash: (nonce, vault, expiry) => this.#deps.signer.hashAction(action, nonce, vault, expiry),
      expiresAfterMs,
      itemCount,
    };
  }

  /** Signs, sends, reads the reply. A nonce the venue calls too low was refused before execution: once more with a higher one. */
  async send(session: AccountSession, action: PreparedAction, options: CallOptions): Promise<Exchanged> {
    if (!(session instanceof VenueoneSession))
      return rejected(localReject("AUTH", "SESSION", "session of another venue"));
    if (!session.canSign) return rejected(localReject("AUTH", "NO_KEY", "an address alone signs nothing"));
    const deadline = new Deadline(this.#deps.clock, options);
    for (let attempt = 1; ; attempt++) {
      const sent = await this.#sendOnce(session, action, deadline);
      if (sent !== "again") return sent;
      if (attempt === 2) return rejected(refusal(classifyText(NONCE_TOO_LOW), NONCE_TOO_LOW, null));
    }
  }

  async #sendOnce(session: VenueoneSession, action: PreparedAction, deadline: Deadline): Promise<Exchanged | "again"> {
    const { accounts, nonces, rest, signer } = this.#deps;
    const next = await nonces.next(session.signerAddress);
    if (!next.ok)
      return rejected({
        ...localReject("VENUE_STATE", `NONCE_${next.problem}`, "no nonce"),
        retryAfterMs: next.retryAfterMs,
      });
    // Asked after the nonce: its reservation may have waited for the store.
    const left = deadline.left();
    if (left === null) return rejected(localReject("VENUE_STATE", "DEADLINE", "no time left before sending"));
    const { expiresAfterMs } = action;
    const signature = session.withKey((privateKey) =>
      signer.signConnectionId(action.hash(next.nonce, session.vaultAddress, expiresAfterMs), privateKey),
    );
    if (signature === null) return rejected(localReject("AUTH", "SESSION", "session is closed"));
    const body = envelope(action.json, next.nonce, signature, session.vaultAddress, expiresAfterMs);
    const result = await rest.exchange(body, accounts.peek(session), action.itemCount, left);
    try {
      return this.#read(session, result);
    } catch (error) {
      // Whatever fails here fails after the send.
      this.#deps.logger.error("venueone.exchange.fault", { name: error instanceof Error ? error.name : "unknown" });
      return { kind: "unknown", cause: "FAULT" };
    }
  }

  #read(session: VenueoneSession, result: HttpResult): Exchanged | "again" {
    if (result.kind === "notSent") return rejected(notSentOrder(result));
    if (result.kind === "noResponse") return { kind: "unknown", cause: result.reason };
    if (result.status !== 200) return unreadable(result);
    const decoded = decodeJson(result.body, decodeExchange);
    if (!decoded.ok) return { kind: "unknown", cause: "REPLY_UNREADABLE" };
    this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
    if (decoded.value.kind === "ok") {
      return { kind: "answered", type: decoded.value.type, statuses: decoded.value.statuses, response: result };
    }
    const { text } = decoded.value;
    const nonce = nonceProblem(text);
    if (nonce?.kind === "tooHigh") this.#deps.onClockError();
    else if (nonce !== null) this.#deps.nonces.raise(session.signerAddress, nonce.seenNonce);
    if (nonce?.kind === "tooLow") return "again";
    const error = classifyText(text);
    if (isSignerProblem(error)) this.#deps.accounts.forget(session);
    return rejected(refusal(error, text, null));
  }
}

const NONCE_TOO_LOW = "Invalid nonce: nonce too low";

function rejected(outcome: RejectedOrder): Exchanged {
  return { kind: "rejected", rejected: outcome };
}

/** Not 200. 4xx come from the parser or the proxy, before anything is executed. */
function unreadable(response: HttpResponse): Exchanged {
  const code = `HTTP_${response.status}`;
  if (!isRefusedUnexecuted(response.status)) return { kind: "unknown", cause: code };
  return rejected({
    outcome: "rejected",
    reason: isRateLimitStatus(response.status) ? "RATE_LIMITED" : "VENUE_STATE",
    venueCode: code,
    venueText: venueText(response.body),
    sent: true,
    retryAfterMs: retryAfterMs(response),
  });
}
