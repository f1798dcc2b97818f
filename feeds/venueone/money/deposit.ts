/** Deposits at venueone (engine/venue-money.ts): the way there, and whether one is credited. */
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type { DepositRail, DepositRoute } from "../../../engine/venue-money.js";
import { tokenUnits } from "../../shared/room/money-text.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import type { VenueoneWireLedgerRow } from "../account/history-wire.js";
import type { LedgerSearch } from "./ledger.js";

/** The venue credits after the transaction is mined; this is for the error of our clock alone. */
const DATED_WITHIN_MS = 5_000;
const NO_HASH = /^0x0*$/;

type DepositRow = Extract<VenueoneWireLedgerRow, { readonly kind: "deposit" }>;

export interface VenueoneDepositsDeps {
  readonly ledger: LedgerSearch;
  readonly routes: readonly DepositRoute[];
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
}

export class VenueoneDeposits implements DepositRail {
  readonly isMatchedByHash = false;
  readonly routes: readonly DepositRoute[];
  readonly #deps: VenueoneDepositsDeps;

  constructor(deps: VenueoneDepositsDeps) {
    this.routes = deps.routes;
    this.#deps = deps;
  }

  route(chainId: number, symbol: string): DepositRoute | null {
    return this.routes.find(({ token }) => token.chainId === chainId && token.symbol === symbol) ?? null;
  }

  /** By the amount, since it was sent: the ledger's hashes are of the venue's own chain. */
  async look(
    deposit: {
      readonly account: string;
      readonly chainId: number;
      readonly amount: bigint;
      readonly sentAtMs: number;
    },
    _session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<readonly string[]>> {
    const { account, amount, chainId, sentAtMs } = deposit;
    const { clockOffsetMs, ledger } = this.#deps;
    const decimals = this.routes.find(({ token }) => token.chainId === chainId)?.token.decimals;
    const isOurs = (row: VenueoneWireLedgerRow): row is DepositRow =>
      row.kind === "deposit" && decimals !== undefined && tokenUnits(row.usdc, decimals, "usdc") === amount;
    const rows = await ledger.all(account, sentAtMs + clockOffsetMs() - DATED_WITHIN_MS, options);
    return normalizedRead(rows, "ledger", (all) => {
      const ids = creditIds(all);
      return all.filter(isOurs).flatMap((row) => ids.get(row) ?? []);
    });
  }
}

/**
 * By row, of all rows of each millisecond: its hash, or its time where it has none. The venue may credit several deposits at
 * once; those after the first have their place behind it.
 */
export function creditIds(rows: readonly VenueoneWireLedgerRow[]): ReadonlyMap<VenueoneWireLedgerRow, string> {
  const counts = new Map<string, number>();
  const ids = new Map<VenueoneWireLedgerRow, string>();
  for (const row of rows) {
    if (row.kind !== "deposit") continue;
    const { hash, time } = row;
    const id = hash === null || NO_HASH.test(hash) ? String(time) : hash;
    const place = (counts.get(id) ?? 0) + 1;
    counts.set(id, place);
    ids.set(row, place === 1 ? id : `${id}#${place}`);
  }
  return ids;
}
