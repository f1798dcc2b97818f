// hot path
import { type Changed, NO_LISTENER } from "./changed.js";

/**
 * Ticker of one contract: the union of the fields of interface spec 2.8. Venue decimals are kept as
 * the venue printed them (native quoting, multiplier not applied), `""` while unknown; times are
 * Unix ms, 0 while unknown. The room assigns fields in place; the shape never changes.
 */
export class Ticker {
  markPrice = "";
  lastPrice = "";
  indexPrice = "";
  /** Price 24 h ago, of the kind that the venue compares: a last price, an opening price, an oracle price. */
  prevDayPrice = "";
  openPrice = "";
  high24h = "";
  low24h = "";
  /** Percent, where the venue prints it; else the room derives it from prevDayPrice and the price of its kind. */
  change24h = "";
  change24hAbs = "";
  /** Quote currency. */
  volume24h = "";
  /** Base units as the venue prints them (native contracts). */
  volumeBase = "";
  fundingRate = "";
  /** Base units (native contracts). */
  openInterest = "";
  /** Unix ms; 0 unknown. */
  nextFundingTime = 0;
  /** Hours between fundings; 0 unknown. Funding rates of venues can be compared only with it. */
  fundingIntervalHours = 0;
  /** Venue time of the newest field, Unix ms; 0 before the first. */
  tsVenueMs = 0;
  /** Monotonic ns of the newest field; 0 before the first. */
  tsRecvNs = 0;
  /** Runs after each stamp. */
  onChange: Changed = NO_LISTENER;

  /** Stamps an update; the caller has assigned its fields before. */
  stamp(tsVenueMs: number, tsRecvNs: number): void {
    if (tsVenueMs > this.tsVenueMs) this.tsVenueMs = tsVenueMs;
    this.tsRecvNs = tsRecvNs;
    this.onChange.changed();
  }

  get known(): boolean {
    return this.tsVenueMs > 0 || this.tsRecvNs > 0;
  }
}
