/** Money between venuetwo and its wallets, wired: deposits, withdrawals, transfers within the venue, balances of both. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type { VenueBalance, VenueMoney } from "../../../engine/venue-money.js";
import type { VenueHttp } from "../../shared/net/http.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { parseMoneyJson } from "../../shared/room/wire-fields.js";
import { balanceCall, spotAccountCall } from "../account/calls.js";
import type { VenuetwoRest } from "../account/rest.js";
import { WITHDRAW_CHAINS } from "../sign/sign-wallet.js";
import { AgentRights } from "./agent-rights.js";
import { VenuetwoDeposits } from "./deposit.js";
import { FeeEstimates } from "./fee-estimates.js";
import { heldSession } from "./held-session.js";
import { readHistory } from "./history.js";
import { DEFAULT_ROUTES, depositRoute, type VenuetwoRouteOptions } from "./routes.js";
import { VenuetwoTransfers } from "./transfer.js";
import { decodePerpAssets, decodeSpotAccount, type VenuetwoWireAsset } from "./wire.js";
import { VenuetwoWithdrawals } from "./withdraw.js";

export interface MoneyRailsDeps {
  readonly rest: VenuetwoRest;
  readonly spotRest: VenuetwoRest;
  readonly webHttp: VenueHttp;
  readonly routes?: readonly VenuetwoRouteOptions[] | undefined;
  readonly nonces: NonceSequencer;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly leastOffsetMs: () => number;
}

export function createMoneyRails(deps: MoneyRailsDeps): VenueMoney {
  const { clock, clockOffsetMs, leastOffsetMs, nonces, rest, spotRest, webHttp, routes = DEFAULT_ROUTES } = deps;
  const ofDeposits = routes.map(depositRoute);
  const tokens = ofDeposits.map(({ token }) => token).filter(({ chainId }) => WITHDRAW_CHAINS[chainId] !== undefined);
  const rights = new AgentRights(rest, clock);
  const fees = new FeeEstimates(webHttp);
  return {
    deposits: new VenuetwoDeposits(rest, ofDeposits),
    withdrawals: new VenuetwoWithdrawals({
      ...{ rest, spotRest, fees, rights, nonces, clock, tokens },
      ...{ clockOffsetMs, leastOffsetMs },
    }),
    internal: new VenuetwoTransfers({ rest, clock, clockOffsetMs }),
    history: (_account, sinceMs, session, options) => readHistory(rest, sinceMs, clockOffsetMs(), session, options),
    balances: (_account, session, options) => readBalances(rest, spotRest, session, options),
  };
}

/** Whole or a failure: where a deposit lands is not known, so one of the two says too little. */
async function readBalances(
  rest: VenuetwoRest,
  spotRest: VenuetwoRest,
  session: AccountSession | null,
  options: CallOptions,
): Promise<Read<readonly VenueBalance[]>> {
  const held = heldSession(session);
  if (!held.ok) return held;
  const [spot, perp] = await Promise.all([
    spotRest.read(held.session, spotAccountCall(), decodeSpotAccount, options, parseMoneyJson),
    rest.read(held.session, balanceCall(), decodePerpAssets, options, parseMoneyJson),
  ]);
  if (!spot.ok) return spot;
  if (!perp.ok) return perp;
  return { ...perp, value: [...rowsOf("spot", spot.value), ...rowsOf("perp", perp.value)] };
}

function rowsOf(accountType: VenueBalance["accountType"], assets: readonly VenuetwoWireAsset[]): VenueBalance[] {
  return assets.map(({ asset, free }) => ({ accountType, asset, free }));
}
