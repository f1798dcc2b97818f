/**
 * Runs sessions: one receipt at a time, effects in their order, a commit durable before the next effect. Deadline, lost
 * connection, freeze notice and stop wait for the result of the step under way (a long one is given up and has none);
 * then nothing of that step is sent, and the session ends. Every method that changes a wallet is called in the wallet's
 * turn.
 */
import type { Clock } from "../../domain/clock.js";
import { within } from "../../domain/deadline.js";
import type { StateWrite } from "../../storage/state-store.js";
import { type Failure, fault } from "../mpc/base/outcome.js";
import type { Party } from "../mpc/base/parameters.js";
import { commitOf, type Effect, type EndCause, type SessionEnd, type Step } from "../mpc/sessions/effects.js";
import { freezeChange, freezeDroppingPrepared } from "../mpc/state/freeze.js";
import { droppedRow } from "../mpc/state/state-row.js";
import type { Message } from "../mpc/wire/header.js";
import { MESSAGE } from "../mpc/wire/message-types.js";
import type { HeldWallet } from "./held-wallet.js";
import { LiveSession, type SessionNames, type SessionOutcome } from "./live-session.js";
import { abortMessage } from "./host-messages.js";
import type { PartyRows } from "./party-rows.js";
import type { BackupFolder } from "./party-store.js";
import { NoAnswer, type SessionRunner } from "./session-runner.js";

/** A step that gives no result by then is given up, and counted as unexplained. The machine is slow, which is no fault. */
const STEP_MS_MAX = 10_000;
/** A folder that takes nothing by then has failed; what it writes late is a file of an epoch that is nobody's. */
const BACKUP_MS_MAX = 10_000;

type CommitEffect = Extract<Effect, { kind: "commit" }>;
type AmountEffect = Extract<Effect, { kind: "unreserve" | "amounts spent" }>;

export interface DriverHooks {
  /** What belongs into the commit: at S the wallet's own row, at C the amounts of the day. */
  beside(wallet: HeldWallet, session: LiveSession, effect: CommitEffect | AmountEffect): readonly StateWrite[];
  /** Durable already. Resolves when the peer has answered, or 2 s are over. */
  frozen(wallet: HeldWallet): Promise<void>;
  ended(wallet: HeldWallet, session: LiveSession, outcome: SessionOutcome): void;
  backupFailed(wallet: HeldWallet): void;
  dropped(): void;
}

export interface DriverPorts<Request> {
  readonly party: Party;
  readonly runner: SessionRunner<Request>;
  readonly rows: PartyRows;
  readonly backups: BackupFolder;
  readonly clock: Clock;
  send(message: Message): void;
}

export class SessionDriver<Request> {
  readonly #ports: DriverPorts<Request>;
  readonly #hooks: DriverHooks;
  readonly #live = new Map<LiveSession, HeldWallet>();
  #nextId = 1;

  constructor(ports: DriverPorts<Request>, hooks: DriverHooks) {
    this.#ports = ports;
    this.#hooks = hooks;
  }

  get sessionCount(): number {
    return this.#live.size;
  }

