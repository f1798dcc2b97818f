/** Options of the local venue. Its limits are in limits.ts. */
import type { VenueChains } from "../../chain/treasury.js";
import type { StartingPosition } from "../../core/engine/starting-position.js";
import type { VenueOptions } from "../../core/server/venue-server.js";
import type { KeyRequest } from "./keys.js";
import type { LimitOptions } from "./limits.js";

export interface VenuetwoAccount extends KeyRequest {
  readonly accountId: string;
  /** Decimal text, quote units. */
  readonly deposit: string;
  readonly spotDeposit?: string;
  readonly hedgeMode?: boolean;
  readonly positions?: readonly StartingPosition[];
}

export interface VenuetwoSimOptions extends VenueOptions<VenuetwoAccount> {
  /** Of the captured listing; default three majors. */
  readonly symbols?: readonly string[];
  /** Also lists the captured contracts that do not trade. Default true. */
  readonly listsOthers?: boolean;
  /** Contracts listed besides, copies of a captured one; a price source of one's own must know their bases (listing.ts). */
  readonly copyCount?: number;
  /** A collector file as the market instead of the synthetic crowd (see core/engine/recorded.ts). */
  readonly recording?: { readonly path: string; readonly speed?: number };
  readonly limits?: Partial<LimitOptions>;
  readonly nonceWindowMs?: number;
  readonly chainId?: number;
  /** Answer HMAC on /fapi/v3 as the parent dialect does. */
  readonly hmacOnV3?: boolean;
  /** Where deposits come from and withdrawals go to. Without them a withdrawal ends at once, on no chain. */
  readonly chains?: VenueChains;
  /** Life of a stream connection, default 24 h. */
  readonly socketLifeMs?: number;
}
