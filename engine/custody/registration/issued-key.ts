/** A key that the venue makes: with its reply lost its secret is lost, too, and nobody can use it. */
import type { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { IssuingRegistrar } from "../../key-registrar.js";
import type { KeyAsk } from "./approval.js";
import { KEYS_MAX } from "./key-book.js";
import { behindVenue, callWithin, type KeyParts, refusedBy, sealed, signed, venueAway } from "./key-parts.js";
import type { StoredKey } from "./key-row.js";

/** Returns it, ACTIVE; the one before retires. Rejects with what stands in the way. */
export async function issuedKey(
  parts: KeyParts,
  owner: KeyAsk,
  registrar: IssuingRegistrar,
  time: Deadline,
): Promise<StoredKey> {
  const { clock, book } = parts;
  // The venue keeps them all; what cannot be stored must not be made.
  if (book.keysOf(owner).length >= KEYS_MAX)
    throw new ServiceError("API_KEY_LIMIT", { exchange: owner.venue, limit: KEYS_MAX });
  const options = callWithin(time);
  if (options === null) throw venueAway(owner.venue, "NO_TIME", null);
  const outcome = await registrar.issue(owner.account, (text) => signed(parts, owner, text), options);
  if (outcome.kind === "refused") throw refusedBy(owner.venue, outcome);
  if (outcome.kind === "notSent") throw venueAway(owner.venue, outcome.problem, outcome.retryAfterMs);
  if (outcome.kind === "unknown") throw venueAway(owner.venue, "KEY_LOST", null);
  const serial = Math.max(0, ...book.keysOf(owner).map((key) => key.serial)) + 1;
  const facts = {
    ...outcome.key,
    serial,
    createdAtMs: clock.wallMs(),
    isAnswered: false,
    requestId: owner.requestId,
    act: null,
  };
  try {
    const key = sealed(parts, owner, { ...facts, flow: "issued", state: "ACTIVE" }, outcome.secret);
    const commit = book.update(owner, (keys) => [
      ...keys.map((one): StoredKey => (one.state === "ACTIVE" ? { ...one, state: "RETIRING" } : one)),
      key,
    ]);
    await behindVenue(commit, () => venueAway(owner.venue, "KEY_LOST", null));
    return key;
  } finally {
    outcome.secret.fill(0);
  }
}
