/** The trading chapters of every venue; the tests of one venue alone are in a file of its own. */
import { accountChapters, settingChapters } from "./account.js";
import type { TradingVenue } from "./bench.js";
import { changeChapters, stopChapters } from "./changing.js";
import { historyChapters } from "./history.js";
import { outcomeChapters } from "./outcomes.js";
import { payerChapter } from "./payers.js";
import { placingChapters } from "./placing.js";

export function tradingSuite(venue: TradingVenue): void {
  placingChapters(venue);
  stopChapters(venue);
  changeChapters(venue);
  settingChapters(venue);
  accountChapters(venue);
  outcomeChapters(venue);
  historyChapters(venue);
  payerChapter(venue);
}
