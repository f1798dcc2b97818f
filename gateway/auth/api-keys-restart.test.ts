/** What a restart opens again of the keys in the store, and what it does not: rows that were changed there. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Logger, LogFields } from "../../engine/domain/logger.js";
import { decodeJson, encodeJson } from "../../engine/storage/state-store.js";
import type { NewSecret } from "./key-admin.js";
import { type AuthHarness, outcome, signedBy, startAuth, WISH } from "./test/auth-harness.js";

const HOUR_MS = 3_600_000;

let harness: AuthHarness;

beforeEach(async () => {
  harness = await startAuth();
});

const ask = (made: NewSecret): string =>
  outcome(harness.auth.authenticate(signedBy(made, harness.clock.wallMs(), { target: "/api/limits" })));

async function restart(options: { kek?: string; logger?: Logger } = {}): Promise<void> {
  const { clock, keys, store } = harness;
  await keys.stop();
  harness = await startAuth({ clock, store, seed: 77, ...options });
}

async function rewriteRow(keyId: string, change: (row: Record<string, unknown>) => void): Promise<void> {
  const row = decodeJson((await harness.store.get("api-key", keyId)) ?? Buffer.from("{}")) as Record<string, unknown>;
  change(row);
  await harness.store.put("api-key", keyId, encodeJson(row));
}

describe("a restart", () => {
  it("opens every key again, with both of its secrets", async () => {
    const one = await harness.keys.create({ ...WISH, ips: ["192.0.2.1"] });
    const two = await harness.keys.create({ ...WISH, scopes: ["admin"] });
    const rotated = await harness.keys.rotate(two.key.keyId, 60_000);
    const gone = await harness.keys.create(WISH);
    await harness.keys.revoke(gone.key.keyId);
    const before = await harness.keys.list();
    await restart();
    expect(await harness.keys.list()).toEqual(before);
    expect([ask(one), ask(two), ask(rotated), ask(gone)]).toEqual(["ok", "ok", "ok", "KEY_REVOKED"]);
  });

  it.each<[what: string, change: (row: Record<string, unknown>) => void]>([
    ["more scopes", (row) => Object.assign(row, { scopes: ["read", "trade", "admin"] })],
    ["another owner", (row) => Object.assign(row, { ownerId: "victim" })],
    ["no addresses", (row) => Object.assign(row, { ips: [] })],
    ["an address that is none", (row) => Object.assign(row, { ips: ["x"] })],
    ["a higher version", (row) => Object.assign(row, { version: 2 })],
    ["a longer overlap", (row) => Object.assign(row, { formerUntilMs: 9e15 })],
    ["another id", (row) => Object.assign(row, { keyId: "pk_0000000000000000000000" })],
    ["no secret", (row) => Object.assign(row, { secrets: {} })],
    ["a scope that is none", (row) => Object.assign(row, { scopes: ["root"] })],
  ])("does not open a key whose row was given %s, and opens the others", async (_what, change) => {
    const [one, two] = [await harness.keys.create({ ...WISH, ips: ["192.0.2.1"] }), await harness.keys.create(WISH)];
    await rewriteRow(one.key.keyId, change);
    const errors: (LogFields | undefined)[] = [];
    const logger = {
      debug: null,
      info() {},
      warn() {},
      error: (_event: string, fields?: LogFields) => errors.push(fields),
    };
    await restart({ logger });
    expect([ask(one), ask(two)]).toEqual(["AUTH_UNKNOWN_KEY", "ok"]);
    expect(errors).toContainEqual({ keyId: one.key.keyId });
  });

  it("does not open a secret of another key's row", async () => {
    const [one, two] = [await harness.keys.create(WISH), await harness.keys.create(WISH)];
    const other = decodeJson((await harness.store.get("api-key", two.key.keyId)) ?? Buffer.alloc(0)) as {
      secrets: unknown;
    };
    await rewriteRow(one.key.keyId, (row) => Object.assign(row, { secrets: other.secrets }));
    await restart();
    expect(ask(one)).toBe("AUTH_UNKNOWN_KEY");
  });

  it("does not open secrets that changed their places within a row", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 60_000);
    await rewriteRow(first.key.keyId, (row) => {
      const { present, former } = row["secrets"] as Record<string, unknown>;
      Object.assign(row, { secrets: { present: former, former: present } });
    });
    await restart();
    expect([ask(first), ask(second)]).toEqual(["AUTH_UNKNOWN_KEY", "AUTH_UNKNOWN_KEY"]);
  });

  it("does not open a former secret whose time was made longer in the store", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 60_000);
    await rewriteRow(first.key.keyId, (row) => Object.assign(row, { formerUntilMs: 9e15 }));
    await harness.clock.advanceAsync(61_000);
    await restart();
    expect([ask(first), ask(second)]).toEqual(["AUTH_UNKNOWN_KEY", "AUTH_UNKNOWN_KEY"]);
  });

  it.each([0, 60_000])(
    "seals nothing anew for a key whose row was changed: a rotation with an overlap of %s is refused",
    async (overlapMs) => {
      const made = await harness.keys.create(WISH);
      await rewriteRow(made.key.keyId, (row) => Object.assign(row, { scopes: ["read", "trade", "admin"] }));
      const rotation = () => harness.keys.rotate(made.key.keyId, overlapMs);
      await expect(rotation()).rejects.toMatchObject({ code: "SEAL_BROKEN" });
      await restart();
      await expect(rotation()).rejects.toMatchObject({ code: "SEAL_BROKEN" });
      const { rows } = await harness.audit.page(100, null);
      expect(rows.filter(({ what, outcome: end }) => what === "key.rotate" && end === "done")).toEqual([]);
    },
  );

  it("opens no former secret whose time is over: a clock set back does not bring it back", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 60_000);
    harness.clock.stepWall(60_001);
    await restart();
    harness.clock.stepWall(-60_000);
    expect([ask(first), ask(second)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });

  it("ends an overlap that was over at a start: a clock set back before the next one does not bring it back", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 60_000);
    harness.clock.stepWall(120_000);
    await restart();
    await harness.clock.advanceAsync(2 * HOUR_MS);
    harness.clock.stepWall(-2 * HOUR_MS - 120_000);
    await restart();
    expect([ask(first), ask(second)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });

  it("ends none for good whose time is over by a clock that was set forward, and is set right again soon", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 24 * HOUR_MS);
    harness.clock.stepWall(365 * 24 * HOUR_MS);
    await restart();
    await harness.clock.advanceAsync(5 * 60_000);
    expect([ask(first), ask(second)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
    harness.clock.stepWall(-365 * 24 * HOUR_MS);
    await restart();
    expect([ask(first), ask(second)]).toEqual(["ok", "ok"]);
  });

  it("after a clock was set back prolongs no overlap beyond what was chosen", async () => {
    const first = await harness.keys.create(WISH);
    const second = await harness.keys.rotate(first.key.keyId, 60_000);
    harness.clock.stepWall(-10 * 86_400_000);
    await restart();
    await harness.clock.advanceAsync(60_001);
    expect([ask(first), ask(second)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });

  it("does not take a damaged row of the adoption for none", async () => {
    for (const row of [null, 7, {}, ["ow_a"]]) {
      const { clock, store } = harness;
      await store.put("owner", "local-adopted-by", encodeJson(row));
      if (row === null) continue;
      await expect(startAuth({ clock, store })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    }
  });

  it("opens every key where a time of its last use cannot be read", async () => {
    const made = await harness.keys.create(WISH);
    await harness.store.put("api-key-used", made.key.keyId, Buffer.from("{"));
    await restart();
    expect([ask(made), (await harness.keys.list())[0]?.lastUsedAtMs]).toEqual(["ok", harness.clock.wallMs()]);
  });

  it("under another sealing key knows no key", async () => {
    const made = await harness.keys.create(WISH);
    await restart({ kek: "another" });
    expect(ask(made)).toBe("AUTH_UNKNOWN_KEY");
  });
});
