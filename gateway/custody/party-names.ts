/** The two signing parties by name; their numbers in the protocol are 0 and 1 (docs/mpc.md, section 1). */
export const PARTY_NAMES = ["service", "cosigner"] as const;
export type PartyName = (typeof PARTY_NAMES)[number];
