/**
 * Changes to orders that rest: amend (V3 keys only, as the venue has it), cancel all, and the countdown that cancels
 * all. The venue does the latter two per symbol, so those of every symbol are several calls with one outcome: unknown
 * if any is, and nothing is reported as done that might not be.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import { formatScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  AmendOutcome,
  CancelAllOutcome,
  OrderChange,
  Refused,
  ScheduleOutcome,
  VenueOrder,
} from "../../../engine/domain/order.js";
import type { AccountNames, AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead, localReject, refusedByRead, refusedOf } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { limitChangeProblem } from "../../shared/orders/check-command.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import { asFields, decodeJson } from "../../shared/room/wire-fields.js";
import { normalizeOrder } from "../account/normalize.js";
import { decodeOrder, decodeOrders } from "../account/wire.js";
import { amendOrderCall, cancelAllCall, countdownCancelAllCall, openOrdersCall } from "../account/calls.js";
import { type Countdown, Countdowns, type Following } from "./countdowns.js";
import type { VenuetwoExchange } from "./exchange.js";
import type { OrderMemory } from "../account/order-memory.js";
import type { VenuetwoCall, VenuetwoRest } from "../account/rest.js";
import { VenuetwoSession } from "../account/session.js";

/** The longest countdown we ask for; the venue states none. */
const MAX_COUNTDOWN_MS = 24 * 3_600_000;
/** For the countdown of one more symbol, which nobody waits for. */
const FOLLOW: CallOptions = { timeoutMs: 5_000, lane: "exit" };

export interface VenuetwoOrderChangesDeps {
  readonly exchange: VenuetwoExchange;
  readonly rest: VenuetwoRest;
  readonly memory: OrderMemory;
  readonly names: AccountNames;
  readonly clock: Clock;
}

export class VenuetwoOrderChanges {
  readonly #deps: VenuetwoOrderChangesDeps;
  readonly #countdowns: Countdowns;
  /** Keys whose account is being asked for, and the symbols they dealt in; bounded by the orders in flight. */
  readonly #asked = new Map<string, Set<string>>();

  constructor(deps: VenuetwoOrderChangesDeps) {
    this.#deps = deps;
    this.#countdowns = new Countdowns(deps.clock, deps.names);
  }

  /** Keeps the order's id and its place where only the size shrinks; a refused change leaves the order as it was. */
  async amend(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
  ): Promise<AmendOutcome> {
    const problem = amendProblem(session, instrument, current, change);
    if (problem !== null) return problem;
    const call = amendOrderCall(instrument.nativeSymbol, [
      ["orderId", current.venueOrderId],
      ["quantity", formatScaled(change.qtyLots, instrument.qtyDecimals)],
      ["price", formatScaled(change.priceTicks, instrument.priceDecimals)],
    ]);
    const exchanged = await this.#deps.exchange.send(session, call, options);
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const decoded = decodeJson(exchanged.answer.body, (value) => normalizeOrder(decodeOrder(value), instrument));
    if (!decoded.ok) return { outcome: "unknown", cause: "REPLY_UNREADABLE" };
    const order = decoded.value;
    if (order.venueOrderId !== current.venueOrderId) return { outcome: "unknown", cause: "REPLY_OF_ANOTHER_ORDER" };
    return { outcome: "accepted", order: { ...order, reduceOnly: current.reduceOnly } };
  }

