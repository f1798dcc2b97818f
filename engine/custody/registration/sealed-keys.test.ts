/** Venue keys under a sealing key that is rotated meanwhile, and rows that somebody changed. */
import { expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { silentLogger } from "../../domain/logger.js";
import type { StoredSecret } from "../../key-registrar.js";
import type { StateStore } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { loadKeyring } from "../sealing/load-keyring.js";
import { finishRotation, startRotation } from "../sealing/rotation.js";
import type { SealedPlace } from "../sealing/sealed-rows.js";
import { FAST_SCRYPT, refusalOf, seededRandom } from "../sealing/test/sealing-doubles.js";
import { KEYS } from "../sealing/test/sealed-things.js";
import { KeyBook } from "./key-book.js";
import type { KeyParts } from "./key-parts.js";
import { decodeKeyRow, encodeKeyRow, KEY_NAMESPACE, rowKey, SEALED_VENUE_KEYS, type StoredKey } from "./key-row.js";
import { KeyTurns } from "./key-turns.js";
import { KeyRegistrations } from "./registrations.js";
import { addressOf, FakeVenue, signatureOf } from "./test/fake-venue.js";
import { OWNER } from "./test/key-world.js";

const clock = new VirtualClock();
const random = seededRandom(5);
const places: SealedPlace[] = [SEALED_VENUE_KEYS];

async function blockOf(registrations: KeyRegistrations) {
  const { venueone } = await registrations.blocks.opened(OWNER.walletId);
  return venueone as { readonly signer: string; readonly secret: StoredSecret };
}

async function opened(store: StateStore) {
  const setup = { store, places, clock, random, scrypt: FAST_SCRYPT };
  const ring = await loadKeyring({ ...setup, source: KEYS.first });
  const venue = new FakeVenue(clock, "long");
  venue.funded.add(OWNER.account);
  venue.busyMs = 0;
  const sign = async (_id: string, _origin: string, { text = "" }: { text?: string }) => ({
    signature: signatureOf(OWNER.account, text),
    digest: "",
  });
  const parts = {
    ...{ book: new KeyBook(store), sealer: ring, provider: { sign } as KeyParts["provider"], clock, random },
    ...{ registrars: new Map([[OWNER.venue, venue.registrar((act) => act())]]), logger: silentLogger },
  };
  await parts.book.load();
  places[0] = { ...SEALED_VENUE_KEYS, rewrapped: (key, value) => parts.book.rewrapped(key, value) };
  return { setup, ring, registrations: new KeyRegistrations(parts, new KeyTurns()) };
}

it("a key trades through a rotation of the sealing key, and after it", async () => {
  const store = createMemoryStore();
  const { setup, ring, registrations } = await opened(store);
  await registrations.register(OWNER, true);
  const before = await blockOf(registrations);
  const signer = before.secret.use(addressOf);
  expect(signer).toBe(before.signer);
  await startRotation({ ...setup, ring }, KEYS.second);
  expect((await blockOf(registrations)).secret.use(addressOf)).toBe(signer);
  const finished = finishRotation({ store, ring, places, clock });
  // Between the reading of rows and their rewrapping, and after it: a change is not lost, and takes no former seal along.
  await registrations.rotate(OWNER, true);
  for (let waitedMs = 0; waitedMs < 200_000; waitedMs += 1_000) await clock.advanceAsync(1_000);
  expect(await finished).toMatchObject({ isDone: true });
  expect(ring.formerKekId).toBeNull();
  const after = await blockOf(registrations);
  expect(after.signer).not.toBe(signer);
  expect(after.secret.use(addressOf)).toBe(after.signer);
  // The block of a request that goes on opens what the rotation wrote, until its key is revoked.
  expect(before.secret.use(addressOf)).toBe(signer);
  await registrations.revoke(OWNER);
  expect([before, after].map(({ secret }) => secret.use(addressOf))).toEqual([null, null]);
});

it("a key opens as itself alone: not of another wallet, venue, name or end", async () => {
  const store = createMemoryStore();
  const { registrations } = await opened(store);
  await registrations.register(OWNER, true);
  const key = rowKey(OWNER);
  const row = decodeKeyRow(key, (await store.get(KEY_NAMESPACE, key)) ?? new Uint8Array());
  const changes: Partial<StoredKey>[] = [
    { signer: `0x${"1".repeat(40)}` },
    { account: `0x${"1".repeat(40)}` },
    { name: "k-2" },
    { expiresAtMs: (row.keys[0]?.expiresAtMs ?? 0) + 1 },
    { serial: 2 },
    { flow: "issued" },
  ];
  for (const change of changes) {
    await store.put(KEY_NAMESPACE, key, encodeKeyRow({ ...row, keys: row.keys.map((one) => ({ ...one, ...change })) }));
    const again = await opened(store);
    if (change.flow === "issued") expect(await again.registrations.blocks.opened(OWNER.walletId)).toEqual({});
    else
      expect(await refusalOf(again.registrations.blocks.opened(OWNER.walletId)), JSON.stringify(change)).toBe(
        "SEAL_BROKEN KEY",
      );
  }
  const other = { ...row, walletId: "00000000-0000-4000-8000-000000000000" };
  await store.put(KEY_NAMESPACE, rowKey(other), encodeKeyRow(other));
  const again = await opened(store);
  expect(await refusalOf(again.registrations.blocks.opened(other.walletId))).toBe("SEAL_BROKEN KEY");
});

it("a row that is not whole keeps the service from starting, and is named", async () => {
  const store = createMemoryStore();
  await opened(store);
  for (const value of ["{}", "[1", '{"walletId":"a","venue":"venueone","keys":[{}]}']) {
    await store.put(KEY_NAMESPACE, "a/venueone", Buffer.from(value));
    expect(await refusalOf(opened(store)), value).toBe("SEAL_BROKEN");
  }
});

it("a secret that a reply shows leaves no bytes behind in the memory that small buffers share", async () => {
  const { registrations } = await opened(createMemoryStore());
  const pools = new Set<ArrayBufferLike>();
  const from = Buffer.from;
  const noted = (...call: unknown[]): Buffer => {
    const made = Reflect.apply(from, Buffer, call) as Buffer;
    pools.add(made.buffer);
    return made;
  };
  Buffer.from = noted as typeof Buffer.from;
  const { secretHex } = await registrations.register(OWNER, true).finally(() => {
    Buffer.from = from;
  });
  const secret = Buffer.from(secretHex?.slice(2) ?? "", "hex");
  const copy = Buffer.from(new Uint8Array(secret).buffer);
  secret.fill(0);
  expect(pools.size).toBeGreaterThan(0);
  for (const pool of pools) expect(Buffer.from(pool).includes(copy)).toBe(false);
});
