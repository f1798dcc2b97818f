/** The text by which a wallet registers a key with venuethree, for the co-signer's policy. Source: 8.6 of its sheet. */
import type { RoomActs } from "../../../engine/custody/policy/venue-acts.js";
import { PLAIN, readKnownAct, readKnownText } from "../../shared/sign/custody-acts.js";

const ACTS = { registerKey: PLAIN } as const;
type Act = keyof typeof ACTS;

const HEX_16 = "0x[0-9a-f]{16}";
const REGISTER_KEY = {
  act: "registerKey",
  pattern: new RegExp(
    `^Register Lighter Account\n\npubkey: 0x[0-9a-f]{80}\nnonce: ${HEX_16}\naccount index: ${HEX_16}\n` +
      `api key index: ${HEX_16}\nOnly sign this message for a trusted client!$`,
  ),
} as const;
const SIGNED_TEXTS = ["registerlighter", "lighteraccount", "onlysignthismessageforatrustedclient"];

/** The venue has no typed data: whatever has its name is none of its acts. */
const SIGNED_NAMES = /^(?:lighter|zklighter)/;

export const custodyActs: RoomActs<Act> = {
  acts: ACTS,
  readTypedData: (typed) => readKnownAct<Act>([], { domain: SIGNED_NAMES }, typed),
  readText: (text, letters) => readKnownText<Act>(REGISTER_KEY, SIGNED_TEXTS, { text, letters }),
};
