/**
 * Messages (EIP-191) that venues take for a login or for a new key. The texts are the venues', byte for byte: a venue
 * compares bytes, so what is allowed is compared as bytes too. A text that only reads like one of them is a likeness,
 * in whatever case, spacing or script it is written, and wherever in the message it is: no rule allows it.
 *
 * Sources: the venues' signing pages, section 9.1 of venuetwo's sheet and 8.6 of venuethree's.
 */

export const VENUE_TEXT_ACTS = ["venuetwo.login", "venuethree.registerKey"] as const;
export type VenueTextAct = (typeof VENUE_TEXT_ACTS)[number];

export type TextReading =
  | { readonly kind: "act"; readonly act: VenueTextAct }
  | { readonly kind: "likeness" }
  | { readonly kind: "none" };

const HEX_16 = "0x[0-9a-f]{16}";

/** The one text of venuetwo serves its login and its key creation alike. */
const TEXTS: readonly { readonly act: VenueTextAct; readonly pattern: RegExp }[] = [
  { act: "venuetwo.login", pattern: /^You are signing into Astherus [0-9]{1,20}$/ },
  {
    act: "venuethree.registerKey",
    pattern: new RegExp(
      `^Register Lighter Account\n\npubkey: 0x[0-9a-f]{80}\nnonce: ${HEX_16}\naccount index: ${HEX_16}\n` +
        `api key index: ${HEX_16}\nOnly sign this message for a trusted client!$`,
    ),
  },
];

/** What stays of such texts, old forms of them included, when only letters and digits are kept. */
const LIKENESSES = [
  "youaresigningintoast",
  "signingintoaster",
  "astherus",
  "asterdex",
  "registerlighter",
  "lighteraccount",
  "onlysignthismessageforatrustedclient",
  "createapikey",
  "hyperliquidtransaction",
  "hyperliquidsigntransaction",
];

export function readVenueText(message: Uint8Array): TextReading {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(message);
  const exact = TEXTS.find((known) => known.pattern.test(text));
  // A byte that is no UTF-8 became a replacement character, which no pattern takes.
  if (exact !== undefined) return { kind: "act", act: exact.act };
  const letters = lettersOf(text);
  return { kind: LIKENESSES.some((likeness) => letters.includes(likeness)) ? "likeness" : "none" };
}

/** Compatibility forms (full width, ligatures) become plain letters; blanks, marks and zero-width signs go. */
export function lettersOf(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
}

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
