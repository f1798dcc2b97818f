/**
 * Withdrawals from venueone (engine/venue-money.ts): an action that the wallet signs, to whatever address. The venue takes
 * an action once, by its nonce, which is the number of the withdrawal in its ledger.
 *
 * The ledger shows what left the account, and not what the bridge did of it: `look` says `left` and never `completed`. The
 * bridge's own event does (payout.ts).
 */
import { pow10Big } from "../../../engine/domain/decimal.js";
import { type MadeAct, SIGNATURE_TEXT, type WalletAct } from "../../../engine/key-registrar.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type {
  MoneyOutcome,
  PastWithdrawal,
  PayoutEvent,
  Token,
  WithdrawalAsk,
  WithdrawalRail,
  WithdrawalStanding,
  WithdrawalTerms,
} from "../../../engine/venue-money.js";
import type { HttpResponse } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { failedRead } from "../../shared/net/call-results.js";
import { notSentAct, unansweredAct, UNKNOWN_ACT, wordlessAct } from "../../shared/orders/act-outcome.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { tokenUnits } from "../../shared/room/money-text.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import { decodeJson } from "../../shared/room/wire-fields.js";
import type { VenueoneWireLedgerRow } from "../account/history-wire.js";
import type { VenueoneRest } from "../account/rest.js";
import { decodeExchange } from "../account/wire.js";
import { NONCE_LIFE_MS } from "../orders/nonces.js";
import { nonceProblem } from "../rules/errors.js";
import type { CollateralReads } from "./collateral.js";
import type { LedgerSearch } from "./ledger.js";
import { bridgePayout } from "./payout.js";
import { signedBody, signedText } from "./user-act.js";
import {
  AMOUNT_PLACES,
  draftOf,
  outcomeOfRefusal,
  readRequest,
  requestOf,
  type WithdrawRequest,
} from "./withdraw-act.js";

/** Whole USDC (bridge page); taken for a part of the amount, as the ledger's separate figures suggest (unverified). */
export const FEE_USDC = 1n;
/** A payment that lacks so many of them at most is the withdrawal's, too: its number and its receiver say that it is. */
const FEES = 4n;
/** Its other indexes were measured to lag up to 1.1 s; the ledger's lag was not. */
const HISTORY_LAG_MS = 10_000;
/** The row may be dated before the answer, and our clock may be wrong by this. */
const DATED_WITHIN_MS = 60_000;

type WithdrawRow = Extract<VenueoneWireLedgerRow, { readonly kind: "withdraw" }>;

export interface VenueoneWithdrawalsDeps {
  readonly rest: VenueoneRest;
  readonly ledger: LedgerSearch;
  readonly collateral: CollateralReads;
  readonly nonces: NonceSequencer;
  readonly standing: CallerStanding;
  readonly tokens: readonly Token[];
  /** That pays; lower case. */
  readonly bridge: string;
  readonly isMainnet: boolean;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** The least that it may be. */
  readonly leastOffsetMs: () => number;
  /** The venue called a nonce too far ahead: our clock, or its measured offset, is wrong. */
  readonly onClockError: () => void;
}

export class VenueoneWithdrawals implements WithdrawalRail {
  readonly needsKey = false;
  readonly takesReceiver = true;
  readonly placesMax = AMOUNT_PLACES;
  readonly historyLagMs = HISTORY_LAG_MS;
  readonly isMatchedById = true;
  readonly actsOnce = true;
  readonly #deps: VenueoneWithdrawalsDeps;

  constructor(deps: VenueoneWithdrawalsDeps) {
    this.#deps = deps;
  }

  token(chainId: number, symbol: string): Token | null {
    return this.#deps.tokens.find((token) => token.chainId === chainId && token.symbol === symbol) ?? null;
  }

