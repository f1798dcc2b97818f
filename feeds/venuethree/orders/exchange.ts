// hot path
/**
 * One transaction of any type: confirmed key, turn of the key, signature, the transport, and what the answer means
 * (tx-answer.ts). `accepted` says that the venue's API took it: its sequencer may still refuse it.
 *
 * A refused nonce was not spent and nothing was executed: the transaction is signed again with its next nonce. What may
 * have been executed is never sent again.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions, Lane, Read } from "../../../engine/ports.js";
import { type FailedRead, localReject, type RejectedOrder } from "../../shared/net/call-results.js";
import { paidBy } from "../../shared/account/paid-by.js";
import { Deadline } from "../../shared/net/deadline.js";
import { CLOSED_SESSION, OUT_OF_TIME, rejectedExchange } from "../../shared/orders/exchange-outcome.js";
import type { VenuethreeAccountRest } from "../account/rest.js";
import { monoMs } from "../../shared/net/weight-window.js";
import type { NoncePool } from "../sign/schnorr.js";
import type { TxFields } from "../sign/tx.js";
import type { ConfirmedKey, KeyDirectory } from "../account/key-directory.js";
import { type KeyLanes, type LaneJob, SINGLE_REQUESTS, type Turn } from "./key-lanes.js";
import type { PreparedTx } from "./request.js";
import { type SignedTransaction, signTransaction } from "../sign/sign.js";
import { doubtful, type Exchanged, judge, kept, notSentRead, resultOfHttp, type TxAnswer } from "./tx-answer.js";
import type { TxBudget } from "./tx-budget.js";
import type { TxSocket } from "./tx-socket.js";

export interface VenuethreeExchangeDeps {
  readonly rest: VenuethreeAccountRest;
  /** Null when every transaction is a single request. */
  readonly socket: TxSocket | null;
  /** Null when nothing is counted. */
  readonly budget: TxBudget | null;
  readonly keys: KeyDirectory;
  readonly lanes: KeyLanes;
  readonly pool: NoncePool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackLatency: LatencyWindow;
  readonly chainId: number;
}

/** The first try, one for a nonce that was counted wrong, and one for another program that uses the key. */
const MAX_ATTEMPTS = 3;
/** Beyond those, tries that failed only with an earlier transaction: each time one behind it is fewer in flight. */
const MAX_FOLLOWED = 8;

export type OnSigned = (key: ConfirmedKey, signed: SignedTransaction) => void;

export class VenuethreeExchange {
  readonly #deps: VenuethreeExchangeDeps;

  constructor(deps: VenuethreeExchangeDeps) {
    this.#deps = deps;
  }

  /** `expiresAtVenueMs`: the venue executes it by then or never. `onSigned` is called before each send. */
  async send(
    session: AccountSession,
    tx: PreparedTx,
    expiresAtVenueMs: number,
    options: CallOptions,
    onSigned?: OnSigned,
  ): Promise<Exchanged> {
    const { budget, clock, keys, lanes, rest } = this.#deps;
    const deadline = new Deadline(clock, options, session.payer);
    const known = keys.resolveKnown(session) ?? (await keys.resolve(session, options));
    if (!known.ok) return rejectedExchange(notSentRead(known));
    const key = known.value;
    const { accountIndex } = key;
    if (budget !== null && !budget.isKnown(accountIndex))
      await budget.learn(accountIndex, options.lane, deadline.leftMs(), (left) =>
        rest.accountByIndex(accountIndex, paidBy(session, left)),
      );
    return new Promise((resolve, reject) => {
      const job = new TxJob(
        this.#deps,
        { key, tx, expiresAtVenueMs, deadline, onSigned, resolve, reject },
        options.lane,
      );
      lanes.submit(laneName(key), job);
    });
  }
}

interface TxTask {
  readonly key: ConfirmedKey;
  readonly tx: PreparedTx;
  readonly expiresAtVenueMs: number;
  readonly deadline: Deadline;
  readonly onSigned: OnSigned | undefined;
  readonly resolve: (sent: Exchanged) => void;
  readonly reject: (error: unknown) => void;
}

class TxJob implements LaneJob {
  readonly lane: Lane;
  readonly #deps: VenuethreeExchangeDeps;
  readonly #task: TxTask;
  #attemptCount = 0;
  #followedCount = 0;

  constructor(deps: VenuethreeExchangeDeps, task: TxTask, lane: Lane) {
    this.#deps = deps;
    this.#task = task;
    this.lane = lane;
  }

  leftMs(): number {
    return this.#task.deadline.leftMs();
  }

