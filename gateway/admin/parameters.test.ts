/** The bounds of the parameters are those of what is behind them: what is read here is not refused there. */
import { expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { AuditStore } from "../auth/audit-store.js";
import { checkOverlap } from "../auth/key-wish.js";
import { AUDIT_LIMIT_MAX, OVERLAP_MS_MAX } from "./parameters.js";

it("the longest page that may be asked for is given", async () => {
  const audit = await AuditStore.open(createMemoryStore(), new VirtualClock(), (target) => void target.fill(7));
  expect(await audit.page(AUDIT_LIMIT_MAX, null)).toEqual({ rows: [], nextCursor: null });
});

it("the longest overlap of a rotation that may be asked for is given", () => {
  expect(() => checkOverlap(OVERLAP_MS_MAX)).not.toThrow();
});
