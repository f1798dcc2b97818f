/**
 * What a host knows of a session under way: its names on the wire, its deadlines, why it is to end once the step that
 * runs has its result (docs/mpc.md, 8.6), and what came of it.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import type { FinalSignature } from "../mpc/parts/final-signature.js";
import {
  type Deadlines,
  type EndCause,
  KEYGEN_DEADLINES,
  type SessionEnd,
  SIGN_DEADLINES,
} from "../mpc/sessions/effects.js";
import type { RefreshMode } from "../mpc/state/state-row.js";
import type { MessageName } from "../mpc/wire/message-types.js";
import type { BackupOwner } from "./open-backup.js";

const NS_PER_MS = 1e6;

export type SessionKind = "keygen" | "refresh" | "sign";

export interface SessionNames {
  readonly kind: SessionKind;
  readonly epoch: number;
  /** 0 in key generation and refresh. */
  readonly ctr: bigint;
  /** Of a refresh. */
  readonly mode: RefreshMode | null;
  /** S: who the wallet belongs to. */
  readonly owner: BackupOwner | null;
  /** S: a caller or an operator waits for it; C's sessions, and a refresh that was due, nobody of the party asked for. */
  readonly isAsked: boolean;
}

/** What this party could not make durable. Callers and operators see it by these words. */
export type UnwrittenReason = "STORE_FAILED" | "BACKUP_FAILED";

export interface SessionOutcome {
  readonly end: SessionEnd;
  /** The session was ended because of it; null: all that it asked for is durable. */
  readonly unwritten: UnwrittenReason | null;
  readonly signature: FinalSignature | null;
  readonly isAcknowledged: boolean;
  /** From the commit that activates on, an epoch session is decided and nothing of it is dropped. */
  readonly isDecided: boolean;
  /** After a freeze: the peer has answered, or 2 s are over. */
  readonly told: Promise<void>;
}

export class LiveSession {
  readonly id: number;
  readonly names: SessionNames;
  readonly outcome: Promise<SessionOutcome>;
  /** What ends it as soon as the step under way has its result; nothing of that step leaves. */
  waiting: EndCause | null = null;
  hasEnded = false;
  hasFrozen = false;
  isDecided = false;
  isAcknowledged = false;
  unwritten: UnwrittenReason | null = null;
  signature: FinalSignature | null = null;
  told: Promise<void> = Promise.resolve();
  #resolve: (outcome: SessionOutcome) => void = () => {};
  readonly #clock: Clock;
  readonly #onDeadline: () => void;
  readonly #limitNs: number;
  readonly #limit: TimerHandle;
  #flight: TimerHandle | null = null;
  #flightNs = Number.POSITIVE_INFINITY;

  constructor(id: number, names: SessionNames, clock: Clock, onDeadline: () => void) {
    this.id = id;
    this.names = names;
    this.#clock = clock;
    this.#onDeadline = onDeadline;
    const { sessionMs } = deadlinesOf(names.kind);
    this.#limitNs = clock.monoNs() + sessionMs * NS_PER_MS;
    this.#limit = clock.setTimer(onDeadline, sessionMs);
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isEpoch(): boolean {
    return this.names.kind !== "sign";
  }

  /** The next message is due. The flights of a test signature are those of a signature. */
  awaits(name: MessageName): void {
    const isSigning = name !== "f1" && name.startsWith("f");
    const { flightMs } = isSigning ? SIGN_DEADLINES : KEYGEN_DEADLINES;
    this.#flightNs = this.#clock.monoNs() + flightMs * NS_PER_MS;
    this.#arm(flightMs);
  }

  /** A message came: it is in time by its arrival, not by when its turn comes. False: it is late. */
  arrived(): boolean {
    this.#disarm();
    return this.#clock.monoNs() < Math.min(this.#flightNs, this.#limitNs);
  }

  /** It was none that the session waits for. */
  stillAwaits(): void {
    if (this.hasEnded || this.#flightNs === Number.POSITIVE_INFINITY) return;
    this.#arm((this.#flightNs - this.#clock.monoNs()) / NS_PER_MS);
  }

  finish(end: SessionEnd): SessionOutcome {
    this.hasEnded = true;
    this.#disarm();
    this.#clock.clearTimer(this.#limit);
    const { unwritten, signature, isAcknowledged, isDecided, told } = this;
    const outcome = { end, unwritten, signature, isAcknowledged, isDecided, told };
    this.#resolve(outcome);
    return outcome;
  }

  #arm(delayMs: number): void {
    this.#disarm();
    this.#flight = this.#clock.setTimer(this.#onDeadline, delayMs);
  }

  #disarm(): void {
    if (this.#flight !== null) this.#clock.clearTimer(this.#flight);
    this.#flight = null;
  }
}

function deadlinesOf(kind: SessionKind): Deadlines {
  return kind === "sign" ? SIGN_DEADLINES : KEYGEN_DEADLINES;
}
