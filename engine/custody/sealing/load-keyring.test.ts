import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { decodeJson, encodeJson, type StateStore } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import type { KekSource } from "./kek.js";
import type { Keyring } from "./keyring.js";
import { assertNothingSealed, type KeyringSetup, loadKeyring } from "./load-keyring.js";
import { finishRotation, startRotation } from "./rotation.js";
import { codeOf, FAST_SCRYPT, refusalOf, seededRandom } from "./test/sealing-doubles.js";
import { KEYS, NAMES, openAll, PLACES, putAll } from "./test/sealed-things.js";

const random = seededRandom(21);

function setupOf(store: StateStore, source: KekSource, former?: KekSource): KeyringSetup {
  return {
    ...{ store, source, places: PLACES, clock: new VirtualClock(), random, scrypt: FAST_SCRYPT },
    ...(former === undefined ? {} : { former }),
  };
}

const load = (store: StateStore, source: KekSource, former?: KekSource): Promise<Keyring> =>
  loadKeyring(setupOf(store, source, former));

async function sealedStore(source: KekSource): Promise<StateStore> {
  const store = createMemoryStore();
  await putAll(store, await load(store, source));
  return store;
}

async function changeRow(store: StateStore, change: (row: Record<string, unknown>) => unknown): Promise<void> {
  const bytes = await store.get("sealing", "keys");
  if (bytes === null) throw new Error("no row of keys");
  await store.put("sealing", "keys", encodeJson(change(decodeJson(bytes) as Record<string, unknown>)));
}

