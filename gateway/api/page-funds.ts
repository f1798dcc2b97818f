/** What the page knows of the ways that money takes, before it asks for anything. */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import type { FundRoute } from "../../schemas/page-facts.js";
import { networkOf } from "../../schemas/transfers.js";
import { MONEY_VENUES } from "../../schemas/venues.js";

export function pageFunds(rails: ReadonlyMap<RoutableVenue, VenueMoney>): readonly FundRoute[] {
  return MONEY_VENUES.flatMap((exchange) => {
    const money = rails.get(exchange);
    if (money === undefined) return [];
    const { deposits, withdrawals, internal } = money;
    return deposits.routes.map(({ token: { symbol, chainId, decimals } }) => ({
      ...{ exchange, asset: symbol, chainId, network: networkOf(chainId), decimals },
      paysOut: withdrawals.token(chainId, symbol) !== null,
      hasAccounts: internal !== null,
    }));
  });
}
