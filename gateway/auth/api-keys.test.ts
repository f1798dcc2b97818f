import { beforeEach, describe, expect, it } from "vitest";
import { decodeJson, storeUnavailable } from "../../engine/storage/state-store.js";
import type { KeyWish, NewSecret } from "./key-admin.js";
import { SEALED_KEY_ROWS } from "./key-rows.js";
import { OVERLAP_MAX_MS } from "./key-wish.js";
import { type AuthHarness, outcome, signedBy, startAuth, WISH } from "./test/auth-harness.js";
import { createTestSealer } from "./test/test-sealer.js";

let harness: AuthHarness;

beforeEach(async () => {
  harness = await startAuth();
});

const ask = (made: NewSecret, target = "/api/limits"): string =>
  outcome(harness.auth.authenticate(signedBy(made, harness.clock.wallMs(), { target })));

async function restart(): Promise<void> {
  const { clock, store } = harness;
  harness = await startAuth({ clock, store, seed: 77 });
}

async function acts(): Promise<string[]> {
  const { rows } = await harness.audit.page(100, null);
  return rows.map(({ who, what, outcome: done, details }) => `${who} ${what} ${done} ${JSON.stringify(details)}`);
}

function faults(wish: Partial<KeyWish>): Promise<unknown> {
  return harness.keys.create({ ...WISH, ...wish }).then(
    () => [],
    (error: { context: { fields: { path: string }[] } }) => error.context.fields.map(({ path }) => path),
  );
}

