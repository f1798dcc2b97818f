/**
 * What a `positions` key shows at one moment: whole positions by `exchange|symbol|direction`, and their id where they have
 * one, and coverage by venue.
 *
 * Invariant: folding the update between two images onto the first gives the second. Ages are those at the frame's `ts`
 * and make no difference between images.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Venue } from "../../engine/domain/venue.js";
import type { PositionEvent } from "../../engine/portfolio/position-changes.js";
import type { AggregatedPosition, VenuefiveStreamPosition } from "../../schemas/positions.js";
import type { Image } from "./feed.js";

type ShownPosition = AggregatedPosition | VenuefiveStreamPosition;

export interface PositionRow {
  readonly position: ShownPosition;
  /** All of it but its time and source. */
  readonly body: string;
  /** How often the venue itself had reduced it. */
  readonly liquidationCount: number;
}

export interface CoverageRow {
  /** Decides whether it is shown again. */
  readonly mark: string;
  readonly text: string;
}

export class PositionsImage implements Image {
  readonly rows: ReadonlyMap<string, PositionRow>;
  readonly coverage: ReadonlyMap<Venue, CoverageRow>;
  /** How closed positions ended, by key. */
  readonly #endings: ReadonlyMap<string, PositionEvent>;
  readonly #clock: Clock;

  constructor(
    rows: ReadonlyMap<string, PositionRow>,
    coverage: ReadonlyMap<Venue, CoverageRow>,
    endings: ReadonlyMap<string, PositionEvent>,
    clock: Clock,
  ) {
    this.rows = rows;
    this.coverage = coverage;
    this.#endings = endings;
    this.#clock = clock;
  }

  snapshotText(): string {
    const positions = [...this.rows.values()].map((row) => this.#rowText(row.position));
    return `{"positions":[${positions.join(",")}],"coverage":{${coverageMembers(this.coverage, null)}}}`;
  }

  updateText(from: PositionsImage): string {
    const events: PositionEvent[] = [];
    const texts: string[] = [];
    for (const [key, row] of this.rows) {
      const before = from.rows.get(key);
      if (before !== undefined && isSameRow(row, before)) continue;
      events.push(eventOf(before, row));
      texts.push(this.#rowText(row.position));
    }
    for (const [key, { position }] of from.rows) {
      if (this.rows.has(key)) continue;
      events.push(this.#endings.get(key) ?? "closed");
      texts.push(this.#rowText(ended(position)));
    }
    const coverage = coverageMembers(this.coverage, from.coverage);
    const coveragePart = coverage === "" ? "" : `,"coverage":{${coverage}}`;
    return `{"events":${JSON.stringify(events)},"positions":[${texts.join(",")}]${coveragePart}}`;
  }

  #rowText(position: ShownPosition): string {
    return JSON.stringify({ ...position, ageMs: Math.max(0, this.#clock.wallMs() - position.asOf) });
  }
}

export function isSameRow(left: PositionRow, right: PositionRow): boolean {
  return left.body === right.body && left.liquidationCount === right.liquidationCount;
}

function eventOf(before: PositionRow | undefined, row: PositionRow): PositionEvent {
  if (before === undefined) return "opened";
  // Fewer: it was closed and opened again in between.
  return row.liquidationCount > before.liquidationCount ? "liquidated" : "changed";
}

const VALUES = ["unrealizedPnl", "unrealizedPnlPercent", "collateral", "margin", "notional"] as const;

/** A closed position has no value left. */
function ended(position: ShownPosition): ShownPosition {
  const row: Record<string, unknown> = { ...position, size: "0" };
  for (const name of VALUES) delete row[name];
  return row as unknown as ShownPosition;
}

function coverageMembers(
  coverage: ReadonlyMap<Venue, CoverageRow>,
  before: ReadonlyMap<Venue, CoverageRow> | null,
): string {
  let text = "";
  for (const [venue, row] of coverage) {
    if (before?.get(venue)?.text === row.text) continue;
    text += `${text === "" ? "" : ","}"${venue}":${row.text}`;
  }
  return text;
}
