import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { decodeJson, encodeJson, type StateStore } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { Kek, type KekSource } from "./kek.js";
import { Keyring } from "./keyring.js";
import { type KeyringSetup, loadKeyring } from "./load-keyring.js";
import { recordKekId } from "./record.js";
import { finishRotation, type RotationReport, startRotation } from "./rotation.js";
import type { SealedPlace } from "./sealed-rows.js";
import { createMortalStore, FAST_SCRYPT, refusalOf, seededRandom } from "./test/sealing-doubles.js";
import { apiKeys, credentials, KEYS, keyRow, NAMES, openAll, PLACES, putAll } from "./test/sealed-things.js";

const random = seededRandom(33);

class World {
  constructor(
    readonly store: StateStore = createMemoryStore(),
    readonly clock = new VirtualClock(),
  ) {}

  setup(source: KekSource, former?: KekSource): KeyringSetup {
    const { store, clock } = this;
    return {
      ...{ store, source, places: PLACES, clock, random, scrypt: FAST_SCRYPT },
      ...(former === undefined ? {} : { former }),
    };
  }

  load(source: KekSource, former?: KekSource): Promise<Keyring> {
    return loadKeyring(this.setup(source, former));
  }

  start(ring: Keyring, next: KekSource): Promise<void> {
    return startRotation({ ...this.setup(next), ring }, next);
  }

  /** Finishes with as much time as it waits for. */
  async finish(ring: Keyring, places: readonly SealedPlace[] = PLACES): Promise<RotationReport> {
    let isSettled = false;
    const report = finishRotation({ store: this.store, ring, places, clock: this.clock }).finally(() => {
      isSettled = true;
    });
    // A failure is the caller's to see, below.
    report.catch(() => {});
    while (!isSettled) await this.clock.advanceAsync(1_000);
    return report;
  }

  /** Ids of the KEKs that records in the store are under. */
  async kekIds(): Promise<string[]> {
    const ids = new Set<string>();
    for (const place of PLACES)
      for (const { key, value } of await this.store.scan(place.namespace, { prefix: place.prefix, limit: 1_000 }))
        for (const { record } of place.partsOf(key, value)) ids.add(recordKekId(record));
    return [...ids];
  }

  async keyRow(): Promise<{ present: { id: string }; former: { id: string } | null }> {
    return decodeJson((await this.store.get("sealing", "keys")) ?? new Uint8Array()) as never;
  }
}

async function sealedWorld(source: KekSource = KEYS.first): Promise<{ world: World; ring: Keyring }> {
  const world = new World();
  const ring = await world.load(source);
  await putAll(world.store, ring);
  return { world, ring };
}

