import { expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import type { KeyRow } from "./key-rows.js";
import { isRowChanged, KeyStore } from "./key-store.js";

const KEY_ID = "pk_0123456789abcdefABCDEF";
const ACT = { what: "key.rotate", who: "admin", details: {} } as const;

function rowOf(version: number): KeyRow {
  const facts = { keyId: KEY_ID, ownerId: "ow_a", label: "", scopes: [], ips: [], version, secrets: {} } as const;
  return { ...facts, createdAtMs: 1, rotatedAtMs: null, formerUntilMs: null, revokedAtMs: null };
}

it("a change of a key is made to the row that was read, or not at all", async () => {
  const rows = new KeyStore(createMemoryStore(), { auditWrites: () => [] }, silentLogger);
  await rows.commit(null, rowOf(1), ACT);
  const { before } = await rows.read(KEY_ID);
  await rows.commit(before, rowOf(2), ACT);
  for (const stale of [before, null]) {
    const refusal: unknown = await rows.commit(stale, rowOf(3), ACT).catch((error: unknown) => error);
    expect([isRowChanged(refusal), (await rows.read(KEY_ID)).row.version]).toEqual([true, 2]);
  }
});
