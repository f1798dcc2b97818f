/** The numbers of two-party signing (docs/mpc.md, section 1). A change of any of them is another suite. */
import { hash } from "node:crypto";

/** S = service = 0, C = co-signer = 1. */
export type Party = 0 | 1;

/** In direction `d` party `d` is the multiplier and party `1 - d` the chooser. */
export type Direction = 0 | 1;

export function otherParty(party: Party): Party {
  return party === 0 ? 1 : 0;
}

/** Base OTs of a direction; columns of the extension. */
export const BASE_OTS = 256;
export const STATISTICAL_BITS = 80;
/** Gadget elements: rows of the extension that are used. */
export const GADGET_ELEMENTS = 256 + 2 * STATISTICAL_BITS;
export const CHECK_FIELD_BITS = 128 + STATISTICAL_BITS;
export const EXTENDED_BITS = GADGET_ELEMENTS + CHECK_FIELD_BITS;

/** Inputs of a multiplication, check slots, slots in all. */
export const MULTIPLY_INPUTS = 2;
export const CHECK_SLOTS = 1;
export const SLOTS = MULTIPLY_INPUTS + CHECK_SLOTS;

/** Then a refresh is due. */
export const SESSIONS_PER_EPOCH = 2 ** 20;
/** Unexplained ones; then a refresh is due. */
export const ABORTS_PER_EPOCH = 10;

export const HASH_BYTES = 32;
export const SCALAR_BYTES = 32;
export const WIDE_SCALAR_BYTES = 64;
export const POINT_BYTES = 33;
export const PROOF_BYTES = POINT_BYTES + SCALAR_BYTES;
export const WALLET_ID_BYTES = 16;

export const BASE_OT_BYTES = BASE_OTS / 8;
/** One pad for each base OT: what a multiplier keeps. */
export const PADS_BYTES = BASE_OTS * HASH_BYTES;
/** s0_0, s1_0, s0_1, s1_1, …: what a chooser keeps. */
export const PAD_PAIRS_BYTES = 2 * PADS_BYTES;
export const BASE_OT_POINTS_BYTES = BASE_OTS * POINT_BYTES;

export const CHECK_FIELD_BYTES = CHECK_FIELD_BITS / 8;
export const EXTENDED_BYTES = EXTENDED_BITS / 8;
export const CHOICE_BYTES = GADGET_ELEMENTS / 8;
/** U: one extended row for each base OT. */
export const CORRECTION_BYTES = BASE_OTS * EXTENDED_BYTES;
/** th: one folded row for each base OT. */
export const FOLDS_BYTES = BASE_OTS * CHECK_FIELD_BYTES;
/** Transposed rows: 416 columns of 256 bits. */
export const COLUMN_BYTES = BASE_OTS / 8;
export const COLUMNS_BYTES = GADGET_ELEMENTS * COLUMN_BYTES;
export const TAU_BYTES = GADGET_ELEMENTS * SLOTS * SCALAR_BYTES;

export const LABEL = "u2e/1/secp256k1-256-416-208-3/";

/** What both parties of a link compare first: one number for all of the above. */
export const SUITE: Uint8Array = hash("sha256", Buffer.from(LABEL, "ascii"), "buffer");
