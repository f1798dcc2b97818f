/** Leverage and margin mode of one symbol. Setting one again is safe, so an unknown outcome is reported as such. */
import type { Logger } from "../../domain/logger.js";
import type { Clock } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { AccountSettings, CallOptions, SettingOutcome } from "../../ports.js";
import { problemOf } from "../background.js";
import { type Deadline, within } from "../../domain/deadline.js";
import { callOptions, type OpenedAccount } from "./open-account.js";
import { refusedBy } from "./order-change.js";
import { refusal } from "./order-check.js";
import type { OrderRefusal, SettingAnswer, SettingRequest } from "./order-desk.js";

/** What changes a setting. */
export interface SettingsParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interface spec, section 8. */
const MAX_LEVERAGE = 125;

export function setLeverage(
  parts: SettingsParts,
  opened: OpenedAccount,
  request: SettingRequest & { readonly leverage: number },
  deadline: Deadline,
): Promise<SettingAnswer> {
  const { leverage } = request;
  return change(parts, opened, request, deadline, async (settings, instrument) => {
    const isInRange = Number.isInteger(leverage) && leverage >= 1 && leverage <= MAX_LEVERAGE;
    if (!isInRange) return outOfRange(MAX_LEVERAGE);
    if (leverage > instrument.maxLeverage) return outOfRange(instrument.maxLeverage);
    const { session } = opened;
    const known = settings.maxLeverage?.(session, instrument, callOptions(deadline, "trade"));
    // One that is not known in time is left to the venue.
    const read = known === undefined ? null : await within(parts.clock, known, deadline.leftMs() / 2);
    const max = read?.done === true ? read.value : null;
    if (max !== null && leverage > max) return outOfRange(max);
    return settings.setLeverage(session, instrument, leverage, callOptions(deadline, "trade"));
  });
}

function outOfRange(max: number): OrderRefusal {
  return refusal("LEVERAGE_OUT_OF_RANGE", { max, fields: [{ path: "leverage", problem: `must be from 1 to ${max}` }] });
}

export function setMarginMode(
  parts: SettingsParts,
  opened: OpenedAccount,
  request: SettingRequest & { readonly mode: "cross" | "isolated" },
  deadline: Deadline,
): Promise<SettingAnswer> {
  return change(parts, opened, request, deadline, (settings, instrument, options) =>
    settings.setMarginMode(opened.session, instrument, request.mode, options),
  );
}

async function change(
  parts: SettingsParts,
  { room, secrets }: OpenedAccount,
  { symbol, venue }: SettingRequest,
  deadline: Deadline,
  set: (
    settings: AccountSettings,
    instrument: Instrument,
    options: CallOptions,
  ) => Promise<SettingOutcome | OrderRefusal>,
): Promise<SettingAnswer> {
  const instrument = room.markets.get(symbol)?.instrument;
  if (instrument === undefined) return refusal("INVALID_TRADING_SYMBOL", { exchange: venue, symbol });
  const { settings } = room;
  if (settings === undefined) return refusal("NOT_SUPPORTED", { what: `account settings on ${venue}` });
  let outcome: SettingOutcome | OrderRefusal;
  try {
    outcome = await set(settings, instrument, callOptions(deadline, "trade"));
  } catch (error) {
    // A room that throws is a bug of ours, and by now the change may be out.
    parts.logger.error("setting_threw", { venue, problem: problemOf(error) });
    outcome = { outcome: "unknown", cause: "INTERNAL" };
  }
  if ("ok" in outcome) return outcome;
  if (outcome.outcome === "rejected") return refusedBy("SETTING_REJECTED", venue, outcome, secrets);
  const { nativeSymbol } = instrument;
  if (outcome.outcome === "accepted") {
    return { ok: true, outcome: "ACCEPTED", symbol, nativeSymbol, settings: outcome.settings };
  }
  const unknown = { leverage: null, marginMode: null, maxNotionalValue: null };
  return { ok: true, outcome: "UNKNOWN", symbol, nativeSymbol, settings: unknown };
}
