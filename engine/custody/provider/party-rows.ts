/**
 * All wallets of a party, in memory and in its store. What the store does not take is owed: memory goes on with it, so
 * that no freeze is forgotten, the party closes itself for signing, and the debt is written before it opens again. A
 * store that gives no answer is one that fails: it holds a wallet no longer than the time of a session.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import { within } from "../../domain/deadline.js";
import { type StateWrite, storeUnavailable } from "../../storage/state-store.js";
import { SIGN_DEADLINES } from "../mpc/sessions/effects.js";
import type { StateRow } from "../mpc/state/state-row.js";
import { HeldWallet } from "./held-wallet.js";
import type { PartyCommit, PartyStore, StoredParty, StoredShare } from "./party-store.js";
import { walletIdText } from "./wallet-names.js";

/** Between two tries to write what is owed. */
const STORE_RETRY_MS = 1_000;
/** Of a commit and of a read. Whatever waits for it has ended by then. */
const ANSWER_MS_MAX = SIGN_DEADLINES.sessionMs;

export interface RowWrite {
  readonly row: StateRow | null;
  readonly put?: StoredShare | null;
  readonly erase?: readonly number[];
  readonly beside?: readonly StateWrite[];
  /** A share that the store does not take now is owed too. Without it the epoch is nobody's, and its session drops it. */
  readonly owesShare?: boolean;
}

export interface RowsListener {
  /** The store failed; no session begins until it works. */
  closed(): void;
  /** What was owed of this wallet is durable. */
  healed(wallet: HeldWallet): void;
}

export class PartyRows {
  readonly #store: PartyStore;
  readonly #clock: Clock;
  readonly #listener: RowsListener;
  readonly #wallets = new Map<string, HeldWallet>();
  #isOpen = true;
  #retry: TimerHandle | null = null;
  #isStopped = false;
  /** Commits that had no answer in time. They may still take effect, so none follows them before they have. */
  #lateCount = 0;

  constructor(store: PartyStore, clock: Clock, listener: RowsListener) {
    this.#store = store;
    this.#clock = clock;
    this.#listener = listener;
  }

