/**
 * Finds the best division of a size over several venues: the least total cost with at most `legsMax` legs, none below
 * its minimum or above its cap. Exact: costs are bigints, sizes are integers of one unit.
 *
 * A venue's cost grows with each further unit (levels come best first). So within a given set of venues the greedy
 * division, minimum first, then always the cheapest next unit, is the cheapest. There are few sets (at most 14 of four
 * venues), and all are tried; fewer legs win a tie. Where venues round to different steps, up to one step may stay
 * unplaced.
 */

/** A piece of a venue's depth: a size at one cost per unit; the costs of a venue never fall. */
export interface CostSegment {
  readonly units: number;
  readonly unitCost: bigint;
}

export interface SplitVenue {
  /** Order sizes are multiples of this. */
  readonly stepUnits: number;
  /** The smallest leg of this venue; a multiple of the step, above 0. */
  readonly minUnits: number;
  /** A multiple of the step. */
  readonly capUnits: number;
  readonly segments: readonly CostSegment[];
}

export interface SplitPlan {
  /** Units by venue; 0 for none. */
  readonly units: readonly number[];
  /** What no venue takes: less than every step of the legs that have room. */
  readonly remainderUnits: number;
  readonly cost: bigint;
}

/** Returns null when no set of venues takes the size. `sizeUnits` > 0. */
export function planSplit(venues: readonly SplitVenue[], sizeUnits: number, legsMax: number): SplitPlan | null {
  let best: SplitPlan | null = null;
  for (const set of setsOf(venues.length, legsMax)) {
    const plan = fillSet(venues, set, sizeUnits);
    if (plan !== null && (best === null || isCheaper(plan, best))) best = plan;
  }
  return best;
}

/** Placing more is better than costing less: what is not placed would stay open. */
function isCheaper(plan: SplitPlan, best: SplitPlan): boolean {
  if (plan.remainderUnits !== best.remainderUnits) return plan.remainderUnits < best.remainderUnits;
  return plan.cost < best.cost;
}

/** Smaller sets first. */
function setsOf(count: number, legsMax: number): number[][] {
  const sets: number[][] = [];
  for (let mask = 1; mask < 1 << count; mask++) {
    const set = Array.from({ length: count }, (_, index) => index).filter((index) => (mask & (1 << index)) !== 0);
    if (set.length <= legsMax) sets.push(set);
  }
  return sets.sort((left, right) => left.length - right.length);
}

/** Returns null when the set cannot take the size within its bounds. */
function fillSet(venues: readonly SplitVenue[], set: readonly number[], sizeUnits: number): SplitPlan | null {
  const legs = set.map((index) => new Leg(index, venues[index] as SplitVenue));
  let left = sizeUnits;
  let cost = 0n;
  for (const leg of legs) {
    const taken = leg.take(leg.venue.minUnits);
    if (taken === null) return null;
    cost += taken;
    left -= leg.venue.minUnits;
  }
  if (left < 0) return null;
  while (left > 0) {
    let cheapest: Leg | null = null;
    let cheapestUnits = 0;
    for (const leg of legs) {
      const room = leg.roomUnits(left);
      if (room === 0) continue;
      if (cheapest === null || leg.nextCost() < cheapest.nextCost()) {
        cheapest = leg;
        cheapestUnits = room;
      }
    }
    if (cheapest === null) break;
    const taken = cheapest.take(cheapestUnits);
    if (taken === null) break;
    cost += taken;
    left -= cheapestUnits;
  }
  // The rest must be rounding, not a lack of depth or position.
  if (left > 0 && legs.every((leg) => left >= leg.venue.stepUnits)) return null;
  const units = venues.map(() => 0);
  for (const leg of legs) units[leg.index] = leg.takenUnits;
  return { units, remainderUnits: left, cost };
}

class Leg {
  readonly index: number;
  readonly venue: SplitVenue;
  takenUnits = 0;
  #segment = 0;
  #used = 0;
  #depthUnits: number;

  constructor(index: number, venue: SplitVenue) {
    this.index = index;
    this.venue = venue;
    this.#depthUnits = venue.segments.reduce((sum, { units }) => sum + units, 0);
  }

  /** Cost of the next unit; call only where there is room. */
  nextCost(): bigint {
    return this.venue.segments[this.#segment]?.unitCost ?? 0n;
  }

  /**
   * Units to take at the next cost: whole steps, at least one even where it reaches into the next segment; 0 means
   * none.
   */
  roomUnits(leftUnits: number): number {
    const { stepUnits, capUnits, segments } = this.venue;
    const open = Math.min(leftUnits, capUnits - this.takenUnits);
    if (open < stepUnits) return 0;
    const here = (segments[this.#segment]?.units ?? 0) - this.#used;
    const steps = Math.max(1, Math.floor(Math.min(open, here) / stepUnits));
    return this.#depthUnits < steps * stepUnits ? 0 : steps * stepUnits;
  }

  /** Returns the cost of this many further units; null if there is no depth or no cap for them. */
  take(units: number): bigint | null {
    if (this.takenUnits + units > this.venue.capUnits || this.#depthUnits < units) return null;
    let cost = 0n;
    for (let open = units; open > 0; ) {
      const segment = this.venue.segments[this.#segment] as CostSegment;
      const here = Math.min(open, segment.units - this.#used);
      cost += segment.unitCost * BigInt(here);
      this.#used += here;
      open -= here;
      if (this.#used === segment.units) {
        this.#segment++;
        this.#used = 0;
      }
    }
    this.takenUnits += units;
    this.#depthUnits -= units;
    return cost;
  }
}