  async terms(
    { account, token }: WithdrawalAsk,
    _session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<WithdrawalTerms>> {
    const available = await this.#deps.collateral.withdrawable(account, token.decimals, options);
    if (!available.ok) return available;
    const fee = FEE_USDC * pow10Big(token.decimals);
    return { ...available, value: { fee, minimum: fee + 1n, available: available.value, feeIsInside: true } };
  }

  /** The fee is the venue's and not signed. */
  async make(ask: WithdrawalAsk): Promise<MadeAct> {
    const { isMainnet, leastOffsetMs, nonces } = this.#deps;
    const account = ask.account.toLowerCase();
    const known = this.token(ask.token.chainId, ask.token.symbol);
    if (known === null || known.decimals !== ask.token.decimals)
      return { ok: false, problem: "TOKEN", retryAfterMs: null };
    const draft = draftOf(ask);
    if (!draft.ok) return { ok: false, problem: draft.problem, retryAfterMs: null };
    const next = await nonces.next(account);
    if (!next.ok) return { ok: false, problem: `NONCE_${next.problem}`, retryAfterMs: next.retryAfterMs };
    const request = requestOf(account, draft, isMainnet, next.nonce);
    return {
      ok: true,
      act: {
        toSign: signedText(request.action),
        request: JSON.stringify(request),
        // The window as documented. It was measured to close two minutes earlier: then the venue refuses these bytes.
        validUntilMs: Math.ceil(next.nonce + NONCE_LIFE_MS - leastOffsetMs()),
      },
    };
  }

  async send(
    { request: stored }: Pick<WalletAct, "request">,
    signature: string,
    _session: AccountSession | null,
    options: CallOptions,
  ): Promise<MoneyOutcome> {
    const request = readRequest(stored);
    if (request === null || !SIGNATURE_TEXT.test(signature)) return notSentAct("ACT_UNREADABLE");
    const { account, action } = request;
    const result = await this.#deps.rest.exchange(signedBody(action, action.time, signature), account, 1, options);
    if (result.kind !== "response") return unansweredAct(result);
    return result.status === 200 ? this.#answer(request, result) : wordlessAct(result);
  }

  async look(
    withdrawal: { readonly ask: WithdrawalAsk; readonly request: string; readonly sentAtMs: number },
    _session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<WithdrawalStanding>> {
    const request = readRequest(withdrawal.request);
    if (request === null) return failedRead("BAD_RESPONSE", "the stored act is not one of this room");
    const { account, action } = request;
    const { clockOffsetMs, ledger } = this.#deps;
    const isOurs = (row: VenueoneWireLedgerRow): row is WithdrawRow =>
      row.kind === "withdraw" && row.nonce === action.time;
    const sinceMs = withdrawal.sentAtMs + clockOffsetMs() - DATED_WITHIN_MS;
    const row = await ledger.find(account, sinceMs, isOurs, options);
    const { decimals } = withdrawal.ask.token;
    return normalizedRead(row, "ledger", (found): WithdrawalStanding => {
      if (found === null) return { kind: "absent" };
      const paid = tokenUnits(found.usdc, decimals, "usdc");
      // The row's hash is of the venue's own chain.
      const named = found.fee === null ? {} : { fee: tokenUnits(found.fee, decimals, "fee") };
      return { kind: "left", venueId: String(found.nonce), hash: null, paid, ...named };
    });
  }

  payoutEvent({
    ask,
    request: stored,
    sentAtMs,
    fee,
    shown,
  }: Pick<PastWithdrawal, "ask" | "fee" | "request" | "sentAtMs"> & {
    readonly shown: bigint | null;
  }): PayoutEvent | null {
    const request = readRequest(stored);
    if (request === null) return null;
    // Whether the fee is a part of the amount is not stated, and the venue may have raised it since: what its ledger names
    // is the payment, however much it kept, and else what lacks a few fees at most.
    const exact = [ask.amount - fee, ...(shown === null ? [] : [shown])];
    const least = ask.amount - FEES * FEE_USDC * pow10Big(ask.token.decimals);
    const { bridge, clockOffsetMs } = this.#deps;
    return bridgePayout(bridge, request, { exact, least, most: ask.amount }, sentAtMs + clockOffsetMs());
  }

  #answer(request: WithdrawRequest, response: HttpResponse): MoneyOutcome {
    const { nonces, onClockError, standing } = this.#deps;
    const decoded = decodeJson(response.body, decodeExchange);
    if (!decoded.ok) return UNKNOWN_ACT;
    if (decoded.value.kind === "ok") {
      if (decoded.value.type !== "default") return UNKNOWN_ACT;
      // Only the wallet itself can have signed that.
      standing.answeredWell(request.account);
      return { kind: "done", venueId: String(request.action.time) };
    }
    const { text } = decoded.value;
    const nonce = nonceProblem(text);
    if (nonce?.kind === "tooHigh") onClockError();
    else if (nonce !== null) nonces.raise(request.account, nonce.seenNonce);
    return outcomeOfRefusal(request, text);
  }
}
