/**
 * The HTTP port that all rooms call venues through; http-pool.ts implements it over undici with the
 * outbound lanes and the breaker. Values, never exceptions: whether bytes may have reached the venue
 * decides between "rejected" and "unknown", so each result states it.
 */
import type { Lane } from "../../../engine/ports.js";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path with query, exactly as signed. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly lane: Lane;
  /** Cost against the IP budget, in the venue's weight units. */
  readonly weight: number;
  /** Whole call, queueing included. */
  readonly timeoutMs: number;
  /** Account whose own budget is charged too (accountId), null for public calls. */
  readonly account: string | null;
  /** Whose credentials these are, by which the venue's answers are known; absent: the account. */
  readonly caller?: string;
  /** Who pays out of its share of the lane: the API key that asks. Absent or null: the caller. */
  readonly payer?: string | null;
  /** Account budget units: orders, or the length of a batch; 0 for reads. */
  readonly accountWeight: number;
  /** May it take what is held back for idle lanes? For our own work that can wait for any caller's. */
  readonly borrowsIdle?: boolean;
}

export type HttpResult =
  | {
      readonly kind: "response";
      readonly status: number;
      /** Lower-case names. */
      readonly headers: Readonly<Record<string, string>>;
      /** At most maxBodyBytes; a larger body is `noResponse` BODY_TOO_LARGE. */
      readonly body: string;
      readonly sentAtMs: number;
      readonly receivedAtMs: number;
      /** It refuses for a limit of this account alone. */
      readonly isAccountLimit?: true;
    }
  /** Nothing left this machine. */
  | {
      readonly kind: "notSent";
      readonly reason: "BREAKER_OPEN" | "VENUE_LIMIT" | "RATE_BUDGET" | "QUEUE_FULL" | "CLOSED" | "CONNECT_FAILED";
      readonly retryAfterMs: number | null;
      /** The account's own budget is spent, not that of the address. */
      readonly isAccountLimit?: true;
    }
  /** The request may have reached the venue; what it did is not known. */
  | { readonly kind: "noResponse"; readonly reason: "TIMEOUT" | "CONNECTION_LOST" | "BODY_TOO_LARGE" };

export interface VenueHttp {
  request(request: HttpRequest): Promise<HttpResult>;
}
