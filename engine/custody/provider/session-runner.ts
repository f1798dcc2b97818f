/**
 * Where session objects live: in this thread, or in a worker (docs/mpc.md, decision 19). Every secret is opened, used
 * and sealed behind this port; what crosses it is plain data that structured clone carries, so a `Buffer` may arrive as
 * a `Uint8Array`. A session is known by a number that the host gives it, once.
 *
 * Invariant: one call of a session at a time; after a step with an `end` the number is free and is not called again.
 * Only `abandon` may come while a call of the session has no step yet.
 */
import { failureOf, type Failure } from "../mpc/base/outcome.js";
import type { EndCause, Step } from "../mpc/sessions/effects.js";
import type { IntentReader } from "../mpc/sessions/sign-cosigner.js";
import type { KeygenAdmission } from "../mpc/sessions/keygen-cosigner.js";
import type { RefreshMode, StateRow } from "../mpc/state/state-row.js";
import type { Message } from "../mpc/wire/header.js";
import type { BackupOwner } from "./open-backup.js";
import type { StoredShare } from "./party-store.js";

export interface SessionRunner<Request> {
  /** The first step: at S the start, at C the receipt of the message that opens the session. */
  open(id: number, request: Request): Promise<Step>;
  receive(id: number, message: Message): Promise<Step>;
  end(id: number, cause: EndCause): Promise<Step>;
  /**
   * The session is going to be ended: a long step under way is given up, and its call comes to a step without effects.
   * Nothing changes where there is none, or no session.
   */
  abandon(id: number): void;
  close(): Promise<void>;
}

/** What a call rejects with where the thread was ended because it gave no answer in time: slow, not broken. */
export class NoAnswer extends Error {
  constructor() {
    super("no answer");
    this.name = "NoAnswer";
  }
}

/** Plain data: it goes to a worker. */
export type ServiceRequest =
  | { readonly kind: "keygen"; readonly walletId: Uint8Array; readonly owner: BackupOwner }
  | {
      readonly kind: "refresh";
      readonly walletId: Uint8Array;
      readonly row: StateRow;
      readonly mode: RefreshMode;
      /** Sealed. */
      readonly share: StoredShare;
      readonly owner: BackupOwner;
    }
  | {
      readonly kind: "sign";
      readonly walletId: Uint8Array;
      readonly row: StateRow;
      readonly share: StoredShare;
      readonly intent: Uint8Array;
      readonly digest: Uint8Array;
    };

/** A wallet with an active epoch, as C has it. */
export interface HeldShare {
  readonly row: StateRow;
  readonly share: StoredShare;
}

/** C's sessions run in its own thread, so its policy and approvals are asked directly. */
export type CosignerRequest =
  | { readonly kind: "keygen"; readonly message: Message; readonly admission: KeygenAdmission }
  | {
      readonly kind: "refresh";
      readonly message: Message;
      readonly held: HeldShare | null;
      useApproval(mode: RefreshMode, epoch: number): boolean;
    }
  | {
      readonly kind: "sign";
      readonly message: Message;
      readonly held: HeldShare | null;
      readonly intents: IntentReader;
    };

/** A step whose failures survive structured clone, and carry nothing but a name and a text. */
export function portableStep(step: Step): Step {
  const effects = step.effects.map((effect) => {
    if (effect.kind !== "end" || effect.end.kind !== "failed") return effect;
    return { ...effect, end: { ...effect.end, failure: portableFailure(effect.end.failure) } };
  });
  return { effects, dropped: step.dropped };
}

/** What ends a session before it has an object: the share that is to be opened is not what it should be. */
export function unopened(thrown: unknown, row: StateRow | null): Step {
  const failure = failureOf(thrown);
  return portableStep({
    effects: [{ kind: "end", end: { kind: "failed", failure, by: "self", explained: true }, row }],
    dropped: false,
  });
}

function portableFailure(failure: Failure): Failure {
  if (failure.kind !== "fault") return failure;
  const { error } = failure;
  // Own fields and causes are left behind: clone refuses some, and an error of the arithmetic must not carry a value.
  const text = error instanceof Error ? `${error.name}: ${error.message}` : "thrown";
  return { kind: "fault", error: new Error(text) };
}
