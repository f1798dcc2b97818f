/** What the routes and streams of the local venue share. */
import type { SimRequestLog } from "../../core/server/request-log.js";
import type { MarketContext } from "../market/market-context.js";
import type { KeyRing } from "../records/keys.js";
import type { VenuefourLimits } from "../wire/options.js";
import type { AccountJournal } from "./account-journal.js";

export interface VenuefourContext extends MarketContext {
  readonly keys: KeyRing;
  readonly log: SimRequestLog;
  readonly journal: AccountJournal;
  limits: VenuefourLimits;
}
