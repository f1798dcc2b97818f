/** Files and names by number, for tests of the backup folder. */
import { createHash } from "node:crypto";

export function nameOf(number: number): { walletId: Buffer; epoch: number; tag: Buffer } {
  const tag = createHash("sha256").update(String(number)).digest();
  return { walletId: tag.subarray(0, 16), epoch: number + 1, tag };
}

/** Several blocks of a volume. */
export function backupOf(number: number): Buffer {
  return Buffer.alloc(6_000, createHash("sha512").update(String(number)).digest());
}
