/**
 * Wallets that S's store lost, told by C or by the names of S's own backups (docs/mpc.md, section 11). As long as there
 * is one, no wallet is made: its user is not known, and would get a second one.
 *
 * A backup of an attempt that came to nothing remains in the folder; the attempt's last commit notes that it did.
 */
import { allRows, type StateStore, type StateWrite } from "../../storage/state-store.js";

const DROPPED_NAMESPACE = "custody-dropped";

/** Goes into the commit that drops an attempt. */
export function droppedWrite(walletId: string): StateWrite {
  return { namespace: DROPPED_NAMESPACE, key: walletId, value: Buffer.of(1) };
}

/** Goes into the commit of a restore: whatever was dropped once is a wallet now. */
export function undroppedWrite(walletId: string): StateWrite {
  return { namespace: DROPPED_NAMESPACE, key: walletId, value: null };
}

/** By UUID. */
export class LostWallets {
  readonly #toldByPeer = new Set<string>();
  readonly #backedUp = new Set<string>();

  all(): readonly string[] {
    return [...new Set([...this.#toldByPeer, ...this.#backedUp])].sort();
  }

  get isAny(): boolean {
    return this.#toldByPeer.size + this.#backedUp.size > 0;
  }

  /** `backedUp`: all that the folder names. Once, at the start. */
  async look(
    backedUp: Iterable<string>,
    isKnown: (walletId: string) => boolean,
    store: Pick<StateStore, "scan">,
  ): Promise<void> {
    for (const walletId of backedUp) if (!isKnown(walletId)) this.#backedUp.add(walletId);
    if (this.#backedUp.size === 0) return;
    for await (const { key } of allRows(store, DROPPED_NAMESPACE)) this.#backedUp.delete(key);
  }

  toldByPeer(walletId: string): void {
    this.#toldByPeer.add(walletId);
  }

  /** A new connection: C tells again. */
  greeted(): void {
    this.#toldByPeer.clear();
  }

  restored(walletId: string): void {
    this.#toldByPeer.delete(walletId);
    this.#backedUp.delete(walletId);
  }
}
