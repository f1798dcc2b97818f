/**
 * Withdrawals from venuetwo (engine/venue-money.ts): signed by the wallet, sent with a key of the account that has the
 * right, paid to the wallet and to nobody else.
 *
 * `send` sends once. The venue may take the same signature twice (withdraw-act.ts), and finds no withdrawal by a number of
 * the wallet's: what became of one is in its list (ledger.ts).
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { type MadeAct, SIGNATURE_TEXT, type WalletAct } from "../../../engine/key-registrar.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type {
  MoneyOutcome,
  PastWithdrawal,
  Token,
  WithdrawalAsk,
  WithdrawalRail,
  WithdrawalStanding,
  WithdrawalTerms,
} from "../../../engine/venue-money.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { notSentAct, refusedAct } from "../../shared/orders/act-outcome.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { tokenUnits } from "../../shared/room/money-text.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import { idField, isFields, parseJsonExact, parseMoneyJson, decodeWith } from "../../shared/room/wire-fields.js";
import { withdrawCall, withdrawInfoCall } from "../account/calls.js";
import type { Sent, VenuetwoRest } from "../account/rest.js";
import { readError } from "../account/wire.js";
import { isClockError } from "../rules/errors.js";
import { MICROS_PER_MS, NONCE_WINDOW_MS } from "../sign/nonces.js";
import type { AgentRights } from "./agent-rights.js";
import type { FeeEstimates } from "./fee-estimates.js";
import { heldSession } from "./held-session.js";
import { candidatesOf, readMoves, standingAmong } from "./ledger.js";
import { outcomeOfSent } from "./outcome.js";
import { decodeWithdrawable, type VenuetwoWireMove } from "./wire.js";
import {
  AMOUNT_PLACES,
  draftOf,
  feeToOffer,
  paramsOf,
  readRequest,
  textToSign,
  WALLET_NONCE_WINDOW_MS,
  type WithdrawRequest,
} from "./withdraw-act.js";

/** Not measured anywhere; its endpoints need one to two seconds to agree about other things. */
const HISTORY_LAG_MS = 60_000;
const NO_RIGHT = "the agent has no right to withdraw";

export interface VenuetwoWithdrawalsDeps {
  readonly rest: VenuetwoRest;
  /** To the host of the spot market. */
  readonly spotRest: VenuetwoRest;
  readonly fees: FeeEstimates;
  readonly rights: AgentRights;
  readonly nonces: NonceSequencer;
  readonly clock: Clock;
  readonly tokens: readonly Token[];
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** The least that it may be. */
  readonly leastOffsetMs: () => number;
}

export class VenuetwoWithdrawals implements WithdrawalRail {
  readonly needsKey = true;
  readonly takesReceiver = false;
  readonly placesMax = AMOUNT_PLACES;
  readonly historyLagMs = HISTORY_LAG_MS;
  readonly isMatchedById = false;
  readonly actsOnce = false;
  /** Its history says what was paid. */
  readonly payoutEvent = null;
  readonly #deps: VenuetwoWithdrawalsDeps;

  constructor(deps: VenuetwoWithdrawalsDeps) {
    this.#deps = deps;
  }

  token(chainId: number, symbol: string): Token | null {
    return this.#deps.tokens.find((token) => token.chainId === chainId && token.symbol === symbol) ?? null;
  }

