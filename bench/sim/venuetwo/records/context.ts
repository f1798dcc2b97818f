/** What the routes of the room share. One instance per local venue. */
import type { FaultInjector } from "../../core/server/faults.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimAccount } from "../../core/model/types.js";
import type { SimHttpRequest } from "../../core/server/server-types.js";
import type { SimRequestLog } from "../../core/server/request-log.js";
import type { AggregateTape } from "./aggregate-tape.js";
import type { Authenticator, Caller } from "./auth.js";
import type { KeyRing } from "./keys.js";
import type { RateLimits } from "./limits.js";
import type { Listing, VenuetwoRules } from "./listing.js";
import type { ListenKeys } from "./listen-keys.js";
import type { MoneyDesk } from "./money-desk.js";
import type { Params } from "../wire/params.js";

export interface VenuetwoContext {
  readonly exchange: SimExchange;
  readonly listing: Listing;
  readonly log: SimRequestLog;
  readonly faults: FaultInjector;
  readonly keys: KeyRing;
  readonly auth: Authenticator;
  readonly limits: RateLimits;
  readonly listenKeys: ListenKeys;
  readonly money: MoneyDesk;
  readonly aggregates: ReadonlyMap<string, AggregateTape>;
  /** Client ids the venue mints for orders that came without. */
  newClientId(): string;
}

/** One request on its way through a route. */
export interface Call {
  readonly context: VenuetwoContext;
  readonly request: SimHttpRequest;
  readonly params: Params;
  /** `v1`, `v2`, `v3`, `v4`. */
  readonly version: string;
  /** Null on public routes. */
  readonly caller: Caller | null;
  /** Extra headers of the answer; routes may add. */
  readonly headers: Record<string, string>;
}

/** A signed call's account. */
export interface SignedCall extends Call {
  readonly caller: Caller;
  readonly account: SimAccount;
}

export type Route = {
  readonly weight: number | ((params: Params) => number);
} & (
  | { readonly security: "none"; readonly answer: (call: Call) => unknown }
  | {
      readonly security: "key" | "signed" | "trade" | "transfer" | "withdraw";
      readonly answer: (call: SignedCall) => unknown;
    }
  | { readonly security: "own"; readonly answer: (call: Call) => Promise<unknown> }
);

/** JSON text that a route printed itself (19-digit numbers do not survive a double). */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export function tradedRules(context: VenuetwoContext): readonly VenuetwoRules[] {
  return [...context.listing.rules.values()].filter((rules) => rules.status === "TRADING");
}