  async load(): Promise<Read<number>> {
    const { key, deadline } = this.#task;
    const left = deadline.left();
    return left === null ? NO_TIME : this.#deps.rest.nextNonce(key.accountIndex, key.apiKeyIndex, left);
  }

  fail(why: FailedRead): void {
    this.#task.resolve(rejectedExchange(this.#wasTried ? NONCE_REFUSED : notSentRead(why)));
  }

  start(turn: Turn): void {
    const { deadline, onSigned, key, reject } = this.#task;
    const left = deadline.left();
    if (left === null) {
      this.#end(turn, kept(OUT_OF_TIME.rejected));
      return;
    }
    let signed: SignedTransaction | null;
    try {
      signed = this.#sign(turn.nonce);
      if (signed !== null) onSigned?.(key, signed);
    } catch (error) {
      // Nothing has left: a fault of ours, and the nonce is still to be used.
      turn.end("kept");
      reject(error);
      return;
    }
    if (signed === null) this.#end(turn, kept(CLOSED_SESSION.rejected));
    else void this.#dispatch(turn, signed, left);
  }

  #sign(nonce: number): SignedTransaction | null {
    const { pool, chainId } = this.#deps;
    const { key, tx, expiresAtVenueMs } = this.#task;
    const fields: TxFields = {
      AccountIndex: key.accountIndex,
      ApiKeyIndex: key.apiKeyIndex,
      ...tx.fields,
      ExpiredAt: expiresAtVenueMs,
      Nonce: nonce,
    };
    return key.session.withKey((privateKey) =>
      signTransaction(chainId, tx.type, fields, tx.attributes, privateKey, pool.take()),
    );
  }

  /** Written before the first await, as the lanes ask. */
  async #dispatch(turn: Turn, signed: SignedTransaction, left: CallOptions): Promise<void> {
    const { budget, clock, rest, socket, logger, ackLatency } = this.#deps;
    const { key, tx } = this.#task;
    const { lane } = this;
    const takenAtMs = monoMs(clock);
    const held = budget?.takeOther(tx.type, key.accountIndex, lane) ?? null;
    if (held !== null) {
      this.#end(turn, kept(held));
      return;
    }
    let answer: TxAnswer;
    try {
      const result =
        turn.wayId === SINGLE_REQUESTS.id || socket === null
          ? resultOfHttp(await rest.sendTx(tx.type, signed.text, key.accountIndex, left))
          : await socket.send(tx.type, signed.text, key.accountIndex, left);
      if (result.kind === "notSent") budget?.releaseOther(tx.type, key.accountIndex, lane, takenAtMs);
      if (result.kind === "reply") ackLatency.record(result.reply.receivedAtMs - result.reply.sentAtMs);
      answer = judge(result, signed.hash);
    } catch (error) {
      // Whatever fails here fails after the send.
      logger.error("venuethree.send.fault", { name: error instanceof Error ? error.name : "unknown" });
      answer = doubtful("FAULT");
    }
    this.#end(turn, answer);
  }

  /** It was at the venue before, which refused it for its nonce. */
  get #wasTried(): boolean {
    return this.#attemptCount + this.#followedCount > 0;
  }

  #end(turn: Turn, { nonceOutcome, sent, doubtsKey }: TxAnswer): void {
    const { key, resolve } = this.#task;
    if (doubtsKey) this.#deps.keys.forget(key.session);
    if (sent !== "again") {
      turn.end(nonceOutcome);
      resolve(this.#wasTried ? asSent(sent) : sent);
      return;
    }
    if (turn.isBehind()) this.#followedCount++;
    else this.#attemptCount++;
    if (this.#attemptCount < MAX_ATTEMPTS && this.#followedCount <= MAX_FOLLOWED) {
      turn.end(nonceOutcome, this);
      return;
    }
    turn.end(nonceOutcome);
    resolve(rejectedExchange(NONCE_REFUSED));
  }
}

/** Our own side stopped a second try: the venue has seen, and refused, the first. */
function asSent(sent: Exchanged): Exchanged {
  return sent.kind === "rejected" ? rejectedExchange({ ...sent.rejected, sent: true }) : sent;
}

const NO_TIME: FailedRead = { ok: false, code: "TIMEOUT", message: "no time left for the nonce", retryAfterMs: null };

const NONCE_REFUSED: RejectedOrder = { ...localReject("VENUE_STATE", "21104", "invalid nonce"), sent: true };

/** Name of a key's queue. */
export function laneName({ accountIndex, apiKeyIndex }: Pick<ConfirmedKey, "accountIndex" | "apiKeyIndex">): string {
  return `${accountIndex}:${apiKeyIndex}`;
}
