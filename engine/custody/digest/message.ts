/** EIP-191 digest of a message, as `personal_sign` makes it. The prefix keeps a message apart from every other digest. */
import { utf8ToBytes } from "@noble/hashes/utils";
import { concat, keccak256 } from "./bytes.js";

export function messageDigest(message: Uint8Array): Uint8Array {
  return keccak256(concat([utf8ToBytes(`\u0019Ethereum Signed Message:\n${message.length}`), message]));
}
