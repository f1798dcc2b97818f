/**
 * What an account is worth: equity, margin used, margin free, and the distance to liquidation; on one venue, or on all
 * with their coverage. Nothing is estimated: a figure that a venue does not report is null.
 */
import {
  formatRatio,
  divideRatio,
  multiplyRatio,
  ratio,
  ratioFromText,
  addRatio,
  subtractRatio,
} from "../../../engine/domain/decimal-ratio.js";
import type { AccountSummary, VenueBalance } from "../../../engine/domain/position.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import {
  type AccountSession,
  type CallOptions,
  isTradingRoom,
  type Read,
  type VenueRoom,
} from "../../../engine/ports.js";
import type { Coverage } from "../../../schemas/account-common.js";
import {
  type AccountBalance,
  allBalancesReplySchema,
  venueBalancesReplySchema,
} from "../../../schemas/account-reads.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { ACCOUNT_HEADERS } from "../../accounts/account-access.js";
import { accountAddress, type AccountRef } from "../../accounts/account-reads.js";
import { coverageOf, isComplete, notApplicable, notConfigured, readError } from "../../accounts/read-errors.js";
import { jsonRoute } from "../../http/json-route.js";
import type { Route } from "../../http/route.js";
import { addressOnAll, addressOnVenue } from "./address-reads.js";
import type { TradingContext } from "./order-desk-call.js";

interface AccountState {
  readonly summary: AccountSummary | null;
  readonly balances: readonly VenueBalance[];
}

const MONEY_PLACES = 8;
const PERCENT_PLACES = 4;
const OWN_MONEY = "the money is in the wallet itself, and in no total: GET /api/trading/venuefive/balances";

export function balanceRoutes(context: TradingContext): Route[] {
  return [allRoute(context), venueRoute(context)];
}

/** Runs both reads side by side; the older one dates the answer. */
async function readState(room: VenueRoom, session: AccountSession, options: CallOptions): Promise<Read<AccountState>> {
  const [summary, balances] = await Promise.all([
    room.reader.readAccount?.(session, options) ?? null,
    room.reader.readBalances(session, options),
  ]);
  if (summary !== null && !summary.ok) return summary;
  // A venue may refuse the assets and show the account's value.
  const needsMore = !balances.ok && balances.code === "NEEDS_CREDENTIALS" && summary !== null;
  if (!balances.ok && !needsMore) return balances;
  return {
    ok: true,
    value: { summary: summary?.value ?? null, balances: balances.ok ? balances.value : [] },
    asOfMs: Math.min(
      summary?.asOfMs ?? Number.MAX_SAFE_INTEGER,
      balances.ok ? balances.asOfMs : Number.MAX_SAFE_INTEGER,
    ),
    source:
      (summary?.source ?? "venue") === "stream" && balances.ok && balances.source === "stream" ? "stream" : "venue",
  };
}

function balanceRow(
  venue: RoutableVenue,
  walletAddress: string,
  { summary, balances }: AccountState,
  stamp: { readonly asOfMs: number; readonly source: "stream" | "venue" },
  nowMs: number,
): AccountBalance {
  return {
    exchange: venue,
    walletAddress,
    quoteAsset: summary?.quoteAsset ?? null,
    equity: summary?.equity ?? null,
    marginUsed: summary?.marginUsed ?? null,
    free: summary?.free ?? null,
    maintenanceMargin: summary?.maintenanceMargin ?? null,
    ...distance(summary),
    balances: balances.map(({ asset, total, available }) => ({ asset, total, available })),
    asOf: stamp.asOfMs,
    source: stamp.source,
    ageMs: Math.max(0, nowMs - stamp.asOfMs),
  };
}

function distance(
  summary: AccountSummary | null,
): Pick<AccountBalance, "distanceToLiquidation" | "distanceToLiquidationPercent"> {
  if (summary === null || summary.maintenanceMargin === null)
    return { distanceToLiquidation: null, distanceToLiquidationPercent: null };
  const equity = ratioFromText(summary.equity);
  const left = subtractRatio(equity, ratioFromText(summary.maintenanceMargin));
  return {
    // Rounded down: the distance is never overstated.
    distanceToLiquidation: formatRatio(left, MONEY_PLACES, "floor"),
    distanceToLiquidationPercent:
      equity.num <= 0n
        ? null
        : formatRatio(divideRatio(multiplyRatio(left, ratio(100n)), equity), PERCENT_PLACES, "floor"),
  };
}

/** Returns null when one of them is unknown, and for none at all: an absent figure is not zero. */
function sum(texts: readonly (string | null)[]): string | null {
  if (texts.length === 0) return null;
  let total = ratio(0n);
  for (const text of texts) {
    if (text === null) return null;
    total = addRatio(total, ratioFromText(text));
  }
  return formatRatio(total, MONEY_PLACES, "halfUp");
}

function totalsOf(accounts: readonly AccountBalance[]) {
  return {
    equity: sum(accounts.map((account) => account.equity)),
    marginUsed: sum(accounts.map((account) => account.marginUsed)),
    free: sum(accounts.map((account) => account.free)),
  };
}

function allRoute(context: TradingContext): Route {
  const { clock, view, trading, clientSigned } = context;
  const serialise = compileSerialiser(allBalancesReplySchema);

  async function readVenue(
    venue: RoutableVenue,
    ref: AccountRef,
  ): Promise<{ readonly row: AccountBalance | null; readonly coverage: Coverage }> {
    const room = view.room(venue);
    if (room === null || !isTradingRoom(room)) return { row: null, coverage: notConfigured(venue) };
    const read = await trading.reads.read(room, ref, (session, options) => readState(room, session, options));
    const account = (read.ok ? read.account : null) ?? accountAddress(venue, ref);
    const row = read.ok ? balanceRow(venue, account, read.value, read, clock.wallMs()) : null;
    return { row, coverage: coverageOf(venue, read) };
  }

  return jsonRoute(context, {
    operation: OPERATIONS.allBalances,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const { walletAddress, parts, coverage } = await addressOnAll(context, ask, "FAILED_TO_FETCH_ACCOUNT", {
        venue: readVenue,
        chain: () => (clientSigned === undefined ? notConfigured("venuefive") : notApplicable(OWN_MONEY)),
      });
      const accounts = parts.flatMap((part) => (part.row === null ? [] : [part.row]));
      const data = { accounts, totals: { ...totalsOf(accounts), complete: isComplete(coverage) } };
      return { text: serialise({ success: true, walletAddress, data, coverage, timestamp: clock.wallMs() }) };
    },
  });
}

function venueRoute(context: TradingContext): Route {
  const { clock, trading } = context;
  const serialise = compileSerialiser(venueBalancesReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venueBalances,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const { venue, room, walletAddress, ref } = await addressOnVenue(context, ask);
      const read = await trading.reads.read(room, ref, (session, options) => readState(room, session, options));
      if (!read.ok) throw readError(venue, read, "FAILED_TO_FETCH_ACCOUNT");
      const data = balanceRow(venue, accountAddress(venue, ref), read.value, read, clock.wallMs());
      const coverage = coverageOf(venue, read);
      return {
        text: serialise({ success: true, exchange: venue, walletAddress, data, coverage, timestamp: clock.wallMs() }),
      };
    },
  });
}