  get keygenCount(): number {
    return [...this.#live.keys()].filter(({ names }) => names.kind === "keygen").length;
  }

  /** The session is the wallet's from here on; `start` does its first step. */
  register(wallet: HeldWallet, names: SessionNames): LiveSession {
    const session: LiveSession = new LiveSession(
      this.#nextId++,
      names,
      this.#ports.clock,
      () => void this.endSoon(session, "deadline"),
    );
    wallet.session = session;
    this.#live.set(session, wallet);
    return session;
  }

  async start(wallet: HeldWallet, session: LiveSession, request: Request): Promise<void> {
    await this.#advance(wallet, session, this.#ports.runner.open(session.id, request));
  }

  /**
   * `isInTime`: it arrived before anything that ends the session. Then it is judged, so that a peer that closes the
   * connection right behind a bad message does not get its failure tolerated.
   */
  async receive(wallet: HeldWallet, session: LiveSession, message: Message, isInTime: boolean): Promise<void> {
    if (session.hasEnded) return this.#hooks.dropped();
    if (session.waiting !== null && (!isInTime || session.waiting === "store failed"))
      return this.endNow(wallet, session, session.waiting);
    await this.#advance(wallet, session, this.#ports.runner.receive(session.id, message));
    session.stillAwaits();
  }

  /** Ends it after the step under way, if it has not ended by then; a long one is given up. */
  async endSoon(session: LiveSession, cause: EndCause): Promise<void> {
    const wallet = this.#live.get(session);
    if (wallet === undefined) return;
    session.waiting ??= cause;
    this.#ports.runner.abandon(session.id);
    await wallet.inTurn(() => this.endNow(wallet, session, session.waiting ?? cause));
  }

  /** All sessions, whose ends are done when this resolves. */
  async endAll(cause: EndCause): Promise<void> {
    await Promise.all([...this.#live.keys()].map((session) => this.endSoon(session, cause)));
  }

  /** In the wallet's turn. */
  async endNow(wallet: HeldWallet, session: LiveSession, cause: EndCause): Promise<void> {
    if (session.hasEnded) return;
    if (cause === "store failed") session.unwritten ??= "STORE_FAILED";
    const step = await stepOf(this.#ports.clock, this.#ports.runner.end(session.id, cause));
    await ("kind" in step ? this.#unanswered(wallet, session, step) : this.#perform(wallet, session, step));
  }

  async #advance(wallet: HeldWallet, session: LiveSession, asked: Promise<Step>): Promise<void> {
    const step = await stepOf(this.#ports.clock, asked);
    if ("kind" in step) return this.#unanswered(wallet, session, step);
    if (step.dropped) this.#hooks.dropped();
    const isDurable = await this.#perform(wallet, session, step);
    if (session.hasEnded) return;
    if (!isDurable) return this.endNow(wallet, session, "store failed");
    if (session.waiting !== null) return this.endNow(wallet, session, session.waiting);
  }

  /**
   * The row of the last commit stays, which counts the abort; what is prepared is settled with the peer. A thread that
   * is slow and lives wipes the session behind its step, and what the step came to is not used.
   */
  async #unanswered(wallet: HeldWallet, session: LiveSession, failure: NoStep): Promise<void> {
    this.#ports.runner.end(session.id, "stopped").catch(() => {});
    const drop = unwrittenDrop(wallet, session);
    if (drop !== null) await this.#effect(wallet, session, drop);
    const { epoch, ctr } = session.names;
    const names = { walletId: wallet.walletId, epoch, ctr };
    this.#ports.send(abortMessage(this.#ports.party, names, { class: failure.kind }));
    this.#end(wallet, session, { kind: "failed", failure, by: "self", explained: false });
  }

  /** False: something could not be made durable, and what came after it was not done. */
  async #perform(wallet: HeldWallet, session: LiveSession, { effects }: Step): Promise<boolean> {
    const isLast = effects.some(({ kind }) => kind === "end");
    let isDurable = true;
    for (const effect of effects) {
      if (effect.kind === "end") {
        this.#concluded(wallet, session, effect, isDurable);
      } else if (effect.kind === "send") {
        const isAbort = effect.message.header.type === MESSAGE.abort;
        if (isDurable ? !isLast && session.waiting !== null : !isAbort) continue;
        if (effect.awaits !== null) session.awaits(effect.awaits);
        this.#ports.send(effect.message);
      } else if (isDurable || effect.kind === "commit" || effect.kind === "freeze") {
        isDurable = (await this.#effect(wallet, session, effect)) && isDurable;
        if (!isDurable) session.unwritten ??= effect.kind === "backup" ? "BACKUP_FAILED" : "STORE_FAILED";
        if (!isDurable && !isLast) return false;
      }
    }
    return isDurable;
  }

  async #effect(
    wallet: HeldWallet,
    session: LiveSession,
    effect: Exclude<Effect, { kind: "send" | "end" }>,
  ): Promise<boolean> {
    const { rows } = this.#ports;
    switch (effect.kind) {
      case "commit": {
        const { row, put, erase } = effect;
        const beside = this.#hooks.beside(wallet, session, effect);
        if (session.isEpoch && row?.stage === "none" && row.activeEpoch === session.names.epoch)
          session.isDecided = true;
        return rows.write(wallet, { row, put, erase, beside });
      }
      case "backup":
        return this.#backup(wallet, effect);
      case "freeze":
        return this.#freeze(wallet, session, effect);
      case "unreserve":
      case "amounts spent":
        return rows.write(wallet, { row: wallet.row, beside: this.#hooks.beside(wallet, session, effect) });
      case "release":
        session.signature = effect.signature;
        return true;
      case "acknowledge":
        session.isAcknowledged = true;
        return true;
    }
  }

  async #backup(wallet: HeldWallet, { epoch, tag, file }: Extract<Effect, { kind: "backup" }>): Promise<boolean> {
    const { backups, clock } = this.#ports;
    const written = backups.write({ walletId: wallet.walletId, epoch, tag }, file);
    const isWritten = await within(clock, written, BACKUP_MS_MAX).then(
      ({ done }) => done,
      () => false,
    );
    if (!isWritten) this.#hooks.backupFailed(wallet);
    return isWritten;
  }

  /** A freeze that the store does not take is kept in memory and owed; nothing of it leaves before it is durable. */
  async #freeze(
    wallet: HeldWallet,
    session: LiveSession,
    { row, dropsPrepared }: Extract<Effect, { kind: "freeze" }>,
  ): Promise<boolean> {
    const nowMs = this.#ports.clock.wallMs();
    const change = dropsPrepared ? freezeDroppingPrepared(row, nowMs) : freezeChange(this.#ports.party, row, nowMs);
    if (change === null) return true;
    session.hasFrozen = true;
    wallet.owesNotice = !(await this.#ports.rows.write(wallet, change));
    if (wallet.owesNotice) return false;
    session.told = this.#hooks.frozen(wallet);
    return true;
  }

  #concluded(
    wallet: HeldWallet,
    session: LiveSession,
    { end, row }: Extract<Effect, { kind: "end" }>,
    isDurable: boolean,
  ): void {
    // A freeze has written the row of this end already.
    if (!session.hasFrozen) this.#ports.rows.adopt(wallet, row);
    const isOwed = end.kind === "done" || (end.kind === "failed" && end.failure.kind === "cheat");
    const { failure } = fault(new Error("store"));
    this.#end(wallet, session, isDurable || !isOwed ? end : { kind: "failed", failure, by: "self", explained: true });
  }

  #end(wallet: HeldWallet, session: LiveSession, end: SessionEnd): void {
    this.#live.delete(session);
    if (wallet.session === session) wallet.session = null;
    const outcome = session.finish(end);
    this.#ports.rows.forgetEmpty(wallet);
    this.#hooks.ended(wallet, session, outcome);
  }
}

/**
 * An epoch whose share the store did not take is nobody's: a row that names it is never written. A session that can still
 * be asked drops it by itself. Null: there is none.
 */
function unwrittenDrop({ row, debt }: HeldWallet, { names: { epoch } }: LiveSession): CommitEffect | null {
  if (row === null || row.preparedEpoch !== epoch || debt?.erase.has(epoch) !== true) return null;
  return commitOf(droppedRow(row), { erase: [epoch] });
}

/** Why a call has no step: the thread died, or is too slow. */
type NoStep = Extract<Failure, { kind: "fault" | "transport" }>;

const DIED: NoStep = { kind: "fault", error: new Error("no result") };
const SLOW: NoStep = { kind: "transport", cause: "busy" };

async function stepOf(clock: Clock, asked: Promise<Step>): Promise<Step | NoStep> {
  try {
    const answer = await within(clock, asked, STEP_MS_MAX);
    return answer.done ? answer.value : SLOW;
  } catch (error) {
    return error instanceof NoAnswer ? SLOW : DIED;
  }
}
