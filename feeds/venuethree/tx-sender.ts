// hot path
/**
 * One transaction of any type: confirmed key, turn of the key, signature, `sendTx`, and what the answer means. `rejected`
 * only for what the venue (or our own limiter) refused before execution; `unknown` for everything that may have been
 * executed. `accepted` says that the venue's API took it: its sequencer may still refuse it.
 *
 * A refused nonce was not spent and nothing was executed: the transaction is signed anew with the nonce the venue names.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type { AccountSession, CallOptions, Read } from "../../engine/ports.js";
import {
  type FailedRead,
  type HttpResponse,
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  notSentOrder,
  type RejectedOrder,
  retryAfterMs,
  venueText,
} from "../shared/call-results.js";
import { Deadline } from "../shared/deadline.js";
import type { HttpResult } from "../shared/http.js";
import { isFields, parseJsonExact } from "../shared/wire-fields.js";
import type { VenuethreeAccountRest } from "./account-rest.js";
import type { NoncePool } from "./crypto/schnorr.js";
import type { TxFields } from "./crypto/tx.js";
import { isCredentialCode, isLimitCode, isNonceCode, isUndecidedCode, rejectReasonOf } from "./errors.js";
import type { ConfirmedKey, KeyDirectory } from "./key-directory.js";
import type { KeyLanes } from "./key-lanes.js";
import type { PreparedTx } from "./order-tx.js";
import { type SignedTransaction, signTransaction } from "./sign.js";

export interface TxSenderDeps {
  readonly rest: VenuethreeAccountRest;
  readonly keys: KeyDirectory;
  readonly lanes: KeyLanes;
  readonly pool: NoncePool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackLatency: LatencyWindow;
  readonly chainId: number;
}

export type Sent =
  | { readonly kind: "accepted"; readonly response: HttpResponse }
  | { readonly kind: "rejected"; readonly rejected: RejectedOrder }
  | { readonly kind: "unknown"; readonly cause: string };

/** The first try, one for a nonce that was counted wrong, and one for another program that uses the key. */
const MAX_ATTEMPTS = 3;

/** What became of the nonce: spent, still to be used, or not known. */
type NonceFate = "spent" | "kept" | "doubtful";
type Answer = { readonly fate: NonceFate; readonly sent: Sent | "again" };
type OnSigned = (key: ConfirmedKey, signed: SignedTransaction) => void;

export class TxSender {
  readonly #deps: TxSenderDeps;

  constructor(deps: TxSenderDeps) {
    this.#deps = deps;
  }

  /** `expiresAtVenueMs`: the venue executes it by then or never. `onSigned` is called before each send. */
  async send(
    session: AccountSession,
    tx: PreparedTx,
    expiresAtVenueMs: number,
    options: CallOptions,
    onSigned?: OnSigned,
  ): Promise<Sent> {
    const { clock, keys, lanes } = this.#deps;
    const deadline = new Deadline(clock, options);
    const known = keys.resolveKnown(session) ?? (await keys.resolve(session, options));
    if (!known.ok) return rejected(notSentRead(known));
    const key = known.value;
    const load = (): Promise<Read<number>> => this.#loadNonce(key, deadline);
    const turn = await lanes.acquire(laneName(key), options.lane, () => deadline.leftMs(), load);
    if (!turn.ok) return rejected(notSentRead(turn));
    // What the next in turn starts from, should anything here throw.
    let next: number | null = null;
    try {
      let nonce = turn.value.nonce;
      for (let attempt = 1; ; attempt++) {
        const { fate, sent } = await this.#sendOnce(key, tx, nonce, expiresAtVenueMs, deadline, onSigned);
        next = fate === "spent" ? nonce + 1 : fate === "kept" ? nonce : null;
        if (sent !== "again") return sent;
        if (attempt === MAX_ATTEMPTS) return rejected(NONCE_REFUSED);
        const loaded = await load();
        if (!loaded.ok) return rejected(NONCE_REFUSED);
        nonce = loaded.value;
      }
    } finally {
      turn.value.end(next);
    }
  }

