/**
 * How a session can fail (docs/mpc.md, section 3.4): five classes, five variants of one type. Who handles a session
 * names each of them in `decideFailure`; nothing turns one into another. The message of the error is the class alone,
 * so that a log or a reply never carries which check failed.
 */

export type RefusalCode = "VERSION" | "WALLET" | "EPOCH" | "CTR" | "TAG" | "DIGEST" | "POLICY" | "STATE" | "RATE";

/** The checks whose failure no honest peer causes. */
export type CheatCheck = "extension" | "multiplication" | "gamma-u" | "gamma-v" | "opening" | "final-signature";

export type TransportCause = "timeout" | "connection-lost" | "peer-restarted" | "busy" | "recovery-id";

export interface TransportFailure {
  readonly kind: "transport";
  readonly cause: TransportCause;
}
export interface RefusedFailure {
  readonly kind: "refused";
  readonly code: RefusalCode;
  /** Number of the rule where the code is POLICY, else 0. */
  readonly detail: number;
}
export interface ViolationFailure {
  readonly kind: "violation";
  /** Which field or step; for tests and the own operator, never for the peer. */
  readonly field: string;
}
export interface CheatFailure {
  readonly kind: "cheat";
  /** For tests; neither the peer nor an audit row has it. */
  readonly check: CheatCheck;
}
export interface FaultFailure {
  readonly kind: "fault";
  readonly error: unknown;
}

export type Failure = TransportFailure | RefusedFailure | ViolationFailure | CheatFailure | FaultFailure;
export type FailureKind = Failure["kind"];

export class ProtocolError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind);
    this.name = "ProtocolError";
    this.failure = failure;
  }
}

export function transport(cause: TransportCause): ProtocolError {
  return new ProtocolError({ kind: "transport", cause });
}

export function refused(code: RefusalCode, detail = 0): ProtocolError {
  return new ProtocolError({ kind: "refused", code, detail });
}

export function violation(field: string): ProtocolError {
  return new ProtocolError({ kind: "violation", field });
}

export function cheat(check: CheatCheck): ProtocolError {
  return new ProtocolError({ kind: "cheat", check });
}

export function fault(error: unknown): ProtocolError {
  return new ProtocolError({ kind: "fault", error });
}

/** What was thrown, as one of the five: what is no ProtocolError is an exception of ours, a fault. */
export function failureOf(thrown: unknown): Failure {
  return thrown instanceof ProtocolError ? thrown.failure : { kind: "fault", error: thrown };
}

export type FailureHandlers<Result> = {
  readonly [Kind in FailureKind]: (failure: Extract<Failure, { kind: Kind }>) => Result;
};

/** Calls the handler of the class. A handler that is left out does not compile. */
export function decideFailure<Result>(failure: Failure, handlers: FailureHandlers<Result>): Result {
  switch (failure.kind) {
    case "transport":
      return handlers.transport(failure);
    case "refused":
      return handlers.refused(failure);
    case "violation":
      return handlers.violation(failure);
    case "cheat":
      return handlers.cheat(failure);
    case "fault":
      return handlers.fault(failure);
  }
}
