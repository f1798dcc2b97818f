/**
 * What S does with wallets, in turn: signatures with their retries, an operator's refresh, and the routine refresh that
 * is due (docs/mpc.md, 3.4, 9, 10). One act of a wallet at a time; nothing waits longer than its caller.
 */
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { Clock } from "../../domain/clock.js";
import type { SessionEnd } from "../mpc/sessions/effects.js";
import type { FinalSignature } from "../mpc/parts/final-signature.js";
import type { RefreshMode } from "../mpc/state/state-row.js";
import type { HeldWallet } from "./held-wallet.js";
import type { SessionOutcome } from "./live-session.js";
import { notReady, type ServiceHost, needsRefresh } from "./service-host.js";
import { errorOfEnd, isTransport, type PolicyRules, unavailable } from "./session-outcomes.js";
import { Turns, WalletTurns } from "./session-queue.js";

export const SESSIONS_MAX = 32;
export const QUEUED_MAX = 16;
/** Long steps run one behind the other and have 10 s each: those of two creations and one refresh fit on a busy machine. */
const REFRESHES_MAX = 1;
/** Of a signature, from the request on: two sessions that run their whole time fit. */
export const SIGN_MS = 12_000;
export const REFRESH_MS = 60_000;
/** More sessions after a transport failure. */
export const RETRIES_MAX = 2;
/** For a connection that comes back between two sessions of one request. */
const RECONNECT_MS = 3_000;
const ROUTINE_MS = 60_000;

export class WalletActs {
  readonly #host: ServiceHost;
  readonly #clock: Clock;
  readonly #rules: PolicyRules;
  readonly #turns: WalletTurns;
  readonly #places: Turns;
  readonly #refreshes: Turns;
  /** Wallets whose routine refresh is under way or was tried less than a minute ago. */
  readonly #refreshing = new Set<string>();

  constructor(host: ServiceHost, clock: Clock, rules: PolicyRules) {
    this.#host = host;
    this.#clock = clock;
    this.#rules = rules;
    this.#turns = new WalletTurns(clock, QUEUED_MAX);
    // Each wallet has its own bound before this one.
    this.#places = new Turns(clock, SESSIONS_MAX, Number.POSITIVE_INFINITY);
    // One a wallet, by its own turn.
    this.#refreshes = new Turns(clock, REFRESHES_MAX, Number.POSITIVE_INFINITY);
  }

  get queuedCount(): number {
    return this.#turns.waitingCount + this.#places.waitingCount;
  }

  /** Rejects with what a caller gets. */
  async sign(wallet: HeldWallet, intent: Uint8Array, digest: Uint8Array): Promise<FinalSignature> {
    const deadline = new Deadline(this.#clock, SIGN_MS);
    // What is known at once is said at once: a frozen wallet has no queue.
    if (wallet.row?.status === "frozen") throw new ServiceError("WALLET_FROZEN");
    if (!this.#host.host.isReady) throw notReady(this.#host.host);
    return this.#turn(wallet, deadline, async () => {
      const outcome = await this.#tried(wallet, deadline, () => this.#host.sign(wallet, intent, digest));
      if (outcome.signature === null) throw new ServiceError("FAILED_TO_SIGN");
      return outcome.signature;
    });
  }

  /** An operator's act. Rejects with what it came to; the epoch that is active then. */
  async refresh(wallet: HeldWallet, mode: RefreshMode): Promise<number> {
    const deadline = new Deadline(this.#clock, REFRESH_MS);
    return this.#refreshTurn(wallet, deadline, () => this.#refreshed(wallet, mode, deadline, true), true);
  }

  /** Called whenever a wallet may have become due. At most one try a minute; never throws. */
  refreshIfDue(wallet: HeldWallet): void {
    if (!needsRefresh(wallet) || this.#refreshing.has(wallet.id)) return;
    if (!this.#host.host.isReady || !wallet.isSettled) return;
    this.#refreshing.add(wallet.id);
    this.#clock.setTimer(() => {
      this.#refreshing.delete(wallet.id);
      this.refreshIfDue(wallet);
    }, ROUTINE_MS);
    const deadline = new Deadline(this.#clock, ROUTINE_MS);
    const act = async () => (needsRefresh(wallet) ? this.#refreshed(wallet, 0, deadline, false) : 0);
    // Its end is in the events; the next try is the timer's.
    this.#refreshTurn(wallet, deadline, act, false).catch(() => {});
  }

  #turn<Result>(wallet: HeldWallet, deadline: Deadline, act: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(wallet.id, deadline.leftMs(), () => this.#places.run(deadline.leftMs(), act));
  }

  /** Before the signatures of its wallet, however many wait; among refreshes, an operator's goes first. A place is taken last. */
  #refreshTurn<Result>(
    wallet: HeldWallet,
    deadline: Deadline,
    act: () => Promise<Result>,
    isOperators: boolean,
  ): Promise<Result> {
    const placed = () => this.#places.run(deadline.leftMs(), act, true);
    const refreshed = () => this.#refreshes.run(deadline.leftMs(), placed, isOperators);
    return this.#turns.run(wallet.id, deadline.leftMs(), refreshed, true);
  }

  async #refreshed(wallet: HeldWallet, mode: RefreshMode, deadline: Deadline, isOperators: boolean): Promise<number> {
    const outcome = await this.#host.refresh(wallet, mode, isOperators);
    if (outcome.end.kind !== "done") {
      const error = await this.#errorOf(wallet, outcome, deadline);
      // Decided, and the peer's answer was lost: both have the new epoch once they are settled.
      const isMade =
        outcome.isDecided && (await this.#host.waiters.until(() => this.#isMade(wallet), deadline.leftMs()));
      if (!isMade) {
        // The operator hears that it failed: where it is made all the same, that is for the audit log to say.
        if (wallet.unconfirmed !== null) wallet.unconfirmed = { ...wallet.unconfirmed, isAsked: false };
        throw error;
      }
    }
    return wallet.row?.activeEpoch ?? 0;
  }

  #isMade(wallet: HeldWallet): boolean {
    return this.#host.host.isReady && wallet.isSettled && wallet.isPlain;
  }

  /** At most two more sessions, each a new one with a new ctr, within the caller's time. */
  async #tried(wallet: HeldWallet, deadline: Deadline, act: () => Promise<SessionOutcome>): Promise<SessionOutcome> {
    for (let retry = 0; ; retry++) {
      const outcome = await act();
      if (outcome.end.kind === "done") return outcome;
      if (!isTransport(outcome.end) || retry >= RETRIES_MAX) throw await this.#errorOf(wallet, outcome, deadline);
      const isBack = () => this.#host.host.isReady && wallet.isSettled;
      if (!(await this.#host.waiters.until(isBack, Math.min(RECONNECT_MS, deadline.leftMs())))) throw unavailable();
    }
  }

  /** C that refuses by its state may be frozen: S asks, takes the freeze over, and its caller hears of it. */
  async #errorOf(wallet: HeldWallet, outcome: SessionOutcome, deadline: Deadline): Promise<ServiceError> {
    const { end } = outcome;
    if (isRefusedState(end))
      await this.#host.waiters.until(() => !wallet.isAsked, Math.min(RECONNECT_MS, deadline.leftMs()));
    if (wallet.row?.status === "frozen" && end.kind === "failed" && end.failure.kind !== "fault")
      return new ServiceError("WALLET_FROZEN");
    return errorOfEnd(outcome, this.#rules) ?? unavailable();
  }
}

function isRefusedState(end: SessionEnd): boolean {
  return end.kind === "failed" && end.failure.kind === "refused" && end.failure.code === "STATE";
}
