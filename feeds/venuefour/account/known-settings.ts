/**
 * Leverage and margin mode as the venue lists them: only markets that differ from its default, which is cross at the
 * market's highest leverage. What was read last is remembered for positions, which do not carry their leverage.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { CallOptions, Read, SymbolSettings } from "../../../engine/ports.js";
import { settingsOf } from "../../shared/account/symbol-settings.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import { READ_CREDITS } from "../rules/limits.js";
import type { AccountRest } from "./rest.js";
import type { VenuefourSession } from "./session.js";
import { decodeSettings, type VenuefourWireSetting } from "./wire.js";

/** Accounts whose settings are remembered; the least recently used goes. */
const MAX_ACCOUNTS = 4_096;
/** For what leverage a position shows, nothing that decides: settings change by hand, and streams report it. */
const FRESH_MS = 60_000;

type Rows = ReadonlyMap<string, VenuefourWireSetting>;

export class KnownSettings {
  readonly #rest: AccountRest;
  /** By account. */
  readonly #known: TimedCache<string, Rows>;

  constructor(rest: AccountRest, clock: Clock) {
    this.#rest = rest;
    this.#known = new TimedCache(clock, MAX_ACCOUNTS);
  }

  /** Null where the settings of this account have not been read. */
  leverageOf(accountId: string, instrument: Instrument): number | null {
    const rows = this.#known.last(accountId);
    return rows === null ? null : listedOf(rows, instrument).leverage;
  }

  /** Reads them if they are not fresh; a failure keeps what is known. */
  async refresh(session: VenuefourSession, options: CallOptions): Promise<void> {
    if (this.#known.get(session.accountId) === null) await this.#readRows(session, options);
  }

  /** They have changed: the next reading asks again. */
  changed(accountId: string): void {
    this.#known.doubt(accountId);
  }

  async read(session: VenuefourSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    const rows = await this.#readRows(session, options);
    return rows.ok ? { ...rows, value: listedOf(rows.value, instrument) } : rows;
  }

  async #readRows(session: VenuefourSession, options: CallOptions): Promise<Read<Rows>> {
    const read = await this.#rest.read(session, "/account/settings", {}, READ_CREDITS, decodeSettings, options);
    if (!read.ok) return read;
    const rows = new Map(read.value.map((row) => [row.symbol, row]));
    this.#known.set(session.accountId, rows, FRESH_MS);
    return { ...read, value: rows };
  }
}

function listedOf(rows: Rows, { maxLeverage, nativeSymbol }: Instrument): SymbolSettings {
  const row = rows.get(nativeSymbol);
  return settingsOf(row?.leverage ?? maxLeverage, row?.isIsolated === true ? "isolated" : "cross");
}
