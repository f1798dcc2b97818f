/** The operator's release where no wallet is configured: what an earlier start moved is not compared by it. */
import { expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { Instance } from "../../engine/storage/instance/instance.js";
import type { CountFile } from "../../engine/storage/instance/instance-file.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { reconcileAdmin } from "./reconcile-admin.js";

const ID = "ab".repeat(16);

async function stand(rows: readonly string[]) {
  const store = createMemoryStore();
  const clock = new VirtualClock();
  for (const namespace of rows) await store.put(namespace, "one", new Uint8Array(1));
  const file: CountFile = {
    read: async () => ({ kind: "count", value: { id: ID, count: 9 } }),
    write: async () => {},
  };
  const instance = await Instance.open({ store, file, clock, newId: () => ID, logger: silentLogger });
  const audit = { auditWrites: () => [] } as never;
  const administration = { audit };
  const admin = await reconcileAdmin({ store, instance, administration, clock, logger: silentLogger }, null);
  admin.begin();
  while (admin.view().isRunning) await clock.advanceAsync(1);
  return { admin, instance };
}

it("A store without a transfer or a wallet is released where nothing moves money", async () => {
  const { admin, instance } = await stand([]);
  expect(await admin.release([])).toEqual({ blocks: 0, rows: 0 });
  expect(instance.restored).toBe(null);
});

it.each(["transfer", "custody-wallet", "outside-wallet"])(
  "A store with rows of %s has not been compared where the wallets are not configured",
  async (namespace) => {
    const { admin, instance } = await stand([namespace]);
    expect(admin.view().last).toMatchObject({ unreadParts: ["wallets"] });
    await expect(admin.release([])).rejects.toMatchObject({ details: { reason: "PARTS_UNREAD", parts: ["wallets"] } });
    expect(instance.restored).not.toBe(null);
    await admin.release(["wallets"]);
    expect(instance.restored).toBe(null);
  },
);