  async load(): Promise<readonly StoredParty[]> {
    const stored = await this.#store.load();
    for (const party of stored) {
      const wallet = HeldWallet.of(party);
      assertWhole(wallet);
      this.#wallets.set(wallet.id, wallet);
    }
    return stored;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get(walletId: Uint8Array): HeldWallet | null {
    return this.#wallets.get(walletIdText(walletId)) ?? null;
  }

  byId(id: string): HeldWallet | null {
    return this.#wallets.get(id) ?? null;
  }

  all(): IterableIterator<HeldWallet> {
    return this.#wallets.values();
  }

  get count(): number {
    return this.#wallets.size;
  }

  /** An entry for a wallet that has no row yet. */
  attempt(walletId: Uint8Array): HeldWallet {
    const wallet = new HeldWallet(walletId);
    this.#wallets.set(wallet.id, wallet);
    return wallet;
  }

  /** Rejects with STORE_UNAVAILABLE; `TIMEOUT`: there was no answer in time. */
  async share(wallet: HeldWallet, epoch: number): Promise<StoredShare | null> {
    const read = await within(this.#clock, this.#store.share(wallet.walletId, epoch), ANSWER_MS_MAX);
    if (!read.done) throw storeUnavailable("TIMEOUT");
    return read.value;
  }

  /** One commit. False: it is owed, and may or may not be durable. Memory has it either way. */
  async write(
    wallet: HeldWallet,
    { row, put = null, erase = [], beside = [], owesShare = false }: RowWrite,
  ): Promise<boolean> {
    wallet.row = row;
    if (put !== null) wallet.epochs.set(put.epoch, { epoch: put.epoch, tag: put.tag, publicKey: put.publicKey });
    for (const epoch of erase) wallet.epochs.delete(epoch);
    if (row === null) wallet.epochs.clear();
    if (this.#isOpen || this.#isStopped) {
      try {
        await this.#commit({ walletId: wallet.walletId, row, put, erase, beside });
        wallet.rowWritten();
        this.forgetEmpty(wallet);
        return true;
      } catch {
        this.#close();
      }
    }
    owe(wallet, put === null ? erase : [...erase, put.epoch], owesShare ? put : null, beside);
    return false;
  }

  /** The row in memory without a commit: an abort was explained. */
  adopt(wallet: HeldWallet, row: StateRow | null): void {
    if (row !== wallet.row) wallet.isRowWritten = false;
    wallet.row = row;
    this.forgetEmpty(wallet);
  }

  /** A wallet without a row is gone once nothing of it is owed or under way. */
  forgetEmpty(wallet: HeldWallet): void {
    if (wallet.row === null && wallet.debt === null && wallet.session === null) this.#wallets.delete(wallet.id);
  }

  /** In order: what was explained since the last commits is written; what is owed is tried once more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#retry !== null) this.#clock.clearTimer(this.#retry);
    for (const wallet of [...this.#wallets.values()]) {
      if (this.#lateCount > 0) return;
      if (wallet.debt !== null) await wallet.inTurn(() => this.#pay(wallet)).catch(() => {});
      else if (!wallet.isRowWritten) await wallet.inTurn(() => this.write(wallet, { row: wallet.row }));
    }
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#listener.closed();
    this.#later();
  }

  #later(): void {
    if (this.#isStopped) return;
    this.#retry = this.#clock.setTimer(() => void this.#heal(), STORE_RETRY_MS);
  }

  async #commit(commit: PartyCommit): Promise<void> {
    const committed = this.#store.commit(commit);
    const answer = await within(this.#clock, committed, ANSWER_MS_MAX);
    if (answer.done) return;
    this.#lateCount++;
    const answered = () => {
      this.#lateCount--;
    };
    committed.then(answered, answered);
    throw storeUnavailable("TIMEOUT");
  }

  async #heal(): Promise<void> {
    if (this.#lateCount > 0) {
      this.#later();
      return;
    }
    const owing = [...this.#wallets.values()].filter(({ debt }) => debt !== null);
    try {
      for (const wallet of owing) await wallet.inTurn(() => this.#pay(wallet));
    } catch {
      this.#later();
      return;
    }
    // A task that ran meanwhile may owe again.
    if ([...this.#wallets.values()].some(({ debt }) => debt !== null)) {
      this.#later();
      return;
    }
    this.#isOpen = true;
    for (const wallet of owing) this.#listener.healed(wallet);
  }

  async #pay(wallet: HeldWallet): Promise<void> {
    const { debt, row, walletId } = wallet;
    if (debt === null) return;
    const erase = [...debt.erase].filter((epoch) => !wallet.epochs.has(epoch));
    // The commit that was not answered may have put the share.
    const owed = debt.put !== null && wallet.epochs.has(debt.put.epoch) ? debt.put : null;
    const put = owed === null || (await this.share(wallet, owed.epoch)) !== null ? null : owed;
    await this.#commit({ walletId, row, put, erase, beside: [...debt.beside.values()] });
    wallet.debt = null;
    wallet.rowWritten();
    this.forgetEmpty(wallet);
  }
}

function owe(
  wallet: HeldWallet,
  erase: readonly number[],
  put: StoredShare | null,
  beside: readonly StateWrite[],
): void {
  const debt = wallet.debt ?? { erase: new Set<number>(), put: null, beside: new Map<string, StateWrite>() };
  debt.put ??= put;
  for (const epoch of erase) debt.erase.add(epoch);
  for (const write of beside) debt.beside.set(`${write.namespace}/${write.key}`, write);
  wallet.debt = debt;
}

/** A row that names an epoch without a record belongs to a store that lost rows: the party must not run. */
function assertWhole({ row, epochs, id }: HeldWallet): void {
  if (row === null) throw new RangeError(`custody: wallet ${id} has no row`);
  for (const epoch of [row.activeEpoch, row.preparedEpoch])
    if (epoch !== 0 && !epochs.has(epoch)) throw new RangeError(`custody: wallet ${id} has no share of epoch ${epoch}`);
}