describe("a rotation", () => {
  it("of a running service leaves every secret under the new key, and the old one is of no use", async () => {
    const { world, ring } = await sealedWorld();
    const formerId = ring.kekId;
    await world.start(ring, KEYS.words);
    expect(await world.keyRow()).toMatchObject({ present: { id: ring.kekId }, former: { id: formerId } });
    const report = await world.finish(ring);
    expect(report).toEqual({ isDone: true, rewrappedRows: 6, leftRows: 0, leftNames: [], foreignRows: 0 });
    expect(await world.keyRow()).toMatchObject({ present: { id: ring.kekId }, former: null });
    expect([ring.formerKekId, await world.kekIds()]).toEqual([null, [ring.kekId]]);
    expect(await openAll(world.store, ring)).toEqual(NAMES);
    expect(await openAll(world.store, await world.load(KEYS.words))).toEqual(NAMES);
    expect(await refusalOf(world.load(KEYS.first))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
  });

  it("changes nothing of a row but its records", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    await world.finish(ring);
    for (const { value } of await world.store.scan("api-keys", { prefix: "k", limit: 10 }))
      expect(decodeJson(value)).toMatchObject({ label: "mine" });
    expect(Buffer.from((await world.store.get("api-keys", "index")) ?? []).toString()).toBe("no JSON");
  });

  it("goes over many pages of rows", async () => {
    const { world, ring } = await sealedWorld();
    for (let number = 0; number < 200; number++)
      await world.store.put("api-keys", `kk${number}`, keyRow(ring, `kk${number}`));
    await world.start(ring, KEYS.second);
    expect(await world.finish(ring)).toMatchObject({ isDone: true, rewrappedRows: 206 });
    expect(await world.kekIds()).toEqual([ring.kekId]);
  });

  it("does nothing where none runs", async () => {
    const { world, ring } = await sealedWorld();
    const before = world.store.status().commitCount;
    expect(await world.finish(ring)).toEqual({
      ...{ isDone: true, rewrappedRows: 0, leftRows: 0, leftNames: [], foreignRows: 0 },
    });
    expect(world.store.status().commitCount).toBe(before);
  });

  it("to the same key is refused, and one before the last has ended too", async () => {
    const { world, ring } = await sealedWorld();
    expect(await refusalOf(world.start(ring, KEYS.first))).toBe("SEAL_KEY_REFUSED SAME_KEY");
    await world.start(ring, KEYS.second);
    const row = await world.keyRow();
    expect(await refusalOf(world.start(ring, KEYS.third))).toBe("SEAL_KEY_REFUSED ROTATION_UNFINISHED");
    expect(await refusalOf(world.start(ring, KEYS.first))).toBe("SEAL_KEY_REFUSED ROTATION_UNFINISHED");
    expect(await world.keyRow()).toEqual(row);
    expect(await openAll(world.store, ring)).toEqual(NAMES);
  });

  it("gives way to one that began between its read and its commit, and seals under the key before", async () => {
    const store = createMemoryStore();
    const world = new World(store);
    const [ring, other] = [await world.load(KEYS.first), await world.load(KEYS.first)];
    const before = ring.kekId;
    store.gate = async () => {
      store.gate = async () => {};
      await world.start(other, KEYS.third);
    };
    expect(await refusalOf(world.start(ring, KEYS.second))).toBe("SEAL_KEY_REFUSED ROTATION_UNFINISHED");
    expect([ring.kekId, ring.formerKekId]).toEqual([before, null]);
    expect(await world.keyRow()).toMatchObject({ present: { id: other.kekId }, former: { id: before } });
  });

  it("with a bad new key is refused, and changes nothing", async () => {
    const { world, ring } = await sealedWorld();
    const row = await world.keyRow();
    for (const next of [
      { kind: "environment", hex: "12" },
      { kind: "file", path: "/nonexistent/key" },
      { kind: "passphrase", passphrase: Buffer.from("short") },
    ] as const)
      expect(await refusalOf(world.start(ring, next))).toMatch(/^SEAL_KEY_REFUSED/);
    expect([await world.keyRow(), ring.formerKekId]).toEqual([row, null]);
  });

  it("asked for twice with the same key goes on", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.words);
    const row = await world.keyRow();
    await world.start(ring, KEYS.words);
    expect(await world.keyRow()).toEqual(row);
  });

  it("asked for twice at the same time begins once", async () => {
    const { world, ring } = await sealedWorld();
    const results = await Promise.allSettled([world.start(ring, KEYS.second), world.start(ring, KEYS.third)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect((await world.keyRow()).present.id).toBe(ring.kekId);
    await world.finish(ring);
    expect(await openAll(world.store, ring)).toEqual(NAMES);
  });

  it("finished twice at the same time ends once, with all secrets", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    const reports = await Promise.all([world.finish(ring), world.finish(ring)]);
    expect(reports.map(({ isDone }) => isDone)).toEqual([true, true]);
    expect(await openAll(world.store, await world.load(KEYS.second))).toEqual(NAMES);
  });
});

