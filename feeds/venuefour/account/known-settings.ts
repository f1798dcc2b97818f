/**
 * Leverage and margin mode as the venue lists them: only markets that differ from its default, which is cross at the
 * market's highest leverage. What was read last is remembered for positions, which do not carry their leverage.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { CallOptions, Read, SymbolSettings } from "../../../engine/ports.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { READ_CREDITS } from "../rules/limits.js";
import type { AccountRest } from "./rest.js";
import type { VenuefourSession } from "./session.js";
import { decodeSettings, type VenuefourWireSetting } from "./wire.js";

/** Accounts whose settings are remembered; the least recently used goes. */
const MAX_ACCOUNTS = 4_096;
/** For what leverage a position shows, nothing that decides: settings change by hand, and streams tell of it. */
const FRESH_MS = 60_000;

interface Known {
  readonly rows: ReadonlyMap<string, VenuefourWireSetting>;
  /** Monotonic. */
  readonly atMs: number;
}

export class KnownSettings {
  readonly #rest: AccountRest;
  readonly #clock: Clock;
  readonly #known = new LRUCache<string, Known>({ max: MAX_ACCOUNTS });

  constructor(rest: AccountRest, clock: Clock) {
    this.#rest = rest;
    this.#clock = clock;
  }

  /** Null where the settings of this account have not been read. */
  leverageOf(accountId: string, instrument: Instrument): number | null {
    const known = this.#known.get(accountId);
    return known === undefined ? null : settingsOf(known.rows, instrument).leverage;
  }

  /** Reads them if they are not fresh; a failure leaves what is known. */
  async refresh(session: VenuefourSession, options: CallOptions): Promise<void> {
    const known = this.#known.get(session.accountId);
    if (known !== undefined && monoMs(this.#clock) - known.atMs < FRESH_MS) return;
    await this.#readRows(session, options);
  }

  /** They have changed: the next reading asks again. */
  changed(accountId: string): void {
    const known = this.#known.get(accountId);
    if (known !== undefined) this.#known.set(accountId, { ...known, atMs: Number.NEGATIVE_INFINITY });
  }

  async read(session: VenuefourSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    const rows = await this.#readRows(session, options);
    return rows.ok ? { ...rows, value: settingsOf(rows.value, instrument) } : rows;
  }

  async #readRows(
    session: VenuefourSession,
    options: CallOptions,
  ): Promise<Read<ReadonlyMap<string, VenuefourWireSetting>>> {
    const read = await this.#rest.read(session, "/account/settings", {}, READ_CREDITS, decodeSettings, options);
    if (!read.ok) return read;
    const rows = new Map(read.value.map((row) => [row.symbol, row]));
    this.#known.set(session.accountId, { rows, atMs: monoMs(this.#clock) });
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
