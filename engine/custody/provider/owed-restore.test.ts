/** A restored share that the store does not take, beside a rotation of the key-encryption key. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { type StateStore, storeUnavailable } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { encodeShareRecord, shareContext } from "../mpc/state/share-record.js";
import { loadKeyring } from "../sealing/load-keyring.js";
import { finishRotation, startRotation } from "../sealing/rotation.js";
import { FAST_SCRYPT, seededRandom } from "../sealing/test/sealing-doubles.js";
import { KEYS } from "../sealing/test/sealed-things.js";
import { DurablePartyStore } from "./durable-party-store.js";
import { PartyRows } from "./party-rows.js";
import { restoredRow } from "./restore-plan.js";
import { openStoredShare, sealedShares } from "./share-row.js";
import { takingOver } from "./taking-over.js";
import { shareParts, TAG, WALLET_ID } from "./test/backups.js";

/** Longer than a rotation waits for records that are on their way. */
const OUTAGE_MS = 90_000;
const EPOCH = 7;

/** A party's rows over a disk that can be full, with a share to write and a key that can be followed by another. */
async function standOf(party: 0 | 1) {
  const clock = new VirtualClock();
  const rows = createMemoryStore();
  const disk = { isFull: false };
  const full: StateStore = {
    ...rows,
    commit: (batch) => (disk.isFull ? Promise.reject(storeUnavailable("COMMIT_FAILED")) : rows.commit(batch)),
  };
  const places = [sealedShares(party)];
  const setup = { store: rows, places, clock, random: seededRandom(4), scrypt: FAST_SCRYPT };
  const ring = await loadKeyring({ ...setup, source: KEYS.first });
  const healed: string[] = [];
  const held = new PartyRows(takingOver(new DurablePartyStore(full), ring, party), clock, {
    closed() {},
    healed: ({ id }) => healed.push(id),
  });
  const parts = shareParts(party, { epoch: EPOCH });
  const record = ring.seal(shareContext(parts), encodeShareRecord(parts));
  const put = { epoch: EPOCH, tag: TAG, publicKey: parts.publicKey, record };
  const owe = () => held.write(held.attempt(WALLET_ID), { row: restoredRow(EPOCH, 3n, null), put, owesShare: true });
  const stored = async () => {
    const share = await new DurablePartyStore(rows).share(WALLET_ID, EPOCH);
    if (share === null) throw new Error("no share");
    return openStoredShare(ring, WALLET_ID, party, share).share;
  };
  const rotate = () => startRotation({ ...setup, ring }, KEYS.second);
  const finish = () => finishRotation({ store: rows, ring, places, clock });
  return { clock, disk, healed, owe, stored, rotate, finish, share: parts.share };
}

describe("a restored share that is owed", () => {
  it("keeps the former key in use while it is tried, where the rotation began behind its first try", async () => {
    const { clock, disk, owe, stored, rotate, finish, share } = await standOf(0);
    disk.isFull = true;
    expect(await owe()).toBe(false);
    // Its few small rows go in; the share's do not, for longer than a key is kept for what is on its way.
    await rotate();
    const finishing = finish();
    await clock.advanceAsync(OUTAGE_MS);
    disk.isFull = false;
    await clock.advanceAsync(2_000);
    expect(await stored()).toBe(share);
    await clock.advanceAsync(OUTAGE_MS);
    expect(await finishing).toMatchObject({ isDone: true, leftRows: 0, foreignRows: 0 });
  });

  it.each([0, 1] as const)("at party %s opens under the key to which a rotation changed meanwhile", async (party) => {
    const { clock, disk, healed, owe, stored, rotate, finish, share } = await standOf(party);
    disk.isFull = true;
    expect(await owe()).toBe(false);
    await clock.advanceAsync(OUTAGE_MS);

    // The rotation is as fast as a store is: it may be over before what is owed is tried again.
    disk.isFull = false;
    await rotate();
    let isDone = false;
    const finishing = finish().finally(() => {
      isDone = true;
    });
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    while (!isDone || healed.length === 0) await clock.advanceAsync(1_000);
    expect(await finishing).toMatchObject({ isDone: true, leftRows: 0, foreignRows: 0 });
    expect(await stored()).toBe(share);
  });
});
