/** Sealed rows of two forms: keys with two secrets in one JSON row, and credentials whose row is the record itself. */
import { decodeJson, encodeJson, type StateStore } from "../../../storage/state-store.js";
import type { Keyring } from "../keyring.js";
import type { SealedPlace } from "../sealed-rows.js";
import type { SealContext } from "../sealer.js";

export const KEYS = {
  first: { kind: "environment", hex: `0a${"1b".repeat(31)}` },
  second: { kind: "environment", hex: `0a${"2c".repeat(31)}` },
  third: { kind: "environment", hex: `0a${"3d".repeat(31)}` },
  words: { kind: "passphrase", passphrase: Buffer.from("correct horse battery staple") },
  otherWords: { kind: "passphrase", passphrase: Buffer.from("another horse battery staple") },
} as const;

interface KeyJson {
  readonly label: string;
  readonly secrets: readonly string[];
}

const keyContext = (key: string, index: number): SealContext => ({
  ...{ purpose: "api-key", parts: [key, index === 0 ? "present" : "former"], recordVersion: index },
});

export const apiKeys: SealedPlace = {
  namespace: "api-keys",
  prefix: "k",
  partsOf: (key, value) =>
    (decodeJson(value) as KeyJson).secrets.map((secret, index) => ({
      ...{ context: keyContext(key, index), record: Buffer.from(secret, "base64") },
    })),
  withRecords: (_key, value, records) =>
    encodeJson({
      ...(decodeJson(value) as KeyJson),
      secrets: records.map((record) => Buffer.from(record).toString("base64")),
    }),
};

const credentialsContext = (key: string): SealContext => ({
  ...{ purpose: "venue-credentials", parts: [key], recordVersion: 1 },
});

/** A place whose rows hold one record each. */
function singleRecordPlace(place: {
  readonly namespace: string;
  readonly prefix?: string;
  contextOf(key: string, value: Uint8Array): SealContext;
  recordOf(value: Uint8Array): Uint8Array;
  withRecord(value: Uint8Array, record: Uint8Array): Uint8Array;
}): SealedPlace {
  return {
    namespace: place.namespace,
    prefix: place.prefix ?? "",
    partsOf: (key, value) => [{ context: place.contextOf(key, value), record: place.recordOf(value) }],
    withRecords: (_key, value, [record]) => (record === undefined ? value : place.withRecord(value, record)),
  };
}

export const credentials: SealedPlace = singleRecordPlace({
  namespace: "credentials",
  contextOf: (key) => credentialsContext(key),
  recordOf: (value) => value,
  withRecord: (_value, record) => record,
});

export const PLACES: readonly SealedPlace[] = [apiKeys, credentials];

const KEY_COUNT = 3;
const CREDENTIALS_COUNT = 3;

/** Of every secret that `putAll` seals, in the order of `openAll`. */
export const NAMES: readonly string[] = [
  ...Array.from({ length: KEY_COUNT }, (_, index) => [`k${index + 1}/0`, `k${index + 1}/1`]).flat(),
  ...Array.from({ length: CREDENTIALS_COUNT }, (_, index) => `c${index + 1}`),
];

export async function putAll(store: StateStore, ring: Keyring): Promise<void> {
  for (let number = 1; number <= KEY_COUNT; number++)
    await store.put("api-keys", `k${number}`, keyRow(ring, `k${number}`));
  for (let number = 1; number <= CREDENTIALS_COUNT; number++) {
    const key = `c${number}`;
    await store.put("credentials", key, ring.seal(credentialsContext(key), Buffer.from(`secret of ${key}`)));
  }
  // Beyond the prefix of the place: no sealed row, and none of its business.
  await store.put("api-keys", "index", Buffer.from("no JSON"));
}

export function keyRow(ring: Keyring, key: string, label = "mine"): Uint8Array {
  const secrets = [0, 1].map((index) =>
    ring.seal(keyContext(key, index), Buffer.from(`secret of ${key}/${index}`)).toString("base64"),
  );
  return encodeJson({ label, secrets });
}

/** Names of the secrets that open to what they were. */
export async function openAll(store: StateStore, ring: Keyring): Promise<string[]> {
  const names: string[] = [];
  for (const place of PLACES)
    for (const { key, value } of await store.scan(place.namespace, { prefix: place.prefix, limit: 1_000 }))
      for (const [index, { context, record }] of place.partsOf(key, value).entries()) {
        const name = place === apiKeys ? `${key}/${index}` : key;
        if (ring.open(context, record).toString() === `secret of ${name}`) names.push(name);
      }
  return names;
}
