/** All routes about accounts and single-venue orders; none without a trading desk. */
import { accountHistoryRoutes } from "./account-history.js";
import { balanceRoutes } from "./account-balances.js";
import { closeEverythingRoute } from "./close-everything.js";
import { clientSignedRoutes } from "./client-signed.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";
import { orderChangeRoutes } from "./order-changes.js";
import { orderReadRoutes } from "./order-status.js";
import { positionRoutes } from "./positions.js";
import { switchRoutes } from "./switches.js";
import { venueCloseRoutes } from "./venue-closes.js";
import { venueOrderRoutes } from "./venue-orders.js";

export function tradingRoutes(context: RouteContext): Route[] {
  const { trading } = context;
  if (trading === undefined) return [];
  const withDesk = { ...context, trading };
  return [
    ...venueOrderRoutes(withDesk),
    ...venueCloseRoutes(withDesk),
    ...orderChangeRoutes(withDesk),
    closeEverythingRoute(withDesk),
    ...positionRoutes(withDesk),
    ...balanceRoutes(withDesk),
    ...orderReadRoutes(withDesk),
    ...accountHistoryRoutes(withDesk),
    ...clientSignedRoutes(withDesk),
    ...switchRoutes(withDesk),
  ];
}
