/**
 * The venue's ledger of an account as entries of money (engine/venue-money.ts). It names no receiver, and the chain of a
 * deposit is not in it.
 */
import { formatScaledBig, pow10Big } from "../../../engine/domain/decimal.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import type { VenueEntry } from "../../../engine/venue-money.js";
import { tokenUnits } from "../../shared/room/money-text.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import type { VenueoneWireLedgerRow } from "../account/history-wire.js";
import { creditIds } from "./deposit.js";
import type { LedgerSearch } from "./ledger.js";
import { FEE_USDC } from "./withdraw.js";

const ASSET = "USDC";
const DECIMALS = 6;

/** `sinceMs` is on our clock; `clockOffsetMs`: venue wall clock minus ours. */
export async function readHistory(
  ledger: LedgerSearch,
  account: string,
  sinceMs: number,
  clockOffsetMs: number,
  options: CallOptions,
): Promise<Read<readonly VenueEntry[]>> {
  const rows = await ledger.all(account, sinceMs + clockOffsetMs, options);
  return normalizedRead(rows, "ledger", (all) => {
    const ids = creditIds(all);
    return all.flatMap((row) => entryOf(row, ids, clockOffsetMs));
  });
}

function entryOf(row: VenueoneWireLedgerRow, ids: ReturnType<typeof creditIds>, clockOffsetMs: number): VenueEntry[] {
  if (row.kind === "other") return [];
  const common = { chainId: null, asset: ASSET, kindType: null, hash: null, atMs: row.time - clockOffsetMs };
  const { usdc } = row;
  if (row.kind === "deposit")
    return [{ ...common, kind: "deposit", venueId: ids.get(row) ?? "", amounts: [usdc], hasFailed: false }];
  // Whether the figure has the fee in it, and what was asked for too, is not known (withdraw.ts).
  const units = tokenUnits(usdc, DECIMALS, "usdc");
  const fee = row.fee === null ? FEE_USDC * pow10Big(DECIMALS) : tokenUnits(row.fee, DECIMALS, "fee");
  const asked = [units, units + fee, units - fee].filter((one) => one > 0n);
  const amounts = [...new Set(asked)].map((one) => formatScaledBig(one, DECIMALS));
  return [{ ...common, kind: "withdrawal", venueId: String(row.nonce), amounts, hasFailed: false }];
}