  async #loadNonce({ accountIndex, apiKeyIndex }: ConfirmedKey, deadline: Deadline): Promise<Read<number>> {
    const left = deadline.left();
    return left === null ? NO_TIME : this.#deps.rest.nextNonce(accountIndex, apiKeyIndex, left);
  }

  async #sendOnce(
    key: ConfirmedKey,
    tx: PreparedTx,
    nonce: number,
    expiresAtVenueMs: number,
    deadline: Deadline,
    onSigned: OnSigned | undefined,
  ): Promise<Answer> {
    const { rest, logger, pool, chainId } = this.#deps;
    const { accountIndex, apiKeyIndex, session } = key;
    const left = deadline.left();
    if (left === null) return kept(localReject("VENUE_STATE", "DEADLINE", "no time left before sending"));
    const fields: TxFields = {
      AccountIndex: accountIndex,
      ApiKeyIndex: apiKeyIndex,
      ...tx.fields,
      ExpiredAt: expiresAtVenueMs,
      Nonce: nonce,
    };
    const signed = session.withKey((privateKey) =>
      signTransaction(chainId, tx.type, fields, tx.attributes, privateKey, pool.take()),
    );
    if (signed === null) return kept(localReject("AUTH", "SESSION", "session is closed"));
    onSigned?.(key, signed);
    try {
      return this.#read(key, signed, await rest.sendTx(tx.type, signed.text, accountIndex, left));
    } catch (error) {
      // Whatever fails here fails after the send.
      logger.error("venuethree.send.fault", { name: error instanceof Error ? error.name : "unknown" });
      return doubtful("FAULT");
    }
  }

  #read(key: ConfirmedKey, signed: SignedTransaction, result: HttpResult): Answer {
    if (result.kind === "notSent") return kept(notSentOrder(result));
    if (result.kind === "noResponse") return doubtful(result.reason);
    this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
    const data = parseJsonExact(result.body);
    const code = isFields(data) && typeof data["code"] === "number" ? data["code"] : null;
    if (result.status === 200 && code === CODE_OK) {
      const hash = isFields(data) ? data["tx_hash"] : null;
      if (typeof hash !== "string" || hash === "") return doubtful("NO_TX_HASH");
      // The hash is computed from what was sent: another one means that another transaction is meant.
      if (hash.toLowerCase() !== signed.hash) return doubtful("TX_HASH");
      return { fate: "spent", sent: { kind: "accepted", response: result } };
    }
    if (code !== null && isUndecidedCode(code)) return doubtful(String(code));
    if (code !== null && isNonceCode(code)) return { fate: "doubtful", sent: "again" };
    // 200 with another code is a refusal in the venue's own words; without one it is no answer.
    const isRefused = result.status === 200 ? code !== null : isRefusedUnexecuted(result.status);
    if (!isRefused) return doubtful(result.status === 200 ? "REPLY_UNREADABLE" : `HTTP_${result.status}`);
    if (code !== null && isCredentialCode(code)) this.#deps.keys.forget(key.session);
    const message = isFields(data) && typeof data["message"] === "string" ? data["message"] : result.body;
    return kept(refusal(result, code, message));
  }
}

const CODE_OK = 200;
const NO_TIME: FailedRead = { ok: false, code: "TIMEOUT", message: "no time left for the nonce", retryAfterMs: null };

const NONCE_REFUSED: RejectedOrder = { ...localReject("VENUE_STATE", "21104", "invalid nonce"), sent: true };

/** Name of a key's queue. */
export function laneName({ accountIndex, apiKeyIndex }: Pick<ConfirmedKey, "accountIndex" | "apiKeyIndex">): string {
  return `${accountIndex}:${apiKeyIndex}`;
}

function kept(outcome: RejectedOrder): Answer {
  return { fate: "kept", sent: rejected(outcome) };
}

function doubtful(cause: string): Answer {
  return { fate: "doubtful", sent: { kind: "unknown", cause } };
}

function rejected(outcome: RejectedOrder): Sent & { readonly kind: "rejected" } {
  return { kind: "rejected", rejected: outcome };
}

function refusal(response: HttpResponse, code: number | null, message: string): RejectedOrder {
  const isLimit = isRateLimitStatus(response.status) || (code !== null && isLimitCode(code));
  return {
    outcome: "rejected",
    reason: isLimit ? "RATE_LIMITED" : code === null ? "VENUE_STATE" : rejectReasonOf(code),
    venueCode: code === null ? `HTTP_${response.status}` : String(code),
    venueText: venueText(message),
    sent: true,
    retryAfterMs: isLimit ? retryAfterMs(response) : null,
  };
}

/** A read that had to come first failed: nothing was signed. */
function notSentRead(failure: FailedRead): RejectedOrder {
  const { code, message, retryAfterMs: retryAfter } = failure;
  const isAuth = code === "AUTH" || code === "NEEDS_CREDENTIALS";
  return {
    ...localReject(isAuth ? "AUTH" : code === "RATE_LIMITED" ? "RATE_LIMITED" : "VENUE_STATE", code, message),
    retryAfterMs: retryAfter,
  };
}
