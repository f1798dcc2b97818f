/**
 * New rows: what is checked before one is made. In the turn of its lane. Rejections mean that nothing was signed and no
 * row was made.
 */
import { type Chain, COIN_DECIMALS } from "../chain.js";
import { readHex, toHex } from "../custody/digest/bytes.js";
import { decimalPlaces, formatScaledBig } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { CallOptions, Read } from "../ports.js";
import type { StateWrite } from "../storage/state-store.js";
import type { DepositRoute, Token, VenueMoney, WithdrawalAsk as RailAsk, WithdrawalTerms } from "../venue-money.js";
import { isSent, mayTakeYet, planOf } from "./deposit-steps.js";
import { callOf } from "./deposit-preparation.js";
import { answerOf, callOptions, laneOf, type TransferParts, withSession } from "./transfer-parts.js";
import { type DepositRow, isPutBack, type InternalRow, type StepName, type WithdrawalRow } from "./transfer-row.js";

/** Whose money, and which request asks. */
interface Asker {
  /** The caller's, so that the same request, asked again, is the same transfer; null: a new one. */
  readonly transferId: string | null;
  readonly ownerId: string | null;
  readonly walletId: string;
  /** The wallet's address, lower case. */
  readonly account: string;
  readonly venue: RoutableVenue;
  readonly requestId: string;
  /** Rows of the caller's that belong into the commit of the new row; asked for once that is checked. */
  readonly alongside: () => readonly StateWrite[];
}

/** Amounts are integers in the token's smallest unit. */
export interface DepositAsk extends Asker {
  readonly chainId: number;
  /** As the caller named it. */
  readonly network: string;
  readonly symbol: string;
  readonly amount: bigint;
  readonly broker: number | null;
}

export interface WithdrawalAsk extends Asker {
  readonly chainId: number;
  readonly network: string;
  readonly symbol: string;
  readonly amount: bigint;
  /** Compared with what is available, in place of the amount where it is larger (interface spec 4.5, `feeBuffer`). */
  readonly amountToCheck: bigint;
  readonly receiver: string;
  readonly accountType: "spot" | "perp" | null;
}

export interface InternalAsk extends Asker {
  readonly asset: string;
  /** Decimal text in token units. */
  readonly amount: string;
  readonly kindType: InternalRow["kindType"];
  readonly clientTranId: string;
}

/** What is known of a deposit before anything is signed. */
export interface DepositCheck {
  readonly row: DepositRow;
  readonly minimum: bigint;
  /** Of the token, less what deposits under way will take. */
  readonly available: bigint;
  readonly gas: GasCheck;
}

export interface GasCheck {
  /** In the order of their transactions. */
  readonly plan: readonly StepName[];
  /** The most that they and those under way may cost, in wei. */
  readonly needed: bigint;
  readonly available: bigint;
}

export interface WithdrawalCheck {
  readonly token: Token;
  readonly railAsk: RailAsk;
  readonly terms: WithdrawalTerms;
}

/** Of a step that cannot be estimated before the one ahead of it is mined. */
const GAS_GUESS = 300_000n;
/** As a step's limit is above its estimate. */
const GAS_NUMERATOR = 5n;
const GAS_DENOMINATOR = 4n;

export class Openings {
  readonly #parts: TransferParts;

  constructor(parts: TransferParts) {
    this.#parts = parts;
  }

  async deposit(ask: DepositAsk): Promise<DepositRow> {
    return (await this.depositCheck(ask)).row;
  }

