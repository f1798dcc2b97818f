/** What sort of bytes a message (EIP-191) is. */

export const MESSAGE_KINDS = ["text", "binary", "digest"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

const DIGEST_BYTES = 32;
const TEXT_CONTROLS = new Set(["\t", "\n", "\r"]);

/**
 * A message of 32 bytes, or the hex text of 32 bytes, is a digest in disguise: some contracts and venues take the
 * signed hash of a hash for the approval of what was hashed.
 */
export function messageKind(message: Uint8Array): MessageKind {
  if (message.length === DIGEST_BYTES) return "digest";
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(message);
  } catch {
    return "binary";
  }
  if (/^\s*(?:0x)?[0-9a-f]{64}\s*$/i.test(text)) return "digest";
  return [...text].every((sign) => (sign >= " " && sign !== "\u007f") || TEXT_CONTROLS.has(sign)) ? "text" : "binary";
}
