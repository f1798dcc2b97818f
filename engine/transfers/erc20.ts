/** The one call of a token's contract that is the service's own; what a venue takes its room encodes. */
import { addressToBytes, concat, toHex, uintToBytes } from "../custody/digest/bytes.js";

/** approve(address,uint256) */
const APPROVE = Uint8Array.of(0x09, 0x5e, 0xa7, 0xb3);
const WORD_BYTES = 32;
const PADDING = new Uint8Array(12);

export function approveData(spender: string, amount: bigint): string {
  return toHex(concat([APPROVE, PADDING, addressToBytes(spender), uintToBytes(amount, WORD_BYTES)]));
}
