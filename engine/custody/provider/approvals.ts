/**
 * What C's operator allows: one refresh of one wallet, mode and epoch, within ten minutes, once. In memory: a restart
 * ends it (docs/mpc.md, section 9).
 */
import type { Clock } from "../../domain/clock.js";
import type { RefreshMode } from "../mpc/state/state-row.js";

const OPEN_NS = 600_000 * 1e6;

interface Approval {
  readonly mode: RefreshMode;
  readonly epoch: number;
  readonly untilNs: number;
}

export class Approvals {
  readonly #clock: Clock;
  readonly #open = new Map<string, Approval>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `epoch`: the one that the refresh makes. A later approval of the wallet takes the place of the former. */
  open(walletId: string, mode: RefreshMode, epoch: number): void {
    this.#open.set(walletId, { mode, epoch, untilNs: this.#clock.monoNs() + OPEN_NS });
  }

  /** True once. */
  use(walletId: string, mode: RefreshMode, epoch: number): boolean {
    const found = this.#open.get(walletId);
    if (found === undefined || found.mode !== mode || found.epoch !== epoch) return false;
    this.#open.delete(walletId);
    return this.#clock.monoNs() < found.untilNs;
  }
}
