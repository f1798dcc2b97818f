/** An interrupted first start of schema version 1, continued by the present program, on the real engine. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { V1_STATEMENTS } from "../../../engine/storage/records/test/tables-v1.js";
import type { StorageSidecar } from "../../app/storage-sidecar.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "./sidecar.js";

describe.skipIf(CHDB_MISSING)(`tables of version 1 without a recorded migration ${NEEDS_CHDB}`, () => {
  let bench: SidecarBench;
  let sidecar: StorageSidecar;

  beforeAll(async () => {
    bench = new SidecarBench();
    sidecar = await bench.sidecar();
  }, 240_000);
  afterAll(async () => {
    await bench.dispose();
  });

  it.each([1, 3, V1_STATEMENTS.length - 1, V1_STATEMENTS.length])(
    "are completed where %s statements were done, and the record is on",
    { timeout: 200_000 },
    async (count) => {
      const database = `cut_${count}`;
      await bench.command(sidecar, `CREATE DATABASE ${database}`);
      for (const sql of V1_STATEMENTS.slice(0, count))
        await bench.command(sidecar, sql.replaceAll("unwind.", `${database}.`));
      const store = bench.store(sidecar, database);
      expect(await store.start()).toMatchObject({ state: "on" });
      // Another start finds nothing to do.
      expect(await bench.store(sidecar, database).start()).toMatchObject({ state: "on" });
    },
  );

  it("are not ours where they lack more than later versions added, and are left unchanged", async () => {
    await bench.command(sidecar, "CREATE DATABASE cut_foreign");
    await bench.command(sidecar, "CREATE TABLE cut_foreign.fills (rx UInt8, px UInt8) ENGINE = MergeTree ORDER BY rx");
    expect(await bench.store(sidecar, "cut_foreign").start()).toMatchObject({
      state: "off",
      reason: expect.stringContaining("lacks what the schema has: fills.ex"),
    });
    const again = await bench.command(sidecar, "INSERT INTO cut_foreign.fills VALUES (1, 2)").then(
      () => "taken",
      () => "refused",
    );
    expect(again).toBe("taken");
  });
});