describe("creating a key", () => {
  it("shows the secret once; nothing of it is stored in the clear", async () => {
    const made = await harness.keys.create({ ...WISH, label: "desk 1", ips: ["::ffff:10.0.0.0/104", "2001:DB8::/32"] });
    expect(made.secret).toMatch(/^sk_[0-9A-Za-z]{43}$/);
    expect(made.key).toEqual({
      ...{ keyId: made.key.keyId, ownerId: made.key.ownerId, label: "desk 1", scopes: ["read", "trade"] },
      ...{ ips: ["10.0.0.0/8", "2001:db8::/32"], createdAtMs: harness.clock.wallMs(), rotatedAtMs: null },
      ...{ formerSecretUntilMs: null, revokedAtMs: null, lastUsedAtMs: null },
    });
    expect(await harness.keys.list()).toEqual([made.key]);
    expect(harness.store.writtenText.join("\n")).not.toContain(made.secret.slice(3));
    expect(JSON.stringify(await harness.keys.list())).not.toContain(made.secret);
  });

  it("makes a new owner, or adds to one", async () => {
    const [one, two] = [await harness.keys.create(WISH), await harness.keys.create(WISH)];
    const third = await harness.keys.create({ ...WISH, ownerId: one.key.ownerId });
    expect(one.key.ownerId).toMatch(/^ow_[0-9A-Za-z]{22}$/);
    expect([two.key.ownerId === one.key.ownerId, third.key.ownerId === one.key.ownerId]).toEqual([false, true]);
  });

  it("is one commit with its audit row, which has no secret", async () => {
    const before = harness.store.status().commitCount;
    const { secret } = await harness.keys.create({ ...WISH, ownerId: "desk" });
    expect(harness.store.status().commitCount - before).toBe(1);
    expect(await acts()).toEqual([
      'admin key.create done {"ownerId":"desk","scopes":["read","trade"],"ips":[],"adoptLocal":false}',
    ]);
    expect(JSON.stringify(await acts())).not.toContain(secret);
  });

  it("names every fault of a wish at once, and changes nothing", async () => {
    const wish = { label: "a\nb", ownerId: "local", scopes: [], ips: ["10.0.0.1/8"] };
    expect(await faults(wish)).toEqual(["label", "ownerId", "scopes", "ips[0]"]);
    expect(await harness.keys.list()).toEqual([]);
    expect(await acts()).toEqual(['admin key.create refused {"code":"INVALID_PARAMETERS"}']);
  });

  it.each<[what: string, wish: Partial<KeyWish>, paths: string[]]>([
    ["a label of 64 letters", { label: "é".repeat(64) }, []],
    ["a label of 65", { label: "e".repeat(65) }, ["label"]],
    ["a label with a blank before it", { label: " a" }, ["label"]],
    ["a label that turns the direction of a terminal", { label: "a\u202eb" }, ["label"]],
    ["a label with half a character", { label: "\ud800" }, ["label"]],
    ["a label that is a key", { label: `sk_${"A".repeat(43)}` }, ["label"]],
    ["a label and an owner whose names end like the beginning of one", { label: "desk_1", ownerId: "desk_1" }, []],
    ["an owner of another case of local", { ownerId: "LOCAL" }, ["ownerId"]],
    ["an owner with a slash", { ownerId: "a/b" }, ["ownerId"]],
    ["an owner of 64 letters and dashes", { ownerId: "desk-of-alice-".repeat(5).slice(0, 64) }, []],
    ["an owner of 65", { ownerId: "desk-of-alice-".repeat(5).slice(0, 65) }, ["ownerId"]],
    ["an owner that is a key of 32 bytes in hex", { ownerId: "0123456789abcdef".repeat(4) }, ["ownerId"]],
    ["an owner that is the rest of a secret", { ownerId: "A".repeat(43) }, ["ownerId"]],
    ["an owner that is a key", { ownerId: `sk_${"A".repeat(43)}` }, ["ownerId"]],
    ["an empty owner", { ownerId: "" }, ["ownerId"]],
    ["a scope that is none", { scopes: ["read", "all" as "read"] }, ["scopes"]],
    ["65 addresses", { ips: new Array<string>(65).fill("10.0.0.1") }, ["ips"]],
    ["a name for an address", { ips: ["10.0.0.1", "localhost"] }, ["ips[1]"]],
  ])("with %s has these faults", async (_what, wish, paths) => {
    expect(await faults(wish)).toEqual(paths);
  });

  it("keeps each scope once, in their order", async () => {
    const { key } = await harness.keys.create({ ...WISH, scopes: ["admin", "read", "admin"] });
    expect(key.scopes).toEqual(["read", "admin"]);
  });

  it("is refused beyond the bound; a revoked key makes room", async () => {
    harness = await startAuth({ bounds: { live: 2, revoked: 2 } });
    const [one] = [await harness.keys.create(WISH), await harness.keys.create(WISH)];
    await expect(harness.keys.create(WISH)).rejects.toMatchObject({ code: "KEY_LIMIT", context: { limit: 2 } });
    await harness.keys.revoke(one.key.keyId);
    await harness.keys.create(WISH);
    expect(await harness.keys.list()).toHaveLength(3);
  });

  it("leaves no key where the store fails", async () => {
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(harness.keys.create(WISH)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect([await harness.keys.list(), [...harness.keys.table.entries()]]).toEqual([[], []]);
  });
});

describe("the rows of public mode", () => {
  it("are handed over with the key, to one owner for good", async () => {
    const before = harness.store.status().commitCount;
    const { key } = await harness.keys.create({ ...WISH, adoptLocal: true });
    expect([harness.store.status().commitCount - before, harness.localRows.adoptedBy()]).toEqual([1, key.ownerId]);
    await expect(harness.keys.create({ ...WISH, adoptLocal: true })).rejects.toMatchObject({
      code: "LOCAL_ROWS_ADOPTED",
    });
    await harness.keys.create({ ...WISH, ownerId: key.ownerId, adoptLocal: true });
    await restart();
    expect(harness.localRows.adoptedBy()).toBe(key.ownerId);
  });

  it("stay where they are when the commit fails, or without the wish", async () => {
    await harness.keys.create(WISH);
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(harness.keys.create({ ...WISH, adoptLocal: true })).rejects.toThrow();
    harness.store.gate = async () => {};
    expect(harness.localRows.adoptedBy()).toBeNull();
  });

  it("go to one of two owners that ask at once", async () => {
    const asked = await Promise.allSettled([1, 2].map(() => harness.keys.create({ ...WISH, adoptLocal: true })));
    expect(asked.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("rotating a key", () => {
  it("has two live secrets at most: another rotation ends the first", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 60_000);
    const third = await harness.keys.rotate(first.key.keyId, 60_000);
    expect([ask(first), ask(second), ask(third)]).toEqual(["AUTH_BAD_SIGNATURE", "ok", "ok"]);
    await restart();
    expect([ask(first), ask(second), ask(third)]).toEqual(["AUTH_BAD_SIGNATURE", "ok", "ok"]);
  });

  it("ends the former secret in the store too, so that a clock set back does not bring it back", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 30_000);
    await harness.clock.advanceAsync(120_000);
    expect((await harness.keys.list())[0]?.formerSecretUntilMs).toBeNull();
    expect((await acts())[0]).toBe("service key.former-end done {}");
    harness.clock.stepWall(-110_000);
    await restart();
    expect([ask(first), ask(second)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });

  it("keeps the former secret when the clock is set forward and back", async () => {
    const first = await harness.keys.create(WISH);
    await harness.keys.rotate(first.key.keyId, 600_000);
    harness.clock.stepWall(3_600_000);
    await harness.clock.advanceAsync(60_000);
    harness.clock.stepWall(-3_600_000);
    expect(ask(first)).toBe("ok");
  });

  it.each([false, true])(
    "ends the former secret in time though the clock is set back, restarted: %s",
    async (isRestarted) => {
      const first = await harness.keys.create(WISH);
      const second = await harness.keys.rotate(first.key.keyId, 90_000);
      if (isRestarted) await restart();
      harness.clock.stepWall(-3_600_000);
      await harness.clock.advanceAsync(89_000);
      expect([ask(first), ask(second)]).toEqual(["ok", "ok"]);
      await harness.clock.advanceAsync(2_000);
      expect([ask(first), ask(second)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
      await harness.clock.advanceAsync(60_000);
      expect((await harness.keys.list())[0]?.formerSecretUntilMs).toBeNull();
    },
  );

  it("changes nothing where the store fails", async () => {
    const first = await harness.keys.create(WISH);
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(harness.keys.rotate(first.key.keyId, 0)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(ask(first)).toBe("ok");
  });

  it.each([-1, 1.5, Number.NaN, OVERLAP_MAX_MS + 1])("with an overlap of %s is refused", async (overlapMs) => {
    const { key } = await harness.keys.create(WISH);
    await expect(harness.keys.rotate(key.keyId, overlapMs)).rejects.toMatchObject({ code: "INVALID_PARAMETERS" });
  });

  it("of a key that does not exist, or is revoked, is refused and noted", async () => {
    const { key } = await harness.keys.create(WISH);
    await harness.keys.revoke(key.keyId);
    await expect(harness.keys.rotate(key.keyId, 0)).rejects.toMatchObject({ code: "KEY_REVOKED" });
    for (const keyId of ["pk_0000000000000000000000", "", "\0", "x".repeat(1_000_000)])
      await expect(harness.keys.rotate(keyId, 0)).rejects.toMatchObject({ code: "KEY_NOT_FOUND" });
    expect((await acts()).slice(0, 5)).toEqual([
      ...new Array<string>(4).fill('admin key.rotate refused {"code":"KEY_NOT_FOUND"}'),
      'admin key.rotate refused {"code":"KEY_REVOKED"}',
    ]);
  });

  it("reads its row again where a rotation of the sealing key changed it meanwhile", async () => {
    const { key } = await harness.keys.create(WISH);
    let isFirst = true;
    harness.store.gate = async () => {
      if (!isFirst) return;
      isFirst = false;
      const value = (await harness.store.get("api-key", key.keyId)) ?? Buffer.alloc(0);
      const sealer = createTestSealer();
      const records = SEALED_KEY_ROWS.partsOf(key.keyId, value).map(({ context, record }) =>
        sealer.seal(context, sealer.open(context, record)),
      );
      await harness.store.put("api-key", key.keyId, SEALED_KEY_ROWS.withRecords(key.keyId, value, records));
    };
    const rotated = await harness.keys.rotate(key.keyId, 0);
    await restart();
    expect(ask(rotated)).toBe("ok");
  });
});

describe("revoking a key", () => {
  it("tells its listeners at once, and takes its secrets out of the store", async () => {
    const { key } = await harness.keys.create(WISH);
    const told: string[] = [];
    const end = harness.keys.table.onRevoked((keyId) => told.push(keyId));
    const revoking = harness.keys.revoke(key.keyId);
    expect(told).toEqual([key.keyId]);
    expect((await revoking).revokedAtMs).toBe(harness.clock.wallMs());
    const row = decodeJson((await harness.store.get("api-key", key.keyId)) ?? Buffer.alloc(0));
    expect(row).toMatchObject({ secrets: {} });
    end();
  });

  it("is in force and durable for all although a listener fails, and the other listeners get it", async () => {
    const made = await harness.keys.create(WISH);
    const told: string[] = [];
    const ends = [
      harness.keys.table.onRevoked(() => {
        throw new TypeError("a stream that is broken");
      }),
      harness.keys.table.onRevoked((keyId) => told.push(keyId)),
    ];
    const revoking = async () => await harness.keys.revoke(made.key.keyId);
    expect((await revoking()).revokedAtMs).toBe(harness.clock.wallMs());
    expect(told).toEqual([made.key.keyId]);
    await restart();
    expect(ask(made)).toBe("KEY_REVOKED");
    for (const end of ends) end();
  });

  it("again is the same answer, without an act", async () => {
    const { key } = await harness.keys.create(WISH);
    const first = await harness.keys.revoke(key.keyId);
    harness.clock.advance(1_000);
    expect(await harness.keys.revoke(key.keyId)).toEqual(first);
    expect(await acts()).toHaveLength(2);
  });

  it("is in force although the store fails, and is made durable when it is asked for again", async () => {
    const made = await harness.keys.create(WISH);
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(harness.keys.revoke(made.key.keyId)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect([ask(made), (await harness.keys.list())[0]?.revokedAtMs]).toEqual(["KEY_REVOKED", harness.clock.wallMs()]);
    harness.store.gate = async () => {};
    await harness.keys.revoke(made.key.keyId);
    await restart();
    expect(ask(made)).toBe("KEY_REVOKED");
  });

  it("while it is being rotated wins", async () => {
    const made = await harness.keys.create(WISH);
    const rotating = harness.keys.rotate(made.key.keyId, 60_000);
    const revoking = harness.keys.revoke(made.key.keyId);
    const [rotated] = await Promise.allSettled([rotating, revoking]);
    const secrets = rotated.status === "fulfilled" ? [made, rotated.value] : [made];
    expect(secrets.map((one) => ask(one))).toEqual(secrets.map(() => "KEY_REVOKED"));
    await restart();
    expect(ask(made)).toBe("KEY_REVOKED");
  });

  it("while the commit of a rotation is under way leaves no secret that opens", async () => {
    const made = await harness.keys.create(WISH);
    let release = (): void => {};
    harness.store.gate = () => new Promise((resolve) => (release = resolve));
    const rotating = harness.keys.rotate(made.key.keyId, 60_000);
    await harness.clock.advanceAsync(0);
    harness.store.gate = async () => {};
    const revoking = harness.keys.revoke(made.key.keyId);
    release();
    const [rotated] = await Promise.all([rotating, revoking]);
    expect([ask(made), ask(rotated)]).toEqual(["KEY_REVOKED", "KEY_REVOKED"]);
    expect(harness.keys.table.get(made.key.keyId)).toMatchObject({ present: null, former: null });
  });

  it("forgets the signatures of its writes: nothing of it is accepted any more", async () => {
    const made = await harness.keys.create(WISH);
    harness.auth.authenticate(signedBy(made, harness.clock.wallMs(), { method: "POST" }));
    expect(harness.replays.size).toBe(1);
    await harness.keys.revoke(made.key.keyId);
    expect(harness.replays.size).toBe(0);
  });

  it("of one that does not exist is refused", async () => {
    await expect(harness.keys.revoke("pk_0000000000000000000000")).rejects.toMatchObject({ code: "KEY_NOT_FOUND" });
  });

  it("beyond the bound forgets the one that was revoked first", async () => {
    harness = await startAuth({ bounds: { live: 10, revoked: 2 } });
    const made: NewSecret[] = [];
    for (let index = 0; index < 4; index++) made.push(await harness.keys.create(WISH));
    for (const { key } of made) {
      harness.clock.advance(1);
      await harness.keys.revoke(key.keyId);
    }
    expect(made.map((one) => ask(one))).toEqual(["AUTH_UNKNOWN_KEY", "AUTH_UNKNOWN_KEY", "KEY_REVOKED", "KEY_REVOKED"]);
    expect(await harness.keys.list()).toHaveLength(2);
  });

  it("beyond the bound leaves nothing in the store of the one that is forgotten", async () => {
    harness = await startAuth({ bounds: { live: 10, revoked: 1 } });
    const [one, two] = [await harness.keys.create(WISH), await harness.keys.create(WISH)];
    expect(ask(one)).toBe("ok");
    await harness.clock.advanceAsync(61_000);
    await harness.keys.revoke(one.key.keyId);
    expect(await harness.store.get("api-key-used", one.key.keyId)).not.toBeNull();
    await harness.keys.revoke(two.key.keyId);
    for (const namespace of ["api-key", "api-key-used"])
      expect(await harness.store.get(namespace, one.key.keyId)).toBeNull();
  });
});

describe("the time of the last use", () => {
  it("is stored once a minute for all keys together, and not where nothing was used", async () => {
    const made: NewSecret[] = [];
    for (let index = 0; index < 300; index++) made.push(await harness.keys.create(WISH));
    const before = harness.store.status().commitCount;
    for (let round = 0; round < 20; round++) for (const one of made) ask(one);
    expect(harness.store.status().commitCount).toBe(before);
    const usedAtMs = harness.clock.wallMs();
    await harness.clock.advanceAsync(60_000);
    expect(harness.store.status().commitCount - before).toBe(2);
    await harness.clock.advanceAsync(600_000);
    expect(harness.store.status().commitCount - before).toBe(2);
    await restart();
    expect((await harness.keys.list()).map(({ lastUsedAtMs }) => lastUsedAtMs)).toEqual(made.map(() => usedAtMs));
  });

  it("is stored at the stop, and a minute later where the store fails", async () => {
    const made = await harness.keys.create(WISH);
    ask(made);
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await harness.clock.advanceAsync(60_000);
    harness.store.gate = async () => {};
    const usedAtMs = harness.clock.wallMs() - 60_000;
    await harness.keys.stop();
    await restart();
    expect((await harness.keys.list())[0]?.lastUsedAtMs).toBe(usedAtMs);
  });

  it("is not that of a refused request", async () => {
    const made = await harness.keys.create({ ...WISH, ips: ["10.0.0.1"] });
    expect(ask(made)).toBe("IP_NOT_ALLOWED");
    expect((await harness.keys.list())[0]?.lastUsedAtMs).toBeNull();
  });
});

describe("a stop", () => {
  it("knows no key any more, and takes no act", async () => {
    const made = await harness.keys.create(WISH);
    await harness.keys.stop();
    expect(ask(made)).toBe("AUTH_UNKNOWN_KEY");
    await expect(harness.keys.create(WISH)).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
    expect(harness.clock.pendingTimerCount).toBe(0);
  });

  it("follows the acts that were taken, and more than the bound is refused", async () => {
    const made = Array.from({ length: 80 }, () => harness.keys.create(WISH));
    const [settled] = await Promise.all([Promise.allSettled(made), harness.keys.stop()]);
    const codes = settled.map((one) => (one.status === "fulfilled" ? "ok" : (one.reason as { code: string }).code));
    expect([
      codes.filter((code) => code === "ok").length,
      codes.filter((code) => code === "OVERLOADED").length,
    ]).toEqual([64, 16]);
  });
});
