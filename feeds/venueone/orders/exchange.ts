// hot path
/**
 * Signed actions of venueone: nonce, signature, envelope, one request, and what its reply means. `rejected` only for
 * what the venue (or our own limiter) refused before execution, `unknown` for all that may have been executed.
 *
 * Allocates per action: the request text, hex of the signature, the reply's JSON. All else is reused.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions, Lane } from "../../../engine/ports.js";
import {
  localReject,
  notSentOrder,
  venueText,
  type HttpResponse,
  type RejectedOrder,
} from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { HttpResult } from "../../shared/net/http.js";
import {
  CLOSED_SESSION,
  type ExchangeOutcome,
  FOREIGN_SESSION,
  OUT_OF_TIME,
  rejectedExchange,
  unknownExchange,
  wordlessExchange,
} from "../../shared/orders/exchange-outcome.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { decodeJson } from "../../shared/room/wire-fields.js";
import type { AccountResolver } from "../account/resolver.js";
import type { AddressBudget } from "./address-budget.js";
import { decodeExchange, type VenueoneWireStatus } from "../account/wire.js";
import type { BudgetReadings } from "./budget-readings.js";
import { addressBudgetOf, classifyText, isKeyRefusal, isSignerProblem, nonceProblem } from "../rules/errors.js";
import { envelope, refusal } from "./request.js";
import type { VenueoneRest } from "../account/rest.js";
import { callerOf, callOf, VenueoneSession } from "../account/session.js";
import type { L1Signer } from "../sign/sign.js";
import type { MsgpackValue } from "../sign/msgpack.js";

export interface VenueoneExchangeDeps {
  readonly rest: VenueoneRest;
  readonly signer: L1Signer;
  readonly nonces: NonceSequencer;
  readonly accounts: AccountResolver;
  readonly standing: CallerStanding;
  /** Null when the pool counts nothing by account. */
  readonly addressBudget: { readonly budget: AddressBudget; readonly readings: BudgetReadings } | null;
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

interface ActionAnswer {
  readonly type: string;
  readonly statuses: readonly VenueoneWireStatus[];
  readonly response: HttpResponse;
}

export type Exchanged = ExchangeOutcome<ActionAnswer>;

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
    if (!(session instanceof VenueoneSession)) return FOREIGN_SESSION;
    if (!session.canSign) return NO_KEY;
    this.#deps.addressBudget?.readings.freshen(session);
    const refused = this.#deps.standing.refusalOf(callerOf(session, session.signerAddress));
    if (refused !== null) return this.#readAgain(refused);
    const deadline = new Deadline(this.#deps.clock, callOf(session, options), session.payer);
    for (let attempt = 1; ; attempt++) {
      const sent = await this.#sendOnce(session, action, deadline);
      if (sent !== "again") return sent;
      if (attempt === 2) return rejectedExchange(refusal(classifyText(NONCE_TOO_LOW), NONCE_TOO_LOW, null));
    }
  }

  async #sendOnce(session: VenueoneSession, action: PreparedAction, deadline: Deadline): Promise<Exchanged | "again"> {
    const { accounts, nonces, rest, signer } = this.#deps;
    const next = await nonces.next(session.signerAddress);
    if (!next.ok)
      return rejectedExchange({
        ...localReject("VENUE_STATE", `NONCE_${next.problem}`, "no nonce"),
        retryAfterMs: next.retryAfterMs,
      });
    // Asked after the nonce: its reservation may have waited for the store.
    const left = deadline.left();
    if (left === null) return OUT_OF_TIME;
    const { expiresAfterMs } = action;
    const signature = session.withKey((privateKey) =>
      signer.signConnectionId(action.hash(next.nonce, session.vaultAddress, expiresAfterMs), privateKey),
    );
    if (signature === null) return CLOSED_SESSION;
    const body = envelope(action.json, next.nonce, signature, session.vaultAddress, expiresAfterMs);
    const account = accounts.peek(session);
    const result = await rest.exchange(body, this.#chargedFor(session, account), action.itemCount, left);
    try {
      return this.#read(session, account, left.lane, result);
    } catch (error) {
      // Whatever fails here fails after the send.
      this.#deps.logger.error("venueone.exchange.fault", { name: error instanceof Error ? error.name : "unknown" });
      return unknownExchange("FAULT");
    }
  }

  #read(session: VenueoneSession, account: string, lane: Lane, result: HttpResult): Exchanged | "again" {
    if (result.kind === "notSent")
      return rejectedExchange(this.#notSent(this.#chargedFor(session, account), lane, result));
    if (result.kind === "noResponse") return unknownExchange(result.reason);
    // 4xx come from the parser or the proxy, before anything is executed.
    if (result.status !== 200) return wordlessExchange(result, "VENUE_STATE", venueText(result.body));
    const decoded = decodeJson(result.body, decodeExchange);
    if (!decoded.ok) return unknownExchange("REPLY_UNREADABLE");
    this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
    if (decoded.value.kind === "ok") {
      this.#deps.standing.answeredWell(callerOf(session, account));
      const { type, statuses } = decoded.value;
      return { kind: "answered", answer: { type, statuses, response: result } };
    }
    const { text } = decoded.value;
    const nonce = nonceProblem(text);
    if (nonce?.kind === "tooHigh") this.#deps.onClockError();
    else if (nonce !== null) this.#deps.nonces.raise(session.signerAddress, nonce.seenNonce);
    if (nonce?.kind === "tooLow") return "again";
    const error = classifyText(text);
    if (isSignerProblem(error)) this.#deps.accounts.forget(session);
    if (isKeyRefusal(error)) this.#deps.standing.refused(callerOf(session, session.signerAddress), result);
    const spent = addressBudgetOf(text);
    if (spent !== null) this.#deps.addressBudget?.budget.noteRefused(account, spent.used, spent.cap);
    return rejectedExchange(refusal(error, text, spent === null ? null : OVER_BUDGET_INTERVAL_MS));
  }

  /** Whose budget a request spends: the account's, but that anybody can name a vault. Strangers spend their own. */
  #chargedFor(session: VenueoneSession, account: string): string {
    const caller = callerOf(session, account);
    return this.#deps.standing.isProven(caller) ? account : caller;
  }

  /** The venue refused the key a moment ago. */
  #readAgain(refused: HttpResponse): Exchanged {
    const decoded = decodeJson(refused.body, decodeExchange);
    if (!decoded.ok || decoded.value.kind === "ok") return unknownExchange("REPLY_UNREADABLE");
    return rejectedExchange(refusal(classifyText(decoded.value.text), decoded.value.text, null));
  }

  /** Of the two budgets that an entry may wait for, the lane's comes back by itself: the address's is named. */
  #notSent(account: string, lane: Lane, result: Extract<HttpResult, { kind: "notSent" }>): RejectedOrder {
    const budget = this.#deps.addressBudget?.budget;
    const refused = notSentOrder(result);
    if (result.reason !== "RATE_BUDGET" || budget === undefined || budget.waitMs(account, 1, lane) === 0)
      return refused;
    const { cap, left } = budget.left(account);
    const text = `${left} of ${cap} requests of the address are left, which are kept for exits`;
    return { ...refused, venueCode: "ADDRESS_BUDGET", venueText: text };
  }
}

/** Over its budget an address still gets one request through each ten seconds. */
const OVER_BUDGET_INTERVAL_MS = 10_000;
const NONCE_TOO_LOW = "Invalid nonce: nonce too low";
const NO_KEY = rejectedExchange(localReject("AUTH", "NO_KEY", "an address alone signs nothing"));
