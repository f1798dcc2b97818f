import { afterEach, describe, expect, it } from "vitest";
import type { StateWrite } from "../storage/state-store.js";
import type { DepositRow, InternalRow, StoredStep, TransferRow, WithdrawalRow } from "../transfers/transfer-row.js";
import { readRows } from "./test/read-row.js";
import { createWorld, imbalances, tableStatus } from "./test/world.js";

const HASHES = ["11", "22", "33"].map((byte) => `0x${byte.repeat(32)}`);
const SIGNATURE = `0x${"5e".repeat(65)}`;
const SECRETS = [SIGNATURE, "0xca11da7a", "the act", "the request"];
const MONTH = 202_611;
const AT_MS = Date.UTC(2026, 10, 28, 12);

const BASE = {
  ...{ transferId: "7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f", ownerId: "owner-1" },
  ...{ walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10", account: `0x${"aa".repeat(20)}`, requestId: "r-1" },
  ...{ createdAtMs: AT_MS, updatedAtMs: AT_MS + 5, reason: null, reasonText: "", venueId: null },
} as const;
const TOKEN = { symbol: "USDT", address: `0x${"20".repeat(20)}`, decimals: 18, resetsAllowance: false };

function step(name: StoredStep["name"], hashes: readonly string[], gasCost: string | null): StoredStep {
  const [hash = ""] = hashes.slice(-1);
  return {
    ...{ name, to: `0x${"30".repeat(20)}`, data: "0xca11da7a", nonce: 4, gasLimit: "21000" },
    versions: hashes.map((one, index) => ({
      ...{ maxFeePerGas: "1", maxPriorityFeePerGas: "1", signature: SIGNATURE, hash: one },
      ...{ signedAtMs: AT_MS + index, isTaken: true },
    })),
    mined:
      gasCost === null
        ? null
        : {
            ...{ hash, blockNumber: 41, blockHash: hash, confirmations: 3, isFinal: true },
            succeeded: true,
            gasCost,
            taken: null,
          },
    ...{ isReplaced: false, isRefused: false },
  };
}

const DEPOSIT: DepositRow = {
  ...BASE,
  ...{ kind: "deposit", venue: "venuetwo", state: "confirmed", chainId: 56, network: "bsc", token: TOKEN },
  ...{ amount: "123456789012345678901234567", broker: 1000, spender: null, to: `0x${"30".repeat(20)}` },
  ...{ data: "0xca11da7a", plan: ["approve", "deposit"], revertsSinceMs: null, isCreditAwaited: true },
  steps: [step("approve", HASHES.slice(0, 1), "21000000000000"), step("deposit", HASHES.slice(1), "43000000000001")],
};
const WITHDRAWAL: WithdrawalRow = {
  ...BASE,
  ...{ kind: "withdrawal", venue: "venueone", state: "broadcast", chainId: 42_161, network: "network_42161" },
  ...{ token: { ...TOKEN, symbol: "USDC", decimals: 6 }, amount: "25500001", receiver: `0x${"dd".repeat(20)}` },
  ...{ accountType: null, fee: "1000000", feeIsInside: true, sentAtMs: AT_MS + 1, lastSentAtMs: AT_MS + 2 },
  act: {
    toSign: { kind: "message", text: "the act" },
    request: "the request",
    validUntilMs: AT_MS + 9,
    signature: SIGNATURE,
  },
  ...{ isAccepted: true, payout: "pending", hash: null, paid: "24500001", ownerId: null, venueId: "w-9" },
};
const INTERNAL: InternalRow = {
  ...BASE,
  ...{ kind: "internal", venue: "venuetwo", state: "failed", reason: "VENUE_BALANCE", reasonText: "too little" },
  ...{ asset: "USDT", amount: "70.000000000000000000001", kindType: "SPOT_FUTURE", clientTranId: "t-1" },
  ...{ sentAtMs: null, lastSentAtMs: null, isRefusedAgain: false },
};

const removes: (() => void)[] = [];
afterEach(() => {
  for (const remove of removes.splice(0)) remove();
});
async function worldOf() {
  const world = await createWorld();
  removes.push(world.remove);
  return world;
}

async function rowOf(row: TransferRow, change = 3) {
  const { recorder } = await worldOf();
  const { writes } = recorder.transfers.changed(row, change);
  const [write] = writes as [StateWrite];
  const bytes = write.value ?? new Uint8Array();
  for (const secret of SECRETS) {
    expect(Buffer.from(bytes).includes(secret)).toBe(false);
    if (secret.startsWith("0x")) expect(Buffer.from(bytes).includes(Buffer.from(secret.slice(2), "hex"))).toBe(false);
  }
  return { key: write.key, read: readRows("transfers", bytes)[0] };
}

describe("a row of a transfer", () => {
  it("has all of a deposit that is no secret: every hash, exact figures, what its gas cost", async () => {
    const { key, read } = await rowOf(DEPOSIT);
    expect(key).toMatch(new RegExp(`^transfers\\|\\d+\\|${MONTH}\\|${BASE.transferId}\\|3$`));
    expect(read).toMatchObject({
      ...{ transfer_id: BASE.transferId, change: "3", owner: "owner-1", wallet_id: BASE.walletId, kind: "deposit" },
      ...{ at: String(AT_MS), rx: String((AT_MS + 5) * 1000), address: BASE.account, venue: "venuetwo" },
      ...{ state: "confirmed", reason: "", chain_id: "56", network: "bsc", asset: "USDT", token: TOKEN.address },
      ...{ amount: "123456789.012345678901234567", amount_text: "123456789.012345678901234567", decimals: "18" },
      ...{ tx_hash: HASHES[2], hashes: HASHES, block_number: "41", confirmations: "3", is_final: "1" },
      ...{ gas_cost: "0.000064000000000001", credit_awaited: "1", destination: DEPOSIT.to, fee: null, payout: "" },
      ...{ signed_at: String(AT_MS), last_sent_at: String(AT_MS + 1), valid_until: "0", kind_type: "" },
    });
  });

  it("has fee, payout and times of a withdrawal, and nothing of its act", async () => {
    expect((await rowOf(WITHDRAWAL)).read).toMatchObject({
      ...{ owner: "local", venue_id: "w-9", amount: "25.500001", fee: "1", fee_inside: "1", paid: "24.500001" },
      ...{ payout: "pending", destination: WITHDRAWAL.receiver, hashes: [], tx_hash: "", account_type: "" },
      ...{ sent_at: String(AT_MS + 1), last_sent_at: String(AT_MS + 2), valid_until: String(AT_MS + 9) },
    });
  });

  it("has the name of a transfer between accounts, and all digits of its amount", async () => {
    expect((await rowOf(INTERNAL)).read).toMatchObject({
      ...{ kind: "internal", state: "failed", reason: "VENUE_BALANCE", reason_text: "too little", chain_id: "0" },
      ...{ amount: "70", amount_text: "70.000000000000000000001", kind_type: "SPOT_FUTURE", client_tran_id: "t-1" },
    });
  });
});

describe("changes of transfers in the record", () => {
  it("wait in the outbox while the store is away, over a restart, and are stored once", async () => {
    const world = await worldOf();
    const { recorder, stateStore, store } = world;
    store.status = { ...store.status, state: "away" };
    store.fate = () => "lose";
    for (const change of [1, 2]) {
      const { writes, committed } = recorder.transfers.changed(DEPOSIT, change);
      await stateStore.commit({ writes });
      committed();
    }
    expect(tableStatus(recorder, "transfers")).toMatchObject({ accepted: 2, stored: 0, pending: 2, droppedTotal: 0 });
    // It died between the commit of the ledger and its own next act.
    await stateStore.commit({ writes: recorder.transfers.changed(DEPOSIT, 3).writes });
    await world.run(recorder.stop(1_000));

    const later = await createWorld({ stateStore, seed: 2 });
    removes.push(later.remove);
    await later.advance(5_000);
    expect(tableStatus(later.recorder, "transfers")).toMatchObject({ recovered: 3, stored: 3, pending: 0 });
    expect(imbalances(later.recorder)).toEqual([]);
    const stored = [...later.store.batches.values()].filter(({ table }) => table === "transfers");
    expect(stored.flatMap(({ bytes }) => readRows("transfers", bytes)).map(({ change }) => change)).toEqual([
      "1",
      "2",
      "3",
    ]);
    await later.run(later.recorder.stop(1_000));
  });

  it("are counted, and make no row, with recording off", async () => {
    const world = await worldOf();
    world.store.status = { ...world.store.status, state: "off", reason: "by choice" };
    const { writes, committed } = world.recorder.transfers.changed(DEPOSIT, 1);
    expect(writes).toEqual([]);
    committed();
    expect(tableStatus(world.recorder, "transfers")).toMatchObject({ accepted: 1, dropped: { off: 1 }, pending: 0 });
    expect(imbalances(world.recorder)).toEqual([]);
  });
});
