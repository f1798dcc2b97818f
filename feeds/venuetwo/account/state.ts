/**
 * What a user stream and its reconciliations say about one account, merged so that nothing moves
 * backwards: its positions here, its orders and fills in order-state.ts. Pure state: no sockets, no clock.
 *
 * Rows are absolute, one per symbol and position side, and ordered by the venue's event time: the
 * venue may deliver events out of order under load. A REST snapshot replaces everything, except rows
 * that an event has set since the snapshot was asked for.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import { normalizePositionUpdate, uncountedUpdate } from "./normalize-pushed.js";
import { type AppliedEvent, NOTHING, OrderState } from "./order-state.js";
import type { VenuetwoWirePositionUpdate } from "../market/wire.js";

type Settings = Readonly<Record<string, string>>;

interface PositionRow {
  /** Null when it is flat. Kept, so that an older event cannot bring the position back. */
  readonly position: VenuePosition | null;
  readonly leverage: number | null;
  /** Settings that only REST shows, as last read; null where it showed none. Kept while it is flat. */
  readonly settings: Settings | null;
  /** `E` of the event that set it; 0 when a snapshot did. */
  readonly tsEventMs: number;
  /** Events from before change nothing. */
  readonly asOfMs: number;
}

export class AccountState {
  readonly #positions = new Map<string, PositionRow>();
  readonly orders = new OrderState();
  /** Of all rows. */
  #newestMs = 0;
  lateCount = 0;

  /** Rows with a size. */
  positions(): readonly VenuePosition[] {
    const open: VenuePosition[] = [];
    for (const { position } of this.#positions.values()) if (position !== null) open.push(position);
    return open;
  }

  /**
   * ACCOUNT_UPDATE. `tsEventMs` null: of no time that can be believed; it bars nothing, and any answer of REST outweighs it.
   * `instrumentOf` answers null for contracts this service does not list.
   */
  applyPositions(
    rows: readonly VenuetwoWirePositionUpdate[],
    tsEventMs: number | null,
    instrumentOf: (nativeSymbol: string) => Instrument | null,
  ): AppliedEvent {
    let isChanged = false;
    let problem: string | null = null;
    for (const row of rows) {
      const instrument = instrumentOf(row.s);
      const key = `${row.s}|${row.ps}`;
      const before = this.#positions.get(key);
      const asOfMs = tsEventMs ?? before?.asOfMs ?? 0;
      if (before !== undefined && asOfMs < before.asOfMs) {
        this.lateCount++;
        continue;
      }
      try {
        const leverage = before?.leverage ?? null;
        const settings = before?.settings ?? null;
        const position =
          instrument === null
            ? uncountedUpdate(row, asOfMs)
            : normalizePositionUpdate(row, instrument, asOfMs, leverage);
        this.#positions.set(key, {
          position: withSettings(position, settings),
          leverage,
          settings,
          tsEventMs: tsEventMs ?? 0,
          asOfMs,
        });
        this.#newestMs = Math.max(this.#newestMs, asOfMs);
        isChanged = true;
      } catch (error) {
        if (!(error instanceof WireFault)) throw error;
        problem = `${error.field} ${error.problem}`;
      }
    }
    if (problem !== null) return { kind: "unfit", problem };
    return isChanged ? { kind: "events", events: [{ kind: "positions" }] } : NOTHING;
  }

  applyLeverage(nativeSymbol: string, leverage: number): AppliedEvent {
    let isChanged = false;
    for (const [key, row] of this.#positions) {
      if (!key.startsWith(`${nativeSymbol}|`)) continue;
      const settings = row.leverage === leverage ? row.settings : settingsOfAnyLeverage(row.settings);
      const position = row.position === null ? null : { ...row.position, leverage };
      this.#positions.set(key, { ...row, leverage, settings, position: withSettings(position, settings) });
      isChanged = true;
    }
    return isChanged ? { kind: "events", events: [{ kind: "positions" }] } : NOTHING;
  }

  /**
   * Takes a whole REST answer. Rows that an event newer than `sinceVenueMs` has set stay: the answer may
   * have been made before them. True when what readers see has changed.
   */
  adoptPositions(rows: readonly VenuePosition[], sinceVenueMs: number): boolean {
    const before = fingerprint(this.positions());
    const fresh = new Map<string, PositionRow>();
    for (const position of rows) {
      const { leverage, native, tsVenueMs } = position;
      const settings = settingsOf(native);
      fresh.set(positionKey(position), { position, leverage, settings, tsEventMs: 0, asOfMs: tsVenueMs });
      this.#newestMs = Math.max(this.#newestMs, tsVenueMs);
    }
    for (const [key, row] of this.#positions) {
      const isNewerThanAnswer =
        row.tsEventMs >= sinceVenueMs && row.tsEventMs >= (fresh.get(key)?.position?.tsVenueMs ?? 0);
      if (isNewerThanAnswer) fresh.set(key, row);
      // The answer holds no flat rows.
      else if (!fresh.has(key) && row.settings !== null) fresh.set(key, { ...row, position: null, tsEventMs: 0 });
    }
    this.#positions.clear();
    for (const [key, row] of fresh) this.#positions.set(key, row);
    return fingerprint(this.positions()) !== before;
  }

  /** The venue's clock was found to be behind what was taken: a time in the future bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    this.orders.forgetBeyond(latestMs);
    if (barredBeforeMs(this.#newestMs, latestMs) === this.#newestMs) return;
    this.#newestMs = 0;
    for (const [key, row] of this.#positions) {
      const asOfMs = barredBeforeMs(row.asOfMs, latestMs);
      this.#positions.set(key, { ...row, tsEventMs: barredBeforeMs(row.tsEventMs, latestMs), asOfMs });
      this.#newestMs = Math.max(this.#newestMs, asOfMs);
    }
  }

  /** The connection was lost: the next REST answer outweighs every event so far. */
  forgetEventTimes(): void {
    for (const [key, row] of this.#positions) {
      // Settings of a flat one may have changed meanwhile, and no REST answer shows them.
      if (row.position === null) this.#positions.delete(key);
      else this.#positions.set(key, { ...row, tsEventMs: 0 });
    }
  }
}

/** The fields of a row that are settings of its contract: neither size nor mark moves them. */
const SETTING_FIELDS = ["maxNotionalValue", "isAutoAddMargin"] as const;

function settingsOf(native: Settings | undefined): Settings | null {
  if (native === undefined) return null;
  const settings: Record<string, string> = {};
  for (const name of SETTING_FIELDS) {
    const text = native[name];
    if (text !== undefined) settings[name] = text;
  }
  return settings;
}

/** The largest notional is that of the leverage it was read with. */
function settingsOfAnyLeverage(settings: Settings | null): Settings | null {
  if (settings === null) return null;
  const { maxNotionalValue: _ended, ...rest } = settings;
  return rest;
}

/** In place of a row of REST: its figures were those of another size or leverage. */
function withSettings(position: VenuePosition | null, settings: Settings | null): VenuePosition | null {
  if (position === null) return null;
  const { native: _older, ...pushed } = position;
  return settings === null ? pushed : { ...pushed, native: settings };
}

function positionKey(position: VenuePosition): string {
  return `${position.nativeSymbol}|${position.positionSide}`;
}

/** What must not differ between us and the venue. */
function fingerprint(positions: readonly VenuePosition[]): string {
  return positions
    .map(
      (position) =>
        `${positionKey(position)}:${position.direction}:${position.uncounted ?? position.qtyLots}:${position.entryPrice}`,
    )
    .sort()
    .join(" ");
}
