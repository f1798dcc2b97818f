/**
 * C's policy and the amounts of the day, as its host asks for them (docs/mpc.md, section 12). The rows go into commits
 * of the host, so that a reservation is durable with the ctr of its session.
 */
import type { StateWrite } from "../../storage/state-store.js";
import type { Reservation } from "../mpc/sessions/effects.js";
import type { IntentReader } from "../mpc/sessions/sign-cosigner.js";

export interface DayBook {
  /** `address`: 20 bytes. */
  reader(walletId: Uint8Array, address: Uint8Array): IntentReader;
  /** The rows that make a reservation durable. */
  writeOf(walletId: Uint8Array, reservation: Reservation): readonly StateWrite[];
  /** The amount is free again, as no signature can exist. */
  releaseOf(walletId: Uint8Array, reservation: Reservation): readonly StateWrite[];
  /** The amounts of the day count as spent: those that are known are of an older store. */
  spentOf(walletId: Uint8Array): readonly StateWrite[];
}
