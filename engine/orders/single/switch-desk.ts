/**
 * Dead-man's switches, as the shell asks for them: all open orders of an account are cancelled when their time is up,
 * unless a heartbeat comes. The contract only; single-order-service.ts keeps it.
 */
import type { RoutableVenue } from "../../domain/venue.js";
import type { OrderAccount, OrderRefusal } from "./order-desk.js";

export interface ArmRequest extends OrderAccount {
  /** Whole ms from now, 5 s to 24 h: all open orders of the account are cancelled then unless a heartbeat comes. */
  readonly timeoutMs: number;
  /** As in the context of other calls; also of what the switch sends later. */
  readonly payer: string | null;
}

/** One armed switch. */
export interface SwitchFacts {
  /** Unguessable; a heartbeat or an end of its owner needs nothing else. */
  readonly switchId: string;
  readonly venue: RoutableVenue;
  /** ENDING: ended here, and the venue has not confirmed that its own is: that one may fire still. */
  readonly state: "ARMED" | "ENDING" | "ENDED";
  readonly timeoutMs: number;
  readonly expiresAtMs: number;
  /** Armed at the venue too, so that it fires even when this service is gone. */
  readonly venueArmed: boolean;
  /** Where the venue arms symbol by symbol: those whose orders its switch covers. Null: all of the account, or none. */
  readonly venueSymbols: readonly string[] | null;
}

export type SwitchAnswer = { readonly ok: true; readonly armed: SwitchFacts } | OrderRefusal;

/** In the order of the requests. A refusal is that of `venue`. */
export type SwitchesAnswer =
  | { readonly ok: true; readonly armed: readonly SwitchFacts[] }
  | (OrderRefusal & { readonly venue: RoutableVenue | null });

export interface SwitchDesk {
  /** `ownerId`: who arms it. Arming an account for which its owner has one replaces it. */
  armSwitch(request: ArmRequest, ownerId: string | null): Promise<SwitchAnswer>;
  /** All of them or none: what is refused leaves every armed switch as it was. */
  armSwitches(requests: readonly ArmRequest[], ownerId: string | null): Promise<SwitchesAnswer>;
  /** Starts the time again. SWITCH_NOT_FOUND: it fired, was ended, never was, or is another owner's. */
  heartbeat(switchId: string, ownerId: string | null): Promise<SwitchAnswer>;
  /** No heartbeat will come: it fires after so many ms, or when its time is up if that is sooner; 0: now. False: no such switch. */
  expireSwitch(switchId: string, delayMs: number, ownerId: string | null): boolean;
  /** Ends it, at the venue too, and wipes its credentials. */
  disarmSwitch(switchId: string, ownerId: string | null): Promise<SwitchAnswer>;
}
