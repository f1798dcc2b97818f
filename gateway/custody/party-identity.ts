/** What a party says of itself to its peer, for as long as its process lives. */
import { randomBytes } from "node:crypto";
import type { BackupPublicKey } from "../../engine/custody/provider/backup-key.js";
import type { PartyIdentity } from "../../engine/custody/provider/hello.js";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";

const BOOT_ID_BYTES = 16;

/** The key id is that of the moment: a rotation changes it, and the next `Hello` says so. */
export function identityOfParty(party: Party, ring: Pick<Keyring, "kekId">, backupKey: BackupPublicKey): PartyIdentity {
  const bootId = randomBytes(BOOT_ID_BYTES);
  return {
    ...{ party, backupKeyId: backupKey.id, bootId },
    get kekId() {
      return Buffer.from(ring.kekId, "hex");
    },
  };
}
