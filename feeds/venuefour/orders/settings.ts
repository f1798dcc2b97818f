/**
 * Leverage and margin mode. The venue lists only markets that differ from its default, which is cross at the market's
 * highest leverage. What was read or told last is remembered for positions, which do not carry their leverage.
 */
import { LRUCache } from "lru-cache";
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
import { failedRead, localReject, refusedOf } from "../../shared/net/call-results.js";
import { monoMs } from "../../shared/net/weight-window.js";
import type { AccountRest } from "../account/rest.js";
import { decodeSettings, type VenuefourWireSetting } from "../account/wire.js";
import { ORDER_CREDITS, READ_CREDITS } from "../rules/limits.js";
import { failureOf, type Sender } from "./exchange.js";
import { VenuefourSession } from "../account/session.js";
import type { SignedFields } from "../sign/sign.js";

export interface VenuefourSettingsDeps {
  readonly rest: AccountRest;
  readonly sender: Sender;
  readonly clock: Clock;
}

/** Accounts whose settings are remembered; the least recently used goes. */
const MAX_ACCOUNTS = 4_096;
/** For what leverage a position shows, nothing that decides: settings change by hand, and streams tell of it. */
const FRESH_MS = 60_000;
const DONE = (): null => null;

interface Known {
  readonly rows: ReadonlyMap<string, VenuefourWireSetting>;
  /** Monotonic. */
  readonly atMs: number;
}

export class VenuefourSettings implements AccountSettings {
  readonly #deps: VenuefourSettingsDeps;
  readonly #known = new LRUCache<string, Known>({ max: MAX_ACCOUNTS });

  constructor(deps: VenuefourSettingsDeps) {
    this.#deps = deps;
  }

  /** Null where the settings of this account have not been read. */
  knownLeverage(accountId: string, instrument: Instrument): number | null {
    const known = this.#known.get(accountId);
    return known === undefined ? null : settingsOf(known.rows, instrument).leverage;
  }

  /** Reads them if they are not fresh; a failure leaves what is known. */
  async refresh(session: VenuefourSession, options: CallOptions): Promise<void> {
    const known = this.#known.get(session.accountId);
    if (known !== undefined && monoMs(this.#deps.clock) - known.atMs < FRESH_MS) return;
    await this.#readRows(session, options);
  }

  /** They have changed: the next reading asks again. */
  changed(accountId: string): void {
    const known = this.#known.get(accountId);
    if (known !== undefined) this.#known.set(accountId, { ...known, atMs: Number.NEGATIVE_INFINITY });
  }

  async read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    if (!(session instanceof VenuefourSession)) return failedRead("AUTH", "session of another venue");
    const rows = await this.#readRows(session, options);
    return rows.ok ? { ...rows, value: settingsOf(rows.value, instrument) } : rows;
  }

  setLeverage(
    session: AccountSession,
    instrument: Instrument,
    leverage: number,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    if (!Number.isSafeInteger(leverage) || leverage < 1 || leverage > instrument.maxLeverage) {
      const text = `leverage must be a whole number from 1 to ${instrument.maxLeverage}`;
      return Promise.resolve(refusedOf(localReject("VENUE_STATE", "LEVERAGE", text)));
    }
    const settings: SymbolSettings = { leverage, marginMode: null, maxNotionalValue: null };
    return this.#set(session, "update_leverage", { symbol: instrument.nativeSymbol, leverage }, settings, options);
  }

  setMarginMode(
    session: AccountSession,
    instrument: Instrument,
    mode: "cross" | "isolated",
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const settings: SymbolSettings = { leverage: null, marginMode: mode, maxNotionalValue: null };
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
    const answer = await this.#deps.sender.send(session, type, payload, ORDER_CREDITS, DONE, options);
    if (answer.kind !== "rejected") this.changed(session.accountId);
    return answer.kind === "ok" ? { outcome: "accepted", settings } : failureOf(answer);
  }

  async #readRows(
    session: VenuefourSession,
    options: CallOptions,
  ): Promise<Read<ReadonlyMap<string, VenuefourWireSetting>>> {
    const read = await this.#deps.rest.read(session, "/account/settings", {}, READ_CREDITS, decodeSettings, options);
    if (!read.ok) return read;
    const rows = new Map(read.value.map((row) => [row.symbol, row]));
    this.#known.set(session.accountId, { rows, atMs: monoMs(this.#deps.clock) });
    return { ...read, value: rows };
  }
}

function settingsOf(rows: ReadonlyMap<string, VenuefourWireSetting>, instrument: Instrument): SymbolSettings {
  const row = rows.get(instrument.nativeSymbol);
  return {
    leverage: row?.leverage ?? instrument.maxLeverage,
    marginMode: row?.isIsolated === true ? "isolated" : "cross",
    maxNotionalValue: null,
  };
}