  /**
   * Rejects with UNSUPPORTED_EXCHANGE, INVALID_PARAMETERS, DEPOSIT_BELOW_MINIMUM, INSUFFICIENT_BALANCE, INSUFFICIENT_GAS
   * or CHAIN_UNAVAILABLE.
   */
  async depositCheck(ask: DepositAsk): Promise<DepositCheck> {
    const { account, amount } = ask;
    const route = railsOf(this.#parts, ask.venue).deposits.route(ask.chainId, ask.symbol);
    const chain = this.#parts.chains.get(ask.chainId);
    if (route === null) throw notTaken("tokenSymbol", "is not taken on this network");
    if (chain === undefined)
      throw new ServiceError("CHAIN_UNAVAILABLE", { chainId: ask.chainId, reason: "NOT_CONFIGURED" });
    const { token, spender, minimum } = route;
    if (amount < minimum)
      throw new ServiceError("DEPOSIT_BELOW_MINIMUM", {
        ...{ minimum: formatScaledBig(minimum, token.decimals), amount: formatScaledBig(amount, token.decimals) },
        token: token.symbol,
      });
    const options = callOptions("asked", ask);
    await this.#checkDecimals(token, chain, options);
    const held = await this.#read(chain, () => chain.tokenBalance(token.address, account, options));
    const free = held - this.#promised(ask, token);
    if (free < amount)
      throw new ServiceError("INSUFFICIENT_BALANCE", {
        ...{ reason: "DEPOSIT", token: token.symbol, chainId: ask.chainId, address: account },
        ...{
          amount: formatScaledBig(amount, token.decimals),
          available: formatScaledBig(free > 0n ? free : 0n, token.decimals),
        },
      });
    const call = route.call(amount, ask.broker);
    const row: DepositRow = {
      ...this.#base(ask),
      ...{ kind: "deposit", chainId: ask.chainId, network: ask.network, token: storedToken(token) },
      ...{ amount: amount.toString(), broker: ask.broker, spender: spender?.toLowerCase() ?? null },
      ...{ to: call.to.toLowerCase(), data: toHex(call.data), plan: [], steps: [] },
      ...{ revertsSinceMs: null, isCreditAwaited: false },
    };
    const gas = await this.#checkGas(row, route, chain, options);
    return { row, minimum, available: free, gas };
  }

  async withdrawal(ask: WithdrawalAsk): Promise<WithdrawalRow> {
    const { token, railAsk, terms } = await this.withdrawalCheck(ask);
    const { fee, feeIsInside } = terms;
    const rail = railsOf(this.#parts, ask.venue).withdrawals;
    const made = await answerOf<Awaited<ReturnType<typeof rail.make>> | null>(
      this.#parts,
      () => rail.make(railAsk, fee),
      null,
    );
    if (made?.ok !== true) throw this.#venueAway(ask.venue, made === null ? null : { message: made.problem, ...made });
    const { toSign, request, validUntilMs } = made.act;
    return {
      ...this.#base(ask),
      ...{ kind: "withdrawal", chainId: ask.chainId, network: ask.network, token: storedToken(token) },
      ...{ amount: ask.amount.toString(), receiver: ask.receiver, accountType: ask.accountType },
      ...{ fee: fee.toString(), feeIsInside },
      act: { toSign: { kind: toSign.kind, text: toSign.text }, request, validUntilMs, signature: null },
      ...{ sentAtMs: null, lastSentAtMs: null, isAccepted: false, payout: null, hash: null, paid: null },
    };
  }

  /**
   * Rejects with UNSUPPORTED_EXCHANGE, INVALID_PARAMETERS, RECEIVER_MISMATCH, API_KEY_NOT_FOUND, INSUFFICIENT_BALANCE,
   * TRANSFER_IN_PROGRESS, VENUE_UNAVAILABLE.
   */
  async withdrawalCheck(ask: WithdrawalAsk): Promise<WithdrawalCheck> {
    const rail = railsOf(this.#parts, ask.venue).withdrawals;
    const { account, receiver, amount, accountType } = ask;
    if (!rail.takesReceiver && receiver !== account) throw new ServiceError("RECEIVER_MISMATCH", { receiver, account });
    const token = rail.token(ask.chainId, ask.symbol);
    if (token === null) throw notTaken("asset", "is not paid out on this chain");
    checkPlaces(formatScaledBig(amount, token.decimals), rail.placesMax, token.symbol);
    if (!rail.isMatchedById) this.#checkAlone(ask);
    const options = callOptions("asked", ask);
    const railAsk: RailAsk = { account, receiver, token, amount, accountType };
    const terms = await withSession(this.#parts, ask, options, (session) => {
      if (rail.needsKey && session === null) throw new ServiceError("API_KEY_NOT_FOUND", { exchange: ask.venue });
      return answerOf<Awaited<ReturnType<typeof rail.terms>> | null>(
        this.#parts,
        () => rail.terms(railAsk, session, options),
        null,
      );
    });
    if (terms === null || !terms.ok) throw this.#venueAway(ask.venue, terms);
    const { fee, minimum, available, feeIsInside } = terms.value;
    const inUnits = (value: bigint) => formatScaledBig(value, token.decimals);
    if (amount < minimum || (feeIsInside && amount <= fee))
      throw notTaken("amount", `must be at least ${inUnits(minimum)}, and more than the fee of ${inUnits(fee)}`);
    const checked = ask.amountToCheck > amount ? ask.amountToCheck : amount;
    const needed = feeIsInside ? checked : checked + fee;
    if (needed > available)
      throw new ServiceError("INSUFFICIENT_BALANCE", {
        ...{ token: token.symbol, needed: inUnits(needed), available: inUnits(available), fee: inUnits(fee) },
      });
    return { token, railAsk, terms: terms.value };
  }

  /** Rejects with UNSUPPORTED_EXCHANGE, INVALID_PARAMETERS. */
  internal(ask: InternalAsk): InternalRow {
    const { asset, amount, kindType, clientTranId } = ask;
    this.checkInternal(ask);
    return {
      ...this.#base(ask),
      ...{ kind: "internal", asset, amount, kindType, clientTranId },
      ...{ sentAtMs: null, lastSentAtMs: null, isRefusedAgain: false },
    };
  }

  /** Likewise. */
  checkInternal({ venue, amount, asset }: Pick<InternalAsk, "venue" | "amount" | "asset">): void {
    const { internal } = railsOf(this.#parts, venue);
    if (internal === null) throw new ServiceError("UNSUPPORTED_EXCHANGE");
    checkPlaces(amount, internal.placesMax, asset);
  }

  #base({ transferId, ownerId, walletId, account, venue, requestId }: Asker) {
    const nowMs = this.#parts.clock.wallMs();
    return {
      ...{ transferId: transferId ?? this.#parts.newId(), ownerId, walletId, account, venue, requestId },
      ...{ createdAtMs: nowMs, updatedAtMs: nowMs, reason: null, reasonText: "", venueId: null },
      state: "created" as const,
    };
  }

  /** What deposits under way will take from the same balance. */
  #promised(ask: DepositAsk, token: Token): bigint {
    let sum = 0n;
    for (const row of this.#parts.book.open(ask.account))
      if (row.kind === "deposit" && laneOf(row) === laneOf({ ...ask, kind: "deposit" }))
        if (row.token.address === token.address && mayTakeYet(row) && !isPutBack(row)) sum += BigInt(row.amount);
    return sum;
  }

  /** One at a time where the venue's history does not tell two of them apart. */
  #checkAlone({ venue, account, chainId, symbol }: WithdrawalAsk): void {
    for (const row of this.#parts.book.open(account))
      if (row.kind === "withdrawal" && row.venue === venue && row.chainId === chainId)
        if (row.token.symbol === symbol)
          throw new ServiceError("TRANSFER_IN_PROGRESS", { transferId: row.transferId, exchange: venue });
  }

  /** A wrong scale in the configuration would move another amount. */
  async #checkDecimals({ address, decimals, symbol }: Token, chain: Chain, options: CallOptions): Promise<void> {
    const real = await this.#read(chain, () => chain.tokenDecimals(address, options));
    if (real === decimals) return;
    this.#parts.logger.error("transfers.other_decimals", { name: symbol, part: `chain ${chain.chainId}` });
    throw new ServiceError("FAILED_TO_DEPOSIT", { reason: "TOKEN_DECIMALS", token: symbol, chainId: chain.chainId });
  }

  async #checkGas(row: DepositRow, route: DepositRoute, chain: Chain, options: CallOptions): Promise<GasCheck> {
    const { account, token } = row;
    const { spender } = route;
    const native = await this.#read(chain, () => chain.nativeBalance(account, options));
    const price = await this.#read(chain, () => chain.gasPrice(options));
    const allowance =
      spender === null ? 0n : await this.#read(chain, () => chain.allowance(token.address, account, spender, options));
    const plan = planOf(row, allowance);
    const { to, data } = callOf(row, plan[0] ?? "deposit");
    const call = { from: account, to, value: 0n, data: readHex(data) ?? new Uint8Array() };
    const estimate = await this.#read(chain, () => chain.estimateGas(call, options));
    // Without money for gas some endpoints say so here; a call that reverts is refused when its step begins.
    const gas = estimate.kind === "gas" ? estimate.gas : GAS_GUESS;
    const limit = (gas * GAS_NUMERATOR) / GAS_DENOMINATOR + GAS_GUESS * BigInt(plan.length - 1);
    const needed = limit * price.maxFeePerGas + this.#promisedGas(row);
    if (native >= needed) return { plan, needed, available: native };
    throw new ServiceError("INSUFFICIENT_GAS", {
      ...{ chainId: row.chainId, address: account },
      ...{ needed: formatScaledBig(needed, COIN_DECIMALS), available: formatScaledBig(native, COIN_DECIMALS) },
    });
  }

  /** The most that transactions under way may still cost, in wei. */
  #promisedGas(row: DepositRow): bigint {
    let sum = 0n;
    for (const other of this.#parts.book.open(row.account))
      if (other.kind === "deposit" && laneOf(other) === laneOf(row))
        for (const step of other.steps)
          if (isSent(step) && step.mined === null && !step.isReplaced)
            sum += BigInt(step.gasLimit) * BigInt(step.versions.at(-1)?.maxFeePerGas ?? 0);
    return sum;
  }

  async #read<T>(chain: Chain, call: () => Promise<Read<T>>): Promise<T> {
    const read = await answerOf<Read<T> | null>(this.#parts, call, null);
    if (read?.ok === true) return read.value;
    const retry = read?.retryAfterMs ?? null;
    throw new ServiceError("CHAIN_UNAVAILABLE", {
      ...{ chainId: chain.chainId, reason: read?.code ?? "TIMEOUT" },
      ...(retry === null ? {} : { retryAfterMs: retry }),
    });
  }

  #venueAway(
    venue: RoutableVenue,
    failure: { readonly message: string; readonly retryAfterMs: number | null } | null,
  ): ServiceError {
    const retry = failure?.retryAfterMs ?? null;
    return new ServiceError("VENUE_UNAVAILABLE", {
      ...{ exchange: venue, reason: failure?.message ?? "TIMEOUT" },
      ...(retry === null ? {} : { retryAfterMs: retry }),
    });
  }
}

function railsOf({ rails }: TransferParts, venue: RoutableVenue): VenueMoney {
  const rail = rails.get(venue);
  if (rail === undefined) throw new ServiceError("UNSUPPORTED_EXCHANGE");
  return rail;
}

function storedToken({ symbol, address, decimals, resetsAllowance }: Token) {
  return { symbol, address: address.toLowerCase(), decimals, resetsAllowance };
}

/** A finer amount would be refused by the venue, or listed as another one than was asked for. */
function checkPlaces(amount: string, placesMax: number, symbol: string): void {
  if (decimalPlaces(amount) > placesMax)
    throw notTaken("amount", `must have at most ${placesMax} decimals of ${symbol}`);
}

function notTaken(path: string, problem: string): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields: [{ path, problem }] });
}
