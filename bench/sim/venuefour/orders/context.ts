/** What the routes and streams of the local venue share. */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimRequestLog } from "../../core/server/request-log.js";
import type { AccountJournal } from "./account-journal.js";
import type { KeyRing } from "../records/keys.js";
import type { Listing } from "../records/listing.js";
import type { VenuefourCadences, VenuefourLimits, VenuefourQuirks } from "../wire/options.js";
import type { Publisher } from "../market/publisher.js";

export interface VenuefourContext {
  readonly exchange: SimExchange;
  readonly listing: Listing;
  readonly publisher: Publisher;
  readonly cadences: VenuefourCadences;
  readonly random: Random;
  readonly keys: KeyRing;
  readonly log: SimRequestLog;
  readonly journal: AccountJournal;
  limits: VenuefourLimits;
  quirks: VenuefourQuirks;
}
