/** What both parties' processes open from their folder and store in the same way. */
import { randomBytes } from "node:crypto";
import { sealBackupFile } from "../../engine/custody/provider/backup-file.js";
import type { BackupPublicKey } from "../../engine/custody/provider/backup-key.js";
import type { PartyIdentity } from "../../engine/custody/provider/hello.js";
import type { RunnerPorts } from "../../engine/custody/provider/local-runner.js";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { secp256k1 } from "../../feeds/shared/sign/secp256k1.js";

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

/** Sessions that run in this thread. */
export function runnerPorts(ring: Keyring, key: BackupPublicKey): RunnerPorts {
  return {
    ...{ sealer: ring, random: systemRandom, verifier: secp256k1 },
    sealBackup: (share, ctr, owner) => sealBackupFile({ share, ctr, owner, key, random: systemRandom }),
  };
}