  /** The failure AUTH without a question to the venue's list of limits: an agent that has no right to withdraw. */
  async terms(
    ask: WithdrawalAsk,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<WithdrawalTerms>> {
    const held = heldSession(session);
    if (!held.ok) return held;
    const deadline = new Deadline(this.#deps.clock, options);
    const right = await this.#deps.rights.read(held.session, options);
    if (!right.ok) return right;
    if (right.value === false) return failedRead("AUTH", NO_RIGHT);
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the terms of a withdrawal");
    const [gasCost, grant] = await Promise.all([
      this.#deps.fees.read(ask.token, ask.accountType ?? "spot", left),
      this.#deps.rest.read(held.session, withdrawInfoCall(), grantOf(ask), left, parseMoneyJson),
    ]);
    if (!gasCost.ok) return gasCost;
    return normalizedRead(grant, "user-withdraw-info", (available) => {
      const fee = feeToOffer(gasCost.value, ask.token.decimals);
      // No minimum is stated. What is worth less than its fee is not paid out.
      return { fee, minimum: fee + 1n, available, feeIsInside: false };
    });
  }

  async make(ask: WithdrawalAsk, fee: bigint): Promise<MadeAct> {
    const { leastOffsetMs, nonces } = this.#deps;
    const draft = draftOf(ask, fee);
    if (!draft.ok) return { ok: false, problem: draft.problem, retryAfterMs: null };
    if (!isSame(this.token(ask.token.chainId, ask.token.symbol), ask.token))
      return { ok: false, problem: "TOKEN", retryAfterMs: null };
    const next = await nonces.next(draft.request.account);
    if (!next.ok) return { ok: false, problem: `NONCE_${next.problem}`, retryAfterMs: next.retryAfterMs };
    const request: WithdrawRequest = { ...draft.request, nonce: String(next.nonce) };
    // Behind the venue's hour the request's own nonce may lie by its window, in the venue's favour.
    const lastMs = next.nonce / MICROS_PER_MS + WALLET_NONCE_WINDOW_MS + NONCE_WINDOW_MS;
    return {
      ok: true,
      act: {
        toSign: textToSign(request),
        request: JSON.stringify(request),
        validUntilMs: Math.ceil(lastMs - leastOffsetMs()),
      },
    };
  }

  async send(
    { request: stored }: Pick<WalletAct, "request">,
    signature: string,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<MoneyOutcome> {
    const request = readRequest(stored);
    if (request === null || !SIGNATURE_TEXT.test(signature)) return notSentAct("ACT_UNREADABLE");
    const held = heldSession(session);
    if (!held.ok) return notSentAct(held.code);
    const { identity } = held.session;
    if (identity.kind === "v3" && identity.user.toLowerCase() !== request.account) return notSentAct("FOREIGN_KEY");
    if (this.#deps.rights.known(held.session) === false) return refusedAct("RIGHT", NO_RIGHT);
    const deadline = new Deadline(this.#deps.clock, options);
    const rest = request.accountType === "spot" ? this.#deps.spotRest : this.#deps.rest;
    const call = withdrawCall(request.accountType, paramsOf(request, signature, identity));
    const sent = await rest.send(held.session, call, options);
    if (isClockRefusal(sent)) await rest.remeasureClock(deadline.leftMs());
    return outcomeOfSent(sent, this.#deps.clock.wallMs() + this.#deps.clockOffsetMs(), withdrawIdOf);
  }

  async look(
    withdrawal: Omit<PastWithdrawal, "request">,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<WithdrawalStanding>> {
    const { ask, fee, sentAtMs, venueId } = withdrawal;
    const moves = await readMoves(this.#deps.rest, session, options);
    const sentAtVenueMs = sentAtMs + this.#deps.clockOffsetMs();
    const candidates = candidatesOf(moves, { ask, fee, venueId, sentAtVenueMs });
    if (!candidates.ok) return candidates;
    const ours: VenuetwoWireMove[] = [];
    for (const row of candidates.value) if (!(await withdrawal.isOthers(row.id))) ours.push(row);
    return { ...candidates, value: standingAmong(ours, { ask }) };
  }
}

/** The most that the account and the chain can pay, in the token's unit; zero where the venue grants nothing. */
function grantOf({ accountType, token }: WithdrawalAsk) {
  return (value: unknown): bigint => {
    const grant = decodeWithdrawable(value, token.symbol, token.chainId);
    if (grant === null) return 0n;
    const ofAccount = accountType === "perp" ? grant.perpMaxWithdrawAmount : grant.spotMaxWithdrawAmount;
    const limits = grant.chainLimit === null ? [ofAccount] : [ofAccount, grant.chainLimit];
    const units = limits.map((text) => tokenUnits(text, token.decimals, "withdrawable"));
    return units.reduce((least, one) => (one < least ? one : least));
  };
}

function isSame(known: Token | null, { address, decimals }: Token): boolean {
  return known !== null && known.address === address.toLowerCase() && known.decimals === decimals;
}

/** Text of 19 digits. Its `hash` is of the signature and no transaction's. */
function withdrawIdOf(body: string): string | null {
  const answer = parseJsonExact(body);
  if (!isFields(answer)) return null;
  const id = decodeWith(answer, () => idField(answer, "withdrawId"));
  return id.ok ? id.value : null;
}

function isClockRefusal(sent: Sent): boolean {
  if (sent.kind === "local" || sent.result.kind !== "response") return false;
  const error = readError(sent.result.body);
  return error !== null && isClockError(error.code);
}
