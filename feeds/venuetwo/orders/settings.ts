/** Leverage and margin mode of one symbol. Both may be set again as they are, so nothing is read before a change. */
import type { Clock } from "../../../engine/domain/clock.js";
import { isPlainDecimal } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  AccountSession,
  AccountSettings,
  CallOptions,
  Read,
  SettingOutcome,
  SymbolSettings,
} from "../../../engine/ports.js";
import { leverageProblem, settingsOf } from "../../shared/account/symbol-settings.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import { failedRead, refusedOf } from "../../shared/net/call-results.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import { asFields, decodeJson, integerField, textField, WireFault } from "../../shared/room/wire-fields.js";
import { integerOrNull, marginModeOf } from "../account/normalize.js";
import { decodePositionRisk } from "../account/wire.js";
import { leverageBracketCall, leverageCall, marginTypeCall, positionRiskCall } from "../account/calls.js";
import type { VenuetwoExchange } from "./exchange.js";
import type { VenuetwoRest } from "../account/rest.js";
import { VenuetwoSession } from "../account/session.js";

/** "No need to change margin type." */
const CODE_SAME_MARGIN_TYPE = "-4046";

/** A venue changes its brackets by announcement. */
const MAXIMUM_TTL_MS = 3_600_000;
/** More contracts than are listed. */
const MAXIMA_MAX = 4_096;

export interface VenuetwoSettingsDeps {
  readonly rest: VenuetwoRest;
  readonly exchange: VenuetwoExchange;
  readonly clock: Clock;
}

export class VenuetwoSettings implements AccountSettings {
  readonly #deps: VenuetwoSettingsDeps;
  /** By native symbol. */
  readonly #maxima: TimedCache<string, number>;

  constructor(deps: VenuetwoSettingsDeps) {
    this.#deps = deps;
    this.#maxima = new TimedCache(deps.clock, MAXIMA_MAX);
  }

  /** Flat symbols too: the venue lists each with its settings. Both rows of a hedge-mode account say the same. */
  async read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const call = positionRiskCall(instrument.nativeSymbol);
    const rows = await this.#deps.rest.read(session, call, decodePositionRisk, options);
    if (!rows.ok) return rows;
    const row = rows.value.find((candidate) => candidate.symbol === instrument.nativeSymbol);
    if (row === undefined) return failedRead("BAD_RESPONSE", "positionRisk: the symbol is missing");
    const leverage = row.leverage === null ? null : integerOrNull(row.leverage);
    const value = {
      leverage,
      marginMode: marginModeOf(row.marginType),
      maxNotionalValue: row.maxNotionalValue,
      hedgeMode: row.positionSide !== "BOTH",
    };
    return { ...rows, value };
  }

  /** Of the lowest bracket: the venue decides what a larger position allows. */
  async maxLeverage(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<number | null> {
    const { nativeSymbol } = instrument;
    const known = this.#maxima.get(nativeSymbol);
    if (known !== null) return known;
    if (!(session instanceof VenuetwoSession)) return null;
    const decode = (value: unknown): number => decodeMaximum(value, nativeSymbol);
    const read = await this.#deps.rest.read(session, leverageBracketCall(nativeSymbol), decode, options);
    if (!read.ok) return null;
    const leverage = Math.min(instrument.maxLeverage, read.value);
    this.#maxima.set(nativeSymbol, leverage, MAXIMUM_TTL_MS);
    return leverage;
  }

  async setLeverage(
    session: AccountSession,
    instrument: Instrument,
    leverage: number,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const problem = leverageProblem(leverage, instrument);
    if (problem !== null) return problem;
    const call = leverageCall(instrument.nativeSymbol, leverage);
    const exchanged = await this.#deps.exchange.send(session, call, options);
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const decoded = decodeJson(exchanged.answer.body, decodeLeverage);
    if (!decoded.ok || decoded.value.symbol !== instrument.nativeSymbol)
      return { outcome: "unknown", cause: "REPLY_SHAPE" };
    const { leverage: set, maxNotionalValue } = decoded.value;
    return { outcome: "accepted", settings: settingsOf(set, null, maxNotionalValue) };
  }

  async setMarginMode(
    session: AccountSession,
    instrument: Instrument,
    marginMode: "cross" | "isolated",
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const call = marginTypeCall(instrument.nativeSymbol, marginMode);
    const settings = settingsOf(null, marginMode);
    const exchanged = await this.#deps.exchange.send(session, call, options);
    if (exchanged.kind === "unknown") return { outcome: "unknown", cause: exchanged.cause };
    if (exchanged.kind === "rejected") {
      // It was so already, which is what was asked for.
      if (exchanged.rejected.venueCode === CODE_SAME_MARGIN_TYPE) return { outcome: "accepted", settings };
      return refusedOf(exchanged.rejected);
    }
    const decoded = decodeJson(exchanged.answer.body, (value) => Number(asFields(value, "answer")["code"]));
    return decoded.ok && decoded.value === 200
      ? { outcome: "accepted", settings }
      : { outcome: "unknown", cause: "REPLY_SHAPE" };
  }
}

/** One object where the symbol was sent; a list in the dialect that the venue's comes from. */
function decodeMaximum(value: unknown, nativeSymbol: string): number {
  const rows = (Array.isArray(value) ? value : [value]).map((row) => asFields(row, "leverageBracket"));
  const brackets = rows.find((row) => row["symbol"] === nativeSymbol)?.["brackets"];
  if (!Array.isArray(brackets) || brackets.length === 0) throw new WireFault("brackets", "are missing");
  return Math.max(...brackets.map((row) => integerField(asFields(row, "bracket"), "initialLeverage")));
}

function decodeLeverage(value: unknown): {
  readonly symbol: string;
  readonly leverage: number;
  readonly maxNotionalValue: string | null;
} {
  const row = asFields(value, "leverage");
  return {
    symbol: textField(row, "symbol"),
    leverage: integerField(row, "leverage"),
    maxNotionalValue: notionalOrNull(row["maxNotionalValue"]),
  };
}

/** Descriptive, and seen both as text and as a number: it must not cast doubt on a change that was made. */
function notionalOrNull(value: unknown): string | null {
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && isPlainDecimal(value) ? value : null;
}
