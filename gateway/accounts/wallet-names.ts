/**
 * The names of a server wallet as callers write them. A user id is the caller's own text: what could be taken for a
 * wallet id or an address, cannot be read, or could be written in two ways is none.
 */
import { USER_ID_CHARS_MAX } from "../../schemas/wallets.js";
import { isEvmAddress, isWalletId } from "./names.js";

/**
 * Controls, invisible marks, private and unassigned characters, halves of pairs, and every separator but the plain
 * space.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Returns what is wrong with a user id; null: it is one. */
export function userIdProblem(text: string): string | null {
  if (text === "") return "must not be empty";
  // Code points, as the schema counts them.
  if (text.length > 2 * USER_ID_CHARS_MAX || [...text].length > USER_ID_CHARS_MAX)
    return `must have at most ${USER_ID_CHARS_MAX} characters`;
  if (UNPRINTABLE.test(text)) return "must have printable characters only";
  if (text.normalize("NFC") !== text) return "must be in Unicode form NFC";
  if (isWalletId(text) || isEvmAddress(text)) return "must not have the form of a UUID or an address";
  // Every writer of addresses leaves these out of a path, encoded or not.
  if (text === "." || text === "..") return "must not be . or ..";
  return null;
}

/** As `userIdProblem`, for any of a wallet's names. */
export function walletNameProblem(text: string): string | null {
  return isWalletId(text) || isEvmAddress(text) ? null : userIdProblem(text);
}
