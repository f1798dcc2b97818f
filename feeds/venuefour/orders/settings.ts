/** Leverage and margin mode of a market: read and set. */
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
import { failedRead } from "../../shared/net/call-results.js";
import type { KnownSettings } from "../account/known-settings.js";
import { ORDER_CREDITS } from "../rules/limits.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import type { VenuefourExchange } from "./exchange.js";
import { VenuefourSession } from "../account/session.js";
import type { SignedFields } from "../sign/sign.js";

const DONE = (): null => null;

export class VenuefourSettings implements AccountSettings {
  readonly #known: KnownSettings;
  readonly #exchange: VenuefourExchange;

  constructor(known: KnownSettings, exchange: VenuefourExchange) {
    this.#known = known;
    this.#exchange = exchange;
  }

  async read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    if (!(session instanceof VenuefourSession)) return failedRead("AUTH", "session of another venue");
    return this.#known.read(session, instrument, options);
  }

  setLeverage(
    session: AccountSession,
    instrument: Instrument,
    leverage: number,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const problem = leverageProblem(leverage, instrument);
    if (problem !== null) return Promise.resolve(problem);
    const settings = settingsOf(leverage, null);
    return this.#set(session, "update_leverage", { symbol: instrument.nativeSymbol, leverage }, settings, options);
  }

  setMarginMode(
    session: AccountSession,
    instrument: Instrument,
    mode: "cross" | "isolated",
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const settings = settingsOf(null, mode);
    const payload = { symbol: instrument.nativeSymbol, is_isolated: mode === "isolated" };
    return this.#set(session, "update_margin_mode", payload, settings, options);
  }

  async #set(
    session: AccountSession,
    type: "update_leverage" | "update_margin_mode",
    payload: SignedFields,
    settings: SymbolSettings,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const exchanged = await this.#exchange.send(session, type, payload, ORDER_CREDITS, DONE, options);
    if (exchanged.kind !== "rejected") this.#known.changed(session.accountId);
    return exchanged.kind === "answered" ? { outcome: "accepted", settings } : failureOf(exchanged);
  }
}
