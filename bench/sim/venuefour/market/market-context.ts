/** What the market's routes and streams share. */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { Listing } from "../records/listing.js";
import type { VenuefourCadences, VenuefourQuirks } from "../wire/options.js";
import type { Publisher } from "./publisher.js";

export interface MarketContext {
  readonly exchange: SimExchange;
  readonly listing: Listing;
  readonly publisher: Publisher;
  readonly cadences: VenuefourCadences;
  readonly random: Random;
  quirks: VenuefourQuirks;
}