  /** The venue does not say how many it cancelled. `failed`: symbols it refused, one entry each. */
  async cancelAll(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<CancelAllOutcome> {
    const deadline = new Deadline(this.#deps.clock, options);
    const symbols = instrument === null ? await this.#openSymbols(session, options) : given([instrument.nativeSymbol]);
    if (!symbols.ok) return refusedByRead(symbols);
    const results = await this.#each(session, symbols.value, deadline, cancelAllCall, isDone);
    if (results.unclear !== null) return { outcome: "unknown", cause: results.unclear };
    const [first] = results.failed;
    if (first !== undefined && results.doneCount === 0) return first;
    return { outcome: "accepted", canceledCount: symbols.value.length === 0 ? 0 : null, failed: results.failed };
  }

  /**
   * Counts down in every symbol with open orders, and in those that these credentials dealt in here before, for orders
   * still to come. `follow` covers a symbol dealt in for the first time after this call.
   */
  async scheduleCancel(session: AccountSession, atMs: number | null, options: CallOptions): Promise<ScheduleOutcome> {
    const deadline = new Deadline(this.#deps.clock, options);
    const { clock } = this.#deps;
    const countdownMs = atMs === null ? 0 : Math.floor(atMs - clock.wallMs());
    const endMs = clock.monoNs() / 1e6 + countdownMs;
    if (atMs !== null && !(countdownMs > 0 && countdownMs <= MAX_COUNTDOWN_MS)) {
      const text = `a scheduled cancel lies ahead, at most ${MAX_COUNTDOWN_MS} ms`;
      return refusedOf(localReject("VENUE_STATE", "SCHEDULE_TIME", text));
    }
    const before = this.#countdowns.united(session);
    // From here on, so that an order placed while this goes on is followed too.
    const begun =
      session instanceof VenuetwoSession && atMs !== null ? this.#countdowns.begin(session, countdownMs) : null;
    const ending = atMs === null ? this.#countdowns.ending(session) : null;
    // Of the time before: what follows an order from here on has this time.
    const following = [...((ending ?? begun)?.following ?? [])];
    const callOf = (symbol: string): VenuetwoCall => this.#countdownCall(symbol, begun === null ? null : endMs);
    const counted = await this.#count(session, callOf, begun, deadline);
    const outcome =
      counted.outcome === "accepted" ? await this.#resend(session, callOf, following, deadline, counted) : counted;
    // The next order of such a symbol sends its countdown again.
    for (const { symbol } of counted.outcome === "accepted" && outcome !== counted ? following : []) {
      begun?.symbols.delete(symbol);
      begun?.unsure.add(symbol);
    }
    if (ending !== null && outcome.outcome === "accepted") this.#countdowns.ended(session, ending);
    if (begun === null || outcome.outcome !== "rejected") return outcome;
    // An order was followed meanwhile, or may have been: something may count down after all.
    if (begun.symbols.size + begun.unsure.size > 0) return { outcome: "unknown", cause: "PARTIAL" };
    this.#countdowns.undo(session, begun, before);
    return outcome;
  }

  /**
   * `endMs`: monotonic; null stops the running countdown. Counts from when it is sent; never 0 then, which would stop
   * it.
   */
  #countdownCall(symbol: string, endMs: number | null): VenuetwoCall {
    const leftMs = endMs === null ? 0 : Math.max(1, Math.floor(endMs - this.#deps.clock.monoNs() / 1e6));
    return countdownCancelAllCall(symbol, leftMs);
  }

  /** `begun` null: the running countdown is stopped. */
  async #count(
    session: AccountSession,
    callOf: (symbol: string) => VenuetwoCall,
    begun: Countdown | null,
    deadline: Deadline,
  ): Promise<ScheduleOutcome> {
    const { memory } = this.#deps;
    const left = deadline.left();
    if (left === null) return refusedOf(localReject("VENUE_STATE", "DEADLINE", "no time left before sending"));
    const open = await this.#openSymbols(session, left);
    if (!open.ok) return refusedByRead(open);
    // Those of other keys of the account too, whose orders may have ended meanwhile.
    const covered = begun === null ? this.#countdowns.coveredOf(session) : begun.earlier;
    const symbols = [...new Set([...open.value, ...memory.symbolsOf(session), ...covered])];
    const { doneCount, failed, unclear } = await this.#each(session, symbols, deadline, callOf, isCountdown);
    const [refused] = failed;
    if (unclear === null && refused === undefined) {
      for (const symbol of symbols) begun?.symbols.add(symbol);
      return { outcome: "accepted", symbols };
    }
    if (unclear === null && refused !== undefined && doneCount === 0) return refused;
    // Some countdowns run: a refusal would mean that none does. The next arm and the end cover all of these symbols.
    for (const symbol of symbols) begun?.unsure.add(symbol);
    return { outcome: "unknown", cause: unclear ?? "PARTIAL" };
  }

  /**
   * Calls that were under way with the earlier time may have reached the venue last: their symbols are sent again once
   * they are answered.
   */
  async #resend(
    session: AccountSession,
    callOf: (symbol: string) => VenuetwoCall,
    following: readonly Following[],
    deadline: Deadline,
    counted: ScheduleOutcome,
  ): Promise<ScheduleOutcome> {
    for (const { done } of following) {
      const left = deadline.left();
      const isOver = left !== null && (await within(this.#deps.clock, done, left.timeoutMs)).done;
      if (!isOver) return { outcome: "unknown", cause: "FOLLOWING" };
    }
    const symbols = [...new Set(following.map(({ symbol }) => symbol))];
    const results = await this.#each(session, symbols, deadline, callOf, isCountdown);
    if (results.unclear !== null) return { outcome: "unknown", cause: results.unclear };
    return results.failed.length > 0 ? { outcome: "unknown", cause: "PARTIAL" } : counted;
  }

  /** An order of the symbol was sent: covers the symbol where the account has a countdown that does not. */
  follow(session: AccountSession, symbol: string): void {
    const countdown = this.#countdowns.missing(session, symbol);
    if (countdown !== null) {
      void this.#followWith(countdown, symbol);
    } else if (this.#countdowns.mayHave(session)) {
      const asked = this.#asked.get(session.accountId);
      if (asked === undefined) void this.#followOnceNamed(session, symbol);
      else asked.add(symbol);
    }
  }

  /** A countdown of another key may be this account's. Never rejects; without an answer the next arm covers the symbols. */
  async #followOnceNamed(session: AccountSession, symbol: string): Promise<void> {
    const symbols = new Set([symbol]);
    this.#asked.set(session.accountId, symbols);
    try {
      const name = await this.#deps.names.read(session, FOLLOW);
      this.#asked.delete(session.accountId);
      if (!name.ok) return;
      for (const one of symbols) {
        const countdown = this.#countdowns.missingOf(name.value, one);
        if (countdown !== null) void this.#followWith(countdown, one);
      }
    } catch {
      // A fault of ours: the same as no answer.
      this.#asked.delete(session.accountId);
    }
  }

  /** Never rejects. What fails is tried again with the symbol's next order, and with the next arm. */
  #followWith(countdown: Countdown, symbol: string): Promise<void> {
    const { following, symbols } = countdown;
    symbols.add(symbol);
    const done = this.#followNow(countdown, symbol).finally(() => following.delete(follow));
    const follow: Following = { symbol, done };
    following.add(follow);
    return done;
  }

  async #followNow(countdown: Countdown, symbol: string): Promise<void> {
    const { session, symbols, unsure } = countdown;
    const countdownMs = Math.max(1, this.#countdowns.leftMs(countdown));
    let isRefused = false;
    try {
      const exchanged = await this.#deps.exchange.send(session, countdownCancelAllCall(symbol, countdownMs), FOLLOW);
      const taken = exchanged.kind === "answered" ? decodeJson(exchanged.answer.body, isCountdown) : null;
      if (taken?.ok === true && taken.value) return;
      isRefused = exchanged.kind === "rejected";
    } catch {
      // A fault of ours: the same as no answer.
    }
    if (!isRefused) unsure.add(symbol);
    symbols.delete(symbol);
  }

  async #openSymbols(session: AccountSession, options: CallOptions): Promise<Read<readonly string[]>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const rows = await this.#deps.rest.read(session, openOrdersCall(null), decodeOrders, options);
    return rows.ok ? { ...rows, value: [...new Set(rows.value.map((row) => row.symbol))] } : rows;
  }

  /** One call per symbol. After an unclear one the rest is tried all the same: these calls only take orders away. */
  async #each(
    session: AccountSession,
    symbols: readonly string[],
    deadline: Deadline,
    callOf: (symbol: string) => VenuetwoCall,
    isAnswer: (value: unknown) => boolean,
  ): Promise<{ readonly doneCount: number; readonly failed: readonly Refused[]; readonly unclear: string | null }> {
    let doneCount = 0;
    let unclear: string | null = null;
    const failed: Refused[] = [];
    for (const symbol of symbols) {
      const left = deadline.left();
      if (left === null) {
        failed.push(refusedOf(localReject("VENUE_STATE", "DEADLINE", `no time left before sending for ${symbol}`)));
        continue;
      }
      const exchanged = await this.#deps.exchange.send(session, callOf(symbol), left);
      if (exchanged.kind === "rejected") {
        failed.push(refusedOf(exchanged.rejected));
      } else if (exchanged.kind === "unknown") {
        unclear ??= exchanged.cause;
      } else {
        const decoded = decodeJson(exchanged.answer.body, isAnswer);
        if (decoded.ok && decoded.value) doneCount++;
        else unclear ??= "REPLY_SHAPE";
      }
    }
    return { doneCount, failed, unclear };
  }
}

