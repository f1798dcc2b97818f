/** What the page knows of the ways that money takes, before it asks for anything. */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import type { FundRoute } from "../../schemas/page-facts.js";
import { networkOf } from "../../schemas/transfers.js";

export function pageFunds(rails: ReadonlyMap<RoutableVenue, VenueMoney>): readonly FundRoute[] {
  return [...rails].flatMap(([exchange, { deposits, withdrawals, internal }]) =>
    deposits.routes.map(({ token: { symbol, chainId, decimals } }) => ({
      ...{ exchange, asset: symbol, chainId, network: networkOf(chainId), decimals },
      paysOut: withdrawals.token(chainId, symbol) !== null,
      hasAccounts: internal !== null,
    })),
  );
}