describe("a rotation beside other writers", () => {
  it("keeps a change of a row that comes between its read and its commit", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    const raced = new Set<string>();
    const place: SealedPlace = {
      ...apiKeys,
      withRecords(key, value, records) {
        if (!raced.has(key)) {
          raced.add(key);
          const changed = { ...(decodeJson(value) as object), label: `renamed ${key}` };
          void world.store.put("api-keys", key, encodeJson(changed));
        }
        return apiKeys.withRecords(key, value, records);
      },
    };
    expect(await world.finish(ring, [place, credentials])).toMatchObject({ isDone: true, leftRows: 0 });
    expect(await openAll(world.store, ring)).toEqual(NAMES);
    for (const { key, value } of await world.store.scan("api-keys", { prefix: "k", limit: 10 }))
      expect(decodeJson(value)).toMatchObject({ label: `renamed ${key}` });
  });

  it("sees a row that is put back under the former key behind its pass", async () => {
    const { world, ring } = await sealedWorld();
    const old = (await world.store.get("api-keys", "k1")) ?? new Uint8Array();
    await world.start(ring, KEYS.second);
    // No seal under the former key in this life, so nothing waits.
    const later = await world.load(KEYS.second, KEYS.first);
    const place: SealedPlace = {
      ...apiKeys,
      rewrapped: (key) => void (key === "k3" && world.store.put("api-keys", "k1", old)),
    };
    expect(await world.finish(later, [place, credentials])).toMatchObject({ isDone: true, rewrappedRows: 7 });
    expect(await openAll(world.store, await world.load(KEYS.second))).toEqual(NAMES);
  });

  it("does not bring a row back that is removed meanwhile", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    const place: SealedPlace = {
      ...credentials,
      withRecords(key, value, records) {
        void world.store.remove("credentials", key);
        return credentials.withRecords(key, value, records);
      },
    };
    expect(await world.finish(ring, [apiKeys, place])).toMatchObject({ isDone: true, rewrappedRows: 3 });
    expect(await world.store.scan("credentials", { prefix: "", limit: 10 })).toEqual([]);
  });

  it("keeps the former key while a row changes at every try, and says so", async () => {
    const { world, ring } = await sealedWorld();
    const formerId = ring.kekId;
    await world.start(ring, KEYS.second);
    let changeCount = 0;
    const place: SealedPlace = {
      ...apiKeys,
      withRecords(key, value, records) {
        const changed = { ...(decodeJson(value) as object), label: String(changeCount++) };
        if (key === "k2") void world.store.put("api-keys", key, encodeJson(changed));
        return apiKeys.withRecords(key, value, records);
      },
    };
    const report = await world.finish(ring, [place, credentials]);
    expect(report).toMatchObject({ isDone: false, rewrappedRows: 5, leftRows: 1, leftNames: ["api-keys/k2"] });
    expect(ring.formerKekId).toBe(formerId);
    expect(await world.finish(ring)).toMatchObject({ isDone: true, rewrappedRows: 1 });
    expect(await openAll(world.store, ring)).toEqual(NAMES);
  });

  it("waits for a record sealed just before it, whose commit comes late", async () => {
    const { world, ring } = await sealedWorld();
    const late = keyRow(ring, "k9");
    await world.start(ring, KEYS.second);
    const report = finishRotation({ store: world.store, ring, places: PLACES, clock: world.clock });
    await world.clock.advanceAsync(59_000);
    expect(ring.formerKekId).not.toBeNull();
    await world.store.put("api-keys", "k9", late);
    await world.clock.advanceAsync(1_000);
    expect(await report).toMatchObject({ isDone: true, rewrappedRows: 7 });
    expect(await openAll(world.store, await world.load(KEYS.second))).toEqual(
      expect.arrayContaining([...NAMES, "k9/0", "k9/1"]),
    );
  });

  it("waits for what a thread still seals with the keys that it was given", async () => {
    const { world } = await sealedWorld();
    // Nothing was sealed in this life by the ring itself.
    const ring = await world.load(KEYS.first);
    const { present } = ring.copyOfKeys();
    const thread = new Keyring({ present: new Kek(present), former: null, clock: world.clock, random });
    await world.start(ring, KEYS.second);
    const report = finishRotation({ store: world.store, ring, places: PLACES, clock: world.clock });
    await world.clock.advanceAsync(59_000);
    const context = { purpose: "share", parts: ["w"], recordVersion: 1 };
    const record = ring.takeOver(context, thread.seal(context, Buffer.from("late")));
    expect(recordKekId(record)).toBe(ring.kekId);
    // The same record may be brought again, as where the store did not take it.
    await world.clock.advanceAsync(59_000);
    expect(ring.formerKekId).not.toBeNull();
    await world.clock.advanceAsync(1_000);
    expect(await report).toMatchObject({ isDone: true });
    expect(ring.open(context, record).toString()).toBe("late");
  });

  it("shows the new value of each row to whoever keeps it in memory", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    const seen = new Map<string, Uint8Array>();
    await world.finish(ring, [{ ...apiKeys, rewrapped: (key, value) => seen.set(key, value) }, credentials]);
    expect([...seen.keys()]).toEqual(["k1", "k2", "k3"]);
    for (const [key, value] of seen) expect(await world.store.get("api-keys", key)).toEqual(Uint8Array.from(value));
  });
});

