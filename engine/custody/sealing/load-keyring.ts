/**
 * Opens the keyring at the start, or refuses the key by name: a wrong key is found here, never at the first secret.
 *
 * | store            | given                      | result                                             |
 * |------------------|----------------------------|----------------------------------------------------|
 * | no keys, nothing sealed | a key               | the key is written down as the present one         |
 * | no keys, something sealed | any               | KEY_ROW_MISSING: its keys were lost                |
 * | present P        | P                          | opened; a former source is not even read           |
 * | present P        | Q, former P                | the rotation to Q begins, in one commit            |
 * | present P        | Q                          | KEY_WRONG                                          |
 * | present Q, former P | Q, former P             | opened; the rotation goes on (rotation.ts)         |
 * | present Q, former P | Q                       | FORMER_KEY_MISSING while a record under P is left  |
 * | present Q, former P | P                       | ROTATION_UNFINISHED                                |
 */
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { StateStore } from "../../storage/state-store.js";
import { deriveKek, type Kek, type KekSecret, type KekSource, readKekSource } from "./kek.js";
import { type KekEntry, newEntry, opensCheck, readKeyRow, type StoredKeyRow, writeKeyRow } from "./key-row.js";
import { keyRefused } from "./key-refused.js";
import { Keyring } from "./keyring.js";
import { newScryptParameters, SCRYPT_POLICY, type ScryptParameters, type ScryptPolicy } from "./passphrase.js";
import { type ReadSecretFile, readSecretFile } from "./secret-file.js";
import { holdsSealed, type SealedPlace } from "./sealed-rows.js";
import type { SecretRandom } from "./secret-bytes.js";

export interface KeyringSetup {
  readonly store: StateStore;
  readonly source: KekSource;
  /** The key before, as long as a rotation runs or is to begin. It may stay configured after it. */
  readonly former?: KekSource;
  /** All places where records lie. */
  readonly places: readonly SealedPlace[];
  readonly clock: Clock;
  readonly random: SecretRandom;
  readonly readFile?: ReadSecretFile;
  readonly scrypt?: ScryptPolicy;
}

/** Rejects with SEAL_KEY_REFUSED, whose text is for the operator, or with STORE_UNAVAILABLE. */
export async function loadKeyring(setup: KeyringSetup): Promise<Keyring> {
  const { store, source, former, places, clock, random } = setup;
  const stored = await readKeyRow(store);
  if (stored === null && (await holdsSealed(store, places, null)))
    throw keyRefused("KEY_ROW_MISSING", "secrets are sealed here, but the row of their keys is missing from the store");
  return withSecret(setup, source, async (secret) => {
    if (stored === null) return firstKeyring(setup, secret);
    const present = await kekOf(setup, secret, stored.row.present);
    if (present !== null) {
      const kept = await formerKek(setup, stored).catch((error: unknown) => {
        present.wipe();
        throw error;
      });
      return new Keyring({ present, former: kept, clock, random });
    }
    if (former === undefined || stored.row.former !== null) throw await wrongKey(setup, secret, stored);
    return withSecret(setup, former, async (formerSecret) => {
      const open = await kekOf(setup, formerSecret, stored.row.present);
      if (open === null) throw await wrongKey(setup, secret, stored);
      const ring = new Keyring({ present: open, former: null, clock, random });
      try {
        await beginRotation(setup, ring, stored, secret);
      } catch (error) {
        ring.close();
        throw error;
      }
      return ring;
    });
  });
}

/** For a start without a key. Rejects with SEAL_KEY_REFUSED where something is sealed. */
export async function assertNothingSealed(store: StateStore, places: readonly SealedPlace[]): Promise<void> {
  if (!(await holdsSealed(store, places, null))) return;
  const stored = await readKeyRow(store);
  const name = stored === null ? "" : ` under the key ${stored.row.present.id}`;
  throw keyRefused("KEY_MISSING", `secrets are sealed here${name}, and no key is given`);
}

