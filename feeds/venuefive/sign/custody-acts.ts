/** No act of venuefive is signed for: there its clients sign. What reads like its typed data is a likeness. */
import type { RoomActs } from "../../../engine/custody/policy/venue-acts.js";
import { readKnownAct } from "../../shared/sign/custody-acts.js";

const SIGNED_NAMES = /^(?:avantis|veranta)/;

export const custodyActs: RoomActs<never> = {
  acts: {},
  readTypedData: (typed) => readKnownAct<never>([], { domain: SIGNED_NAMES }, typed),
  readText: () => ({ kind: "none" }),
};
