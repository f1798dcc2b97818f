/**
 * Server wallets in memory, added by the program that builds the service: the demo, and tests. Nothing is written to
 * disk.
 *
 * Invariant: a wallet id and an address each name at most one wallet, a user id at most one of its owner; at most
 * WALLETS_MAX are held.
 */
import type { CredentialSource, WalletCredentials } from "../../engine/custody/credential-source.js";
import { isEvmAddress, isWalletId } from "./names.js";

/** One more is refused: this store is for a handful of wallets. */
export const WALLETS_MAX = 10_000;

export class MemoryCredentials implements CredentialSource {
  /** By owner and name. */
  readonly #byName = new Map<string, WalletCredentials>();
  /** Wallet ids and addresses of all owners. */
  readonly #taken = new Set<string>();
  #count = 0;

  constructor(wallets: readonly WalletCredentials[] = []) {
    for (const wallet of wallets) this.add(wallet);
  }

  /** Throws RangeError on a malformed wallet, a name that is taken, or one wallet too many. */
  add(wallet: WalletCredentials): void {
    if (this.#count >= WALLETS_MAX) throw new RangeError(`more than ${WALLETS_MAX} wallets`);
    if (!isWalletId(wallet.walletId)) throw new RangeError("walletId is not a UUID");
    if (!isEvmAddress(wallet.address)) throw new RangeError("address is not 0x and 40 hex digits");
    if (wallet.userId === "" || isWalletId(wallet.userId) || isEvmAddress(wallet.userId))
      throw new RangeError("userId is empty, or could be taken for a wallet id or an address");
    const { ownerId, walletId, address, userId } = wallet;
    const ids = [walletId, address].map(nameKey);
    const names = [walletId, address, userId].map((name) => ownedKey(ownerId, name));
    if (ids.some((id) => this.#taken.has(id)) || names.some((name) => this.#byName.has(name)))
      throw new RangeError("a wallet of this name exists");
    for (const id of ids) this.#taken.add(id);
    for (const name of names) this.#byName.set(name, wallet);
    this.#count++;
  }

  async find(walletIdOrAddress: string, ownerId: string | null): Promise<WalletCredentials | null> {
    return this.#byName.get(ownedKey(ownerId, walletIdOrAddress)) ?? null;
  }
}

function ownedKey(ownerId: string | null, name: string): string {
  return JSON.stringify([ownerId, nameKey(name)]);
}

/** UUIDs and addresses are hex, in any case; a user id is the caller's own text. */
function nameKey(text: string): string {
  return isWalletId(text) || isEvmAddress(text) ? text.toLowerCase() : text;
}