/** Makes the key of `secret` the present one, and the ring's the former, in one commit. */
export async function beginRotation(
  { store, clock, random, scrypt }: Pick<KeyringSetup, "store" | "clock" | "random" | "scrypt">,
  ring: Keyring,
  stored: StoredKeyRow,
  secret: KekSecret,
): Promise<void> {
  const { kek, parameters } = await freshKek(secret, scrypt ?? SCRYPT_POLICY, random);
  try {
    if (kek.id === ring.kekId) throw keyRefused("SAME_KEY", `the new key is the present one, ${kek.id}`);
    const present = newEntry(kek, parameters, clock.wallMs(), random);
    if (!(await writeKeyRow(store, stored, { present, former: stored.row.present })))
      throw keyRefused("ROTATION_UNFINISHED", "another rotation began at the same time");
    ring.advance(kek);
  } catch (error) {
    kek.wipe();
    throw error;
  }
}

/** The key of an entry; null where the secret is another. */
export async function kekOf(
  { scrypt }: Pick<KeyringSetup, "scrypt">,
  secret: KekSecret,
  entry: KekEntry,
): Promise<Kek | null> {
  const kek = await deriveKek(secret, entry.scrypt, scrypt ?? SCRYPT_POLICY);
  if (kek === null) return null;
  let isRight = false;
  try {
    isRight = opensCheck(kek, entry);
  } finally {
    if (!isRight) kek.wipe();
  }
  return isRight ? kek : null;
}

/** Reads a source for the time of `use`. */
export async function withSecret<Result>(
  { readFile }: Pick<KeyringSetup, "readFile">,
  source: KekSource,
  use: (secret: KekSecret) => Promise<Result>,
): Promise<Result> {
  const secret = readKekSource(source, readFile ?? readSecretFile);
  try {
    return await use(secret);
  } finally {
    secret.bytes.fill(0);
  }
}

async function firstKeyring({ store, clock, random, scrypt }: KeyringSetup, secret: KekSecret): Promise<Keyring> {
  const { kek, parameters } = await freshKek(secret, scrypt ?? SCRYPT_POLICY, random);
  try {
    const present = newEntry(kek, parameters, clock.wallMs(), random);
    if (!(await writeKeyRow(store, null, { present, former: null })))
      throw new ServiceError("STORE_UNAVAILABLE", { reason: "CONTENDED" });
  } catch (error) {
    kek.wipe();
    throw error;
  }
  return new Keyring({ present: kek, former: null, clock, random });
}

async function freshKek(
  secret: KekSecret,
  policy: ScryptPolicy,
  random: SecretRandom,
): Promise<{ readonly kek: Kek; readonly parameters: ScryptParameters | null }> {
  const parameters = secret.kind === "passphrase" ? newScryptParameters(policy, random) : null;
  const kek = await deriveKek(secret, parameters, policy);
  if (kek === null) throw new ServiceError("INTERNAL", { problem: "sealing: KEK_KIND" });
  return { kek, parameters };
}

/** The former key of a rotation under way; null: none runs, or nothing is left under it. */
async function formerKek(setup: KeyringSetup, { row }: StoredKeyRow): Promise<Kek | null> {
  const { store, places, former } = setup;
  const entry = row.former;
  if (entry === null) return null;
  if (former !== undefined) {
    const kek = await withSecret(setup, former, (secret) => kekOf(setup, secret, entry));
    if (kek !== null) return kek;
    throw keyRefused("FORMER_KEY_WRONG", `the former key must be ${entry.id}; the one given is another`);
  }
  if (!(await holdsSealed(store, places, entry.id))) return null;
  throw keyRefused(
    "FORMER_KEY_MISSING",
    `the rotation from ${entry.id} to ${row.present.id} is unfinished: give the former key too`,
  );
}

async function wrongKey(setup: KeyringSetup, secret: KekSecret, { row }: StoredKeyRow): Promise<ServiceError> {
  const { present, former } = row;
  if (former !== null) {
    const swapped = await kekOf(setup, secret, former);
    swapped?.wipe();
    const begun = `a rotation from ${former.id} to ${present.id} has begun`;
    return swapped === null
      ? keyRefused("KEY_WRONG", `${begun}, and the key given is neither`)
      : keyRefused("ROTATION_UNFINISHED", `${begun}: give ${present.id} as the key and ${former.id} as the former one`);
  }
  const kind = present.scrypt === null ? "key" : "passphrase";
  if (kind !== secret.kind) return keyRefused("KEY_WRONG", `this store is sealed under a ${kind} (${present.id})`);
  return keyRefused("KEY_WRONG", `this store is sealed under the ${kind} ${present.id}; the one given is another`);
}
