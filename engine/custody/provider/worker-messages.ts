/** The messages between the service and the thread that runs its signing sessions. */
import type { EndCause, Step } from "../mpc/sessions/effects.js";
import type { Message } from "../mpc/wire/header.js";
import type { ServiceRequest } from "./session-runner.js";

/** Keys are moved, not copied; the thread wipes them. */
export interface WorkerKeys {
  readonly present: Uint8Array;
  readonly former: Uint8Array | null;
}

export interface WorkerStart {
  readonly keys: WorkerKeys;
  /** The own backup key, 32 bytes. */
  readonly backupKey: Uint8Array;
}

export type WorkerCall =
  | { readonly kind: "open"; readonly id: number; readonly request: ServiceRequest }
  | { readonly kind: "receive"; readonly id: number; readonly message: Message }
  | { readonly kind: "end"; readonly id: number; readonly cause: EndCause }
  | { readonly kind: "close" };

export type ToWorker =
  | { readonly kind: "call"; readonly number: number; readonly call: WorkerCall }
  /** Without a reply. */
  | { readonly kind: "abandon"; readonly id: number }
  | { readonly kind: "keys"; readonly keys: WorkerKeys };

/** `step` is null for a `close`; `problem` for a call against the rules of the runner, a bug. */
export type FromWorker =
  | { readonly number: number; readonly step: Step | null }
  | { readonly number: number; readonly problem: string };
