/** One wallet for all tests of a file: its rows are made before the first, and each test starts parties over copies of them. */
import { WALLET_NAMESPACE } from "../wallet-rows.js";
import { beforeAll, expect } from "vitest";
import { decodeStateRow, encodeStateRow, type StateRow } from "../../mpc/state/state-row.js";
import type { Wallet } from "../wallet-provider.js";
import { CustodyBench, madeRows } from "./custody-bench.js";
import { copyOfRows, type MemoryRows } from "./memory-party.js";

/** What a signature resolves to. */
export const SIGNED = { digest: expect.any(String) };

export interface MadeWallet {
  readonly rows: readonly [MemoryRows, MemoryRows];
  readonly wallet: Wallet;
  readonly id: string;
  /** Both parties over copies of the rows, started and met. */
  up(): Promise<CustodyBench>;
}

/** Called outside of all tests; has its members from the first one on. */
export function madeWallet(): MadeWallet {
  let made: Awaited<ReturnType<typeof madeRows>>;
  beforeAll(async () => {
    made = await madeRows();
  });
  return {
    get rows() {
      return made.rows;
    },
    get wallet() {
      return made.wallet;
    },
    get id() {
      return made.wallet.walletId;
    },
    up: () => new CustodyBench({}, made.rows).up(),
  };
}

/** The row that a party has stored of the wallet; null: none. */
export function storedRow({ wallets }: MemoryRows): StateRow | null {
  const [wallet] = wallets.values();
  return wallet === undefined ? null : decodeStateRow(wallet.row);
}

/** Keys of the rows by which S names its wallets, among what is beside. */
export function walletRowsOf({ beside }: MemoryRows): readonly string[] {
  return [...beside.keys()].filter((key) => key.startsWith(`${WALLET_NAMESPACE}/`));
}

/** A copy in which each wallet's row is changed. */
export function storedAs(rows: MemoryRows, change: Partial<StateRow>): MemoryRows {
  const copy = copyOfRows(rows);
  for (const [key, { row, shares }] of copy.wallets) {
    const decoded = decodeStateRow(row);
    if (decoded !== null) copy.wallets.set(key, { row: encodeStateRow({ ...decoded, ...change }), shares });
  }
  return copy;
}
