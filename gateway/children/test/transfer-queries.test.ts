/** Rows of transfers on the real engine: each once, and the queries of docs/transfers.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createRecorder, type Recorder } from "../../../engine/recorder/recorder.js";
import { seededIds } from "../../../engine/recorder/test/world.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import type { WithdrawalRow } from "../../../engine/transfers/transfer-row.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "./sidecar.js";

const BOUNDS = { timeoutMs: 60_000, rowsMax: 1_000, bytesMax: 1_000_000 };
const PATIENCE_MS = 90_000;
const PAGE = readFileSync(new URL("../../../docs/transfers.md", import.meta.url), "utf8");
const [STILL_OPEN = "", BY_DAY = ""] = [...PAGE.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql ?? "");

let bench: SidecarBench;
let store: RecordsStore;
let recorder: Recorder;
const stateStore = createMemoryStore();

const rowsOf = async (sql: string) => {
  const result = await store.query(sql, {}, BOUNDS);
  if (!result.ok) throw new Error(`${result.reason}: ${result.text}`);
  return result.rows;
};

function withdrawal(transferId: string, createdAtMs: number, change: Partial<WithdrawalRow> = {}): WithdrawalRow {
  return {
    ...{ kind: "withdrawal", transferId, ownerId: "owner-1", walletId: "w", account: "0xaa", venue: "venueone" },
    ...{ requestId: "r", createdAtMs, updatedAtMs: createdAtMs, state: "created", reason: null, reasonText: "" },
    ...{ venueId: null, chainId: 42_161, network: "network_42161", amount: "25500001", receiver: "0xdd" },
    ...{ token: { symbol: "USDC", address: "0x30", decimals: 6, resetsAllowance: false }, accountType: null },
    ...{ fee: "1000000", feeIsInside: true, sentAtMs: null, lastSentAtMs: null, isAccepted: false, payout: null },
    act: { toSign: { kind: "message", text: "" }, request: "", validUntilMs: createdAtMs, signature: null },
    ...{ hash: null, paid: null },
    ...change,
  };
}

async function record(row: WithdrawalRow, change: number): Promise<void> {
  const { writes, committed } = recorder.transfers.changed(row, change);
  await stateStore.commit({ writes });
  committed();
}

describe.skipIf(CHDB_MISSING)(`the transfers of the record ${NEEDS_CHDB}`, () => {
  beforeAll(async () => {
    bench = new SidecarBench();
    store = bench.store(await bench.sidecar());
    expect(await store.start()).toMatchObject({ state: "on", reason: "" });
    recorder = createRecorder({
      ...{ store, stateStore, spoolDirectory: join(bench.directory, "spool"), clock: bench.clock },
      ...{ random: createSeededRandom(1), logger: silentLogger, randomIds: seededIds(1), nodeId: "node-1" },
    });
    await recorder.start();
  }, 240_000);
  afterAll(() => bench.dispose());

  it(
    "are one row for each change, and answer what an operator asks",
    async () => {
      const atMs = bench.clock.wallMs() - 7_200_000;
      const ended = withdrawal("ended", atMs);
      const done = { ...ended, state: "confirmed", payout: "completed", updatedAtMs: atMs + 90_000 } as const;
      await record(ended, 1);
      await record({ ...done, state: "broadcast", payout: "pending" }, 2);
      await record(done, 3);
      await record(withdrawal("stuck", atMs, { state: "unknown", reason: "VENUE_UNREACHED", venueId: "w-9" }), 1);
      await record(withdrawal("young", bench.clock.wallMs(), { state: "broadcast" }), 1);
      expect(await recorder.flush(PATIENCE_MS)).toBe(true);
      // A second row of the same change, under another token.
      await record(done, 3);
      expect(await recorder.flush(PATIENCE_MS)).toBe(true);
      await recorder.stop(PATIENCE_MS);

      expect(
        await rowsOf(
          "SELECT change, toString(amount) AS amount, state FROM transfers FINAL WHERE transfer_id = 'ended' ORDER BY change",
        ),
      ).toEqual([
        { change: "1", amount: "25.500001", state: "created" },
        { change: "2", amount: "25.500001", state: "broadcast" },
        { change: "3", amount: "25.500001", state: "confirmed" },
      ]);
      expect(await rowsOf(STILL_OPEN)).toMatchObject([
        {
          ...{ transfer_id: "stuck", last_state: "unknown", last_reason: "VENUE_UNREACHED", how_much: "25.500001" },
          venue_ref: "w-9",
        },
      ]);
      expect(await rowsOf(BY_DAY)).toMatchObject([
        {
          ...{ owner: "owner-1", venue: "venueone", kind: "withdrawal", asset: "USDC", transfers: "1" },
          slowest_seconds: "90",
        },
      ]);
    },
    4 * PATIENCE_MS,
  );
});