describe("a keyring at the start", () => {
  it.each(Object.entries(KEYS))("opens again with the same key: %s", async (_name, source) => {
    const store = await sealedStore(source);
    const ring = await load(store, source);
    expect(await openAll(store, ring)).toEqual(NAMES);
    expect(ring.formerKekId).toBeNull();
  });

  it("writes once, and nothing of a key or a secret", async () => {
    const store = createMemoryStore();
    const ring = await load(store, KEYS.first);
    await load(store, KEYS.first);
    expect(store.writtenText).toHaveLength(1);
    await putAll(store, ring);
    const written = store.writtenText.join("\n");
    expect(written).toContain(ring.kekId);
    expect(written).not.toContain(KEYS.first.hex.slice(0, 16));
    for (const name of NAMES) expect(written).not.toContain(`secret of ${name}`);
  });

  it("refuses another key by name, and changes nothing", async () => {
    const store = await sealedStore(KEYS.first);
    const before = await store.get("sealing", "keys");
    expect(await refusalOf(load(store, KEYS.second))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    expect(await refusalOf(load(store, KEYS.words))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    expect(await refusalOf(load(store, KEYS.second, KEYS.third))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    expect(await store.get("sealing", "keys")).toEqual(before);
    expect(await openAll(store, await load(store, KEYS.first))).toEqual(NAMES);
  });

  it("refuses another passphrase, also where it differs in a line end", async () => {
    const store = await sealedStore(KEYS.words);
    const near = { kind: "passphrase", passphrase: Buffer.from("correct horse battery staple\n") } as const;
    expect(await refusalOf(load(store, near))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    expect(await refusalOf(load(store, KEYS.first))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
  });

  it("says which key the store wants, and shows none", async () => {
    const store = await sealedStore(KEYS.first);
    const { kekId } = await load(store, KEYS.first);
    const error = await load(store, KEYS.second).catch((caught: unknown) => caught);
    expect(String(error)).toContain(`sealed under the key ${kekId}; the one given is another`);
    expect(String(error)).not.toContain(KEYS.second.hex.slice(0, 8));
  });

  it("does not start without a key where something is sealed", async () => {
    const store = await sealedStore(KEYS.first);
    expect(await refusalOf(assertNothingSealed(store, PLACES))).toBe("SEAL_KEY_REFUSED KEY_MISSING");
    const empty = createMemoryStore();
    await load(empty, KEYS.first);
    await assertNothingSealed(empty, PLACES);
  });

  it("makes no new key row where the old one was lost and something is sealed", async () => {
    const store = await sealedStore(KEYS.words);
    await store.remove("sealing", "keys");
    expect(await refusalOf(load(store, KEYS.words))).toBe("SEAL_KEY_REFUSED KEY_ROW_MISSING");
    expect(await refusalOf(assertNothingSealed(store, PLACES))).toBe("SEAL_KEY_REFUSED KEY_MISSING");
    expect(await store.get("sealing", "keys")).toBeNull();
  });

  it("takes a row that cannot be read for one that may hold a secret", async () => {
    const store = createMemoryStore();
    await store.put("api-keys", "k1", Buffer.from("{"));
    expect(await refusalOf(assertNothingSealed(store, PLACES))).toBe("SEAL_KEY_REFUSED KEY_MISSING");
    expect(await refusalOf(load(store, KEYS.first))).toBe("SEAL_KEY_REFUSED KEY_ROW_MISSING");
  });

  it.each<[string, (row: Record<string, unknown>) => unknown, string]>([
    ["of a newer format", (row) => ({ ...row, format: 2 }), "KEY_ROW_NEWER"],
    ["of no format", (row) => ({ ...row, format: "1" }), "KEY_ROW_DAMAGED"],
    ["that is a list", () => [], "KEY_ROW_DAMAGED"],
    ["without a present key", (row) => ({ ...row, present: null }), "KEY_ROW_DAMAGED"],
    ["whose keys are one", (row) => ({ ...row, former: row["present"] }), "KEY_ROW_DAMAGED"],
    ["with a check of no hex", (row) => withPresent(row, { check: "zz" }), "KEY_ROW_DAMAGED"],
    ["with a changed check", (row) => withPresent(row, { check: flipLast(row) }), "KEY_ROW_DAMAGED"],
    [
      "with a fraction of N",
      (row) => withPresent(row, { scrypt: { ...scryptOf(row), log2N: 4.5 } }),
      "KEY_ROW_DAMAGED",
    ],
    ["with a huge N", (row) => withPresent(row, { scrypt: { ...scryptOf(row), log2N: 60 } }), "KEY_ROW_DAMAGED"],
    ["with text as N", (row) => withPresent(row, { scrypt: { ...scryptOf(row), log2N: "4" } }), "KEY_ROW_DAMAGED"],
    ["without a salt", (row) => withPresent(row, { scrypt: { ...scryptOf(row), salt: "" } }), "KEY_ROW_DAMAGED"],
  ])("refuses a row of keys %s, and leaves it", async (_name, change, reason) => {
    const store = await sealedStore(KEYS.words);
    await changeRow(store, change);
    const before = await store.get("sealing", "keys");
    expect(await refusalOf(load(store, KEYS.words))).toBe(`SEAL_KEY_REFUSED ${reason}`);
    expect(await store.get("sealing", "keys")).toEqual(before);
  });

  it("refuses a row of keys that is no JSON", async () => {
    const store = createMemoryStore();
    await store.put("sealing", "keys", Buffer.from("{"));
    expect(await refusalOf(load(store, KEYS.first))).toBe("SEAL_KEY_REFUSED KEY_ROW_DAMAGED");
  });
});

const presentOf = (row: Record<string, unknown>): Record<string, unknown> => row["present"] as Record<string, unknown>;
const scryptOf = (row: Record<string, unknown>): object => presentOf(row)["scrypt"] as object;
const withPresent = (row: Record<string, unknown>, change: object): unknown => ({
  ...row,
  present: { ...presentOf(row), ...change },
});
function flipLast(row: Record<string, unknown>): string {
  const check = String(presentOf(row)["check"]);
  return check.slice(0, -1) + (check.endsWith("0") ? "1" : "0");
}

describe("a keyring while a rotation runs", () => {
  async function halfRotated(): Promise<StateStore> {
    const store = await sealedStore(KEYS.first);
    const ring = await load(store, KEYS.first);
    await startRotation({ ...setupOf(store, KEYS.first), ring }, KEYS.words);
    return store;
  }

  it("opens both keys and seals under the new", async () => {
    const store = await halfRotated();
    const ring = await load(store, KEYS.words, KEYS.first);
    expect(await openAll(store, ring)).toEqual(NAMES);
    const record = ring.seal({ purpose: "share", parts: [], recordVersion: 1 }, Buffer.from("new"));
    expect(Buffer.from(record).toString("hex", 2, 10)).toBe(ring.kekId);
    expect(ring.formerKekId).not.toBe(ring.kekId);
  });

  it("wants both, in their places, and names them", async () => {
    const store = await halfRotated();
    expect(await refusalOf(load(store, KEYS.first))).toBe("SEAL_KEY_REFUSED ROTATION_UNFINISHED");
    expect(await refusalOf(load(store, KEYS.first, KEYS.words))).toBe("SEAL_KEY_REFUSED ROTATION_UNFINISHED");
    expect(await refusalOf(load(store, KEYS.words))).toBe("SEAL_KEY_REFUSED FORMER_KEY_MISSING");
    expect(await refusalOf(load(store, KEYS.words, KEYS.second))).toBe("SEAL_KEY_REFUSED FORMER_KEY_WRONG");
    expect(await refusalOf(load(store, KEYS.third))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    expect(await refusalOf(load(store, KEYS.third, KEYS.words))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
    const { kekId } = await load(createMemoryStore(), KEYS.first);
    expect(String(await load(store, KEYS.words).catch((caught: unknown) => caught))).toContain(kekId);
  });

  it("does not want the former key where nothing is left under it", async () => {
    const store = await halfRotated();
    for (const place of PLACES)
      for (const { key } of await store.scan(place.namespace, { prefix: "", limit: 1_000 }))
        await store.remove(place.namespace, key);
    const ring = await load(store, KEYS.words);
    const report = await finishRotation({ store, ring, places: PLACES, clock: new VirtualClock() });
    expect(report.isDone).toBe(true);
    expect(decodeJson((await store.get("sealing", "keys")) ?? new Uint8Array())).toMatchObject({ former: null });
  });

  it("does not read a former key that stayed configured after it", async () => {
    const store = await sealedStore(KEYS.first);
    await load(store, KEYS.first, { kind: "file", path: "/nonexistent/key" });
  });

  it("knows no key that is neither", async () => {
    const other = await sealedStore(KEYS.third);
    const record = (await other.get("credentials", "c1")) ?? new Uint8Array();
    const ring = await load(await halfRotated(), KEYS.words, KEYS.first);
    const context = { purpose: "venue-credentials", parts: ["c1"], recordVersion: 1 };
    expect(codeOf(() => ring.open(context, record))).toBe("SEAL_KEY_UNKNOWN");
    expect(codeOf(() => ring.rewrap(context, record))).toBe("SEAL_KEY_UNKNOWN");
  });
});

describe("a key change by configuration alone", () => {
  it("begins at the start where the former key opens the store, and goes on at the next", async () => {
    const store = await sealedStore(KEYS.words);
    const ring = await load(store, KEYS.second, KEYS.words);
    expect(await openAll(store, ring)).toEqual(NAMES);
    const again = await load(store, KEYS.second, KEYS.words);
    expect([again.kekId, again.formerKekId]).toEqual([ring.kekId, ring.formerKekId]);
    const report = await finishRotation({ store, ring: again, places: PLACES, clock: new VirtualClock() });
    expect(report).toMatchObject({ isDone: true, leftRows: 0 });
    expect(await openAll(store, await load(store, KEYS.second))).toEqual(NAMES);
    expect(await refusalOf(load(store, KEYS.words))).toBe("SEAL_KEY_REFUSED KEY_WRONG");
  });

  it("from a passphrase to another one works too, and back to a key", async () => {
    const store = await sealedStore(KEYS.words);
    let former: KekSource = KEYS.words;
    for (const source of [KEYS.otherWords, KEYS.first, KEYS.words]) {
      const ring = await load(store, source, former);
      await finishRotation({ store, ring, places: PLACES, clock: new VirtualClock() });
      expect(await openAll(store, await load(store, source))).toEqual(NAMES);
      former = source;
    }
  });
});
