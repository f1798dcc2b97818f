/** Why a sealing key is not taken, at the start or at a rotation: one fixed word and one precise sentence each. */
import { ServiceError } from "../../domain/errors.js";

export type KeyRefusal =
  | "FILE_UNREADABLE"
  | "FILE_NOT_REGULAR"
  | "FILE_MODE"
  | "FILE_OWNER"
  | "FILE_SIZE"
  /** Neither 32 bytes nor 64 hex digits. */
  | "KEY_FORM"
  | "KEY_WEAK"
  | "PASSPHRASE_LENGTH"
  /** The row of key checks is missing, damaged, or of a newer program. */
  | "KEY_ROW_MISSING"
  | "KEY_ROW_DAMAGED"
  | "KEY_ROW_NEWER"
  /** Something is sealed, and no key is given. */
  | "KEY_MISSING"
  | "KEY_WRONG"
  | "FORMER_KEY_MISSING"
  | "FORMER_KEY_WRONG"
  /** A rotation must end before the next begins. */
  | "ROTATION_UNFINISHED"
  /** The new key is the present one. */
  | "SAME_KEY";

export function keyRefused(
  reason: KeyRefusal,
  problem: string,
  details: Readonly<Record<string, unknown>> = {},
): ServiceError {
  return new ServiceError("SEAL_KEY_REFUSED", { reason, problem, ...details });
}
