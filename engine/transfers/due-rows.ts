/**
 * Rows by when they are due. Of one pause they are due in the order in which they began to rest, and there are few pauses:
 * the soonest of all is among the first of each, however many rest.
 */
export class DueRows {
  /** By pause: when each is due, the soonest first. */
  readonly #byPause = new Map<number, Map<string, number>>();
  readonly #pauses = new Map<string, number>();

  /** Null: it is not here. */
  pauseOf(transferId: string): number | null {
    return this.#pauses.get(transferId) ?? null;
  }

  /** From now on, which is never before the last one. */
  rest(transferId: string, pauseMs: number, nowNs: number): void {
    this.delete(transferId);
    const line = this.#byPause.get(pauseMs) ?? new Map<string, number>();
    this.#byPause.set(pauseMs, line.set(transferId, nowNs + pauseMs * 1e6));
    this.#pauses.set(transferId, pauseMs);
  }

  delete(transferId: string): void {
    const pauseMs = this.#pauses.get(transferId);
    if (pauseMs === undefined) return;
    this.#pauses.delete(transferId);
    this.#byPause.get(pauseMs)?.delete(transferId);
  }

  /** When the next one is due; null: there is none. */
  soonestNs(): number | null {
    let soonestNs: number | null = null;
    for (const line of this.#byPause.values())
      for (const dueNs of line.values()) {
        soonestNs = Math.min(soonestNs ?? dueNs, dueNs);
        break;
      }
    return soonestNs;
  }

  /** The longest due first. */
  *due(nowNs: number): Generator<string> {
    const lines = [...this.#byPause.values()].map((line) => line.entries());
    const heads = lines.map((line) => line.next());
    for (;;) {
      let first = -1;
      let firstNs = nowNs;
      for (const [index, { value }] of heads.entries()) {
        const dueNs = value?.[1];
        if (dueNs === undefined || dueNs > firstNs || (first >= 0 && dueNs === firstNs)) continue;
        first = index;
        firstNs = dueNs;
      }
      const next = heads[first]?.value?.[0];
      const line = lines[first];
      if (next === undefined || line === undefined) return;
      yield next;
      heads[first] = line.next();
    }
  }
}
