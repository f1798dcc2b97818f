/**
 * Leverage and margin mode of one coin. The venue sets both by one action, so each change reads the other first and
 * sends it as it is.
 */
import type { Clock } from "../../../engine/domain/clock.js";
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
import { failedRead, localReject, refusedByRead, refusedOf } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { failureOf, OUT_OF_TIME } from "../../shared/orders/exchange-outcome.js";
import type { AccountResolver } from "../account/resolver.js";
import type { VenueoneExchange } from "./exchange.js";
import { doneOutcome } from "./changes.js";
import type { VenueoneRest } from "../account/rest.js";
import { callOf, VenueoneSession } from "../account/session.js";

export interface VenueoneSettingsDeps {
  readonly rest: VenueoneRest;
  readonly accounts: AccountResolver;
  readonly exchange: VenueoneExchange;
  readonly clock: Clock;
}

interface Setting {
  readonly leverage: number;
  readonly marginMode: "cross" | "isolated";
}

export class VenueoneSettings implements AccountSettings {
  readonly #deps: VenueoneSettingsDeps;

  constructor(deps: VenueoneSettingsDeps) {
    this.#deps = deps;
  }

  async read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    const setting = await this.#read(
      session,
      instrument,
      new Deadline(this.#deps.clock, options, session.payer),
      options,
    );
    return setting.ok ? { ...setting, value: settingsOf(setting.value.leverage, setting.value.marginMode) } : setting;
  }

  async setLeverage(
    session: AccountSession,
    instrument: Instrument,
    leverage: number,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const problem = leverageProblem(leverage, instrument);
    if (problem !== null) return problem;
    return this.#change(session, instrument, (setting) => ({ ...setting, leverage }), options);
  }

  async setMarginMode(
    session: AccountSession,
    instrument: Instrument,
    marginMode: "cross" | "isolated",
    options: CallOptions,
  ): Promise<SettingOutcome> {
    return this.#change(session, instrument, (setting) => ({ ...setting, marginMode }), options);
  }

  async #change(
    session: AccountSession,
    instrument: Instrument,
    changed: (setting: Setting) => Setting,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const { exchange } = this.#deps;
    const deadline = new Deadline(this.#deps.clock, callOf(session, options), session.payer);
    if (!(session instanceof VenueoneSession) || !session.canSign)
      return refusedOf(localReject("AUTH", "NO_KEY", "an address alone changes nothing"));
    const before = await this.#read(session, instrument, deadline, options);
    if (!before.ok) return refusedByRead(before);
    const { leverage, marginMode } = changed(before.value);
    const settings = settingsOf(leverage, marginMode);
    if (leverage === before.value.leverage && marginMode === before.value.marginMode)
      return { outcome: "accepted", settings };
    const left = deadline.left();
    if (left === null) return failureOf(OUT_OF_TIME);
    const action = { type: "updateLeverage", asset: instrument.nativeId, isCross: marginMode === "cross", leverage };
    const done = doneOutcome(await exchange.send(session, exchange.prepare(action, null), left));
    return done.outcome === "accepted" ? { outcome: "accepted", settings } : done;
  }

  async #read(
    session: AccountSession,
    instrument: Instrument,
    deadline: Deadline,
    options: CallOptions,
  ): Promise<Read<Setting>> {
    if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
    const account = await this.#deps.accounts.resolve(session, options);
    if (!account.ok) return account;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the settings");
    const read = await this.#deps.rest.activeAssetData(account.value, instrument.nativeSymbol, left);
    if (!read.ok) return read;
    if (read.value.coin !== instrument.nativeSymbol) return failedRead("BAD_RESPONSE", "settings of another coin");
    return { ...read, value: { leverage: read.value.leverage, marginMode: read.value.leverageType } };
  }
}
