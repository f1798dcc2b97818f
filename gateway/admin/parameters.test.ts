/** The bounds of the parameters are those of what is behind them: what is read here is not refused there. */
import { expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { AUDIT_PAGE_MAX, AuditStore } from "../auth/audit-store.js";
import { checkOverlap, OVERLAP_MAX_MS } from "../auth/key-wish.js";
import { readPage, readRotation } from "./parameters.js";

it("the longest page that may be asked for is given", async () => {
  const audit = await AuditStore.open(createMemoryStore(), new VirtualClock(), (target) => void target.fill(7));
  const { limit } = readPage({ limit: AUDIT_PAGE_MAX });
  expect(await audit.page(limit, null)).toEqual({ rows: [], nextCursor: null });
  expect(() => readPage({ limit: AUDIT_PAGE_MAX + 1 })).toThrow("Invalid request parameters");
});

it("the longest overlap of a rotation that may be asked for is given", () => {
  const { overlapMs } = readRotation({ keyId: "pk_1", overlapMs: OVERLAP_MAX_MS });
  expect(() => checkOverlap(overlapMs)).not.toThrow();
  expect(() => readRotation({ keyId: "pk_1", overlapMs: OVERLAP_MAX_MS + 1 })).toThrow("Invalid request parameters");
});
