/** What the page knows of the ways that money takes, before it asks for anything: they are fixed by the configuration. */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import { networkOf } from "../../schemas/transfers.js";

/** One token on one chain, into a venue and out of it. */
export interface PageFundRoute {
  readonly exchange: RoutableVenue;
  readonly asset: string;
  readonly chainId: number;
  readonly network: string;
  readonly decimals: number;
  /** The venue pays it out there too. */
  readonly paysOut: boolean;
  /** A wallet has several accounts at the venue, and moves money between them. */
  readonly hasAccounts: boolean;
}

export function pageFunds(rails: ReadonlyMap<RoutableVenue, VenueMoney>): readonly PageFundRoute[] {
  return [...rails].flatMap(([exchange, { deposits, withdrawals, internal }]) =>
    deposits.routes.map(({ token: { symbol, chainId, decimals } }) => ({
      ...{ exchange, asset: symbol, chainId, network: networkOf(chainId), decimals },
      paysOut: withdrawals.token(chainId, symbol) !== null,
      hasAccounts: internal !== null,
    })),
  );
}
