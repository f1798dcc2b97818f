/**
 * Shares are written under the key-encryption key of the moment of their commit, whatever key they were sealed under: a
 * record may have been sealed by another thread, or owed to a store that took nothing while a rotation began. Each try
 * counts as a seal, so no key is retired while a record under it is on its way.
 */
import type { Party } from "../mpc/base/parameters.js";
import { shareContext } from "../mpc/state/share-record.js";
import type { Keyring } from "../sealing/keyring.js";
import type { PartyStore } from "./party-store.js";

export function takingOver(store: PartyStore, ring: Pick<Keyring, "takeOver">, party: Party): PartyStore {
  return {
    load: () => store.load(),
    share: (walletId, epoch) => store.share(walletId, epoch),
    commit(commit) {
      const { walletId, put } = commit;
      if (put === null) return store.commit(commit);
      const context = shareContext({ walletId, party, epoch: put.epoch, publicKey: put.publicKey });
      return store.commit({ ...commit, put: { ...put, record: ring.takeOver(context, put.record) } });
    },
  };
}
