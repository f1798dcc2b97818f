/** What an address has at venueone, and where (sheet sections 3.2 and 10.3). Everybody may read it. */
import { parseScaledBig } from "../../../engine/domain/decimal.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import type { VenueBalance } from "../../../engine/venue-money.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import { normalizeSpotBalances } from "../account/normalize.js";
import type { VenueoneRest } from "../account/rest.js";

const USDC = "USDC";

export class CollateralReads {
  readonly #rest: VenueoneRest;
  readonly #clock: Clock;

  constructor(rest: VenueoneRest, clock: Clock) {
    this.#rest = rest;
    this.#clock = clock;
  }

  /** Of both accounts; of one that keeps all in one balance only the spot rows, which have it. */
  async balances(account: string, options: CallOptions): Promise<Read<readonly VenueBalance[]>> {
    const deadline = new Deadline(this.#clock, options);
    const mode = await this.#rest.userAbstraction(account, options);
    if (!mode.ok) return mode;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the balances");
    const isUnified = mode.value === "unifiedAccount" || mode.value === "portfolioMargin";
    const [spot, perp] = await Promise.all([
      this.#rest.spotClearinghouseState(account, left),
      isUnified ? null : this.#rest.clearinghouseState(account, left),
    ]);
    const rows = normalizedRead(spot, "spotClearinghouseState", (wires) =>
      normalizeSpotBalances(wires).map(
        ({ asset, available: free }): VenueBalance => ({ accountType: "spot", asset, free }),
      ),
    );
    if (!rows.ok || perp === null) return rows;
    if (!perp.ok) return perp;
    return { ...rows, value: [{ accountType: "perp", asset: USDC, free: perp.value.withdrawable }, ...rows.value] };
  }

  /** USDC that may leave, in its smallest unit, rounded down; what is negative is nothing. */
  async withdrawable(account: string, decimals: number, options: CallOptions): Promise<Read<bigint>> {
    const balances = await this.balances(account, options);
    return normalizedRead(balances, "balances", (rows) => {
      // Where the perp account has its own money, only that is withdrawn.
      const row = rows.find(({ accountType }) => accountType === "perp") ?? rows.find(({ asset }) => asset === USDC);
      return row === undefined ? 0n : floored(row.free, decimals);
    });
  }
}

function floored(text: string, decimals: number): bigint {
  const places = 18;
  const exact = parseScaledBig(text, places) ?? 0n;
  return exact <= 0n ? 0n : exact / 10n ** BigInt(places - decimals);
}
