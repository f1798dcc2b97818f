/**
 * A wallet as a party holds it while it runs: the row in memory, what is known of its epochs, the session under way. All
 * that changes it goes through its lane, one task after the other: messages, ends of sessions, notices, what a
 * reconnection decides and what an operator asks for.
 *
 * Invariant: the row in memory is the durable one, or what is owed to the store (`debt`), or differs from it by the
 * aborts that were explained since.
 */
import type { StateWrite } from "../../storage/state-store.js";
import type { RefreshMode, StateRow } from "../mpc/state/state-row.js";
import type { OwnWallet, Verdict } from "../mpc/state/two-phase.js";
import type { LiveSession } from "./live-session.js";
import type { EpochName, StoredParty, StoredShare } from "./party-store.js";
import { walletIdText } from "./wallet-names.js";

/** What could not be made durable. */
export interface Debt {
  readonly erase: Set<number>;
  /** Of a wallet that an operator restored; what a session could not write it drops instead. */
  put: StoredShare | null;
  readonly beside: Map<string, StateWrite>;
}

export class HeldWallet {
  readonly walletId: Buffer;
  /** UUID. */
  readonly id: string;
  readonly epochs = new Map<number, EpochName>();
  /** Null: no row, an attempt to make one. */
  row: StateRow | null = null;
  isRowWritten = true;
  /** An epoch was active in a row that was durable: before that the wallet may not come to be. */
  isMade = false;
  debt: Debt | null = null;
  /** A freeze that is not durable yet: the peer hears of it once it is. */
  owesNotice = false;
  /** S: a refresh is decided, and its session ended before C had confirmed it. `isAsked`: an operator still waits. */
  unconfirmed: { readonly mode: RefreshMode; readonly isAsked: boolean } | null = null;
  /** An operator was told that his restore is not durable; the audit hears of it once it is. */
  owesRestore = false;
  session: LiveSession | null = null;
  /** The own `State` is not answered yet. */
  isAsked = false;
  /** What the last meeting with the peer came to. */
  verdict: Verdict = "settled";
  #lane: Promise<unknown> = Promise.resolve();

  constructor(walletId: Uint8Array) {
    this.walletId = Buffer.from(walletId);
    this.id = walletIdText(walletId);
  }

  static of({ walletId, row, epochs }: StoredParty): HeldWallet {
    const wallet = new HeldWallet(walletId);
    wallet.row = row;
    wallet.isMade = row.activeEpoch !== 0;
    for (const epoch of epochs) wallet.epochs.set(epoch.epoch, epoch);
    return wallet;
  }

  /** Runs after all that was asked of this wallet before. A task must not wait for a later one. */
  inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#lane.then(task);
    this.#lane = result.catch(() => {});
    return result;
  }

  /** The row in memory is durable. */
  rowWritten(): void {
    this.isRowWritten = true;
    this.isMade ||= this.row !== null && this.row.activeEpoch !== 0;
  }

  /** For the rules of a reconnection; null: no row. */
  own(): OwnWallet | null {
    const { row } = this;
    if (row === null) return null;
    const tagOf = (epoch: number) => this.epochs.get(epoch)?.tag ?? null;
    return { row, activeTag: tagOf(row.activeEpoch), preparedTag: tagOf(row.preparedEpoch) };
  }

  /** As the store has it, for the plan of a restore; null: no row. */
  stored(): StoredParty | null {
    const { walletId, row } = this;
    return row === null ? null : { walletId, row, epochs: [...this.epochs.values()] };
  }

  get activeName(): EpochName | null {
    return this.row === null ? null : (this.epochs.get(this.row.activeEpoch) ?? null);
  }

  /** Active or refresh due with one epoch, and nothing that the peer must be asked first. */
  get isPlain(): boolean {
    const { row } = this;
    return row !== null && row.status === "active" && row.stage === "none" && row.keptEpoch === 0;
  }

  /** Nothing of it is in doubt between the parties, nor owed to the store. */
  get isSettled(): boolean {
    return !this.isAsked && this.verdict === "settled" && this.debt === null;
  }
}
