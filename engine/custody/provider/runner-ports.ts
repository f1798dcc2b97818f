/** What the sessions of a process run with: the system's randomness, and backups sealed to the operator's public key. */
import { systemRandom } from "../mpc/base/random.js";
import type { SignatureVerifier } from "../mpc/parts/final-signature.js";
import type { Sealer } from "../sealing/sealer.js";
import { sealBackupFile } from "./backup-file.js";
import type { BackupPublicKey } from "./backup-key.js";
import type { RunnerPorts } from "./local-runner.js";

/** `sealer`: of the party's own key-encryption keys. */
export function runnerPorts(
  sealer: Pick<Sealer, "seal" | "open">,
  key: BackupPublicKey,
  verifier: SignatureVerifier,
): RunnerPorts {
  return {
    ...{ sealer, random: systemRandom, verifier },
    // Sockets and ports are read between two turns.
    nextTurn: (run) => void setImmediate(run),
    sealBackup: (share, ctr, owner) => sealBackupFile({ share, ctr, owner, key, random: systemRandom }),
  };
}