function given(symbols: readonly string[]): Read<readonly string[]> {
  return { ok: true, value: symbols, asOfMs: 0, source: "venue" };
}

/** `{"code":"200", …}`, as text or number by dialect. */
function isDone(value: unknown): boolean {
  return Number(asFields(value, "answer")["code"]) === 200;
}

function isCountdown(value: unknown): boolean {
  return asFields(value, "answer")["countdownTime"] !== undefined;
}

function amendProblem(
  session: AccountSession,
  instrument: Instrument,
  current: VenueOrder,
  change: OrderChange,
): Refused | null {
  const refuse = (...reason: Parameters<typeof localReject>): Refused => refusedOf(localReject(...reason));
  if (instrument.venue !== "venuetwo" || current.nativeSymbol !== instrument.nativeSymbol)
    return refuse("VENUE_STATE", "INSTRUMENT", "not an order of this instrument");
  if (session instanceof VenuetwoSession && session.identity.kind === "v1")
    return refuse("VENUE_STATE", "NOT_SUPPORTED", "this venue amends orders for V3 agent keys only");
  if (!/^\d{1,40}$/.test(current.venueOrderId)) return refuse("NOT_FOUND", "BAD_REF", "not an order id of this venue");
  const problem = limitChangeProblem(current, change);
  return problem === null ? null : refusedOf(problem);
}