describe("a rotation over damaged rows", () => {
  it("rewraps all others, names these, and keeps the former key", async () => {
    const { world, ring } = await sealedWorld();
    const broken = Buffer.from((await world.store.get("credentials", "c2")) ?? []);
    broken[40] = (broken[40] ?? 0) ^ 1;
    await world.store.put("credentials", "c2", broken);
    await world.store.put("api-keys", "k2", Buffer.from("{"));
    await world.start(ring, KEYS.second);
    const report = await world.finish(ring);
    expect(report).toMatchObject({ isDone: false, rewrappedRows: 4, leftRows: 2 });
    expect(report.leftNames).toEqual(["api-keys/k2", "credentials/c2"]);
    expect(Buffer.from((await world.store.get("credentials", "c2")) ?? [])).toEqual(broken);
    expect((await world.keyRow()).former).not.toBeNull();
    await world.store.remove("credentials", "c2");
    await world.store.remove("api-keys", "k2");
    expect(await world.finish(ring)).toMatchObject({ isDone: true, rewrappedRows: 0 });
  });

  it("leaves a record that another place's code would drop", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    const forgetful: SealedPlace = {
      ...apiKeys,
      withRecords: (key, value, records) => apiKeys.withRecords(key, value, records.slice(0, 1)),
    };
    expect(await world.finish(ring, [forgetful, credentials])).toMatchObject({ isDone: false, leftRows: 3 });
    expect(await openAll(world.store, ring)).toEqual(NAMES);
  });

  it("counts records under neither key, and ends all the same", async () => {
    const { world, ring } = await sealedWorld();
    const { world: elsewhere } = await sealedWorld(KEYS.third);
    const foreign = (await elsewhere.store.get("credentials", "c2")) ?? new Uint8Array();
    await world.store.put("credentials", "c2", foreign);
    await world.start(ring, KEYS.second);
    expect(await world.finish(ring)).toMatchObject({ isDone: true, rewrappedRows: 5, foreignRows: 1 });
    expect(await world.store.get("credentials", "c2")).toEqual(foreign);
  });

  it("is not ended by a ring that is not the store's", async () => {
    const { world, ring } = await sealedWorld();
    const stale = await world.load(KEYS.first);
    await world.start(ring, KEYS.second);
    expect(await refusalOf(world.finish(stale))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    expect(await world.kekIds()).not.toContain(ring.kekId);
  });
});

/** Sources that an operator gives at a start during the rotation from `first` to `words`. */
const STARTS: readonly (readonly [KekSource, KekSource?])[] = [[KEYS.first], [KEYS.words, KEYS.first], [KEYS.words]];

