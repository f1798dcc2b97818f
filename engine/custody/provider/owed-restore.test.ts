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

describe("a restored share that is owed", () => {
  it("keeps the former key in use while it is tried, where the rotation began behind its first try", async () => {
    const party = 0;
    const clock = new VirtualClock();
    const rows = createMemoryStore();
    let isFull = true;
    const full: StateStore = {
      ...rows,
      commit: (batch) => (isFull ? Promise.reject(storeUnavailable("COMMIT_FAILED")) : rows.commit(batch)),
    };
    const places = [sealedShares(party)];
    const setup = { store: rows, places, clock, random: seededRandom(4), scrypt: FAST_SCRYPT };
    const ring = await loadKeyring({ ...setup, source: KEYS.first });
    const held = new PartyRows(takingOver(new DurablePartyStore(full), ring, party), clock, {
      closed() {},
      healed() {},
    });
    const wallet = held.attempt(WALLET_ID);
    const parts = shareParts(party, { epoch: EPOCH });
    const record = ring.seal(shareContext(parts), encodeShareRecord(parts));
    const put = { epoch: EPOCH, tag: TAG, publicKey: parts.publicKey, record };
    expect(await held.write(wallet, { row: restoredRow(EPOCH, 3n, null), put, owesShare: true })).toBe(false);
    // Its few small rows go in; the share's do not, for longer than a key is kept for what is on its way.
    await startRotation({ ...setup, ring }, KEYS.second);
    const finishing = finishRotation({ store: rows, ring, places, clock });
    await clock.advanceAsync(OUTAGE_MS);
    isFull = false;
    await clock.advanceAsync(2_000);
    const stored = await new DurablePartyStore(rows).share(WALLET_ID, EPOCH);
    if (stored === null) throw new Error("no share");
    expect(openStoredShare(ring, WALLET_ID, party, stored).share).toBe(parts.share);
    await clock.advanceAsync(OUTAGE_MS);
    expect(await finishing).toMatchObject({ isDone: true, leftRows: 0, foreignRows: 0 });
  });

  it.each([0, 1] as const)("at party %s opens under the key to which a rotation changed meanwhile", async (party) => {
    const clock = new VirtualClock();
    const rows = createMemoryStore();
    let isFull = false;
    const full: StateStore = {
      ...rows,
      commit: (batch) => (isFull ? Promise.reject(storeUnavailable("COMMIT_FAILED")) : rows.commit(batch)),
    };
    const places = [sealedShares(party)];
    const setup = { store: rows, places, clock, random: seededRandom(4), scrypt: FAST_SCRYPT };
    const ring = await loadKeyring({ ...setup, source: KEYS.first });
    const healed: string[] = [];
    const held = new PartyRows(takingOver(new DurablePartyStore(full), ring, party), clock, {
      closed() {},
      healed: ({ id }) => healed.push(id),
    });
    const wallet = held.attempt(WALLET_ID);
    const parts = shareParts(party, { epoch: EPOCH });
    const context = shareContext(parts);
    const { publicKey } = parts;
    const put = { epoch: EPOCH, tag: TAG, publicKey, record: ring.seal(context, encodeShareRecord(parts)) };
    isFull = true;
    expect(await held.write(wallet, { row: restoredRow(EPOCH, 3n, null), put, owesShare: true })).toBe(false);
    await clock.advanceAsync(OUTAGE_MS);

    // The rotation is as fast as a store is: it may be over before what is owed is tried again.
    isFull = false;
    await startRotation({ ...setup, ring }, KEYS.second);
    let isDone = false;
    const finishing = finishRotation({ store: rows, ring, places, clock }).finally(() => {
      isDone = true;
    });
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    while (!isDone || healed.length === 0) await clock.advanceAsync(1_000);
    expect(await finishing).toMatchObject({ isDone: true, leftRows: 0, foreignRows: 0 });

    const stored = await new DurablePartyStore(rows).share(WALLET_ID, EPOCH);
    if (stored === null) throw new Error("no share");
    expect(openStoredShare(ring, WALLET_ID, party, stored).share).toBe(parts.share);
  });
});
