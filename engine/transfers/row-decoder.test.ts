/** Rows of the ledger read back: as they were written, or not at all. */
import { parseTransaction } from "viem";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../domain/errors.js";
import { decodeJson, encodeJson } from "../storage/state-store.js";
import { digestOf, rawOf, unsignedOf } from "./raw-transaction.js";
import { decodeTransfer, encodeTransfer } from "./row-decoder.js";
import { signedWith } from "./test/fake-signer.js";
import { TransferWorld } from "./test/transfer-world.js";
import type { DepositRow, TransferRow } from "./transfer-row.js";

async function rowsOf(): Promise<{ world: TransferWorld; rows: TransferRow[] }> {
  const world = new TransferWorld();
  const life = await world.live();
  await world.outcome(life, life.transfers.deposit(world.deposit(world.listed, 7_000_000n)));
  await world.outcome(life, life.transfers.withdraw(world.withdrawal(world.named, 7_000_000n)));
  await world.outcome(life, life.transfers.move(world.internal("70", "a")));
  return { world, rows: await world.rows(life) };
}

type Json = { [key: string]: Json } & Json[];

/** The row with one place changed; undefined removes it. */
function tampered(row: TransferRow, path: readonly (string | number)[], value: unknown): Uint8Array {
  const copy = decodeJson(encodeTransfer(row)) as Json;
  let place = copy as unknown as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) place = place[key] as Record<string | number, unknown>;
  const last = path.at(-1) ?? "";
  if (value === undefined) delete place[last];
  else place[last] = value;
  return encodeJson(copy);
}

function problemOf(row: TransferRow, bytes: Uint8Array): unknown {
  try {
    decodeTransfer(row.transferId, bytes);
    return "accepted";
  } catch (error) {
    return error instanceof ServiceError ? [error.code, error.context["problem"]] : error;
  }
}

const OTHER = `0x${"99".repeat(20)}`;
const CASES: readonly [TransferRow["kind"], readonly (string | number)[], unknown, string][] = [
  ["deposit", ["surprise"], 1, ".surprise"],
  ["deposit", ["amount"], "07", ".amount"],
  ["deposit", ["amount"], 7, ".amount"],
  ["deposit", ["broker"], undefined, ".broker"],
  ["deposit", ["state"], "paid", ".state"],
  ["deposit", ["state"], "created", ".state"],
  ["deposit", ["state"], "confirmed", ".state"],
  ["deposit", ["state"], "failed", ".reason"],
  ["deposit", ["venue"], "venuefive", ".venue"],
  ["deposit", ["kind"], "gift", ".kind"],
  ["deposit", ["transferId"], "00000000-0000-4000-8000-00000000ffff", ".transferId"],
  ["deposit", ["plan"], ["deposit"], ".steps"],
  ["deposit", ["steps", 1, "to"], OTHER, ".steps[1].to"],
  ["deposit", ["to"], OTHER, ".steps[1].to"],
  ["deposit", ["data"], "0x00", ".steps[1].data"],
  ["deposit", ["steps", 0, "data"], "0x00", ".steps[0].versions[0].hash"],
  ["deposit", ["steps", 0, "nonce"], 5, ".steps[0].versions[0].hash"],
  ["deposit", ["steps", 0, "gasLimit"], "1", ".steps[0].versions[0].hash"],
  ["deposit", ["chainId"], 1, ".steps[0].versions[0].hash"],
  ["deposit", ["steps", 0, "versions", 0, "maxFeePerGas"], "1", ".steps[0].versions[0].hash"],
  ["deposit", ["steps", 0, "versions", 0, "signature"], null, ".steps[0].versions[0].hash"],
  ["deposit", ["steps", 0, "mined", "hash"], `0x${"ab".repeat(32)}`, ".steps[0].mined.hash"],
  ["deposit", ["steps", 0, "isReplaced"], true, ".steps[0].isReplaced"],
  ["withdrawal", ["receiver"], "somebody", ".receiver"],
  ["withdrawal", ["act", "signature"], null, ".act.signature"],
  ["withdrawal", ["state"], "created", ".state"],
  ["withdrawal", ["state"], "confirmed", ".payout"],
  ["withdrawal", ["act", "toSign", "kind"], "digest", ".act.toSign.kind"],
  ["internal", ["amount"], "1e3", ".amount"],
  ["internal", ["sentAtMs"], null, ".lastSentAtMs"],
];

describe("a row of the ledger", () => {
  it("is read back as it was written", async () => {
    const { rows } = await rowsOf();
    expect(rows.map(({ kind }) => kind).sort()).toEqual(["deposit", "internal", "withdrawal"]);
    for (const row of rows) expect(decodeTransfer(row.transferId, encodeTransfer(row))).toEqual(row);
  });

  it.each(CASES)("of a %s with another %j (%j) is refused by its place", async (kind, path, value, problem) => {
    const { rows } = await rowsOf();
    const row = rows.find((one) => one.kind === kind);
    if (row === undefined) throw new RangeError("no such row");
    expect(problemOf(row, tampered(row, path, value))).toEqual(["LEDGER_BROKEN", problem]);
  });

  it("that is no JSON, or none of ours, is refused", async () => {
    const { rows } = await rowsOf();
    const [row] = rows;
    if (row === undefined) throw new RangeError("no row");
    for (const [bytes, problem] of [
      [Buffer.from("{"), "no JSON"],
      [Buffer.from("null"), ".kind"],
      [Buffer.from('{"kind":"toString"}'), ".kind"],
    ] as const)
      expect(problemOf(row, bytes)).toEqual(["LEDGER_BROKEN", problem]);
  });

  it("that is marked as open and missing, or over, stops the start", async () => {
    const { world, rows } = await rowsOf();
    const over = rows.find(({ state }) => state === "confirmed");
    const mark = encodeJson(1);
    await world.store.put("transfer-open", over?.transferId ?? "", mark);
    await expect(world.live()).rejects.toMatchObject({ code: "LEDGER_BROKEN", context: { row: over?.transferId } });
    await world.store.remove("transfer-open", over?.transferId ?? "");
    await world.store.put("transfer-open", "00000000-0000-4000-8000-00000000ffff", mark);
    await expect(world.live()).rejects.toMatchObject({ code: "LEDGER_BROKEN" });
  });
});

describe("the bytes of a step", () => {
  it("are those that another reader reads, and its digest is what the wallet signs", async () => {
    const { rows } = await rowsOf();
    const row = rows.find((one): one is DepositRow => one.kind === "deposit");
    const step = row?.steps[1];
    const version = step?.versions[0];
    if (row === undefined || step === undefined || version === undefined) throw new RangeError("no step");
    const transaction = unsignedOf(row.chainId, step, version);
    const { signature, digest } = signedWith({ kind: "transaction", transaction });
    expect(digest).toBe(digestOf(row.chainId, step, version));
    const raw = rawOf(row.chainId, step, version, signature);
    const parsed = parseTransaction(`0x02${Buffer.from(raw?.bytes.subarray(1) ?? []).toString("hex")}`);
    expect(parsed).toMatchObject({ chainId: row.chainId, nonce: step.nonce, to: row.to, data: row.data });
    expect(parsed).toMatchObject({ maxFeePerGas: BigInt(version.maxFeePerGas), gas: BigInt(step.gasLimit) });
    expect(rawOf(row.chainId, step, version, signature.slice(0, -2))).toBe(null);
    expect(rawOf(row.chainId, step, version, `${signature.slice(0, -2)}1d`)).toBe(null);
  });
});