describe("a rotation killed at a commit", () => {
  /** A whole rotation in one life that ends at commit `deathAt`; returns the commits it made. */
  async function liveOnce(mortal: ReturnType<typeof createMortalStore>, deathAt: number, isWritten: boolean) {
    const store = mortal.live(deathAt, isWritten);
    const world = new World(store);
    for (const [source, former] of STARTS) {
      try {
        const ring = await world.load(source, former);
        await world.start(ring, KEYS.words);
        await world.finish(ring);
        return store.commits();
      } catch (error) {
        const refusal = await refusalOf(Promise.reject(error));
        // It is done already, or these are not the keys of this moment.
        if (refusal === "SEAL_KEY_REFUSED SAME_KEY") return store.commits();
        if (refusal.startsWith("STORE_UNAVAILABLE")) return store.commits();
      }
    }
    throw new Error("no start succeeded");
  }

  async function assertNothingLost(rows: StateStore): Promise<void> {
    const world = new World(rows);
    for (const [source, former] of STARTS) {
      const ring = await world.load(source, former).catch(() => null);
      if (ring === null) continue;
      expect(await openAll(rows, ring)).toEqual(NAMES);
      return;
    }
    throw new Error("no key opens the store");
  }

  async function sealedMortal(): Promise<ReturnType<typeof createMortalStore>> {
    const mortal = createMortalStore();
    await putAll(mortal.rows, await new World(mortal.rows).load(KEYS.first));
    return mortal;
  }

  async function assertEnded(mortal: ReturnType<typeof createMortalStore>): Promise<void> {
    await liveOnce(mortal, Number.POSITIVE_INFINITY, false);
    const world = new World(mortal.rows);
    expect((await world.keyRow()).former).toBeNull();
    const ring = await world.load(KEYS.words);
    expect([await openAll(mortal.rows, ring), await world.kekIds()]).toEqual([NAMES, [ring.kekId]]);
  }

  it.each([
    ["before it is written", false],
    ["after it is written, unacknowledged", true],
  ])("loses nothing, and the next life ends it: whichever commit, %s", async (_name, isWritten) => {
    const whole = await liveOnce(await sealedMortal(), Number.POSITIVE_INFINITY, false);
    // One begins it, six rows, one ends it.
    expect(whole).toBe(8);
    for (let deathAt = 1; deathAt <= whole; deathAt++) {
      const mortal = await sealedMortal();
      await liveOnce(mortal, deathAt, isWritten);
      await assertNothingLost(mortal.rows);
      await assertEnded(mortal);
    }
  });

  it("loses nothing when every life dies at its second commit", async () => {
    const mortal = await sealedMortal();
    for (let life = 0; life < 12; life++) {
      await liveOnce(mortal, 2, life % 2 === 0);
      await assertNothingLost(mortal.rows);
    }
    await assertEnded(mortal);
  });

  it("goes on in the same life where the beginning was written but not acknowledged", async () => {
    const { world, ring } = await sealedWorld();
    const { store } = world;
    let isCut = true;
    const flaky: StateStore = {
      ...store,
      async compareAndSet(namespace, key, expected, value) {
        const isSet = await store.compareAndSet(namespace, key, expected, value);
        if (isCut) throw new Error("no reply");
        return isSet;
      },
    };
    const cut = new World(flaky, world.clock);
    await expect(cut.start(ring, KEYS.words)).rejects.toThrow("no reply");
    isCut = false;
    expect(await refusalOf(cut.finish(ring))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    await store.put("api-keys", "k4", keyRow(ring, "k4"));
    await cut.start(ring, KEYS.words);
    expect(await cut.finish(ring)).toMatchObject({ isDone: true, rewrappedRows: 7 });
    expect(await openAll(store, await world.load(KEYS.words))).toHaveLength(NAMES.length + 2);
  });

  it("begins the next one in the same life where the end was written but not acknowledged", async () => {
    const { world, ring } = await sealedWorld();
    await world.start(ring, KEYS.second);
    const { store } = world;
    const flaky: StateStore = {
      ...store,
      async compareAndSet(namespace, key, expected, value) {
        const isSet = await store.compareAndSet(namespace, key, expected, value);
        if (namespace === "sealing") throw new Error("no reply");
        return isSet;
      },
    };
    const cut = new World(flaky, world.clock);
    await expect(cut.finish(ring)).rejects.toThrow("no reply");
    expect(ring.formerKekId).not.toBeNull();
    await world.start(ring, KEYS.third);
    expect(await world.finish(ring)).toMatchObject({ isDone: true });
    expect(await openAll(store, await world.load(KEYS.third))).toEqual(NAMES);
  });
});
