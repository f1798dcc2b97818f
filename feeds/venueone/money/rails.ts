/** Money between venueone and its wallets, wired: deposits, withdrawals, balances. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { VenueMoney } from "../../../engine/venue-money.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import type { VenueoneRest } from "../account/rest.js";
import { CollateralReads } from "./collateral.js";
import { VenueoneDeposits } from "./deposit.js";
import { readHistory } from "./history.js";
import { LedgerSearch } from "./ledger.js";
import { bridgeRoute, DEFAULT_ROUTES, type VenueoneRouteOptions } from "./routes.js";
import { VenueoneWithdrawals } from "./withdraw.js";

export interface MoneyRailsDeps {
  readonly rest: VenueoneRest;
  readonly nonces: NonceSequencer;
  readonly standing: CallerStanding;
  readonly clock: Clock;
  readonly isMainnet: boolean;
  /** Absent: the pair of interface spec section 8. */
  readonly route?: VenueoneRouteOptions | undefined;
  readonly clockOffsetMs: () => number;
  readonly leastOffsetMs: () => number;
  readonly onClockError: () => void;
}

export function createMoneyRails({ clock, route, ...deps }: MoneyRailsDeps): VenueMoney {
  const { clockOffsetMs, isMainnet, rest } = deps;
  const way = route ?? DEFAULT_ROUTES[isMainnet ? "main" : "test"];
  const routes = [bridgeRoute(way)];
  const bridge = way.bridge.toLowerCase();
  const tokens = routes.map(({ token }) => token);
  const ledger = new LedgerSearch(rest, clock);
  const collateral = new CollateralReads(rest, clock);
  return {
    deposits: new VenueoneDeposits({ ledger, routes, clockOffsetMs }),
    withdrawals: new VenueoneWithdrawals({ ...deps, ledger, collateral, tokens, bridge }),
    internal: null,
    history: (account, sinceMs, _session, options) =>
      readHistory(ledger, account.toLowerCase(), sinceMs, clockOffsetMs(), options),
    balances: (account, _session, options) => collateral.balances(account, options),
  };
}
